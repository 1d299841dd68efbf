package roofline

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/profile/hardware"
)

// judge holds each operator of each layer against its floor.
func (r *measured) judge() {
	for i := range r.took {
		s := &r.took[i]
		c := s.cell
		c.instances++
		if r.load == nil {
			continue
		}
		if !c.counted {
			c.work = r.walk.workOf(c.slot, r.load, r.stage)
			c.work.DType = widerOperand(c.longest.Event().Name(), c.work.DType)
			c.least = floorOf(&c.work, r.walk.gpu)
			c.counted, c.bound = true, c.least.bound
		}
		r.walk.costs.add(s)
		if !c.least.known {
			continue
		}
		floor := duration(max(c.least.seconds(), c.least.link))
		if c.work.AtMost && floor > s.raw { // the sums say too much: it had less to do
			continue
		}
		if c.group == communication {
			r.linked(c.operator, floor)
		}
		c.floor += floor
		c.capped += min(floor, s.booked)
		c.sum.add(profile.Operator(c.operator), &c.work, &c.least, 1)
		if r.walk.impossible(&c.work, &c.least, s.raw) {
			c.over += s.raw
		}
	}
	for _, c := range r.order {
		c.expect()
	}
	r.withhold()
}

// operands finds the types of two operands in a kernel's name that writes them as a product: "bf16xmxfp4", activations first.
var operands = regexp.MustCompile(`(?i)(bf16|fp16|fp8|e4m3|mxfp8)x(?:mxfp4|nvfp4|fp4|e2m1|int4|fp8|e4m3|mxfp8)(?:[^a-z0-9]|$)`)

// widerOperand is the type whose peak bounds a kernel's arithmetic: that of the wider operand, where its name tells both. Smaller weights are widened
// before they are used.
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

// expect takes back the floor of experts that are expected to take longer than they did: fewer of them were chosen than an even choice gives.
func (c *cell) expect() {
	if !c.work.Expected || c.floor == 0 {
		return
	}
	if c.floor <= c.raw {
		c.notes = append(c.notes, fmt.Sprintf("%.0f experts active if chosen evenly", c.work.ActiveExperts))
		return
	}
	c.notes = append(c.notes, fmt.Sprintf("at most %.0f experts active", c.work.ActiveExperts*float64(c.raw)/float64(c.floor)))
	c.floor, c.capped, c.sum = 0, 0, passFloor{}
}

// workOf adds up what a kernel's operator has to do in one layer.
func (w *walk) workOf(s *slot, load *Load, stage layer.Stage) opWork {
	var kind *profile.PlanKind
	if s.kind >= 0 {
		kind = &w.plan.Kinds[s.kind]
	}
	var sum opWork
	ops := s.ops[b2i(stage == layer.StageDecode)]
	for i := range ops {
		one := w.model.work(&ops[i], kind, load)
		if !one.Known {
			continue
		}
		if sum.M == 0 {
			sum.M, sum.N, sum.K, sum.DType, sum.ActiveExperts = one.M, one.N, one.K, one.DType, one.ActiveExperts
		}
		sum.FLOP += one.FLOP
		sum.Weights += one.Weights
		sum.Cache += one.Cache
		sum.Activations += one.Activations
		sum.Link += one.Link
		sum.Ranks = max(sum.Ranks, one.Ranks)
		sum.LeastWeights += one.LeastWeights
		sum.AtMost = sum.AtMost || one.AtMost
		sum.Expected = sum.Expected || one.Expected
		sum.Known = true
	}
	return sum
}

// impossible says that an instance was faster than the GPU at its highest clock. An expectation is no bound, and neither is an upper bound of the
// work.
func (w *walk) impossible(k *opWork, f *floor, took time.Duration) bool {
	if w.gpu == nil || k.AtMost || f.bound == boundLink {
		return false
	}
	if k.Expected && k.LeastWeights == 0 { // this rank's experts may have no token
		return false
	}
	memory := f.memory * w.gpu.Bandwidth.Value / max(w.gpu.Bandwidth.Value, w.gpu.BusBandwidth.Value)
	if k.Expected {
		memory *= k.LeastWeights / k.Weights
	}
	return max(f.compute/boost(w.gpu), memory) > above*took.Seconds()
}

// boost is how much faster than on the data sheet a kernel can be at the highest clock, at least 1: a row above that is an error, not a
// good kernel.
func boost(g *hardware.GPU) float64 {
	if g.Clock.Value > 0 && g.MaxClock.Value > g.Clock.Value {
		return g.MaxClock.Value / g.Clock.Value
	}
	return 1
}

// withhold gives the pass its floor, unless too much of that cannot be true.
func (r *measured) withhold() {
	var over, all time.Duration
	var sum passFloor
	for _, c := range r.order {
		over += c.over
		all += c.raw
		sum.join(&c.sum)
		if c.over > 0 {
			c.notes = append(c.notes, "faster than the GPU can be: tokens, types, GPU or records are wrong")
		}
	}
	if over > 0 {
		r.walk.marked++
	}
	if float64(over) > withheld*float64(all) || r.load == nil {
		return
	}
	r.pass.Floor, r.pass.Overlapped = duration(sum.serial), duration(max(sum.compute, sum.memory))
}

// notes are what the walk found doubtful.
func (w *walk) notes() []string {
	var out []string
	if w.unknownTokens > 0 {
		out = append(out, fmt.Sprintf("the tokens of %d passes are not known: they have no floor (give --tokens)", w.unknownTokens))
	}
	if w.marked > 0 {
		out = append(out, fmt.Sprintf("%d passes have operators that are faster than the GPU can be: where that is more than %.0f %% of the time, the floor is withheld", w.marked, 100*withheld))
	}
	return out
}
