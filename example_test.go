package strata_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

// From a trace to answers: can it be trusted, how long does a pass take and a
// layer of it, which kernels take most time and from which line are they
// launched, and does the GPU wait for the host?
func Example() {
	ctx := context.Background()

	// A program of yours opens a file, plain or compressed:
	//	t, err := trace.Open(ctx, "profile/TP-0-DECODE.trace.json.gz")
	t, err := trace.Read(ctx, bytes.NewReader(demo.Trace()), trace.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("health:", t.Health().Status)

	layers, err := layer.Analyze(ctx, t, layer.Options{})
	if err != nil {
		log.Fatal(err)
	}
	gpu := &layers.Devices[0] // the one with most GPU time
	pass, err := gpu.Pass(gpu.Steady.Pass)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("steady: %s of batch %d, %d layers, %v; the middle layer takes %v\n",
		pass.Stage, pass.Batch, pass.NumLayers, pass.Wall(), pass.Layers()[pass.NumLayers/2].Wall)

	report, err := triage.Analyze(ctx, triage.Input{Formal: []*layer.Analysis{layers}}, triage.Options{KernelLimit: 1})
	if err != nil {
		log.Fatal(err)
	}
	for _, stage := range report.Stages {
		top := stage.Kernels[0]
		fmt.Printf("%s: %s, %.1f%% of the GPU's time, from %s\n", stage.Stage, top.Kernel, top.SharePct,
			top.Locations[0].Location)
	}

	host, err := hostoverhead.Analyze(ctx, []*layer.Analysis{layers}, hostoverhead.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("host bound: %s (confidence %s), at most %.2f times faster without it\n", host.Verdict, host.Confidence,
		host.Headroom.AtMost)

	// Output:
	// health: ok
	// steady: decode of batch 8, 8 layers, 1.574118ms; the middle layer takes 201.391µs
	// extend: fused_moe_kernel, 28.2% of the GPU's time, from python/sglang/srt/layers/moe/fused_moe_triton/fused_moe.py:347 fused_experts_impl
	// decode: fused_moe_kernel, 32.8% of the GPU's time, from python/sglang/srt/layers/moe/fused_moe_triton/fused_moe.py:347 fused_experts_impl
	// host bound: YES (confidence medium), at most 1.27 times faster without it
}

// demoRecording is a small built-in trace. A program of yours names a file, a
// directory or a pattern instead of reading the standard input.
func demoRecording() (*strata.Recording, error) {
	return strata.Open(context.Background(), "-", strata.Options{Stdin: bytes.NewReader(demo.Trace())})
}

func ExampleOpen() {
	rec, err := demoRecording() // strata.Open(ctx, "runs/qwen", strata.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, part := range rec.Parts {
		fmt.Println(part.Trace.Meta().Source, part.Trace.Len(event.LaneGPU), "GPU activities, health",
			part.Trace.Health().Status)
	}
	fmt.Println(len(rec.NotRead), "files were found beside it and not read")
	// Output:
	// torch.profiler 805 GPU activities, health ok
	// 0 files were found beside it and not read
}

// Everything at once, what matters most first.
func ExampleAnalyze() {
	rec, err := demoRecording()
	if err != nil {
		log.Fatal(err)
	}
	r, err := strata.Analyze(context.Background(), rec, strata.ReportOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.0f%% of the GPU time is in passes; host: %s\n", 100*r.InPasses.Seconds()/r.GPUTime.Seconds(), r.Host)
	for _, f := range r.Findings[:2] {
		fmt.Printf("%s: at most %v per step (%.1f%% %s)\n", f.Kind, f.PerStep, 100*f.Share, f.Of.Title())
	}
	// Output:
	// 100% of the GPU time is in passes; host: YES
	// host-idle: at most 242.134µs per step (14.2% of step time)
	// above-floor: at most 192.349µs per step (11.5% of step time)
}
