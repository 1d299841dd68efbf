package hostoverhead

import (
	"context"
	"iter"
	"slices"
	"sort"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/hostoverhead/internal/timeline"
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// workload is a trace as the analyses of this package look at it: kernels by
// device, host ranges by thread, and which thread works for which device.
type workload struct {
	t       *trace.Trace
	steps   []layer.StepPattern
	devices []*deviceWork
	names   names.Facts
	// drives[thread] are the devices a thread launched on; a thread that
	// launched nothing has those of its process.
	drives [][]trace.DeviceID
	layers *layer.Analysis
	// published are the figures of the published detector, nil where they were not asked for beside the rest.
	published *Published
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

// newWorkload collects what the analyses share. The error is ErrNoKernels, or that of a context that has ended.
func newWorkload(ctx context.Context, a *layer.Analysis, steps []layer.StepPattern) (*workload, error) {
	w := &workload{t: a.Trace(), layers: a, steps: steps, names: names.Facts{Trace: a.Trace()}}
	w.mapThreads()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w.collectKernels()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(w.devices) == 0 {
		return nil, ErrNoKernels
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
			if !yield(i, w.t.LaneAt(trace.LaneGPU, int(k))) {
				return
			}
		}
	}
}

// collectKernels fills devices. Rows come by start, so all lists are in order.
func (w *workload) collectKernels() {
	byID := map[trace.DeviceID]*deviceWork{}
	d := (*deviceWork)(nil) // of the row at hand
	for e := range w.t.Events(trace.LaneGPU) {
		id := e.Device()
		if d == nil || d.id != id {
			if d = byID[id]; d == nil {
				d = w.newDevice(id)
				byID[id] = d
			}
		}
		s := timeline.SpanOf(e)
		switch e.Kind() {
		case trace.KindMemcpy, trace.KindMemset:
			d.copies = append(d.copies, s)
			continue
		case trace.KindGraph:
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
			if w.drivesDevice(trace.ThreadIndex(th), d) {
				d.threads = append(d.threads, trace.ThreadIndex(th))
			}
		}
	}
	w.devices = slices.DeleteFunc(w.devices, func(d *deviceWork) bool { return len(d.kernels) == 0 })
	sort.Slice(w.devices, func(i, j int) bool { return w.devices[i].id < w.devices[j].id })
}

// newDevice adds a device, with room for its share of the work.
func (w *workload) newDevice(id trace.DeviceID) *deviceWork {
	room := w.t.LaneLen(trace.LaneGPU) / max(1, len(w.t.Devices()))
	d := &deviceWork{id: id, kernels: make([]int32, 0, room), busy: make([]interval.Span, 0, room)}
	w.devices = append(w.devices, d)
	return d
}

// mapThreads finds, through the launch links, which threads work for which
// devices.
func (w *workload) mapThreads() {
	type process struct {
		id    trace.ProcessID
		label string
	}
	threads := w.t.Threads()
	w.drives = make([][]trace.DeviceID, len(threads))
	byProcess := map[process][]trace.DeviceID{}
	processOf := func(i int) process { return process{threads[i].Process, threads[i].ProcessLabel} }
	add := func(list []trace.DeviceID, d trace.DeviceID) []trace.DeviceID {
		if d == trace.NoDevice || slices.Contains(list, d) {
			return list
		}
		return append(list, d)
	}
	for e := range w.t.Events(trace.LaneGPU) {
		th, d := int(e.Launch().Thread()), e.Device()
		if th < 0 || slices.Contains(w.drives[th], d) {
			continue
		}
		w.drives[th] = add(w.drives[th], d)
		p := processOf(th)
		byProcess[p] = add(byProcess[p], d)
	}
	for i := range w.drives {
		if len(w.drives[i]) == 0 {
			w.drives[i] = byProcess[processOf(i)]
		}
	}
}

// drivesDevice reports whether a thread works for a device. A thread of a
// process that launched nothing in the window may work for any.
func (w *workload) drivesDevice(th trace.ThreadIndex, d *deviceWork) bool {
	if th < 0 || int(th) >= len(w.drives) {
		return true
	}
	own := w.drives[th]
	return len(own) == 0 || slices.Contains(own, d.id)
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
			d.pass[i] = layer.None
			i++
		}
		if i < len(d.kernels) && int(d.kernels[i]) == row {
			d.pass[i] = int32(k.Place().Pass)
			i++
		}
	}
	for ; i < len(d.pass); i++ {
		d.pass[i] = layer.None
	}
}

// wholeTrace is the evidence of a pass that is the whole trace, as no passes were found.
const wholeTrace = "whole"
