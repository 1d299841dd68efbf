package layer_test

import (
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestFinerStepsOfTwoDialects: of two dialects whose steps hold about the same kernels the finer one shows the
// passes; from a tenth on that only the other one holds, that does. In whatever order the trace has them.
func TestFinerStepsOfTwoDialects(t *testing.T) {
	const outer, inner = "step[DECODE bs=4]", "execute_context_0(0)_generation_4(4)"
	for _, c := range []struct {
		between    int // of the kernels of each outer step, those in no inner one
		innerFirst bool
		want       int
	}{{1, false, 20}, {2, false, 20}, {3, false, 10}, {0, false, 20}, {2, true, 20}, {3, true, 10}} {
		b := trace.NewBuilder(trace.Options{})
		mark := func(name string, from, to int64) {
			b.Add(trace.EventData{Kind: event.Annotation, Name: name, Start: from, Duration: to - from, Thread: 1,
				Device: trace.None, Stream: trace.None})
		}
		at, corr := int64(1000), uint64(0)
		kernels := func(n int) {
			for range n {
				corr++
				b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: at, Duration: 5, Thread: 1,
					Correlation: corr, Device: trace.None, Stream: trace.None})
				b.Add(trace.EventData{Kind: event.Kernel, Name: "gemm", Start: at + 10, Duration: 50, Stream: 7,
					Correlation: corr})
				at += 100
			}
		}
		if c.innerFirst {
			mark(inner, 10, 20)
		}
		for range 10 { // twenty kernels in each outer step
			start := at
			for _, n := range []int{10, 10 - c.between} {
				from := at
				kernels(n)
				mark(inner, from-1, at-50)
			}
			kernels(c.between)
			mark(outer, start-2, at-40)
			at += 1000
		}
		a, err := layer.Analyze(t.Context(), built.Trace(b), layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, p := range a.Devices[0].Passes {
			if p.Kernels > 0 {
				got++
			}
		}
		if got != c.want {
			t.Errorf("%d of 20 kernels in no inner step, inner first %v: %d passes, want %d", c.between, c.innerFirst,
				got, c.want)
		}
	}
}
