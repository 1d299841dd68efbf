package hostcompare

import (
	"context"
	"math"
	"time"

	"github.com/llmstrata/strata/hostoverhead/internal/steps"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
)

// Series measures what the host does in each step of a run, for a comparison of runs ([compare.Run].Host): the time of each range,
// annotation or, without any, Python frame. It returns a [layer.ErrNoKernels] for a trace without kernels, and ctx's error when cancelled.
func Series(ctx context.Context, a *layer.Analysis, o Options) (*compare.Host, error) {
	w, err := newWorkload(ctx, a, o.Steps)
	if err != nil {
		return nil, err
	}
	all := steps.Of(a, nil) // they join the ranks
	h := &compare.Host{Passes: []int{}, Walls: []time.Duration{}, Operations: []compare.Operation{}}
	var windows []interval.Span
	for i := range all {
		p := steps.Period(all, i)
		windows = append(windows, p)
		h.Passes, h.Walls = append(h.Passes, all[i].Pass), append(h.Walls, time.Duration(p.Len()))
	}
	if len(all) > 0 {
		t := newTally(w, opRange, windows, max(o.Ranks, w.ranks()))
		t.addRanges()
		h.Operations = seriesOf(t.operations())
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return h, nil
}

// seriesOf are operations as a comparison takes them.
func seriesOf(ops []Operation) []compare.Operation {
	out := make([]compare.Operation, len(ops))
	for i := range ops {
		op := &ops[i]
		class := "host"
		if op.Kind == opKernel {
			class = "memory"
		}
		out[i] = compare.Operation{Kind: op.Kind, Name: op.Name, Class: class, Place: op.place, Count: op.CountPerStep, Steps: nanoseconds(op.perStep)}
	}
	return out
}

// nanoseconds converts values in µs.
func nanoseconds(us []float64) []time.Duration {
	out := make([]time.Duration, len(us))
	for i, v := range us {
		out[i] = time.Duration(math.Round(v * 1e3))
	}
	return out
}
