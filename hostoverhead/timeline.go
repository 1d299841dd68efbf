package hostoverhead

import (
	"sort"

	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/trace"
)

// NOTE: A timeline answers what a CPU thread was doing at each moment of the idle time, as disjoint pieces in order. Each
// lane is flattened once: its nested events become the sequence of the innermost ones, as far as gaps ask for them.
// Invariants: pieces are non-empty, disjoint, sorted, inside an event that covers them and inside the spans asked for.

// timelinePiece is a span in which one event is the innermost of its lane.
type timelinePiece struct {
	span interval.Span
	id   trace.EventID
}

// timeline is what one thread did.
type timeline struct {
	calls  []timelinePiece // API calls, outermost: what is called inside a call belongs to it
	over   []timelinePiece // profiler overhead
	system []timelinePiece // calls of the C library and the system
	off    []timelinePiece // off the CPU
	ranges []timelinePiece // annotations and NVTX ranges
	code   []timelinePiece // Python frames and ops, the innermost of both
}

// stream lists what a thread did in one lane, in order of time, as far as it is asked for: its position moves on with the
// gaps, so that only the pieces of a few gaps exist at a time.
type stream struct {
	t      *trace.Trace
	lane   trace.Lane
	next   int // row of the lane
	end    int // of the thread's rows
	keep   func(trace.Event) bool
	nested bool            // innermost events; else outermost ones
	stack  []timelinePiece // open events, outermost first; ends do not increase
	at     int64           // up to here pieces were given out
}

// newStream starts at the first event of a thread in a lane.
func newStream(t *trace.Trace, lane trace.Lane, th trace.ThreadIndex, nested bool, keep func(trace.Event) bool) *stream {
	n := t.LaneLen(lane)
	lo := sort.Search(n, func(i int) bool { return t.LaneAt(lane, i).Thread() >= th })
	hi := lo + sort.Search(n-lo, func(i int) bool { return t.LaneAt(lane, lo+i).Thread() > th })
	return &stream{t: t, lane: lane, next: lo, end: hi, keep: keep, nested: nested, at: -1 << 62}
}

// pieces are those in the chosen spans, which are in order, disjoint and behind those of earlier calls. Nested events become
// pieces of the innermost one: the lane is sorted by start, longest first, so an event comes after those around it. Events
// that overlap without nesting are cut at the end of the one that began first.
func (s *stream) pieces(spans []interval.Span, out []timelinePiece) []timelinePiece {
	if len(spans) == 0 {
		return out
	}
	to, from := spans[len(spans)-1].End, 0
	for ; s.next < s.end; s.next++ {
		e := s.t.LaneAt(s.lane, s.next)
		span := spanOf(e)
		if span.Start >= to {
			break
		}
		if span.Empty() || s.keep != nil && !s.keep(e) {
			continue
		}
		if n := len(s.stack); s.nested {
			out = s.close(span.Start, spans, &from, out)
			s.at = max(s.at, span.Start)
			if n = len(s.stack); n > 0 {
				span.End = min(span.End, s.stack[n-1].span.End)
			}
		} else if n > 0 {
			if span.End <= s.stack[0].span.End {
				continue
			}
			span.Start = max(span.Start, s.stack[0].span.End)
			out = s.close(span.Start, spans, &from, out)
		}
		s.stack = append(s.stack, timelinePiece{span, e.ID()})
	}
	return s.close(to, spans, &from, out)
}

// close gives out what is open up to a time, and drops what ends by then.
func (s *stream) close(to int64, spans []interval.Span, from *int, out []timelinePiece) []timelinePiece {
	for len(s.stack) > 0 {
		top := s.stack[len(s.stack)-1]
		end := min(to, top.span.End)
		out = clip(out, spans, from, interval.Span{Start: max(s.at, top.span.Start), End: end}, top.id)
		s.at = max(s.at, end)
		if top.span.End > to {
			return out
		}
		s.stack = s.stack[:len(s.stack)-1]
	}
	return out
}

// clip appends the parts of a piece that lie in the chosen spans; from is the first that may, and moves on.
func clip(out []timelinePiece, spans []interval.Span, from *int, s interval.Span, id trace.EventID) []timelinePiece {
	for *from < len(spans) && spans[*from].End <= s.Start {
		*from++
	}
	for i := *from; i < len(spans) && spans[i].Start < s.End; i++ {
		if cut := s.Clip(spans[i]); !cut.Empty() {
			out = append(out, timelinePiece{cut, id})
		}
	}
	return out
}

// threadStreams are the lanes of one thread, and its timeline in the gaps at hand.
type threadStreams struct {
	calls, over, system, off, ranges, frames, ops *stream
	samples                                       []trace.EventID // moments at which it was found running
	now                                           timeline
	bottom, top                                   []timelinePiece // to be laid over each other
}

func (l *ledger) newStreams(th trace.ThreadIndex) *threadStreams {
	t := l.w.t
	of := func(k trace.Kind) func(trace.Event) bool { return func(e trace.Event) bool { return e.Kind() == k } }
	s := &threadStreams{
		calls:  newStream(t, trace.LaneLaunch, th, false, nil),
		over:   newStream(t, trace.LaneSync, th, false, func(e trace.Event) bool { return e.Kind() == trace.KindOverhead && isProfilerOverhead(e.Name()) }),
		system: newStream(t, trace.LaneSync, th, false, of(trace.KindOSCall)),
		off:    newStream(t, trace.LaneSync, th, false, of(trace.KindOffCPU)),
		ranges: newStream(t, trace.LaneAnnotation, th, true, func(e trace.Event) bool { return e.Kind() == trace.KindAnnotation || e.Kind() == trace.KindRange }),
		frames: newStream(t, trace.LanePython, th, true, nil),
		ops:    newStream(t, trace.LaneOp, th, true, nil),
	}
	for e := range t.OnThread(trace.LaneSync, th) {
		if e.Kind() == trace.KindSample {
			s.samples = append(s.samples, e.ID())
		}
	}
	return s
}

// move makes the timeline of the chosen spans.
func (s *threadStreams) move(spans []interval.Span) {
	n := &s.now
	n.calls, n.over = s.calls.pieces(spans, n.calls[:0]), s.over.pieces(spans, n.over[:0])
	n.system, n.off = s.system.pieces(spans, n.system[:0]), s.off.pieces(spans, n.off[:0])
	n.ranges = s.ranges.pieces(spans, n.ranges[:0])
	s.bottom, s.top = s.frames.pieces(spans, s.bottom[:0]), s.ops.pieces(spans, s.top[:0])
	n.code = overlay(n.code[:0], s.bottom, s.top)
}

// sampled is a sample of the thread within a span, invalid where there is none.
func (s *threadStreams) sampled(t *trace.Trace, span interval.Span) trace.Event {
	i := sort.Search(len(s.samples), func(i int) bool { return int64(t.At(s.samples[i]).Start()) >= span.Start })
	if i < len(s.samples) {
		if e := t.At(s.samples[i]); int64(e.Start()) < span.End {
			return e
		}
	}
	return trace.Event{}
}

// overlay puts the pieces of top over those of bottom; both are in order and disjoint, and so is what comes out.
func overlay(out, bottom, top []timelinePiece) []timelinePiece {
	i := 0
	for _, b := range bottom {
		at := b.span.Start
		for ; i < len(top) && top[i].span.End <= at; i++ {
			out = append(out, top[i])
		}
		for ; i < len(top) && top[i].span.Start < b.span.End; i++ {
			if top[i].span.Start > at {
				out = append(out, timelinePiece{interval.Span{Start: at, End: top[i].span.Start}, b.id})
			}
			at = top[i].span.End
			if at > b.span.End {
				break // it covers what comes next, too
			}
			out = append(out, top[i])
		}
		if at < b.span.End {
			out = append(out, timelinePiece{interval.Span{Start: at, End: b.span.End}, b.id})
		}
	}
	return append(out, top[i:]...)
}

// cutBy splits span by pieces: f gets every part with the event that covers it, or an invalid one where none does.
func (l *ledger) cutBy(pieces []timelinePiece, span interval.Span, f func(interval.Span, trace.Event)) {
	if span.Empty() {
		return
	}
	if len(pieces) == 0 {
		f(span, trace.Event{})
		return
	}
	at := span.Start
	i := sort.Search(len(pieces), func(i int) bool { return pieces[i].span.End > span.Start })
	for ; i < len(pieces) && pieces[i].span.Start < span.End; i++ {
		cut := pieces[i].span.Clip(span)
		if cut.Start > at {
			f(interval.Span{Start: at, End: cut.Start}, trace.Event{})
		}
		f(cut, l.w.t.At(pieces[i].id))
		at = cut.End
	}
	if at < span.End {
		f(interval.Span{Start: at, End: span.End}, trace.Event{})
	}
}

// moment is what a thread did during a span: events of its lanes, invalid where there is none.
type moment struct{ over, call, system, off, rng, code, ran trace.Event }

// host explains a span by what a thread was doing.
func (l *ledger) host(g *gap, th trace.ThreadIndex, span interval.Span, emit func(interval.Span, idlePiece)) {
	streams := l.threads[th]
	tl := &streams.now
	var m moment
	l.cutBy(tl.over, span, func(s interval.Span, e trace.Event) {
		m.over = e
		l.cutBy(tl.calls, s, func(s interval.Span, e trace.Event) {
			m.call = e
			quiet := s.Len()
			l.cutBy(tl.system, s, func(s interval.Span, e trace.Event) {
				m.system = e
				l.cutBy(tl.off, s, func(s interval.Span, e trace.Event) {
					m.off = e
					l.cutBy(tl.ranges, s, func(s interval.Span, e trace.Event) {
						m.rng = e
						l.cutBy(tl.code, s, func(s interval.Span, e trace.Event) {
							m.code, m.ran = e, streams.sampled(l.w.t, s)
							emit(s, l.decide(g, &m, s, quiet))
						})
					})
				})
			})
		})
	})
}

// decide is the piece of idle time that a moment makes; quiet is how long the thread made no call.
func (l *ledger) decide(g *gap, m *moment, s interval.Span, quiet int64) idlePiece {
	p := idlePiece{next: g.next}
	between := g.between && s.Start < g.began
	if m.rng.Valid() {
		p.rng, p.step = m.rng.NameID(), l.name(m.rng).step
	}
	if m.code.Valid() {
		p.code = m.code.NameID()
	}
	if m.ran.Valid() && !m.code.Valid() && !m.rng.Valid() {
		p.code = m.ran.NameID()
	}
	c, detail := l.momentCause(m, between, quiet, s.Start >= g.began || !g.between && g.d.pass != nil)
	p.cause, p.detail = l.number[c], detail
	switch {
	case m.over.Valid():
		p.api = m.over.NameID()
	case m.call.Valid():
		p.api = m.call.NameID()
	case m.system.Valid():
		p.api = m.system.NameID()
	}
	return p
}

// momentCause is the cause of a moment. between says that it lies between two steps; began that the host works on the
// step that comes next.
func (l *ledger) momentCause(m *moment, between bool, quiet int64, began bool) (Cause, uint8) {
	system := Cause("")
	if m.system.Valid() {
		system = inStep(l.name(m.system).system, between)
	}
	switch {
	case m.over.Valid():
		return CauseProfiler, detailNone
	case m.call.Valid():
		c := l.p.callCause(m.call, l.name(m.call))
		if c == CauseLaunch || c == CauseGraphLaunch || l.name(m.call).kernelLaunch {
			switch {
			case system == CauseLock, system == CauseGIL:
				return system, detailNone
			case m.off.Valid():
				return CauseDescheduled, detailNone
			}
		}
		return c, detailNone
	case system != "":
		return system, detailNone
	}
	named := m.rng.Valid() || m.code.Valid()
	switch {
	case m.rng.Valid() && l.name(m.rng).gil:
		return CauseGIL, detailNone
	case m.code.Valid() && l.name(m.code).exchange, m.rng.Valid() && l.name(m.rng).rangeExchange:
		return CauseRanks, detailNone
	case m.code.Valid() && m.code.Kind() == trace.KindFrame && l.name(m.code).frame != "":
		return inStep(l.name(m.code).frame, between), detailNone
	case m.off.Valid() && between && !named:
		return CauseUnknown, detailOffCPU
	case m.off.Valid():
		return CauseDescheduled, detailNone
	case named:
		return CauseHostCode, detailNone
	case m.ran.Valid():
		return CauseHostCode, detailSampled
	case began, quiet <= int64(l.p.Unnamed):
		return CauseHostCode, detailUnnamed
	}
	return CauseUnknown, detailQuiet
}
