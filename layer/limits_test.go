package layer_test

import (
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/testdata"
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

// TestManyRestsInOneGap: each call of a function that rests costs the same, however many are between two kernels.
func TestManyRestsInOneGap(t *testing.T) {
	took := func(calls int64) time.Duration {
		b := trace.NewBuilder(trace.Options{})
		for k := range int64(2) {
			at := 100 * calls * k
			b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: at, Duration: 1, Thread: 1,
				Correlation: uint64(k + 1), Device: trace.None, Stream: trace.None})
			b.Add(trace.EventData{Kind: event.Kernel, Name: "gemm", Start: at + 2, Duration: 4, Correlation: uint64(k + 1),
				Stream: 7})
		}
		for i := range calls {
			b.Add(trace.EventData{Kind: event.Frame, Name: "shm_broadcast.py(5): acquire_read", Start: 100*i + 8,
				Duration: 90, Thread: 1})
		}
		tr, start := built.Trace(b), testdata.CPU()
		if _, err := layer.Analyze(t.Context(), tr, layer.Options{}); err != nil {
			t.Fatal(err)
		}
		return testdata.CPU() - start
	}
	took(1000)
	if few, many := took(10_000), took(100_000); many > 40*few { // where each looked at those before it: a hundred times
		t.Errorf("%v for ten thousand calls, %v for a hundred thousand", few, many)
	}
}
