package roofline

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/profile/hardware"
)

// judge holds each operator of each layer against its floor: that of the plan, or of its ops where the plan lacks
// its work.
func (r *measured) judge() {
	for i := range r.took {
		s := &r.took[i]
		c := s.cell
		c.instances++
		if !r.planned(s) {
			r.recorded(s)
		}
		r.exchanged(s)
		c.floor += s.floor
		c.capped += min(s.floor, s.booked)
		if s.impossible {
			c.over += s.raw
		}
		if c.basis == BasisNone || c.basis >= BasisCache {
			c.basis = s.basis
		}
	}
	for _, c := range r.order {
		c.expect(r.walk.gpu)
	}
	r.withhold()
	for i := range r.took {
		r.cost(&r.took[i])
	}
}

// planned counts an instance by the plan; false if the plan lacks its work, or recorded inputs give it
// better.
func (r *measured) planned(s *spent) bool {
	w, c := r.walk, s.cell
	if r.load == nil {
		return false
	}
	if !c.counted {
		c.work = w.workOf(c.slot, r.load, r.stage)
		w.checkType(c)
		c.work.DType = widerOperand(c.longest.Facts().Operand, c.work.DType)
		c.expected = floorOf(&c.work, w.gpu)
		c.work.atLeast()
		c.least = floorOf(&c.work, w.gpu)
		c.counted, c.bound = true, c.least.bound
	}
	if !c.work.Known || r.load.AtLeast && s.ops != nil {
		return false
	}
	if o := s.ops; o != nil && o.count == 1 && o.work.M > 0 && c.work.M > 0 && !c.work.several &&
		(o.work.N != c.work.N || o.work.K != c.work.K) {
		w.contradict(c.operator, fmt.Sprintf("recorded inputs contradict the config: %s was recorded with N %d and K %d, "+
			"the config gives N %d and K %d", c.operator, o.work.N, o.work.K, c.work.N, c.work.K))
		return false
	}
	s.planned, s.basis = true, r.basis
	floor := duration(max(c.least.seconds(), c.least.link+c.least.latency))
	if c.least.latency > 0 && floor > s.raw { // faster than what was published
		floor, c.bound = duration(c.least.link), boundLink
	}
	switch {
	case !c.least.known || c.work.Activations > 0 && floor == 0:
		// Only activations: they may be in a cache.
		moved := c.work.floorOfActivations(w.gpu)
		if c.bound == boundNone && moved > 0 {
			c.bound = boundMemory
		}
		switch {
		case moved == 0 || r.load.AtLeast:
			s.basis = BasisNone
		case moved > s.raw:
			s.basis = BasisCache
		default:
			s.floor = moved
		}
		return true
	case c.work.AtMost && floor > s.raw: // the sums say too much: it had less to do
		s.basis = BasisFewer
		return true
	case w.impossible(&c.work, &c.least, s.raw):
		s.impossible, s.basis = true, BasisContradiction
	}
	s.floor = floor
	c.sum.add(profile.Operator(c.operator), &c.work, &c.least, 1)
	if c.work.Expected {
		c.even += max(0, min(duration(c.expected.seconds()), s.booked)-min(floor, s.booked))
	}
	return true
}

// recorded counts an instance by its ops.
func (r *measured) recorded(s *spent) {
	if s.ops == nil {
		return
	}
	c := s.cell
	s.floor, s.basis, s.impossible = s.ops.least, s.ops.basis, s.ops.contradicting
	c.ops = c.ops.join(s.ops)
	if c.bound == boundNone {
		c.bound = s.ops.bound
	}
	if r.walk.model == nil || c.group <= attentionCore { // with a plan, the floor of a pass has no activations
		c.sum.join(&s.ops.sum)
	}
	c.even += max(0, min(s.ops.most, s.booked)-min(s.floor, s.booked))
}

// exchanged gives a collective whose bytes are not known the time of the shortest of the same in the pass, and adds up
// the floors of all.
func (r *measured) exchanged(s *spent) {
	if s.cell.group != communication {
		return
	}
	if s.floor == 0 && s.basis == BasisNone && s.shortest > 0 {
		s.floor, s.basis, s.planned, s.cell.bound = s.shortest, BasisShortest, true, boundLatency
	}
	r.linked(s.cell.operator, s.floor)
}

// contradict notes once of an operator that a recorded size or a kernel's type is another than the plan's.
func (w *walk) contradict(operator, how string) {
	if w.contradictions == nil {
		w.contradictions = map[string]string{}
	}
	if _, known := w.contradictions[operator]; !known && len(w.contradictions) < 8 {
		w.contradictions[operator] = how
	}
}

// checkType notes products that kernels compute with numbers smaller than the plan's weights and the activations: those
// of a quantised variant.
func (w *walk) checkType(c *cell) {
	runs, planned := string(c.longest.Facts().DType), c.work.DType
	if c.work.K > 0 && runs != "" && sizeOf(runs, "") < min(sizeOf(planned, ""), sizeOf(w.model.activation, "")) {
		w.contradict(c.operator, fmt.Sprintf("kernels contradict the config: %s computes with %s, the config has weights of "+
			"%s", c.operator, runs, planned))
	}
}

// widerOperand is the type whose peak bounds a kernel's arithmetic: that of the wider operand, where its name has
// both. Smaller weights are widened before they are used.
func widerOperand(operand, weights string) string {
	if sizeOf(weights, "") >= sizeOf("bf16", "") || operand == "" {
		return weights // no operand is wider
	}
	return slower(weights, operand)
}

// expect says how many experts tokens chose: those of one token at least, and no more than all tokens can choose, the
// grid has room for, and the memory delivers in the time.
func (c *cell) expect(g *hardware.GPU) {
	w := &c.work
	if !w.Expected || c.floor == 0 || w.OneExpert == 0 {
		return
	}
	c.chosen = w.MostExperts
	if room := expertRoom(c.longest); room > 0 {
		c.chosen = min(c.chosen, room)
	}
	if speed := max(g.Bandwidth.Value, g.BusBandwidth.Value); g.Bandwidth.Known() {
		c.chosen = min(c.chosen, c.raw.Seconds()/float64(c.instances)*speed/w.OneExpert)
	}
	c.notes = append(c.notes, fmt.Sprintf("%.0f to %.0f experts active, %.0f if chosen evenly", w.LeastExperts,
		max(c.chosen, w.LeastExperts), w.ActiveExperts))
}

// expertRoom is for how many experts a kernel's grid has room at most, 0 where it does not say.
func expertRoom(k layer.Kernel) float64 {
	var x, y float64
	if k.Valid() && k.Facts().ExpertRows {
		if n, _ := fmt.Sscanf(k.Event().Shape(), "%g,%g,", &x, &y); n == 2 {
			return y
		}
	}
	return 0
}

// workOf adds up what a kernel's operator has to do in one layer.
func (w *walk) workOf(s *slot, load *Load, stage layer.Stage) opWork {
	var sum opWork
	if w.model == nil || w.uncounted {
		return sum
	}
	var kind *profile.PlanKind
	if s.kind >= 0 {
		kind = &w.plan.Kinds[s.kind]
	}
	ops := s.ops[stat.Int(stage == layer.StageDecode)]
	inProduct := slices.ContainsFunc(ops, func(op profile.PlanOp) bool { return op.K > 0 && op.N > 0 })
	_, fused := firstOf(s.operator)
	fused = fused && !inProduct
	var most float64
	for i := range ops {
		one := w.model.work(&ops[i], kind, load)
		if !one.Known {
			continue
		}
		if inProduct && ops[i].Width > 0 { // a product's kernel has what it reads and writes at hand
			one.Activations = 0
		}
		if fused { // what one part writes the next one has at hand; an addition reads the residual, and keeps the sum
			keeps := 0.0
			if ops[i].Operator == opname.ResidualAdd {
				if keeps = one.Activations; i == len(ops)-1 {
					keeps /= 2
				}
			} else {
				most = max(most, one.Activations)
			}
			one.Activations = keeps
		}
		sum.several = sum.several || sum.M > 0 && one.M > 0
		if sum.M == 0 {
			sum.M, sum.N, sum.K, sum.DType, sum.ActiveExperts = one.M, one.N, one.K, one.DType, one.ActiveExperts
			sum.LeastExperts, sum.MostExperts = one.LeastExperts, one.MostExperts
		}
		sum.OneExpert += one.OneExpert
		sum.FLOP += one.FLOP
		sum.Weights += one.Weights
		sum.Cache += one.Cache
		sum.Activations += one.Activations
		sum.Link += one.Link
		sum.Ranks = max(sum.Ranks, one.Ranks)
		if one.Expected {
			sum.LeastWeights += one.LeastWeights
		} else {
			sum.LeastWeights += one.Weights
		}
		sum.AtMost = sum.AtMost || one.AtMost
		sum.Expected = sum.Expected || one.Expected
		sum.Known = true
	}
	sum.Activations += most
	return sum
}

// impossible says that an instance was faster than the GPU at its highest clock. An expectation is no bound, and
// neither is an upper bound of the work.
func (w *walk) impossible(k *opWork, f *floor, took time.Duration) bool {
	if w.gpu == nil || k.AtMost || f.link > 0 {
		return false
	}
	memory := f.memory
	if bus := w.gpu.BusBandwidth.Value; bus > w.gpu.Bandwidth.Value {
		memory *= w.gpu.Bandwidth.Value / bus
	}
	return max(f.compute/boost(w.gpu), memory) > above*took.Seconds()
}

// boost is how much faster than on the data sheet a kernel can be at the highest clock, at least 1: a row above that
// is an error, not a good kernel.
func boost(g *hardware.GPU) float64 {
	if g.Clock.Value > 0 && g.MaxClock.Value > g.Clock.Value {
		return g.MaxClock.Value / g.Clock.Value
	}
	return 1
}

// withhold gives the pass its floor, unless too much of that cannot be true.
func (r *measured) withhold() {
	var over, all, covered time.Duration
	var sum passFloor
	for _, c := range r.order {
		over += c.over
		all += c.raw
		if c.floor > 0 && c.basis != BasisShortest {
			covered += c.raw
		}
		sum.join(&c.sum)
		if c.over > 0 {
			c.notes = append(c.notes, "faster than the GPU can be: tokens, types, GPU or records are wrong")
		}
	}
	if over > 0 {
		r.walk.marked++
	}
	if r.walk.scrambled || float64(over) > withheld*float64(all) {
		r.withheld = true
		return
	}
	if sum.serial > 0 {
		r.pass.Basis = r.basis
		if r.basis == BasisNone || r.load == nil {
			r.pass.Basis = BasisShapes
		}
	}
	if r.raw > 0 {
		r.pass.Covered = float64(covered) / float64(r.raw)
	}
	r.pass.AtLeast = sum.serial > 0 && (r.pass.Basis == BasisWeights || r.pass.Covered < mostlyCovered)
	r.pass.Floor, r.pass.Overlapped = duration(sum.serial), duration(max(sum.compute, sum.memory))
}

// against is what recorded inputs and kernels say against the config.
func (w *walk) against() (out []string) {
	for _, operator := range slices.Sorted(maps.Keys(w.contradictions)) {
		out = append(out, w.contradictions[operator])
	}
	return out
}

// notes are what the walk found doubtful.
func (w *walk) notes() []string {
	var out []string
	if w.unknownTokens > 0 && w.model != nil && !w.uncounted {
		out = append(out, fmt.Sprintf("the tokens of %s are not known: the floor is that of reading the weights once, "+
			"which holds for any number of tokens (pass --tokens for more)",
			table.Counted(w.unknownTokens, "pass", "passes")))
	}
	out = append(out, w.against()...)
	if w.scrambled {
		out = append(out, "no floors: names and times of the records do not belong together")
	}
	if w.marked > 0 {
		out = append(out, fmt.Sprintf("operators of %s are faster than the GPU can be: where that is more than %.0f%% of "+
			"the time, the floor is withheld", table.Counted(w.marked, "pass", "passes"), 100*withheld))
	}
	return out
}
