package layer_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// demoTrace reads the trace that the example programs show.
func demoTrace() *trace.Trace {
	t, err := trace.Read(context.Background(), bytes.NewReader(demo.Trace()), trace.Options{})
	if err != nil {
		log.Fatal(err)
	}
	return t
}

// demoGPU analyses the demo trace, which has one GPU.
func demoGPU(o layer.Options) *layer.Device {
	a, err := layer.Analyze(context.Background(), demoTrace(), o)
	if err != nil {
		log.Fatal(err)
	}
	return &a.Devices[0]
}

func ExampleAnalyze() {
	an, err := layer.Analyze(context.Background(), demoTrace(), layer.Options{})
	if err != nil {
		log.Fatal(err)
	}
	a := &an.Devices[0] // the GPU with most GPU time
	fmt.Printf("%d layers, from %s\n", a.NumLayers, a.LayerSource)
	for _, p := range a.Passes {
		fmt.Printf("pass %d: %s, batch %d, %d tokens, %d layers by %s\n", p.Index, p.Stage, p.Batch, p.Tokens,
			p.NumLayers, p.LayerEvidence)
	}
	fmt.Printf("steady: pass %d\n", a.Steady.Pass)
	// Output:
	// 8 layers, from modules
	// pass 0: prefill, batch 1, 640 tokens, 8 layers by module
	// pass 1: decode, batch 8, 8 tokens, 8 layers by module
	// pass 2: decode, batch 8, 8 tokens, 8 layers by module
	// pass 3: decode, batch 8, 8 tokens, 8 layers by module
	// pass 4: decode, batch 8, 8 tokens, 8 layers by repeat
	// steady: pass 2
}

// Module frames are ignored: the same layers come from how the kernels repeat.
func ExampleAnalyze_repeats() {
	a := demoGPU(layer.Options{Boundaries: "repeats"})
	fmt.Println(a.NumLayers, a.LayerSource)
	for _, l := range a.Passes[4].Layers()[:3] {
		fmt.Printf("layer %d: %d kernels\n", l.Index, len(l.Kernels))
	}
	// Output:
	// 8 repeats
	// layer 0: 12 kernels
	// layer 1: 20 kernels
	// layer 2: 20 kernels
}

// A replayed kernel has no CPU op of its own; its eager twin in the same place of the same layer has.
func ExampleKernel_Twin() {
	a := demoGPU(layer.Options{})
	l := a.Passes[4].Layers()[1]
	twin := a.Kernel(int(l.Kernels[1])).Twin()
	fmt.Println(twin.How, twin.Launch.Op().Name(), twin.Launch.Op().Shape())
	// Output:
	// name aten::mm [[8, 2048], [2048, 1536]]
}

func ExampleParseStep() {
	st, ok := layer.ParseStep("step[EXTEND bs=15 toks=15360]")
	fmt.Println(ok, st.Dialect, st.Stage, st.Batch, st.Tokens)
	// Output:
	// true sglang prefill 15 15360
}

// A rule of your own cuts the kernels, and everything else (operators, tables,
// comparisons) follows from it: here each pass is four kernels of two layers.
func ExampleAssemble() {
	b := trace.NewBuilder(trace.Options{})
	var ids []trace.EventID
	for i := range 8 {
		b.Add(trace.EventData{Kind: event.Kernel, Name: "gemm", Start: int64(i) * 1000, Duration: 900, Device: 0,
			Stream: 7})
		ids = append(ids, trace.EventID(i))
	}
	t := built.Trace(b)
	var passes []layer.GivenPass
	for ; len(ids) > 0; ids = ids[4:] {
		passes = append(passes, layer.GivenPass{Stage: layer.StageDecode,
			Layers: []layer.GivenLayer{{Index: 0, Kernels: ids[:2]}, {Index: 1, Kernels: ids[2:4]}}})
	}
	a, err := layer.Assemble(context.Background(), t, passes, layer.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range a.Devices[0].Passes {
		fmt.Println(p.Stage, p.NumLayers, p.Layers()[1].Wall, p.Wall())
	}
	// Output:
	// decode 2 1.9µs 3.9µs
	// decode 2 1.9µs 3.9µs
}
