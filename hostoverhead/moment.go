package hostoverhead

import (
	"cmp"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/hostoverhead/internal/timeline"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// newTimeline starts the timeline of a thread, in room of threads that are done.
func (l *ledger) newTimeline(th trace.ThreadIndex) *timeline.Thread {
	var room timeline.Timeline
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

// lanes are those of a thread that tell what it did, in the order in which they are asked.
var lanes = []int{timeline.Over, timeline.Calls, timeline.System, timeline.Off, timeline.Ranges, timeline.Code}

// host explains a span by what a thread was doing.
func (l *ledger) host(g *gap, th trace.ThreadIndex, span interval.Span, emit func(interval.Span, idlePiece)) {
	thread := l.threads[th]
	var m timeline.Moment
	thread.Now.Moments(span, &m, lanes, func(s interval.Span) {
		m[timeline.Sampled] = thread.Sampled(l.w.t, s)
		l.woken(&m, s, l.decide(g, &m, s), emit)
	})
}

// decide is the piece of idle time that a moment makes.
func (l *ledger) decide(g *gap, m *timeline.Moment, s interval.Span) idlePiece {
	p := idlePiece{next: g.next, rng: m[timeline.Ranges].Name, code: m[timeline.Code].Name}
	p.step = l.name(p.rng).step
	if p.rng == 0 {
		p.code = cmp.Or(p.code, m[timeline.Sampled].Name)
	}
	c, detail := l.momentCause(m, g.between && s.Start < g.began, s.Start >= g.began || !g.between && g.d.pass != nil)
	p.cause, p.detail = c, detail
	p.api = cmp.Or(m[timeline.Over].Name, m[timeline.Calls].Name, m[timeline.System].Name)
	return p
}

// momentCause is the cause of a moment. between says that it lies between two steps; began that the host works on the
// step that comes next.
func (l *ledger) momentCause(m *timeline.Moment, between, began bool) (finding.Cause, uint8) {
	call, system, off, rng, code := &m[timeline.Calls], finding.NoCause, m[timeline.Off].Valid(), &m[timeline.Ranges], &m[timeline.Code]
	if p := &m[timeline.System]; p.Valid() {
		system = inStep(l.name(p.Name).system, between)
	}
	inRange, inCode := l.name(rng.Name), l.name(code.Name)
	named := rng.Valid() || code.Valid()
	switch {
	case m[timeline.Over].Valid():
		return finding.Profiler, detailNone
	case call.Valid():
		c := l.p.callCause(l.w.t.At(call.ID), l.name(call.Name))
		launches := c == finding.LaunchCall || c == finding.GraphLaunch || l.name(call.Name).kernelLaunch
		switch {
		case launches && (system == finding.Lock || system == finding.GIL):
			return system, detailNone
		case launches && off:
			return finding.Descheduled, detailNone
		}
		return c, detailNone
	case system != finding.NoCause:
		return system, detailNone
	case inRange.gil:
		return finding.GIL, detailNone
	case inCode.exchange, inRange.rangeExchange:
		return finding.OtherRanks, detailNone
	case code.Kind == event.Frame && inCode.frame.For != names.Nothing:
		return inStep(inCode.frame, between), detailNone
	case off && between && !named:
		return finding.UnknownCause, detailOffCPU
	case off:
		return finding.Descheduled, detailNone
	case named:
		return finding.HostCode, detailNone
	case m[timeline.Sampled].Valid():
		return finding.HostCode, detailSampled
	case began, call.Span.Len() <= int64(l.p.Unnamed): // for so long it made no call
		return finding.HostCode, detailUnnamed
	}
	return finding.UnknownCause, detailQuiet
}
