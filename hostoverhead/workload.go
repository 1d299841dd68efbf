package hostoverhead

import (
	"context"
	"iter"
	"slices"
	"sort"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/hostoverhead/internal/threads"
	"github.com/llmstrata/strata/hostoverhead/internal/timeline"
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// workload is a trace as the analyses of this package look at it: kernels by
// device, host ranges by thread, and which thread works for which device.
type workload struct {
	t       *trace.Trace
	steps   []layer.StepPattern
	devices []*deviceWork
	names   names.Facts
	drives  threads.Drives
	layers  *layer.Analysis
	// published are the figures of the published detector, nil where they were not asked for beside the rest.
	published *published
}

// deviceWork is what one device did.
type deviceWork struct {
	id        trace.DeviceID
	kernels   []int32         // rows of the GPU lane: kernels and whole graph replays, by start
	busy      []interval.Span // union of kernels
	exchanges bool            // some kernels exchange data between GPUs
	copies    []interval.Span // union of copies and sets
	rows      int             // whole graph replays
	threads   []trace.ThreadIndex
	// layers is the device's analysis, pass the pass of each kernel, −1 outside; nil where no passes were found.
	layers *layer.Device
	pass   []int32
	path   []uint8 // how each kernel was launched
}

// newWorkload collects what the analyses share. The error is names.ErrNoKernels, or that of a context that has ended.
func newWorkload(ctx context.Context, a *layer.Analysis, steps []layer.StepPattern) (*workload, error) {
	w := &workload{t: a.Trace(), layers: a, steps: steps, names: names.Facts{Trace: a.Trace()}}
	w.drives = threads.Of(w.t)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w.collectKernels()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(w.devices) == 0 {
		return nil, names.ErrNoKernels
	}
	return w, nil
}

// server is the server that made the trace; its Name is "" where nothing tells, or none did.
func (w *workload) server() framework.Framework {
	f, ok := framework.ByName(framework.All(), w.layers.Framework())
	if !ok || !f.Server() {
		return framework.Framework{}
	}
	return f
}

// kernelsOf is the kernels of a device with their place in its list.
func (w *workload) kernelsOf(d *deviceWork) iter.Seq2[int, trace.Event] {
	return func(yield func(int, trace.Event) bool) {
		for i, k := range d.kernels {
			if !yield(i, w.t.LaneAt(event.LaneGPU, int(k))) {
				return
			}
		}
	}
}

// collectKernels fills devices with those of the analysis, which may be about one of several. Rows come by start, so all lists are in order.
func (w *workload) collectKernels() {
	byID := map[trace.DeviceID]*deviceWork{}
	only := threads.Only(w.layers)
	d := (*deviceWork)(nil) // of the row at hand
	for e := range w.t.Events(event.LaneGPU) {
		id := e.Device()
		if only != nil && id != *only {
			continue
		}
		if d == nil || d.id != id {
			if d = byID[id]; d == nil {
				d = w.newDevice(id)
				byID[id] = d
			}
		}
		s := timeline.SpanOf(e)
		switch e.Kind() {
		case event.Memcpy, event.Memset:
			d.copies = append(d.copies, s)
			continue
		case event.Graph:
			d.rows++
		}
		d.kernels = append(d.kernels, int32(e.Index()))
		d.busy = append(d.busy, s)
		exchange := w.names.Collective(e.NameID()) // asked of every name: later several devices read the answers at once
		d.exchanges = d.exchanges || exchange
	}
	for _, d := range w.devices {
		d.busy, d.copies = interval.UnionInPlace(d.busy), interval.UnionInPlace(d.copies)
		for th := range w.drives {
			if w.drives.Drive(trace.ThreadIndex(th), d.id) {
				d.threads = append(d.threads, trace.ThreadIndex(th))
			}
		}
	}
	w.devices = slices.DeleteFunc(w.devices, func(d *deviceWork) bool { return len(d.kernels) == 0 })
	sort.Slice(w.devices, func(i, j int) bool { return w.devices[i].id < w.devices[j].id })
}

// newDevice adds a device, with room for its share of the work.
func (w *workload) newDevice(id trace.DeviceID) *deviceWork {
	room := w.t.Len(event.LaneGPU) / max(1, len(w.t.Devices()))
	d := &deviceWork{id: id, kernels: make([]int32, 0, room), busy: make([]interval.Span, 0, room)}
	w.devices = append(w.devices, d)
	return d
}

// window is the span from the device's first kernel start to its last kernel
// end. Kernels without a length are no work and do not widen it.
func (d *deviceWork) window() interval.Span { return interval.Hull(d.busy) }

// findPasses puts every kernel of a device into its pass.
func (w *workload) findPasses(d *deviceWork) {
	dev, err := w.layers.Device(&d.id)
	if err != nil || len(dev.Passes) == 0 || dev.Passes[0].PassEvidence == wholeTrace {
		return
	}
	d.layers, d.pass = dev, make([]int32, len(d.kernels))
	i := 0
	for k := range dev.Kernels() {
		row := k.Event().Index()
		for i < len(d.kernels) && int(d.kernels[i]) < row {
			d.pass[i] = trace.None
			i++
		}
		if i < len(d.kernels) && int(d.kernels[i]) == row {
			d.pass[i] = int32(k.Place().Pass)
			i++
		}
	}
	for ; i < len(d.pass); i++ {
		d.pass[i] = trace.None
	}
}

// wholeTrace is the evidence of a pass that is the whole trace, as no passes were found.
const wholeTrace = "whole"
