package hostoverhead

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/internal/published"
	"github.com/llmstrata/strata/internal/timeline"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// workload is a trace as the analyses of this package look at it: kernels by
// device, host ranges by thread, and which thread works for which device.
type workload struct {
	t       *trace.Trace
	devices []*deviceWork             // by id
	general func(trace.NameID) string // the generalised form of a name
	drives  drives
	layers  *layer.Analysis
	// captures is when the host records graphs: what it launches then does not run.
	captures []interval.Span
	// published are the figures of the published detector, nil where they were not asked for beside the rest.
	published *published.HostReport
}

// deviceWork is what one device did.
type deviceWork struct {
	id      trace.DeviceID
	layers  *layer.Device
	acts    []int32         // rows of the GPU lane, by start: kernels, complete graph replays, copies and sets
	pass    []int32         // the pass of each, −1 outside; nil where no passes were found
	path    []uint8         // how each was launched
	busy    []interval.Span // union of all, as [layer.Device.Timeline] has it
	lossy   []interval.Span // what taken returns where records are missing
	kernels []interval.Span // union of all but copies and sets
	count   int             // of kernels and complete graph replays
	threads []trace.ThreadIndex
	heads   map[trace.StreamID]int32 // the first of acts on each stream

	rows, compiled    int   // complete graph replays, and kernels that a compiler wrote, replayed ones included
	exchange, compute int64 // time of the kernels that exchange data between GPUs, and that in which others run
}

// newWorkload collects what the analyses share. The error is layer.ErrNoKernels, or that of a context that has ended.
func newWorkload(ctx context.Context, a *layer.Analysis) (*workload, error) {
	t := a.Trace()
	w := &workload{t: t, layers: a, general: names.ByName(t, names.Generalise), drives: drivesOf(t),
		devices: make([]*deviceWork, len(a.Devices))}
	w.captures = captureSpans(t)
	var g errgroup.Group
	for i := range a.Devices {
		g.Go(func() error {
			w.devices[i] = w.newDevice(&a.Devices[i])
			return ctx.Err()
		})
	}
	if err := cmp.Or(g.Wait(), ctx.Err()); err != nil {
		return nil, err
	}
	w.devices = slices.DeleteFunc(w.devices, func(d *deviceWork) bool { return d.count == 0 })
	if len(w.devices) == 0 {
		return nil, a.NoKernels()
	}
	slices.SortFunc(w.devices, func(x, y *deviceWork) int { return cmp.Compare(x.id, y.id) })
	return w, nil
}

// captureSpans is when threads record graphs, up to when these are ready.
func captureSpans(t *trace.Trace) []interval.Span {
	const begins, ends = 1, 2
	marks, any := make([]uint8, t.NumNames()), false
	for id := range marks {
		switch name := t.Name(trace.NameID(id)); {
		case kind.BeginsCapture(name):
			marks[id], any = begins, true
		case kind.EndsCapture(name), kind.Instantiates(name):
			marks[id] = ends
		}
	}
	if !any {
		return nil
	}
	var out []interval.Span
	open := map[trace.ThreadIndex]int64{}
	for e := range t.Events(event.LaneLaunch) {
		from, capturing := open[e.Thread()]
		switch marks[e.NameID()] {
		case begins:
			open[e.Thread()] = int64(e.Start())
		case ends:
			if capturing {
				out = append(out, interval.Span{Start: from, End: int64(e.End())})
			}
		}
	}
	return interval.UnionInPlace(out)
}

// awaitsEvents reports whether a stream waits for an event or a value.
func awaitsEvents(t *trace.Trace) bool {
	for id := range t.NumNames() {
		// Kineto writes "Stream Wait Event" for what the driver synchronised.
		if name := t.Name(trace.NameID(id)); strings.Contains(name, "StreamWait") || strings.Contains(name, "Stream Wait") {
			return true
		}
	}
	return false
}

// firstCalls are calls of operators that set something up (a library's handle, a plan, a compiled kernel): the first
// of its name, at least as long as least, and longer than all later ones together though there are several.
func firstCalls(t *trace.Trace, least time.Duration) map[trace.EventID]bool {
	const several = 4
	type calls struct {
		first trace.Event
		all   time.Duration
		n     int
	}
	long := map[trace.NameID]*calls{}
	for e := range t.Events(event.LaneOp) {
		if e.Kind() == event.Op && e.Duration() >= least {
			long[e.NameID()] = &calls{}
		}
	}
	for e := range t.Events(event.LaneOp) {
		c := long[e.NameID()]
		if c == nil || e.Kind() != event.Op {
			continue
		}
		if c.n++; c.n == 1 || e.Start() < c.first.Start() {
			c.first = e
		}
		c.all += e.Duration()
	}
	out := map[trace.EventID]bool{}
	for _, c := range long {
		if c.n > several && c.first.Duration() >= least && 2*c.first.Duration() > c.all {
			out[c.first.ID()] = true
		}
	}
	return out
}

// server is the server that made the trace; its Name is "" if it is unknown or there is none.
func (w *workload) server() framework.Framework {
	f, ok := framework.ByName(framework.All(), w.layers.Framework())
	if !ok || !f.Server() {
		return framework.Framework{}
	}
	return f
}

// copies reports whether an activity is a copy or a set.
func copies(e trace.Event) bool { return e.Kind() == event.Memcpy || e.Kind() == event.Memset }

// kernelsOf is the kernels of a device with their place in its list.
func (w *workload) kernelsOf(d *deviceWork) iter.Seq2[int, trace.Event] {
	return func(yield func(int, trace.Event) bool) {
		for i, k := range d.acts {
			if e := w.t.LaneAt(event.LaneGPU, int(k)); !copies(e) && !yield(i, e) {
				return
			}
		}
	}
}

// newDevice looks at all that a device did, once. It comes by start, so all lists are in order.
func (w *workload) newDevice(dev *layer.Device) *deviceWork {
	n := dev.NumKernels()
	d := &deviceWork{id: dev.ID, layers: dev, acts: make([]int32, 0, n), pass: make([]int32, 0, n),
		path: make([]uint8, 0, n), busy: make([]interval.Span, 0, n), kernels: make([]interval.Span, 0, n),
		heads: map[trace.StreamID]int32{}}
	end := int64(math.MinInt64) // of the kernels that do not exchange data
	for k := range dev.Kernels() {
		e, f := k.Event(), k.Facts()
		s := timeline.SpanOf(e)
		if _, known := d.heads[e.Stream()]; !known {
			d.heads[e.Stream()] = int32(len(d.acts))
		}
		d.acts, d.pass, d.path, d.busy = append(d.acts, int32(e.Index())), append(d.pass, int32(k.Place().Pass)),
			append(d.path, pathOf(e)), append(d.busy, s)
		if copies(e) {
			continue
		}
		d.count++
		d.kernels = append(d.kernels, s)
		if e.Kind() == event.Graph {
			d.rows++
		}
		if f.Library == inductor {
			d.compiled++
		}
		if f.Collective != classify.NotCollective {
			d.exchange += s.Len()
		} else if s.End > end {
			d.compute += interval.Span{Start: max(s.Start, end), End: s.End}.Len()
			end = s.End
		}
	}
	if dev.Basis() == finding.OfWindow {
		d.pass = nil
	}
	d.busy, d.kernels = interval.UnionInPlace(d.busy), interval.UnionInPlace(d.kernels)
	if len(dev.Damage) > 0 {
		d.lossy = slices.Clone(d.busy)
		for i := 1; i < len(d.busy); i++ {
			from, to := d.busy[i-1].End, d.busy[i].Start
			if dev.IsLost(layer.TimeSpan{Start: trace.Time(from), End: trace.Time(to)}) {
				d.lossy = append(d.lossy, interval.Span{Start: from, End: to})
			}
		}
		d.lossy = interval.UnionInPlace(d.lossy)
	}
	for th := range w.drives {
		if w.drives.drive(trace.ThreadIndex(th), d.id) {
			d.threads = append(d.threads, trace.ThreadIndex(th))
		}
	}
	return d
}

// taken is when the device was busy, or records are missing: idle time lies between.
func (d *deviceWork) taken() []interval.Span {
	if d.lossy != nil {
		return d.lossy
	}
	return d.busy
}

// window is the span from the device's first kernel start to its last kernel
// end. Kernels without a length are no work and do not widen it.
func (d *deviceWork) window() interval.Span { return interval.Hull(d.busy) }
