package hostoverhead

import (
	"cmp"
	"slices"
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
	ran    []timelinePiece // moments at which it was found running
	ranges []timelinePiece // annotations and NVTX ranges
	code   []timelinePiece // Python frames and ops, the innermost of both
}

// timelineOf builds a thread's timeline on first use.
func (l *ledger) timelineOf(th trace.ThreadIndex) *timeline {
	if tl, ok := l.timelines[th]; ok {
		return tl
	}
	c := clipper{w: l.w, thread: th, keep: l.needs[th]}
	long := func(e trace.Event) bool { return e.Duration() > 0 }
	tl := &timeline{
		calls:  c.outermost(trace.LaneLaunch, nil),
		over:   c.outermost(trace.LaneSync, func(e trace.Event) bool { return e.Kind() == trace.KindOverhead && isProfilerOverhead(e.Name()) }),
		system: c.outermost(trace.LaneSync, func(e trace.Event) bool { return e.Kind() == trace.KindOSCall }),
		off:    c.outermost(trace.LaneSync, func(e trace.Event) bool { return e.Kind() == trace.KindOffCPU }),
		ran:    c.samples(),
		ranges: c.flatten(trace.LaneAnnotation, func(e trace.Event) bool {
			return (e.Kind() == trace.KindAnnotation || e.Kind() == trace.KindRange) && e.Duration() > 0
		}),
	}
	tl.code = overlay(c.flatten(trace.LanePython, long), c.flatten(trace.LaneOp, long))
	l.timelines[th] = tl
	return tl
}

// clipper lists what a thread did in chosen spans of time.
type clipper struct {
	w      *workload
	thread trace.ThreadIndex
	keep   []interval.Span // in order and disjoint
}

// add appends the parts of a piece that lie in the chosen spans; from is the first that may, and moves on.
func (c *clipper) add(out []timelinePiece, from *int, s interval.Span, id trace.EventID) []timelinePiece {
	for *from < len(c.keep) && c.keep[*from].End <= s.Start {
		*from++
	}
	for i := *from; i < len(c.keep) && c.keep[i].Start < s.End; i++ {
		if cut := s.Clip(c.keep[i]); !cut.Empty() {
			out = append(out, timelinePiece{cut, id})
		}
	}
	return out
}

// outermost lists the events of a lane that lie inside no other, cut where one begins before the one before it ends.
func (c *clipper) outermost(lane trace.Lane, keep func(trace.Event) bool) []timelinePiece {
	var out []timelinePiece
	from, end := 0, int64(-1<<62)
	for e := range c.w.t.OnThread(lane, c.thread) {
		s := spanOf(e)
		s.Start = max(s.Start, end)
		if s.Empty() || keep != nil && !keep(e) {
			continue
		}
		out = c.add(out, &from, s, e.ID())
		end = s.End
	}
	return out
}

// samples lists the moments at which the thread was found running.
func (c *clipper) samples() []timelinePiece {
	var out []timelinePiece
	for e := range c.w.t.OnThread(trace.LaneSync, c.thread) {
		if at := int64(e.Start()); e.Kind() == trace.KindSample {
			if i := interval.From(c.keep, at); i < len(c.keep) && c.keep[i].Contains(at) {
				out = append(out, timelinePiece{interval.Span{Start: at, End: at}, e.ID()})
			}
		}
	}
	return out
}

// sampled is the sample of a thread within a span, invalid where there is none.
func (l *ledger) sampled(tl *timeline, s interval.Span) trace.Event {
	i := sort.Search(len(tl.ran), func(i int) bool { return tl.ran[i].span.Start >= s.Start })
	if i < len(tl.ran) && tl.ran[i].span.Start < s.End {
		return l.w.t.At(tl.ran[i].id)
	}
	return trace.Event{}
}

// flatten turns the nested events of one thread into pieces of the innermost one. The lane is sorted by start, longest
// first, so an event comes after those around it. Events that overlap without nesting are cut at the end of the one that
// began first.
func (c *clipper) flatten(lane trace.Lane, keep func(trace.Event) bool) []timelinePiece {
	var out, stack []timelinePiece // stack: open events, outermost first; ends do not increase
	from, at := 0, int64(-1<<62)
	emit := func(to int64) {
		for len(stack) > 0 {
			top := stack[len(stack)-1]
			end := min(to, top.span.End)
			out = c.add(out, &from, interval.Span{Start: max(at, top.span.Start), End: end}, top.id)
			at = max(at, end)
			if top.span.End > to {
				return
			}
			stack = stack[:len(stack)-1]
		}
	}
	for e := range c.w.t.OnThread(lane, c.thread) {
		if !keep(e) {
			continue
		}
		s := spanOf(e)
		emit(s.Start)
		at = max(at, s.Start)
		if n := len(stack); n > 0 {
			s.End = min(s.End, stack[n-1].span.End)
		}
		stack = append(stack, timelinePiece{s, e.ID()})
	}
	emit(1 << 62)
	return out
}

// overlay puts the pieces of top over those of bottom.
func overlay(bottom, top []timelinePiece) []timelinePiece {
	if len(top) == 0 {
		return bottom
	}
	under := make([]interval.Span, len(top))
	for i, p := range top {
		under[i] = p.span
	}
	under = interval.UnionInPlace(under)
	out := slices.Clone(top)
	from := 0
	for _, p := range bottom {
		for from < len(under) && under[from].End <= p.span.Start {
			from++
		}
		at := p.span.Start
		for i := from; i < len(under) && under[i].Start < p.span.End; i++ {
			if under[i].Start > at {
				out = append(out, timelinePiece{interval.Span{Start: at, End: under[i].Start}, p.id})
			}
			at = max(at, under[i].End)
		}
		if at < p.span.End {
			out = append(out, timelinePiece{interval.Span{Start: at, End: p.span.End}, p.id})
		}
	}
	slices.SortFunc(out, func(a, b timelinePiece) int { return cmp.Compare(a.span.Start, b.span.Start) })
	return out
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
	tl := l.timelineOf(th)
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
							m.code, m.ran = e, l.sampled(tl, s)
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
		p.rng, p.step = m.rng.NameID(), l.w.names.step(m.rng.NameID(), l.w.steps) != nil
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
		system = osCause(m.system.Name(), between)
	}
	switch {
	case m.over.Valid():
		return CauseProfiler, detailNone
	case m.call.Valid():
		c := l.p.callCause(m.call)
		if c == CauseLaunch || c == CauseGraphLaunch || isKernelLaunch(m.call.Name()) {
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
	case m.rng.Valid() && waitsForGIL(m.rng.Name()):
		return CauseGIL, detailNone
	case m.code.Valid() && exchanges(m.code.Kind(), m.code.Name()), m.rng.Valid() && exchanges(m.rng.Kind(), m.rng.Name()):
		return CauseRanks, detailNone
	case m.code.Valid() && m.code.Kind() == trace.KindFrame && frameWait(m.code.Name()) != "":
		return inStep(frameWait(m.code.Name()), between), detailNone
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
