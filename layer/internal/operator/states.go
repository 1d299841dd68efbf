package operator

import (
	"math"
	"slices"

	"github.com/llmstrata/strata/classify"
)

// infinite is the cost of what cannot be.
var infinite = math.Inf(1)

// cell is one state of the alignment: the last step taken so far.
type cell struct {
	cost  float64
	from  int32 // last step of the unit before
	start int32 // first step of this unit, −1: it takes none
}

// states are those after one unit: the cost of each last step, of the positions that its band has.
type states struct {
	cells []cell
	lo    int
}

// at is the cost of a position, infinite outside the band.
func (s states) at(pos int) float64 {
	if j := pos - s.lo; j >= 0 && j < len(s.cells) {
		return s.cells[j].cost
	}
	return infinite
}

// take notes a way into a position that is cheaper than the one known.
func (s states) take(pos int, c cell) {
	if pos >= s.lo && c.cost < s.cells[pos-s.lo].cost {
		s.cells[pos-s.lo] = c
	}
}

// below reports that some state costs less.
func (s states) below(most float64) bool {
	return slices.ContainsFunc(s.cells, func(c cell) bool { return c.cost < most })
}

// entry is the cheapest way from a state of the unit before to the step that is looked at, less what skipping all
// steps before it costs.
type entry struct {
	prev  states
	skips []float64
	cost  float64
	from  int
	reach int // the next position to look at
}

func newEntry(prev states, skips []float64) entry {
	return entry{prev: prev, skips: skips, cost: infinite, reach: prev.lo}
}

// upTo looks at the states up to a position, too.
func (e *entry) upTo(pos int) {
	for ; e.reach <= pos && e.reach-e.prev.lo < len(e.prev.cells); e.reach++ {
		if c := e.prev.at(e.reach) - e.skips[e.reach]; c < e.cost {
			e.cost, e.from = c, e.reach
		}
	}
}

// advance computes the states after one more unit.
func (w *work) advance(row states, u *unit, steps []step, skips []float64, hi int, prev states, taken map[stepID]bool,
	opening bool) {
	for j := range row.cells {
		row.cells[j] = cell{cost: infinite, start: -1}
	}
	extra := w.extraCost(u)
	for pos := row.lo; pos <= hi; pos++ {
		row.take(pos, cell{prev.at(pos) + extra, int32(pos), -1})
	}
	opening = opening && (w.pass.CutStart || w.pass.First > 0)
	way := newEntry(prev, skips) // states before the band lead into it
	for a := max(0, row.lo-1); a < hi; a++ {
		way.upTo(a)
		act := u.acts[0]
		if act == classify.RoleAdd && !steps[a].add && len(u.acts) > 1 {
			act = u.acts[1]
		}
		if steps[a].grades[act] == never {
			continue
		}
		end, cost, ok := w.emit(u, steps, a, taken)
		if !ok || end+1 > hi {
			continue
		}
		enter, via := way.cost+skips[a], way.from
		if opening {
			enter, via = 0, 0 // the window begins anywhere
		}
		enter, via = w.backInto(u, steps, a, prev, enter, via)
		row.take(end+1, cell{enter + cost, int32(via), int32(a)})
	}
}

// backInto is the cheaper of a way into step a and those that the step or one after it in its layer was taken before.
func (w *work) backInto(u *unit, steps []step, a int, prev states, enter float64, via int) (float64, int) {
	back := w.p.Back
	if heavy(u.acts[0]) {
		back = w.p.BackProduct
	}
	if c := prev.at(a+1) + w.againCost(u, steps[a].Op); c < enter {
		enter, via = c, a+1
	}
	most := a + 1 + w.p.MaxBack
	if steps[a].add && len(u.acts) == 1 {
		most = a + 2 // a sum follows the norm after it in some models, but nothing further on
	}
	if u.channels {
		most = a + 1 // what makes queries, keys and values may have one each
	}
	for p := a + 2; p <= most && p <= len(steps) && steps[a].layer >= 0 && steps[p-1].layer == steps[a].layer; p++ {
		if c := prev.at(p) + back; c < enter {
			enter, via = c, p
		}
	}
	return enter, via
}
