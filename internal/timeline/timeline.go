package timeline

import (
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// NOTE: A timeline answers what a CPU thread was doing at each moment of the idle time, as disjoint pieces in order.
// Each lane is flattened once: its nested events become the sequence of the innermost ones, as far as gaps ask for
// them. Invariants: pieces are non-empty, disjoint, sorted, inside an event that covers them and inside the spans
// asked for.

// Piece is a span in which one event is the innermost of its lane.
type Piece struct {
	Span interval.Span // of the thread's time
	ID   trace.EventID // 0 with kind 0: nothing was recorded
	Name trace.NameID
	Kind event.Kind
}

// Valid reports whether something was recorded.
func (p *Piece) Valid() bool { return p.Kind != 0 }

// The lanes of a timeline.
const (
	Over   = iota // profiler overhead
	Calls         // API calls, outermost: what is called inside a call belongs to it
	System        // calls of the C library and the system
	Off           // off the CPU
	Ranges        // annotations and NVTX ranges
	Code          // Python frames and ops, the innermost of both
	frames
	ops
	AroundRange // outermost ranges within which waits have a meaning of their own
	AroundFrame // the same of frames
	numLanes

	Sampled = frames // of a [Moment]: a sample of the thread
)

// Timeline is what one thread did, by lane.
type Timeline [numLanes][]Piece

// Moment is what a thread did during a span: a piece of each lane, invalid where there is none.
type Moment [numLanes]Piece

// HostLanes are those that show what a thread did or waited for, in the order of lookup.
var HostLanes = []int{Over, Calls, System, Off, Ranges, Code, AroundRange, AroundFrame}

// Around is the range or frame within which waits have a meaning of their own; an invalid one for none.
func (m *Moment) Around() *Piece {
	if p := &m[AroundRange]; p.Valid() {
		return p
	}
	return &m[AroundFrame]
}

// sources are what lanes are made of: the lane of the trace, whether the innermost events count, and which.
var sources = map[int]struct {
	lane   event.Lane
	nested bool
	keep   func(trace.Event) bool
}{
	Over: {event.LaneSync, false, func(e trace.Event) bool {
		return e.Kind() == event.Overhead &&
			isProfilerOverhead(e.Name())
	}},
	Calls:  {event.LaneLaunch, false, nil},
	System: {event.LaneSync, false, func(e trace.Event) bool { return e.Kind() == event.OSCall }},
	Off:    {event.LaneSync, false, func(e trace.Event) bool { return e.Kind() == event.OffCPU }},
	Ranges: {event.LaneAnnotation, true, func(e trace.Event) bool {
		return e.Kind() == event.Annotation ||
			e.Kind() == event.Range
	}},
	AroundRange: {event.LaneAnnotation, false, nil},
	AroundFrame: {event.LanePython, false, nil},
	frames:      {event.LanePython, true, nil},
	ops:         {event.LaneOp, true, nil},
}

// stream lists what a thread did in one lane, in order of time, as far as it is asked for: its position moves on with
// the gaps, so that only the pieces of a few gaps exist at a time.
type stream struct {
	t      *trace.Trace
	lane   event.Lane
	next   int // row of the lane
	end    int // of the thread's rows
	keep   func(trace.Event) bool
	nested bool    // innermost events; else outermost ones
	stack  []Piece // open events, outermost first; ends do not increase
	at     int64   // up to here pieces were given out
	missed int64   // end of the last nested event that lies in none of the spans
}

// newStream starts at the first event of a thread in a lane.
func newStream(t *trace.Trace, lane event.Lane, th trace.ThreadIndex, nested bool,
	keep func(trace.Event) bool) *stream {
	n := t.Len(lane)
	lo := sort.Search(n, func(i int) bool { return t.LaneAt(lane, i).Thread() >= th })
	hi := lo + sort.Search(n-lo, func(i int) bool { return t.LaneAt(lane, lo+i).Thread() > th })
	return &stream{t: t, lane: lane, next: lo, end: hi, keep: keep, nested: nested, at: math.MinInt64,
		missed: math.MinInt64}
}

// pieces are those in the chosen spans, which are in order, disjoint and after those of earlier calls. Nested events
// become pieces of the innermost one: the lane is sorted by start, longest first, so an event comes after those
// around it. Events that overlap without nesting are cut at the end of the one that began first.
func (s *stream) pieces(spans []interval.Span, out []Piece) []Piece {
	if len(spans) == 0 {
		return out
	}
	to, from, ahead := spans[len(spans)-1].End, 0, 0
	for ; s.next < s.end; s.next++ {
		e := s.t.LaneAt(s.lane, s.next)
		span := SpanOf(e)
		if span.Start >= to {
			break
		}
		if span.Start < s.missed || span.Empty() || s.keep != nil && !s.keep(e) {
			continue
		}
		if n := len(s.stack); s.nested {
			for n > 0 && s.stack[n-1].Span.End <= span.Start {
				n--
			}
			if n > 0 {
				span.End = min(span.End, s.stack[n-1].Span.End)
			}
			for spans[ahead].End <= span.Start {
				ahead++
			}
			if span.End <= spans[ahead].Start { // between two spans, and so is all that is in it
				s.missed = span.End
				continue
			}
			out = s.close(span.Start, spans, &from, out)
			s.at = max(s.at, span.Start)
		} else if n > 0 {
			if span.End <= s.stack[0].Span.End {
				continue
			}
			span.Start = max(span.Start, s.stack[0].Span.End)
			out = s.close(span.Start, spans, &from, out)
		}
		s.stack = append(s.stack, Piece{span, e.ID(), e.NameID(), e.Kind()})
	}
	return s.close(to, spans, &from, out)
}

// close gives out what is open up to a time, and drops what ends by then.
func (s *stream) close(to int64, spans []interval.Span, from *int, out []Piece) []Piece {
	for len(s.stack) > 0 {
		top := s.stack[len(s.stack)-1]
		end := min(to, top.Span.End)
		piece := top
		piece.Span = interval.Span{Start: max(s.at, top.Span.Start), End: end}
		out = clip(out, spans, from, piece)
		s.at = max(s.at, end)
		if top.Span.End > to {
			return out
		}
		s.stack = s.stack[:len(s.stack)-1]
	}
	return out
}

// clip appends the parts of a piece that lie in the chosen spans; from is the first that may, and moves on.
func clip(out []Piece, spans []interval.Span, from *int, p Piece) []Piece {
	s := p.Span
	for *from < len(spans) && spans[*from].End <= s.Start {
		*from++
	}
	for i := *from; i < len(spans) && spans[i].Start < s.End; i++ {
		if p.Span = s.Clip(spans[i]); !p.Span.Empty() {
			out = append(out, p)
		}
	}
	return out
}

// Thread are the lanes of one thread, and its timeline in the gaps at hand.
type Thread struct {
	streams [numLanes]*stream
	samples []trace.EventID // moments at which it was found running
	Now     Timeline        // in the spans moved to
}

// New starts the timeline of a thread. It is made in the room of one of a thread that is done, or of an empty one;
// samples are the moments at which it was found running. around says which names are of functions within which waits
// have a meaning of their own; nil: none.
func New(t *trace.Trace, th trace.ThreadIndex, room Timeline, samples []trace.EventID,
	around func(trace.NameID) bool) *Thread {
	s := &Thread{samples: samples, Now: room}
	for lane, x := range sources {
		keep := x.keep
		if lane == AroundRange || lane == AroundFrame {
			keep = func(e trace.Event) bool { return around(e.NameID()) }
		}
		if s.streams[lane] = newStream(t, x.lane, th, x.nested, keep); around == nil && lane >= AroundRange &&
			lane <= AroundFrame {
			s.streams[lane].end = s.streams[lane].next
		}
	}
	s.Move(nil)
	return s
}

// SamplesOf lists the moments at which a thread was found running.
func SamplesOf(t *trace.Trace, th trace.ThreadIndex) (found []trace.EventID) {
	for e := range t.OnThread(event.LaneSync, th) {
		if e.Kind() == event.Sample {
			found = append(found, e.ID())
		}
	}
	return found
}

// Move makes the timeline of the chosen spans, which are in order and after those of earlier calls.
func (s *Thread) Move(spans []interval.Span) {
	n := &s.Now
	for lane := range sources {
		n[lane] = s.streams[lane].pieces(spans, n[lane][:0])
	}
	n[Code] = overlay(n[Code][:0], n[frames], n[ops])
}

// Sampled is a sample of the thread within a span, invalid where there is none.
func (s *Thread) Sampled(t *trace.Trace, span interval.Span) (p Piece) {
	i := sort.Search(len(s.samples), func(i int) bool { return int64(t.At(s.samples[i]).Start()) >= span.Start })
	if i < len(s.samples) {
		if e := t.At(s.samples[i]); int64(e.Start()) < span.End {
			p = Piece{span, e.ID(), e.NameID(), e.Kind()}
		}
	}
	return p
}

// part is the piece for a part of its span.
func (p Piece) part(start, end int64) Piece {
	p.Span = interval.Span{Start: start, End: end}
	return p
}

// overlay puts the pieces of top over those of bottom; both are in order and disjoint, and so is what comes out.
func overlay(out, bottom, top []Piece) []Piece {
	i := 0
	for _, b := range bottom {
		at := b.Span.Start
		for ; i < len(top) && top[i].Span.End <= at; i++ {
			out = append(out, top[i])
		}
		for ; i < len(top) && top[i].Span.Start < b.Span.End; i++ {
			if top[i].Span.Start > at {
				out = append(out, b.part(at, top[i].Span.Start))
			}
			at = top[i].Span.End
			if at > b.Span.End {
				break // it covers what comes next, too
			}
			out = append(out, top[i])
		}
		if at < b.Span.End {
			out = append(out, b.part(at, b.Span.End))
		}
	}
	return append(out, top[i:]...)
}

// Moments splits span by what lanes hold, one after the other: f gets every part with the piece of each lane that
// covers it.
func (n *Timeline) Moments(span interval.Span, m *Moment, lanes []int, f func(interval.Span)) {
	if len(lanes) == 0 {
		f(span)
		return
	}
	cut(n[lanes[0]], span, func(s interval.Span, p Piece) {
		m[lanes[0]] = p
		n.Moments(s, m, lanes[1:], f)
	})
}

// cut splits span by pieces: f gets every part with the piece that covers it, or an invalid one of that length where
// none does.
func cut(pieces []Piece, span interval.Span, f func(interval.Span, Piece)) {
	none := func(start, end int64) {
		if s := (interval.Span{Start: start, End: end}); !s.Empty() {
			f(s, Piece{Span: s})
		}
	}
	at := span.Start
	i := sort.Search(len(pieces), func(i int) bool { return pieces[i].Span.End > span.Start })
	for ; i < len(pieces) && pieces[i].Span.Start < span.End; i++ {
		cut := pieces[i].Span.Clip(span)
		none(at, cut.Start)
		f(cut, pieces[i])
		at = cut.End
	}
	none(at, span.End)
}

// isProfilerOverhead reports whether an overhead event is the profiler's own work, unlike the CUDA driver's lazy
// loading or a full command buffer.
func isProfilerOverhead(name string) bool {
	return containsAny(strings.ToLower(name), []string{"profiler", "buffer flush", "buffer request", "instrumentation",
		"resource"})
}

// SpanOf is the time of an event.
func SpanOf(e trace.Event) interval.Span {
	return interval.Span{Start: int64(e.Start()), End: int64(e.End())}
}

func containsAny(s string, parts []string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
}
