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
	id   trace.EventID // 0 with kind KindInvalid: nothing was recorded
	name trace.NameID
	kind trace.Kind
}

// valid reports whether something was recorded.
func (p *timelinePiece) valid() bool { return p.kind != trace.KindInvalid }

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
		s.stack = append(s.stack, timelinePiece{span, e.ID(), e.NameID(), e.Kind()})
	}
	return s.close(to, spans, &from, out)
}

// close gives out what is open up to a time, and drops what ends by then.
func (s *stream) close(to int64, spans []interval.Span, from *int, out []timelinePiece) []timelinePiece {
	for len(s.stack) > 0 {
		top := s.stack[len(s.stack)-1]
		end := min(to, top.span.End)
		piece := top
		piece.span = interval.Span{Start: max(s.at, top.span.Start), End: end}
		out = clip(out, spans, from, piece)
		s.at = max(s.at, end)
		if top.span.End > to {
			return out
		}
		s.stack = s.stack[:len(s.stack)-1]
	}
	return out
}

// clip appends the parts of a piece that lie in the chosen spans; from is the first that may, and moves on.
func clip(out []timelinePiece, spans []interval.Span, from *int, p timelinePiece) []timelinePiece {
	s := p.span
	for *from < len(spans) && spans[*from].End <= s.Start {
		*from++
	}
	for i := *from; i < len(spans) && spans[i].Start < s.End; i++ {
		if p.span = s.Clip(spans[i]); !p.span.Empty() {
			out = append(out, p)
		}
	}
	return out
}

// threadStreams are the lanes of one thread, and its timeline in the gaps at hand.
type threadStreams struct {
	calls, over, system, off, ranges, frames, ops *stream
	samples                                       []trace.EventID // moments at which it was found running
	timelineRoom
}

// timelineRoom is a timeline and what it is made in.
type timelineRoom struct {
	now         timeline
	bottom, top []timelinePiece // to be laid over each other
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
	if n := len(l.spare); n > 0 {
		s.timelineRoom, l.spare = l.spare[n-1], l.spare[:n-1]
		s.clear()
	}
	s.samples = l.samplesOf(th)
	return s
}

// samplesOf lists the moments at which a thread was found running.
func (l *ledger) samplesOf(th trace.ThreadIndex) []trace.EventID {
	found, ok := l.samples[th]
	if !ok {
		for e := range l.w.t.OnThread(trace.LaneSync, th) {
			if e.Kind() == trace.KindSample {
				found = append(found, e.ID())
			}
		}
		l.samples[th] = found
	}
	return found
}

// clear empties the room.
func (r *timelineRoom) clear() {
	n := &r.now
	for _, p := range []*[]timelinePiece{&n.calls, &n.over, &n.system, &n.off, &n.ranges, &n.code, &r.bottom, &r.top} {
		*p = (*p)[:0]
	}
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
func (s *threadStreams) sampled(t *trace.Trace, span interval.Span) (p timelinePiece) {
	if len(s.samples) == 0 {
		return p
	}
	i := sort.Search(len(s.samples), func(i int) bool { return int64(t.At(s.samples[i]).Start()) >= span.Start })
	if i < len(s.samples) {
		if e := t.At(s.samples[i]); int64(e.Start()) < span.End {
			p = timelinePiece{span, e.ID(), e.NameID(), e.Kind()}
		}
	}
	return p
}

// part is the piece for a part of its span.
func (p timelinePiece) part(start, end int64) timelinePiece {
	p.span = interval.Span{Start: start, End: end}
	return p
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
				out = append(out, b.part(at, top[i].span.Start))
			}
			at = top[i].span.End
			if at > b.span.End {
				break // it covers what comes next, too
			}
			out = append(out, top[i])
		}
		if at < b.span.End {
			out = append(out, b.part(at, b.span.End))
		}
	}
	return append(out, top[i:]...)
}

// cutBy splits span by pieces: f gets every part with the piece that covers it, or an invalid one where none does.
func cutBy(pieces []timelinePiece, span interval.Span, f func(interval.Span, timelinePiece)) {
	if span.Empty() {
		return
	}
	if len(pieces) == 0 {
		f(span, timelinePiece{})
		return
	}
	at := span.Start
	i := sort.Search(len(pieces), func(i int) bool { return pieces[i].span.End > span.Start })
	for ; i < len(pieces) && pieces[i].span.Start < span.End; i++ {
		cut := pieces[i].span.Clip(span)
		if cut.Start > at {
			f(interval.Span{Start: at, End: cut.Start}, timelinePiece{})
		}
		f(cut, pieces[i])
		at = cut.End
	}
	if at < span.End {
		f(interval.Span{Start: at, End: span.End}, timelinePiece{})
	}
}

// moment is what a thread did during a span: pieces of its lanes, invalid where there is none.
type moment struct{ over, call, system, off, rng, code, ran timelinePiece }

// host explains a span by what a thread was doing.
func (l *ledger) host(g *gap, th trace.ThreadIndex, span interval.Span, emit func(interval.Span, idlePiece)) {
	streams := l.threads[th]
	tl := &streams.now
	var m moment
	cutBy(tl.over, span, func(s interval.Span, p timelinePiece) {
		m.over = p
		cutBy(tl.calls, s, func(s interval.Span, p timelinePiece) {
			m.call = p
			quiet := s.Len()
			cutBy(tl.system, s, func(s interval.Span, p timelinePiece) {
				m.system = p
				cutBy(tl.off, s, func(s interval.Span, p timelinePiece) {
					m.off = p
					cutBy(tl.ranges, s, func(s interval.Span, p timelinePiece) {
						m.rng = p
						cutBy(tl.code, s, func(s interval.Span, p timelinePiece) {
							m.code, m.ran = p, streams.sampled(l.w.t, s)
							l.woken(&m, s, l.decide(g, &m, s, quiet), emit)
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
	if m.rng.valid() {
		p.rng, p.step = m.rng.name, l.name(m.rng.name).step
	}
	if m.code.valid() {
		p.code = m.code.name
	}
	if m.ran.valid() && !m.code.valid() && !m.rng.valid() {
		p.code = m.ran.name
	}
	c, detail := l.momentCause(m, between, quiet, s.Start >= g.began || !g.between && g.d.pass != nil)
	p.cause, p.detail = l.number[c], detail
	switch {
	case m.over.valid():
		p.api = m.over.name
	case m.call.valid():
		p.api = m.call.name
	case m.system.valid():
		p.api = m.system.name
	}
	return p
}

// momentCause is the cause of a moment. between says that it lies between two steps; began that the host works on the
// step that comes next.
func (l *ledger) momentCause(m *moment, between bool, quiet int64, began bool) (Cause, uint8) {
	system := Cause("")
	if m.system.valid() {
		system = inStep(l.name(m.system.name).system, between)
	}
	switch {
	case m.over.valid():
		return CauseProfiler, detailNone
	case m.call.valid():
		c := l.p.callCause(l.w.t.At(m.call.id), l.name(m.call.name))
		if c == CauseLaunch || c == CauseGraphLaunch || l.name(m.call.name).kernelLaunch {
			switch {
			case system == CauseLock, system == CauseGIL:
				return system, detailNone
			case m.off.valid():
				return CauseDescheduled, detailNone
			}
		}
		return c, detailNone
	case system != "":
		return system, detailNone
	}
	named := m.rng.valid() || m.code.valid()
	switch {
	case m.rng.valid() && l.name(m.rng.name).gil:
		return CauseGIL, detailNone
	case m.code.valid() && l.name(m.code.name).exchange, m.rng.valid() && l.name(m.rng.name).rangeExchange:
		return CauseRanks, detailNone
	case m.code.valid() && m.code.kind == trace.KindFrame && l.name(m.code.name).frame != "":
		return inStep(l.name(m.code.name).frame, between), detailNone
	case m.off.valid() && between && !named:
		return CauseUnknown, detailOffCPU
	case m.off.valid():
		return CauseDescheduled, detailNone
	case named:
		return CauseHostCode, detailNone
	case m.ran.valid():
		return CauseHostCode, detailSampled
	case began, quiet <= int64(l.p.Unnamed):
		return CauseHostCode, detailUnnamed
	}
	return CauseUnknown, detailQuiet
}
