package roofline

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

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
		c.expect()
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
		c.work.DType = widerOperand(c.longest.Event().Name(), c.work.DType)
		c.expected = floorOf(&c.work, w.gpu)
		c.work.atLeast()
		c.least = floorOf(&c.work, w.gpu)
		c.counted, c.bound = true, c.least.bound
	}
	if !c.work.Known || r.load.AtLeast && s.ops.count > 0 {
		return false
	}
	if o := &s.ops.work; o.M > 0 && s.ops.count == 1 && c.work.M > 0 && (o.N != c.work.N || o.K != c.work.K) &&
		!c.work.several {
		w.contradict(c.operator, o, &c.work)
		return false
	}
	s.planned, s.basis = true, r.basis
	floor := duration(max(c.least.seconds(), c.least.link))
	switch {
	case !c.least.known || c.work.Activations > 0 && floor == 0:
		// Only activations: they may be in a cache.
		moved := c.work.floorOfActivations(w.gpu)
		if c.bound == boundNone && moved > 0 {
			c.bound = boundMemory
		}
		switch {
		case moved == 0:
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
	if c.group == communication {
		r.linked(c.operator, floor)
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
	if s.ops.count == 0 {
		return
	}
	c := s.cell
	s.floor, s.basis, s.impossible = s.ops.least, s.ops.basis, s.ops.contradicting > 0
	c.ops.join(&s.ops)
	if c.bound == boundNone {
		c.bound = s.ops.bound
	}
	if r.walk.model == nil || c.group <= attentionCore { // with a plan, the floor of a pass has no activations
		c.sum.compute += s.ops.compute
		c.sum.memory += s.ops.memory
		c.sum.serial += s.ops.serial
	}
}

// contradict notes that recorded sizes of a product are others than the plan's.
func (w *walk) contradict(operator string, recorded *Work, planned *opWork) {
	if w.contradictions == nil {
		w.contradictions = map[string]string{}
	}
	if _, known := w.contradictions[operator]; !known && len(w.contradictions) < 8 {
		w.contradictions[operator] = fmt.Sprintf("%s was recorded with N %d and K %d, the config gives N %d and K %d",
			operator, recorded.N, recorded.K, planned.N, planned.K)
	}
}

// operands finds the types of two operands in a kernel's name that writes them as a product: "bf16xmxfp4",
// activations first.
var operands = regexp.MustCompile(`(?i)(bf16|fp16|fp8|e4m3|mxfp8)x(?:mxfp4|nvfp4|fp4|e2m1|int4|fp8|e4m3|mxfp8)(?:[^a-z0-9]|$)`)

// widerOperand is the type whose peak bounds a kernel's arithmetic: that of the wider operand, where its name has
// both. Smaller weights are widened before they are used.
func widerOperand(name, weights string) string {
	if sizeOf(weights, "") >= sizeOf("bf16", "") {
		return weights // no operand is wider
	}
	m := operands.FindStringSubmatch(name)
	if m == nil {
		return weights
	}
	operand := strings.ToLower(m[1])
	if operand == "e4m3" || operand == "mxfp8" {
		operand = "fp8"
	}
	if sizeOf(operand, "") > sizeOf(weights, "") {
		return operand
	}
	return weights
}

// expect says how many experts an even choice gives, or how many can have been chosen at most in the time.
func (c *cell) expect() {
	if !c.work.Expected || c.floor == 0 || c.instances == 0 {
		return
	}
	expected := duration(c.expected.seconds()) * time.Duration(c.instances)
	if expected <= c.raw {
		c.notes = append(c.notes, fmt.Sprintf("%.0f experts active if chosen evenly", c.work.ActiveExperts))
		return
	}
	c.notes = append(c.notes, fmt.Sprintf("at most %.0f experts active, %.0f if chosen evenly",
		c.work.ActiveExperts*float64(c.raw)/float64(expected), c.work.ActiveExperts))
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
	ops := s.ops[b2i(stage == layer.StageDecode)]
	for i := range ops {
		one := w.model.work(&ops[i], kind, load)
		if !one.Known {
			continue
		}
		sum.several = sum.several || sum.M > 0 && one.M > 0
		if sum.M == 0 {
			sum.M, sum.N, sum.K, sum.DType, sum.ActiveExperts = one.M, one.N, one.K, one.DType, one.ActiveExperts
		}
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
	return sum
}

// impossible says that an instance was faster than the GPU at its highest clock. An expectation is no bound, and
// neither is an upper bound of the work.
func (w *walk) impossible(k *opWork, f *floor, took time.Duration) bool {
	if w.gpu == nil || k.AtMost || f.bound == boundLink {
		return false
	}
	memory := f.memory * w.gpu.Bandwidth.Value / max(w.gpu.Bandwidth.Value, w.gpu.BusBandwidth.Value)
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
		if c.floor > 0 {
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
	if r.scrambled() || float64(over) > withheld*float64(all) {
		r.withheld = true
		return
	}
	if sum.serial > 0 {
		r.pass.Basis = r.basis
		if r.basis == BasisNone || r.load == nil {
			r.pass.Basis = BasisShapes
		}
		r.pass.AtLeast = r.pass.Basis == BasisWeights
	}
	if r.raw > 0 {
		r.pass.Covered = float64(covered) / float64(r.raw)
	}
	r.pass.Floor, r.pass.Overlapped = duration(sum.serial), duration(max(sum.compute, sum.memory))
}

// scrambled reports whether the records of the trace can be held against no floor.
func (r *measured) scrambled() bool { return r.walk.scrambled }

// notes are what the walk found doubtful.
func (w *walk) notes() []string {
	var out []string
	if w.unknownTokens > 0 && w.model != nil && !w.uncounted {
		out = append(out, fmt.Sprintf("the tokens of %d passes are not known: their floor is that of reading the weights once, which holds for any number of tokens (pass --tokens for more)", w.unknownTokens))
	}
	for _, operator := range slices.Sorted(maps.Keys(w.contradictions)) {
		out = append(out, "recorded inputs contradict the config: "+w.contradictions[operator])
	}
	if w.scrambled {
		out = append(out, "no floors: names and times of the records do not belong together")
	}
	if w.marked > 0 {
		out = append(out, fmt.Sprintf("%d passes have operators that are faster than the GPU can be: where that is more than %.0f%% of the time, the floor is withheld", w.marked, 100*withheld))
	}
	return out
}
