package layer_test

import (
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestRepeatsThatAreNoLayers: no model has tens of thousands of layers, whatever repeats so often.
func TestRepeatsThatAreNoLayers(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	for k := range int64(3 * 40_000) {
		b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: 10 * k, Duration: 3, Thread: 1,
			Correlation: uint64(k + 1), Device: trace.None, Stream: trace.None})
		b.Add(trace.EventData{Kind: event.Kernel, Name: []string{"rms_norm", "gemm", "flash_fwd_kernel"}[k%3],
			Start: 10*k + 5, Duration: 4, Correlation: uint64(k + 1), Stream: 7})
	}
	a, err := layer.Analyze(t.Context(), built.Trace(b), layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for p := range a.Devices[0].Passes {
		if n := len(a.Devices[0].Passes[p].Layers()); n > 0 {
			t.Errorf("pass %d of %d kernels has %d layers", p, a.Devices[0].Passes[p].Kernels, n)
		}
	}
}
