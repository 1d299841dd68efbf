package roofline

import (
	"time"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
)

// key names one operator of one layer kind; kind is −1 outside of layers.
type key struct {
	kind     int
	operator string
}

// slot is what the plan knows of a key, found once for all passes.
type slot struct {
	key
	id    int
	ops   [2][]profile.PlanOp // those that it means: in other passes, in decode passes
	group [2]group
}

// slotCache is a power of two above the number of operators and layer kinds of most models.
const slotCache = 256

// slots are those of a device, by key and, as every kernel asks, by a cheap hash of it.
type slots struct {
	all    map[key]*slot
	recent [slotCache]*slot
}

// slot returns that of an operator.
func (w *walk) slot(kind int, operator string) *slot {
	at := uint(kind+1) + 7*uint(len(operator))
	if n := len(operator); n > 0 {
		at += 31*uint(operator[0]) + 131*uint(operator[n/2])
	}
	recent := &w.slots.recent[at%slotCache]
	if s := *recent; s != nil && s.kind == kind && s.operator == operator {
		return s
	}
	k := key{kind, operator}
	s := w.slots.all[k]
	if s == nil {
		s = w.newSlot(k)
		w.slots.all[k] = s
	}
	*recent = s
	return s
}

func (w *walk) newSlot(k key) *slot {
	s := &slot{key: k, id: len(w.slots.all)}
	var of *profile.PlanKind
	if k.kind >= 0 {
		of = &w.plan.Kinds[k.kind]
	}
	for i := range s.ops {
		s.ops[i] = planned(w.plan, of, k.operator, i == 1)
		s.group[i] = groupOf(s.ops[i])
	}
	return s
}

// cell is what was measured of one operator.
type cell struct {
	*slot
	raw, booked time.Duration // durations, and the instants that are its own
	launches    int
	instances   int // layers
	group       group
	at          []int32 // by layer, those outside first: 1 + the place in measured.took; 0 for none

	counted bool // work and its floor
	work    opWork
	least   floor

	bound   string
	floor   time.Duration // of all instances
	capped  time.Duration // of floor, what is not above the booked time
	sum     passFloor     // of all instances
	over    time.Duration // raw time of instances that are faster than possible
	longest layer.Kernel  // that took most time, for people
	notes   []string
}

// cell returns that of a slot in this pass.
func (r *measured) cell(s *slot, g group) *cell {
	for len(r.cells) <= s.id {
		r.cells = append(r.cells, nil)
	}
	c := r.cells[s.id]
	if c == nil {
		c = &cell{slot: s, group: g}
		r.cells[s.id] = c
		r.order = append(r.order, c)
	}
	if g < small {
		c.group = g
	}
	return c
}

// spent is what one operator of one layer took, and the longest of its kernels, which its work is shown at.
type spent struct {
	cell        *cell
	raw, booked time.Duration
	main        layer.Kernel
}

// add books a kernel for its operator in its layer.
func (r *measured) add(c *cell, l int, k layer.Kernel, raw, booked time.Duration) {
	if len(c.at) <= l+1 {
		c.at = append(c.at, make([]int32, max(l+2, len(r.walk.plan.LayerKinds)+1)-len(c.at))...)
	}
	i := c.at[l+1]
	if i == 0 {
		r.took = append(r.took, spent{cell: c})
		i = int32(len(r.took))
		c.at[l+1] = i
	}
	s := &r.took[i-1]
	s.raw += raw
	s.booked += booked
	s.main = longer(s.main, k)
}

// longer is the one of two kernels that took longer, the first of equals.
func longer(a, b layer.Kernel) layer.Kernel {
	if !a.Valid() || b.Event().Duration() > a.Event().Duration() {
		return b
	}
	return a
}
