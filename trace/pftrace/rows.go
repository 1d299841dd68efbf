package pftrace

import (
	"maps"
	"math"
	"slices"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// NOTE on where events go. An event becomes a row of the trace as soon as it begins, and gets its end when that
// comes. Some have to wait until more is known: where they lie, if their track is described after them; what they
// are, if nothing but that shows it, and their process may still turn out to be a GPU. They are kept with their track.

// process is what lies on the tracks of one. That of a GPU holds activities and makes no calls.
type process struct {
	tracks            []*track
	activities, calls bool
}

// track is the one with a number, which may be described later.
func (d *reader) track(id uint64) *track {
	t := d.tracks[id]
	if t == nil {
		t = &track{}
		d.tracks[id] = t
	}
	return t
}

// belongs puts a track into the process that it says it is of.
func (d *reader) belongs(t *track) {
	p := d.processes[t.process]
	if p == nil {
		p = &process{}
		d.processes[t.process] = p
	}
	if t.of != p {
		t.of = p
		p.tracks = append(p.tracks, t)
	}
	d.learned(t)
}

// learned takes what is known of a track over to its process. Events of one that makes calls need not wait any longer.
func (d *reader) learned(t *track) {
	p := t.of
	if p == nil {
		return
	}
	p.activities = p.activities || t.activities
	switch {
	case p.calls:
		d.release(t)
	case t.calls:
		p.calls = true
		for _, t := range p.tracks {
			if t.of == p {
				d.release(t)
			}
		}
	}
}

// put stores an event of a track and says where.
func (d *reader) put(e *kept, t *track) place {
	d.n++
	switch own := e.has&(hasDevice|hasStream) == hasDevice|hasStream; {
	case e.has&onGPU != 0:
		return d.row(e, t)
	case e.has&(hasCallID|hasPython) != 0:
		d.stacks = d.stacks || e.has&hasPython != 0
		if !t.calls {
			t.calls = true
			d.learned(t)
		}
	case own && !t.activities:
		t.activities = true
		d.learned(t)
	}
	if !d.known(e, t) {
		d.waits++
		t.waiting = append(t.waiting, *e)
		return waitingAt(len(t.waiting) - 1)
	}
	return d.row(e, t)
}

// known reports whether it is known what an event is and where it lies, before its end.
func (d *reader) known(e *kept, t *track) bool {
	if t.of == nil {
		return false
	}
	return t.of.calls || e.category != 0 || e.has&(hasSync|hasCallID) != 0 ||
		e.has&(hasDevice|hasStream) == hasDevice|hasStream
}

// alike is an event, and where it is, that others repeat but for their times and numbers: frames and kernels come
// again and again.
type alike struct {
	like likeness
	at   place
}

// likeness is what such events have in common.
type likeness struct {
	track                 *track
	described             int // times the track was
	device, stream        int64
	name, category, shape uint32
	has                   evidence
}

// alikeSlots is how many such events are remembered, by name: more names than that are rarely in use at a time.
const alikeSlots = 1 << 11

// row is add for an event that is likely to repeat another one.
func (d *reader) row(e *kept, t *track) place {
	if e.graph|e.node|uint64(e.bytes) != 0 || e.domain != 0 {
		return d.add(e, t, e.kindOf(d))
	}
	slot := &d.alike[e.name%alikeSlots]
	like := likeness{t, t.described, e.device, e.stream, e.name, e.category, e.shape, e.has}
	if slot.at == nowhere || slot.like != like {
		slot.like, slot.at = like, d.add(e, t, e.kindOf(d))
		return slot.at
	}
	at := d.b.AddLike(int64(slot.at), e.start, uint64(e.correlation), e.external)
	if e.end != math.MinInt64 {
		d.b.End(at, e.end)
	}
	return place(at)
}

// add makes an event a row of the trace.
func (d *reader) add(e *kept, t *track, kind event.Kind) place {
	return place(d.b.Add(d.data(e, t, kind)))
}

// release stores the events of a track that waited for their kind.
func (d *reader) release(t *track) {
	if len(t.waiting) == 0 {
		return
	}
	to := make([]place, len(t.waiting))
	for i := range t.waiting {
		e := &t.waiting[i]
		to[i] = d.add(e, t, e.kindOf(d))
	}
	d.waits -= int64(len(to))
	t.waiting = nil
	for _, q := range t.queues {
		q.moved(to)
	}
}

// finish stores what still waits: nothing else follows.
func (d *reader) finish() {
	ids := slices.Sorted(maps.Keys(d.tracks))
	for _, id := range ids {
		if t := d.tracks[id]; t.of == nil {
			d.belongs(t)
		}
	}
	for _, id := range ids {
		t := d.tracks[id]
		t.gpu = t.of.activities && !t.of.calls
		for i := range t.waiting {
			e := &t.waiting[i]
			if t.gpu {
				e.has |= onGPU
			}
			if e.end != math.MinInt64 {
				d.add(e, t, e.kindOf(d))
			}
		}
		t.waiting = nil
		d.name(t)
	}
}

// data is an event as the builder takes it.
func (d *reader) data(e *kept, t *track, kind event.Kind) trace.EventData {
	out := trace.EventData{Kind: kind, Category: d.texts[e.category], Domain: d.texts[e.domain], Name: d.texts[e.name],
		Start: e.start, Duration: e.end - e.start,
		Open: e.end == math.MinInt64, Device: trace.None, Stream: trace.None,
		Correlation: uint64(e.correlation), ExternalID: e.external, GraphID: e.graph, GraphNode: e.node, Bytes: e.bytes}
	lane := kind.Lane()
	if lane == event.LaneGPU || kind == event.GPUAnnotation || kind == event.Sync {
		out.Device, out.Stream = trace.DeviceID(t.process), trace.StreamID(t.thread)
		if e.has&hasDevice != 0 {
			out.Device = trace.DeviceID(e.device)
		}
		if e.has&hasStream != 0 {
			out.Stream = trace.StreamID(e.stream)
		}
	}
	if lane == event.LaneGPU {
		out.Shape = d.texts[e.shape]
		return out
	}
	out.Process, out.Thread = t.process, t.thread
	return out
}

// name passes names of threads to the builder.
func (d *reader) name(t *track) {
	if t.gpu {
		return
	}
	out := trace.Thread{Process: int64(t.process), ID: int64(t.thread)}
	if t.thread != 0 {
		out.Name = t.name
	} else {
		out.ProcessName = t.label
	}
	d.b.Name(out)
}
