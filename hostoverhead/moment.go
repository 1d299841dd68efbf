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

// host explains a span by what a thread was doing.
func (l *ledger) host(g *gap, th trace.ThreadIndex, span interval.Span) {
	thread, sampled := l.threads[th], len(l.samplesOf(th)) > 0
	list := g.d.layers.Waits()
	after := func(x int64) {
		for len(list) > 0 && int64(list[0].End) <= x {
			list = list[1:]
		}
	}
	list = list[sort.Search(len(list), func(i int) bool { return int64(list[i].End) > span.Start }):]
	var m timeline.Moment
	var o outer
	moment := func(s interval.Span) {
		m[timeline.Sampled] = thread.Sampled(l.w.t, s)
		after(s.Start)
		for at := 0; at < len(list) && int64(list[at].Start) < s.End; at++ {
			w := &list[at]
			before, inside := s, s.Clip(interval.Span{Start: int64(w.Start), End: int64(w.End)})
			before.End = inside.Start
			l.decide(g, &m, &o, before)
			l.drained(g)
			l.decide(g, &m, &o, inside)
			l.piece.cause, l.piece.detail = g.unnamed(w.Cause, waitDetail(w.Cause, &m))
			l.drained(g)
			s.Start = inside.End
		}
		l.decide(g, &m, &o, s)
		l.drained(g)
	}
	thread.Now.Stretches(span, &m, func(s interval.Span, code []timeline.Piece) {
		o = l.outerOf(&m)
		after(s.Start)
		waits := len(list) > 0 && int64(list[0].Start) < s.End
		if sampled || waits || !l.frames(g, &m, &o, s, code) {
			m.Moments(s, code, moment)
		}
	})
}

// frames explains a stretch in which all that is recorded are frames, to the account at hand: the sum of a name is
// looked up once for all its pieces. It is false, and nothing is explained, where more counts than names.
func (l *ledger) frames(g *gap, m *timeline.Moment, o *outer, s interval.Span, code []timeline.Piece) bool {
	if l.account == nil || m[timeline.Code].Valid() || o.cause != finding.NoCause || o.off || g.drain.lead != 0 {
		return false
	}
	step, ok := l.account.stepAround(s)
	if !ok {
		return false
	}
	if *o != l.outer {
		l.outer, l.round = *o, l.round+1
	}
	byGap, nothing, at := &causeSums{}, timeline.Piece{}, s.Start
	if g.bucket >= 0 {
		byGap = &l.account.byGap[g.bucket]
	}
	for i := range code {
		p := &code[i]
		if p.Span.Start >= s.End {
			break
		}
		if p.Span.Start > at {
			l.decide(g, m, o, interval.Span{Start: at, End: p.Span.Start})
			l.drained(g)
			at = p.Span.Start
		}
		n := &l.names[p.Name].summed
		if n.round != l.round || n.kind != p.Kind {
			m[timeline.Code] = *p
			l.decide(g, m, o, s)
			*n = summed{l.round, p.Kind, l.piece.cause, l.account.sumOf(l.piece.key())}
			m[timeline.Code] = nothing
		}
		end := min(p.Span.End, s.End)
		ns := end - at
		byGap[n.cause] += ns
		n.sum.ns, n.sum.count = n.sum.ns+ns, n.sum.count+1
		if step != nil {
			n.sum.steps += ns
			step.idle[n.cause] += ns
		}
		at = end
	}
	l.decide(g, m, o, interval.Span{Start: at, End: s.End})
	l.drained(g)
	return true
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

// outer is what all moments have in common between which only the innermost frame or op changes.
type outer struct {
	cause    finding.Cause // [finding.NoCause]: the innermost frame or op decides
	off      bool          // off the CPU
	step     bool          // rng is a step's annotation, or encloses several
	api, rng trace.NameID
	in       trace.NameID // range or frame within which waits have a meaning of their own
	around   waits.Around // what it says
}

func (l *ledger) outerOf(m *timeline.Moment) outer {
	call, system, rng := &m[timeline.Calls], finding.NoCause, &m[timeline.Ranges]
	inRange := l.name(rng.Name)
	o := outer{off: m[timeline.Off].Valid(), rng: rng.Name, step: inRange.step || l.encloses(rng),
		api: cmp.Or(m[timeline.Over].Name, call.Name, m[timeline.System].Name)}
	if p := m.Around(); p.Valid() {
		o.in, o.around = p.Name, l.meanings.Around(p.Name)
	}
	if p := &m[timeline.System]; p.Valid() {
		system = waitCause(o.around.Meaning(l.name(p.Name).system))
	}
	switch {
	case m[timeline.Over].Valid():
		o.cause = finding.Profiler
	case call.Valid():
		o.cause = l.p.callCause(l.w.t.At(call.ID), l.name(call.Name).callName)
		if o.cause == finding.LaunchCall || o.cause == finding.GraphLaunch || l.name(call.Name).kernelLaunch {
			if system == finding.Lock || system == finding.GIL {
				o.cause = system
			} else if o.off {
				o.cause = finding.Descheduled
			}
		}
	case system != finding.NoCause:
		o.cause = system
	case inRange.gil:
		o.cause = finding.GIL
	case inRange.rangeExchange:
		o.cause = finding.OtherRanks
	}
	return o
}

// decide makes the piece at hand that of a moment.
func (l *ledger) decide(g *gap, m *timeline.Moment, o *outer, s interval.Span) {
	p := &l.piece
	p.gap, p.span, p.drain, p.api, p.rng, p.step, p.code = g, s, 0, o.api, o.rng, o.step, m[timeline.Code].Name
	if p.rng == 0 {
		p.code = cmp.Or(p.code, m[timeline.Sampled].Name)
	}
	c, detail := l.momentCause(m, o, g.between && s.Start < g.began, s.Start >= g.began || !g.between && g.d.pass != nil)
	p.cause, p.detail = g.unnamed(c, detail)
	if o.around.Cause == c && c.Group() == finding.HostWaiting {
		p.code = o.in // what it waits in says more than the call in which it does
	}
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
func (l *ledger) momentCause(m *timeline.Moment, o *outer, between, began bool) (finding.Cause, uint8) {
	if o.cause != finding.NoCause {
		return o.cause, detailNone
	}
	code := &m[timeline.Code]
	named := m[timeline.Ranges].Valid() || code.Valid()
	inCode := l.name(code.Name)
	var frame waits.Wait
	if code.Kind == event.Frame {
		frame = inCode.frame
	}
	frame = o.around.Meaning(frame)
	switch {
	case inCode.exchange:
		return finding.OtherRanks, detailNone
	case frame.For != waits.Nothing:
		return waitCause(frame), detailNone
	case code.Kind == event.Op && l.first[code.ID]:
		return finding.ModuleLoad, detailFirst
	case o.off && between && !named:
		return finding.UnknownCause, detailOffCPU
	case o.off:
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
