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

// slot returns that of an operator.
func (w *walk) slot(kind int, operator string) *slot {
	k := key{kind, operator}
	s := w.slots[k]
	if s == nil {
		s = w.newSlot(k)
		w.slots[k] = s
	}
	return s
}

func (w *walk) newSlot(k key) *slot {
	s := &slot{key: k, id: len(w.slots)}
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
	raw, booked time.Duration // durations, and the instants that are its own under its heading
	hidden      time.Duration // what its kernels run beside those that the time is booked to
	copied      time.Duration // the instants of its copies
	apart       time.Duration // GPU time of its copies, which raw is without
	launches    int
	headed      int // of them, those under its heading: not its copies and collectives
	instances   int // layers
	group       group
	at          []int32 // by layer, those outside first: 1 + the place in measured.took; 0 for none

	counted  bool // work and its floor
	work     opWork
	least    floor
	expected floor // with as many experts as an even choice gives
	basis    Basis

	bound   string
	floor   time.Duration // of all instances
	capped  time.Duration // of floor, what is not above the booked time
	sum     passFloor     // of all instances
	over    time.Duration // raw time of instances that are faster than possible
	even    time.Duration // booked time above the floor that work may need which is not certain
	chosen  float64       // experts, at most; 0 unknown
	ops     *opSum        // of instances whose work is known from their ops, nil without any
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
	if g < small && r.walk.model != nil {
		c.group = g
	}
	return c
}

// spent is what one operator of one layer took, and the longest of its kernels, which its work is shown at.
type spent struct {
	cell        *cell
	raw, booked time.Duration
	main        layer.Kernel
	shortest    time.Duration // of a collective: as often as it ran the shortest of the same in the pass

	ops        *opSum // nil: no inputs of its ops were recorded
	planned    bool   // its work is that of the plan
	impossible bool
	floor      time.Duration
	basis      Basis
}

// opSum adds up ops whose inputs were recorded.
type opSum struct {
	count         int
	work          Work          // M, N, K of the first product, tokens of the first attention
	least, most   time.Duration // floors: of what is certain, and of what may be
	sum           passFloor
	contradicting bool // an op is faster than possible
	bound         string
	basis         Basis
}

// sumOf is that of one op.
func sumOf(g *opGroup) opSum {
	one := opSum{count: 1, work: g.work, least: g.least, basis: g.basis, contradicting: g.basis == BasisContradiction}
	if g.least > 0 {
		one.most, one.bound = max(g.least, g.most), g.floor.bound
		one.sum = passFloor{compute: g.floor.compute, memory: g.floor.memory, serial: max(g.floor.seconds(), g.floor.link)}
	}
	return one
}

// join is the sum of both; s, which may be nil, is changed.
func (s *opSum) join(o *opSum) *opSum {
	if s == nil {
		sum := *o
		return &sum
	}
	s.count += o.count
	if w := &s.work; w.M == 0 {
		w.M, w.N, w.K, w.Matrix, w.Kind = o.work.M, o.work.N, o.work.K, o.work.Matrix, o.work.Kind
	}
	if s.work.Keys == 0 {
		s.work.Queries, s.work.Keys = o.work.Queries, o.work.Keys
	}
	flop, bytes := s.work.most()
	moreFLOP, moreBytes := o.work.most()
	s.work.MostFLOP, s.work.MostBytes, s.work.Open = flop+moreFLOP, bytes+moreBytes, s.work.Open || o.work.Open
	s.work.FLOP += o.work.FLOP
	s.work.Bytes += o.work.Bytes
	s.least += o.least
	s.most += o.most
	s.sum.join(&o.sum)
	s.contradicting = s.contradicting || o.contradicting
	if s.basis == BasisNone || o.basis == BasisShapes {
		s.basis, s.bound = o.basis, o.bound
	}
	return s
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
	if c.group == communication {
		s.shortest += r.walk.waits.Shortest[int32(k.Index())]
	}
	if g := r.walk.ops.main(k); g != nil {
		one := sumOf(g)
		s.ops = s.ops.join(&one)
	}
}

// instanceOf returns the number of the instance that a kernel of the pass belongs to, 0 for none; see cell.at.
func (r *measured) instanceOf(k layer.Kernel) int32 {
	operator, part, _ := k.Operator()
	if part == layer.PartCopy {
		return 0
	}
	l := k.Place().Layer
	s := r.walk.slot(r.walk.kindIndex(l), r.walk.nameOf(k, string(operator)))
	return r.cells[s.id].at[l+1]
}

// longer is the one of two kernels that took longer, the first of equals.
func longer(a, b layer.Kernel) layer.Kernel {
	if !a.Valid() || b.Event().Duration() > a.Event().Duration() {
		return b
	}
	return a
}
