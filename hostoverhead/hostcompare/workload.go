package hostcompare

import (
	"context"
	"iter"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// workload is a trace as this package looks at it: all ranks together.
type workload struct {
	t        *trace.Trace
	layers   *layer.Analysis
	patterns []layer.StepPattern
	names    names.Facts
}

// newWorkload looks at a trace. The error is [hostoverhead.ErrNoKernels], or that of a context that has ended.
func newWorkload(ctx context.Context, a *layer.Analysis, patterns []layer.StepPattern) (*workload, error) {
	w := &workload{t: a.Trace(), layers: a, patterns: patterns, names: names.Facts{Trace: a.Trace()}}
	for range w.kernels() {
		return w, ctx.Err()
	}
	return nil, hostoverhead.ErrNoKernels
}

// kernels are the kernels and whole graph replays of all devices, by start.
func (w *workload) kernels() iter.Seq[trace.Event] {
	return func(yield func(trace.Event) bool) {
		for e := range w.t.Events(trace.LaneGPU) {
			if k := e.Kind(); k != trace.KindMemcpy && k != trace.KindMemset && !yield(e) {
				return
			}
		}
	}
}
