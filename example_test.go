package strata_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
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
		pass.Stage, pass.Batch, len(pass.Layers), pass.Wall(), pass.Layers[len(pass.Layers)/2].Wall)

	report, err := triage.Analyze(ctx, triage.Input{Formal: []*layer.Analysis{layers}}, triage.Options{KernelLimit: 1})
	if err != nil {
		log.Fatal(err)
	}
	for _, stage := range report.Stages {
		top := stage.Kernels[0]
		fmt.Printf("%s: %s, %.1f %% of the GPU's time, from %s\n", stage.Stage, top.Kernel, top.SharePct, top.Locations[0].Location)
	}

	host, err := hostoverhead.Analyze(ctx, []*layer.Analysis{layers}, hostoverhead.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("host bound: %s (confidence %s), at most %.2f times faster without it\n", host.Verdict, host.Confidence, host.Headroom.AtMost)

	// Output:
	// health: ok
	// steady: decode of batch 8, 8 layers, 1.568697ms; the middle layer takes 192.747µs
	// extend: fused_moe_kernel, 28.2 % of the GPU's time, from python/sglang/srt/layers/moe/fused_moe_triton/fused_moe.py:347 fused_experts_impl
	// decode: fused_moe_kernel, 32.8 % of the GPU's time, from python/sglang/srt/layers/moe/fused_moe_triton/fused_moe.py:347 fused_experts_impl
	// host bound: YES (confidence medium), at most 1.27 times faster without it
}
