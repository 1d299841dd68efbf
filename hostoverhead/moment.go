package hostoverhead

import (
	"cmp"
	"slices"
	"sort"

	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/timeline"
	"github.com/llmstrata/strata/internal/waits"
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
	return timeline.New(l.w.t, th, room, l.samplesOf(th), l.meanings.HasMeaning)
}

// samplesOf lists the moments at which a thread was found running.
func (l *ledger) samplesOf(th trace.ThreadIndex) []trace.EventID {
	found, ok := l.samples[th]
	if !ok {
		found = timeline.SamplesOf(l.w.t, th)
		l.samples[th] = found
	}
	return found
}

// host explains a span by what a thread was doing: each part is the piece at hand when emit is called.
func (l *ledger) host(g *gap, th trace.ThreadIndex, span interval.Span, emit func()) {
	thread := l.threads[th]
	list := g.d.layers.Waits()
	var m timeline.Moment
	thread.Now.Moments(span, &m, func(s interval.Span) {
		m[timeline.Sampled] = thread.Sampled(l.w.t, s)
		at := sort.Search(len(list), func(i int) bool { return int64(list[i].End) > s.Start })
		for ; at < len(list) && int64(list[at].Start) < s.End; at++ {
			w := &list[at]
			before, inside := s, s.Clip(interval.Span{Start: int64(w.Start), End: int64(w.End)})
			before.End = inside.Start
			l.decide(g, &m, before)
			emit()
			l.decide(g, &m, inside)
			l.piece.cause, l.piece.detail = g.unnamed(w.Cause, waitDetail(w.Cause, &m))
			emit()
			s.Start = inside.End
		}
		l.decide(g, &m, s)
		emit()
	})
}

// waitDetail says what is known of a wait between steps at a moment.
func waitDetail(c finding.Cause, m *timeline.Moment) uint8 {
	switch {
	case c == finding.HostCode:
		return detailUnnamed
	case c == finding.UnknownCause && m[timeline.Off].Valid():
		return detailOffCPU
	case c == finding.UnknownCause:
		return detailQuiet
	}
	return detailNone
}

// decide makes the piece at hand that of a moment.
func (l *ledger) decide(g *gap, m *timeline.Moment, s interval.Span) {
	p := &l.piece
	p.span, p.next, p.rng, p.code, p.drain = s, g.next, m[timeline.Ranges].Name, m[timeline.Code].Name, 0
	p.step = l.name(p.rng).step || l.encloses(&m[timeline.Ranges])
	if p.rng == 0 {
		p.code = cmp.Or(p.code, m[timeline.Sampled].Name)
	}
	c, detail := l.momentCause(m, g.between && s.Start < g.began, s.Start >= g.began || !g.between && g.d.pass != nil)
	p.cause, p.detail = g.unnamed(c, detail)
	if around := m.Around(); around.Valid() && c.Group() == finding.HostWaiting &&
		l.meanings.Around(around.Name).Cause == c {
		p.code = around.Name // what it waits in says more than the call in which it does
	}
	p.api = cmp.Or(m[timeline.Over].Name, m[timeline.Calls].Name, m[timeline.System].Name)
}

// unnamed takes host time without a name back where the launch that it should lead to was not recorded, either.
func (g *gap) unnamed(c finding.Cause, detail uint8) (finding.Cause, uint8) {
	if detail == detailUnnamed && !g.launch.Valid() {
		return finding.UnknownCause, detailOrphan
	}
	return c, detail
}

// encloses reports whether a range holds the host's work on more than one pass: it names the run rather than what the
// host did in a gap.
func (l *ledger) encloses(r *timeline.Piece) bool {
	if !r.Valid() {
		return false
	}
	e, within := l.w.t.At(r.ID), 0
	from, _ := slices.BinarySearchFunc(l.work, int64(e.Start()), func(s interval.Span, t int64) int {
		return cmp.Compare(s.Start, t)
	})
	for _, s := range l.work[from:] {
		if s.Start > int64(e.End()) {
			break
		}
		if s.End <= int64(e.End()) {
			if within++; within > 1 {
				return true
			}
		}
	}
	return false
}

// workOf lists the host's work on the passes of a device, by start; that of some is not known.
func workOf(d *deviceWork) (out []interval.Span) {
	if d.pass == nil {
		return nil
	}
	for i := range d.layers.Passes {
		if h := &d.layers.Passes[i].Host; h.End > h.Start {
			out = append(out, interval.Span{Start: int64(h.Start), End: int64(h.End)})
		}
	}
	slices.SortFunc(out, func(x, y interval.Span) int { return cmp.Compare(x.Start, y.Start) })
	return out
}

// momentCause is the cause of a moment. between says that it lies between two steps; began that the host works on the
// step that comes next.
func (l *ledger) momentCause(m *timeline.Moment, between, began bool) (finding.Cause, uint8) {
	call, system, off, rng, code := &m[timeline.Calls], finding.NoCause, m[timeline.Off].Valid(), &m[timeline.Ranges],
		&m[timeline.Code]
	inRange, inCode := l.name(rng.Name), l.name(code.Name)
	around := waits.Around{}
	if p := m.Around(); p.Valid() {
		around = l.meanings.Around(p.Name)
	}
	if p := &m[timeline.System]; p.Valid() {
		system = waitCause(around.Meaning(l.name(p.Name).system))
	}
	var frame waits.Wait
	if code.Kind == event.Frame {
		frame = inCode.frame
	}
	frame = around.Meaning(frame)
	named := rng.Valid() || code.Valid()
	switch {
	case m[timeline.Over].Valid():
		return finding.Profiler, detailNone
	case call.Valid():
		c := l.p.callCause(l.w.t.At(call.ID), l.name(call.Name).callName)
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
	case frame.For != waits.Nothing:
		return waitCause(frame), detailNone
	case code.Kind == event.Op && l.first[code.ID]:
		return finding.ModuleLoad, detailFirst
	case off && between && !named:
		return finding.UnknownCause, detailOffCPU
	case off:
		return finding.Descheduled, detailNone
	case named:
		return finding.HostCode, detailNone
	case m[timeline.Sampled].Valid():
		return finding.HostCode, detailSampled
	case began, m.WithoutCall() <= int64(l.p.Unnamed): // for so long it made no call
		return finding.HostCode, detailUnnamed
	}
	return finding.UnknownCause, detailQuiet
}
