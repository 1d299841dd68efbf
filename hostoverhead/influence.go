package hostoverhead

import (
	"fmt"
	"time"

	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/internal/timeline"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace/event"
)

// crossCheck asks whether the answer is that of the run or of one activity: it
// decides again with the device's most influential one as short as its peers.
// What it then leaves idle has no known cause, or is not there at all. It
// returns the activity where the answer is another one, "" elsewhere.
func (a *account) crossCheck(answer Answer) string {
	if on := a.straggling(answer); on != "" {
		return on
	}
	t := a.l.w.t
	d, ok := t.Decisive()
	if !ok || t.At(d.Event).Device() != a.d.id {
		return ""
	}
	e := t.At(d.Event)
	var freed int64 // in which nothing else runs
	beside := others(a.l.w.layers.Of(e.ID()))
	for i := range a.steps {
		own := timeline.SpanOf(e).Clip(a.steps[i].span)
		freed += own.Len() - interval.Covered(beside, own)
	}
	freed = max(0, freed-int64(d.Median))
	if all := sumOf(a.steps); !a.l.p.leans(all.headroom(), freed) {
		return ""
	}
	return fmt.Sprintf("%s, which lasts %v where its %d peers last %v", table.Cut(table.Clean(e.Name()), wideName),
		e.Duration().Round(time.Microsecond), d.Peers, d.Median)
}

// leans reports whether the answer is another one where so much of the time is idle for no known cause, or not there.
func (p *params) leans(h Headroom, freed int64) bool {
	unknown, gone := h, h
	unknown.UnknownNS += freed
	gone.WallNS -= freed
	return p.answer(&unknown) != p.answer(&h) || p.answer(&gone) != p.answer(&h)
}

// movesMuch is the share of the steps by which a pause beside one kernel decides how long they are.
const movesMuch = 0.1

// straggling asks the same of a first or last kernel that lies far from all
// others: without it the pause beside it is not there, which changes the answer or
// the steps' length. A pause no longer than all others together is one of many:
// a recording that begins or ends between two steps has it, too.
func (a *account) straggling(answer Answer) string {
	for i := range a.top {
		g := &a.top[i]
		row, where := g.next, "after all others"
		if g.next == 1 {
			row, where = 0, "before all others"
		} else if g.next != len(a.d.acts)-1 {
			continue
		}
		inside, all := g.inSteps(), sumOf(a.steps)
		within, h := inside.total(), all.headroom()
		without := h.without(&inside)
		if 2*within <= all.idle.total() {
			continue
		}
		moves := a.l.p.answer(&without) != answer || float64(within) > movesMuch*float64(all.wall)
		if without.WallNS > 0 && moves && len(a.d.acts) > leastKernels {
			e := a.l.w.t.LaneAt(event.LaneGPU, int(a.d.acts[row]))
			return fmt.Sprintf("%s, alone %s by %v", table.Cut(table.Clean(e.Name()), wideName), where,
				time.Duration(g.span.Len()).Round(time.Microsecond))
		}
	}
	return ""
}

// leastKernels is how many kernels make one of them one row.
const leastKernels = 10

// others is when kernels other than this one run on its device.
func others(than layer.Kernel) (out []interval.Span) {
	for k := range than.Device().Kernels() {
		if k.Index() != than.Index() {
			out = append(out, timeline.SpanOf(k.Event()))
		}
	}
	return interval.UnionInPlace(out)
}
