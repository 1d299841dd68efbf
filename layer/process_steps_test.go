package layer_test

import (
	"fmt"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestStepsOfTheProcess: a profiler's step holds what other threads of its process launch meanwhile; what another
// process launches, what several threads with steps leave open, and what a thread launches during a server's step is
// not in it.
func TestStepsOfTheProcess(t *testing.T) {
	const main, backward = 1, 2
	for _, c := range []struct {
		name, step string
		launching  int64 // of half of the kernels
		second     bool  // another thread has profiler steps too
		want       int   // kernels in the passes
	}{
		{"same process", "ProfilerStep#%d", 7, false, 40},
		{"other process", "ProfilerStep#%d", 8, false, 20},
		{"two with steps", "ProfilerStep#%d", 7, true, 20},
		{"a server's step", "step[DECODE bs=%d]", 7, false, 20},
	} {
		b := trace.NewBuilder(trace.Options{})
		own := int64(7)
		add := func(k event.Kind, name string, p int64, thread int64, start, dur int64, correlation int) {
			b.Add(trace.EventData{Kind: k, Name: name, Start: start, Duration: dur, Process: p, Thread: thread,
				Correlation: uint64(correlation)})
		}
		n := 0
		for step := range 2 {
			at := int64(step) * 1_000_000
			add(event.Annotation, fmt.Sprintf(c.step, step+1), own, main, at, 900_000, 0)
			if c.second {
				add(event.Annotation, fmt.Sprintf(c.step, step+1), own, 3, at, 900_000, 0)
			}
			for i := range 20 {
				n++
				p, thread := own, int64(main)
				if i%2 == 1 {
					p, thread = c.launching, backward
				}
				x := at + int64(i+1)*20_000
				add(event.Runtime, "cudaLaunchKernel", p, thread, x, 5000, n)
				b.Add(trace.EventData{Kind: event.Kernel, Name: fmt.Sprintf("kernel_%d", i), Start: x + 9000,
					Duration: 4000, Stream: 7, Correlation: uint64(n)})
			}
		}
		d := analyze(t, built.Trace(b), layer.Options{})
		got := 0
		for _, p := range d.Passes {
			if p.Annotation != nil {
				got += p.Kernels
			}
		}
		if got != c.want {
			t.Errorf("%s: %d of 40 kernels in annotated passes, want %d", c.name, got, c.want)
		}
	}
}
