package hostcompare

import (
	"context"
	"iter"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/hostoverhead/internal/threads"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// workload is a trace as this package looks at it: all ranks together, or the one GPU that the analysis is about.
type workload struct {
	t       *trace.Trace
	layers  *layer.Analysis
	step    func(trace.NameID) bool   // says that a name is a step's annotation
	general func(trace.NameID) string // the generalised form of a name
	only    *trace.DeviceID           // nil: all
	drives  threads.Drives            // nil where only is
	ended   func() error              // of the caller's context: what is read after its end is not used
}

// lookEvery is after how many events a loop over a lane looks at its context: some milliseconds.
const lookEvery = 1 << 12

// events are those of a lane that are of the GPUs at hand, or of the threads that work for them, up to the end of the context.
func (w *workload) events(lane event.Lane) iter.Seq[trace.Event] {
	return func(yield func(trace.Event) bool) {
		for e := range w.t.Events(lane) {
			if e.Index()%lookEvery == lookEvery-1 && w.ended() != nil {
				return
			}
			if of := w.only == nil || lane == event.LaneGPU && e.Device() == *w.only || lane != event.LaneGPU && w.drives.Drive(e.Thread(), *w.only); of && !yield(e) {
				return
			}
		}
	}
}

// newWorkload looks at a trace. The error is names.ErrNoKernels, or that of a context that has ended.
func newWorkload(ctx context.Context, a *layer.Analysis, patterns []layer.StepPattern) (*workload, error) {
	t := a.Trace()
	w := &workload{t: t, layers: a, general: names.ByName(t, names.Generalise), only: threads.Only(a), ended: ctx.Err,
		step: names.ByName(t, func(name string) bool { return names.IsStep(name, patterns) })}
	if w.only != nil {
		w.drives = threads.Of(w.t)
	}
	for range w.kernels() {
		return w, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, names.ErrNoKernels
}

// ranks is how many GPUs the figures are sums over.
func (w *workload) ranks() int {
	if w.only != nil {
		return 1
	}
	return max(len(w.t.Devices()), 1)
}

// kernels are the kernels and whole graph replays, by start.
func (w *workload) kernels() iter.Seq[trace.Event] {
	return func(yield func(trace.Event) bool) {
		for e := range w.events(event.LaneGPU) {
			if k := e.Kind(); k != event.Memcpy && k != event.Memset && !yield(e) {
				return
			}
		}
	}
}
