package layer_test

import (
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/internal/segment"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// launch adds the nth kernel, and the call that launches it.
func launch(b *trace.Builder, n int64, name string, at int64) {
	b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: at, Duration: 1, Thread: 1,
		Correlation: uint64(n), Device: trace.None, Stream: trace.None})
	b.Add(trace.EventData{Kind: event.Kernel, Name: name, Start: at + 2, Duration: 4, Correlation: uint64(n), Stream: 7})
}

// TestRepeatsThatAreNoLayers: no model has tens of thousands of layers, whatever repeats so often: none has more than
// a config may ask for.
func TestRepeatsThatAreNoLayers(t *testing.T) {
	if segment.MaxLayers != profile.MaxLayers {
		t.Errorf("%d layers are found at most, a config may have %d", segment.MaxLayers, profile.MaxLayers)
	}
	b := trace.NewBuilder(trace.Options{})
	for k := range int64(3 * 40_000) {
		launch(b, k+1, []string{"rms_norm", "gemm", "flash_fwd_kernel"}[k%3], 10*k)
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
			launch(b, k+1, "gemm", 100*calls*k)
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
