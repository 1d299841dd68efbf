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
	Over        = iota // profiler overhead
	Calls              // API calls, outermost: what is called inside a call belongs to it
	System             // calls of the C library and the system
	Off                // off the CPU
	Ranges             // annotations and NVTX ranges
	Code               // Python frames; of a [Moment] the innermost frame or op
	Sampled            // of a [Moment] alone: a sample of the thread
	ops                // they lie over frames
	AroundRange        // outermost ranges within which waits have a meaning of their own
	AroundFrame        // the same of frames
	numLanes
)

// Timeline is what one thread did, by lane.
type Timeline [numLanes][]Piece

// Moment is what a thread did during a span: a piece of each lane, invalid where there is none.
type Moment [numLanes]Piece

// outerLanes are those whose changes end a stretch: most pieces are of frames.
var outerLanes = [...]int{Over, Calls, System, Off, Ranges, ops, AroundRange, AroundFrame}

// Around is the range or frame within which waits have a meaning of their own; an invalid one for none.
func (m *Moment) Around() *Piece {
	if p := &m[AroundRange]; p.Valid() {
		return p
	}
	return &m[AroundFrame]
}

// WithoutCall is for how long the thread made no call around a moment without one.
func (m *Moment) WithoutCall() int64 { return m[Calls].Span.Clip(m[Over].Span).Len() }

// sources are what lanes are made of: the lane of the trace, whether the innermost events count, and which. Those of
// one lane of the trace are together, the innermost events first.
var sources = []struct {
	in     int
	lane   event.Lane
	nested bool
	keep   func(trace.Event) bool // nil: all, or those around what waits
}{
	{Over, event.LaneSync, false, func(e trace.Event) bool {
		return e.Kind() == event.Overhead && isProfilerOverhead(e.Name())
	}},
	{System, event.LaneSync, false, func(e trace.Event) bool { return e.Kind() == event.OSCall }},
	{Off, event.LaneSync, false, func(e trace.Event) bool { return e.Kind() == event.OffCPU }},
	{Calls, event.LaneLaunch, false, nil},
	{Ranges, event.LaneAnnotation, true, func(e trace.Event) bool {
		return e.Kind() == event.Annotation || e.Kind() == event.Range
	}},
	{AroundRange, event.LaneAnnotation, false, nil},
	{Code, event.LanePython, true, nil},
	{AroundFrame, event.LanePython, false, nil},
	{ops, event.LaneOp, true, nil},
}

// reader gives what a thread did in one lane of the trace to the lanes that are made of it, in order of time, as far
// as it is asked for: its position moves on with the gaps, so that only the pieces of a few gaps exist at a time.
type reader struct {
	t         *trace.Trace
	lane      event.Lane
	next, end int // rows of the lane
	streams   []stream
}

// read makes the pieces in the chosen spans, which are in order, disjoint and after those of earlier calls.
func (r *reader) read(spans []interval.Span) {
	for i := range r.streams {
		s := &r.streams[i]
		s.spans, s.from, s.ahead, s.out = spans, 0, 0, s.out[:0]
	}
	if len(spans) == 0 {
		return
	}
	to := spans[len(spans)-1].End
rows:
	for r.next < r.end {
		e := r.t.LaneAt(r.lane, r.next)
		span := interval.Span{Start: int64(e.Start()), End: int64(e.End())}
		if span.Start >= to {
			break
		}
		r.next++
		if span.Empty() {
			continue
		}
		for i := range r.streams {
			s := &r.streams[i]
			switch {
			case s.keep != nil && !s.keep(e):
			case !s.nested:
				s.follow(e, span)
			case span.Start < s.missed:
			case !s.nest(e, span):
				if span.End <= s.missed {
					r.skip(s.missed)
					continue rows
				}
			}
		}
	}
	for i := range r.streams {
		if s := &r.streams[i]; s.nested {
			s.leave(to)
		} else {
			s.close(to)
		}
	}
}

// skip passes over the rows that end by a time. One that begins earlier and overlaps it may be outermost there.
func (r *reader) skip(to int64) {
	for r.next < r.end && int64(r.t.LaneAt(r.lane, r.next).End()) <= to {
		r.next++
	}
}

// stream makes the pieces of one lane. Nested events become pieces of the innermost one: they come by start, longest
// first, so an event comes after those around it. Events that overlap without nesting are cut at the end of the one
// that began first.
type stream struct {
	in     int // its lane
	keep   func(trace.Event) bool
	nested bool    // innermost events; else outermost ones
	stack  []Piece // open events: nested ones outermost first; else those that follow each other, in order
	at     int64   // up to here pieces were given out
	missed int64   // end of the last nested event that lies in none of the spans

	spans []interval.Span // moved to
	from  int             // the first of them that may hold a part of the next piece
	ahead int             // the first of them that ends after the last event began
	out   []Piece
}

// nest adds an event of those that nest. It is false where it lies in none of the spans, and so does all that is
// nested in it, up to s.missed.
func (s *stream) nest(e trace.Event, span interval.Span) bool {
	n := len(s.stack)
	for n > 0 && s.stack[n-1].Span.End <= span.Start {
		n--
	}
	if n > 0 {
		span.End = min(span.End, s.stack[n-1].Span.End)
	}
	for s.spans[s.ahead].End <= span.Start {
		s.ahead++
	}
	if span.End <= s.spans[s.ahead].Start { // between two spans
		s.missed = span.End
		return false
	}
	s.leave(span.Start)
	s.at = max(s.at, span.Start)
	s.stack = append(s.stack, Piece{span, e.ID(), e.NameID(), e.Kind()})
	return true
}

// leave gives out what is innermost up to a time, and drops what ends by then.
func (s *stream) leave(to int64) {
	for n := len(s.stack); n > 0; n-- {
		top := &s.stack[n-1]
		if end := min(to, top.Span.End); end > s.at {
			s.clip(top, interval.Span{Start: s.at, End: end})
			s.at = end
		}
		if top.Span.End > to {
			break
		}
		s.stack = s.stack[:n-1]
	}
}

// follow adds an event of those whose outermost count.
func (s *stream) follow(e trace.Event, span interval.Span) {
	for len(s.stack) > 0 && s.stack[0].Span.End <= span.Start {
		s.close(s.stack[0].Span.End)
	}
	if n := len(s.stack); n > 0 {
		last := s.stack[n-1].Span.End
		if span.End <= last {
			return
		}
		span.Start = last
	}
	s.stack = append(s.stack, Piece{span, e.ID(), e.NameID(), e.Kind()})
}

// close gives out what is outermost up to a time, and drops what ends by then.
func (s *stream) close(to int64) {
	for len(s.stack) > 0 {
		top := &s.stack[0]
		end := min(to, top.Span.End)
		if piece := (interval.Span{Start: max(s.at, top.Span.Start), End: end}); !piece.Empty() {
			s.clip(top, piece)
		}
		s.at = max(s.at, end)
		if top.Span.End > to {
			return
		}
		if last := len(s.stack) - 1; last == 0 {
			s.stack = s.stack[:0]
		} else {
			s.stack = s.stack[1:]
		}
	}
}

// clip gives out the parts of a piece's span that lie in the chosen spans.
func (s *stream) clip(p *Piece, span interval.Span) {
	for s.from < len(s.spans) && s.spans[s.from].End <= span.Start {
		s.from++
	}
	for i := s.from; i < len(s.spans) && s.spans[i].Start < span.End; i++ {
		s.out = append(s.out, Piece{span.Clip(s.spans[i]), p.ID, p.Name, p.Kind})
	}
}

// Thread are the lanes of one thread, and its timeline in the gaps at hand.
type Thread struct {
	readers []reader
	samples []trace.EventID // moments at which it was found running
	Now     Timeline        // in the spans moved to
}

// New starts the timeline of a thread. It is made in the room of one of a thread that is done, or of an empty one;
// samples are the moments at which it was found running. around says which names are of functions within which waits
// have a meaning of their own; nil: none.
func New(t *trace.Trace, th trace.ThreadIndex, room Timeline, samples []trace.EventID,
	around func(trace.NameID) bool) *Thread {
	s := &Thread{samples: samples, Now: room}
	for _, x := range sources {
		keep := x.keep
		if x.in == AroundRange || x.in == AroundFrame {
			if around == nil {
				continue
			}
			keep = func(e trace.Event) bool { return around(e.NameID()) }
		}
		if n := len(s.readers); n == 0 || s.readers[n-1].lane != x.lane {
			next, end := rows(t, x.lane, th)
			s.readers = append(s.readers, reader{t: t, lane: x.lane, next: next, end: end})
		}
		r := &s.readers[len(s.readers)-1]
		r.streams = append(r.streams, stream{in: x.in, keep: keep, nested: x.nested, at: math.MinInt64,
			missed: math.MinInt64, out: room[x.in]})
	}
	s.Move(nil)
	return s
}

// rows are those of a thread in a lane.
func rows(t *trace.Trace, lane event.Lane, th trace.ThreadIndex) (next, end int) {
	n := t.Len(lane)
	next = sort.Search(n, func(i int) bool { return t.LaneAt(lane, i).Thread() >= th })
	return next, next + sort.Search(n-next, func(i int) bool { return t.LaneAt(lane, next+i).Thread() > th })
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
	for i := range s.readers {
		r := &s.readers[i]
		r.read(spans)
		for k := range r.streams {
			n[r.streams[k].in] = r.streams[k].out
		}
	}
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

// Stretches splits span where a lane other than that of frames changes: f gets every part, with the piece of each lane
// that covers it in m, or an invalid one up to the next piece. Where an op runs it is m's [Code], and code is empty;
// else code are the frames that end after the part begins.
func (n *Timeline) Stretches(span interval.Span, m *Moment, f func(s interval.Span, code []Piece)) {
	var left Timeline
	after := func(lane int) []Piece {
		return n[lane][sort.Search(len(n[lane]), func(i int) bool { return n[lane][i].Span.End > span.Start }):]
	}
	for _, lane := range outerLanes {
		left[lane] = after(lane)
		m[lane].Span.End = span.Start
	}
	code := after(Code)
	for rest := span; !rest.Empty(); {
		part := rest
		for _, lane := range outerLanes {
			left[lane] = m[lane].cover(left[lane], rest)
			part.End = min(part.End, m[lane].Span.End)
		}
		if m[Code] = m[ops]; m[Code].Valid() {
			f(part, nil)
		} else {
			for len(code) > 0 && code[0].Span.End <= part.Start {
				code = code[1:]
			}
			f(part, code)
		}
		rest.Start = part.End
	}
}

// Moments splits a span that [Timeline.Stretches] gives out where the innermost frame changes, too: f gets every part,
// with that frame or op in m.
func (m *Moment) Moments(span interval.Span, code []Piece, f func(interval.Span)) {
	if m[Code].Valid() {
		f(span)
		return
	}
	for m[Code].Span.End = span.Start; !span.Empty(); span.Start = m[Code].Span.End {
		code = m[Code].cover(code, span)
		f(m[Code].Span)
	}
}

// cover becomes the piece at the start of a span, cut to that, or an invalid one up to the next, unless it goes on
// there. The first of the pieces may be it; cover returns those that may come later.
func (p *Piece) cover(pieces []Piece, span interval.Span) []Piece {
	if p.Span.End > span.Start {
		return pieces
	}
	for len(pieces) > 0 && pieces[0].Span.End <= span.Start {
		pieces = pieces[1:]
	}
	*p = Piece{Span: span}
	if len(pieces) == 0 {
		return nil
	}
	if next := &pieces[0]; next.Span.Start > span.Start {
		p.Span.End = min(span.End, next.Span.Start)
	} else {
		p.ID, p.Name, p.Kind = next.ID, next.Name, next.Kind
		p.Span.End = min(span.End, next.Span.End)
	}
	return pieces
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
