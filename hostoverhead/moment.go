package hostoverhead

import (
	"github.com/llmstrata/strata/hostoverhead/internal/timeline"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// newTimeline starts the timeline of a thread, in room of threads that are done.
func (l *ledger) newTimeline(th trace.ThreadIndex) *timeline.Thread {
	var room timeline.Room
	if n := len(l.spare); n > 0 {
		room, l.spare = l.spare[n-1], l.spare[:n-1]
	}
	return timeline.New(l.w.t, th, room, l.samplesOf(th))
}

// samplesOf lists the moments at which a thread was found running.
func (l *ledger) samplesOf(th trace.ThreadIndex) []trace.EventID {
	found, ok := l.samples[th]
	if !ok {
		for e := range l.w.t.OnThread(event.LaneSync, th) {
			if e.Kind() == event.Sample {
				found = append(found, e.ID())
			}
		}
		l.samples[th] = found
	}
	return found
}

// moment is what a thread did during a span: pieces of its lanes, invalid where there is none.
type moment struct{ over, call, system, off, rng, code, ran timeline.Piece }

// host explains a span by what a thread was doing.
func (l *ledger) host(g *gap, th trace.ThreadIndex, span interval.Span, emit func(interval.Span, idlePiece)) {
	streams := l.threads[th]
	tl := &streams.Now
	var m moment
	timeline.Cut(tl.Over, span, func(s interval.Span, p timeline.Piece) {
		m.over = p
		timeline.Cut(tl.Calls, s, func(s interval.Span, p timeline.Piece) {
			m.call = p
			quiet := s.Len()
			timeline.Cut(tl.System, s, func(s interval.Span, p timeline.Piece) {
				m.system = p
				timeline.Cut(tl.Off, s, func(s interval.Span, p timeline.Piece) {
					m.off = p
					timeline.Cut(tl.Ranges, s, func(s interval.Span, p timeline.Piece) {
						m.rng = p
						timeline.Cut(tl.Code, s, func(s interval.Span, p timeline.Piece) {
							m.code, m.ran = p, streams.Sampled(l.w.t, s)
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
	if m.rng.Valid() {
		p.rng, p.step = m.rng.Name, l.name(m.rng.Name).step
	}
	if m.code.Valid() {
		p.code = m.code.Name
	}
	if m.ran.Valid() && !m.code.Valid() && !m.rng.Valid() {
		p.code = m.ran.Name
	}
	c, detail := l.momentCause(m, between, quiet, s.Start >= g.began || !g.between && g.d.pass != nil)
	p.cause, p.detail = l.number[c], detail
	switch {
	case m.over.Valid():
		p.api = m.over.Name
	case m.call.Valid():
		p.api = m.call.Name
	case m.system.Valid():
		p.api = m.system.Name
	}
	return p
}

// momentCause is the cause of a moment. between says that it lies between two steps; began that the host works on the
// step that comes next.
func (l *ledger) momentCause(m *moment, between bool, quiet int64, began bool) (string, uint8) {
	system := ""
	if m.system.Valid() {
		system = inStep(l.name(m.system.Name).system, between)
	}
	switch {
	case m.over.Valid():
		return causeProfiler, detailNone
	case m.call.Valid():
		c := l.p.callCause(l.w.t.At(m.call.ID), l.name(m.call.Name))
		if c == causeLaunch || c == causeGraphLaunch || l.name(m.call.Name).kernelLaunch {
			switch {
			case system == causeLock, system == causeGIL:
				return system, detailNone
			case m.off.Valid():
				return causeDescheduled, detailNone
			}
		}
		return c, detailNone
	case system != "":
		return system, detailNone
	}
	named := m.rng.Valid() || m.code.Valid()
	switch {
	case m.rng.Valid() && l.name(m.rng.Name).gil:
		return causeGIL, detailNone
	case m.code.Valid() && l.name(m.code.Name).exchange, m.rng.Valid() && l.name(m.rng.Name).rangeExchange:
		return causeRanks, detailNone
	case m.code.Valid() && m.code.Kind == event.Frame && l.name(m.code.Name).frame != "":
		return inStep(l.name(m.code.Name).frame, between), detailNone
	case m.off.Valid() && between && !named:
		return causeUnknown, detailOffCPU
	case m.off.Valid():
		return causeDescheduled, detailNone
	case named:
		return causeHostCode, detailNone
	case m.ran.Valid():
		return causeHostCode, detailSampled
	case began, quiet <= int64(l.p.Unnamed):
		return causeHostCode, detailUnnamed
	}
	return causeUnknown, detailQuiet
}
