package chain

import (
	"cmp"
	"slices"

	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage/internal/activity"
)

// maxLaunchGap is the longest gap between two kernels of a chain that a fusion saves; a longer one is idle time. A
// launch gap is 1 to 5 µs on the sample traces.
const maxLaunchGap = 5000 // ns

// compiled is a chain with its step names as sets.
type compiled struct {
	*fusion.Chain
	steps []compiledStep
}

type compiledStep struct {
	any, without     fusion.Set
	optional, beyond bool
}

// compile looks the steps of all chains up.
func compile(reg *fusion.Registry) (out []compiled) {
	for i := range reg.Chains {
		c := compiled{Chain: &reg.Chains[i]}
		for _, st := range c.Steps {
			c.steps = append(c.steps, compiledStep{reg.Set(st.Any...), reg.Set(st.Without...), st.Optional, st.Beyond})
		}
		out = append(out, c)
	}
	return out
}

// between is how many small kernels may be between two of a chain.
const between = 2

// match returns the position after a chain that begins at position i of a window, i where none does.
func (c *compiled) match(q *sequence, window []int32, i int, sorts []runSort) (end int) {
	at := i
	end = i
look:
	for n, st := range c.steps {
		for skipped := 0; at+skipped < len(window) && skipped <= between; skipped++ {
			s := &sorts[q.Kernels[window[at+skipped]].Sort]
			if s.steps&st.any != 0 && s.steps&st.without == 0 {
				if at += skipped + 1; !st.beyond {
					end = at
				}
				continue look
			}
			if n == 0 || !s.small() {
				break
			}
		}
		if !st.optional {
			return i
		}
	}
	return end
}

// Occurrence is one place where a candidate was found. There may be hundreds of
// thousands of them, so that it is small.
type Occurrence struct {
	Trace *activity.Trace // that it is in
	Acts  []int32         // activities, in order
	Price Price           // what one kernel in place of its kernels saves
}

// Ref is an activity of any of a stage's traces.
type Ref struct {
	Part int32 // which trace, see [activity.Trace]
	Act  int32 // index in its activities
}

// member is an activity of a candidate; candidates are looked for in the order of members.
type member struct{ part, queue, act int32 }

func (x member) compare(y member) int {
	return cmp.Or(cmp.Compare(x.part, y.part), cmp.Compare(x.queue, y.queue), cmp.Compare(x.act, y.act))
}

// members returns the kernels of all occurrences in order.
func (c *Candidate) members() []member {
	if c.mine == nil {
		for _, o := range c.At {
			for _, i := range o.Acts {
				c.mine = append(c.mine, member{o.Trace.Part, o.Trace.Acts[i].Queue, i})
			}
		}
	}
	return c.mine
}

// common counts what two ordered lists share.
func common(x, y []member) (n int) {
	for len(x) > 0 && len(y) > 0 {
		switch c := x[0].compare(y[0]); {
		case c < 0:
			x = x[1:]
		case c > 0:
			y = y[1:]
		default:
			n++
			x, y = x[1:], y[1:]
		}
	}
	return n
}

// Prune drops candidates all of whose kernels are those of a better one; better ones come first.
func Prune(in []*Candidate) (out []*Candidate) {
next:
	for _, c := range in {
		for _, k := range out {
			switch shared := common(c.members(), k.members()); {
			case shared == len(c.members()):
				k.Also = append(k.Also, c)
				continue next
			case shared > 0:
				c.Near = append(c.Near, k)
			}
		}
		out = append(out, c)
	}
	return out
}

// Step is by how much a step becomes shorter, at least and at most: not by time that is saved beside other kernels.
func (o *Occurrence) Step() (low, high int64) {
	var alone, beside int64
	for _, act := range o.Acts {
		one := o.Trace.Alone(act)
		alone += one
		beside += duration(o.Trace, act) - one
	}
	return max(0, o.Price.Low-beside), min(o.Price.High, alone) + o.Price.Gaps
}

// Hold is what keeps GPU time saved in the occurrence from making its step shorter, nil for nothing.
func (o *Occurrence) Hold() *activity.Hold { return o.Trace.Hold(slices.Max(o.Acts)) }

// NoTokens says that a path is taken at no size.
const NoTokens = -1

// LeastTokens is the smallest step with an occurrence, 0 where the tokens of none are known.
func (c *Candidate) LeastTokens() (least int64) {
	for i := range c.At {
		if n := c.At[i].tokens(); n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// PriceUpTo is the price of the occurrences in steps of at most so many tokens, and which those are; steps whose
// tokens are not known count. 0: any size.
func (c *Candidate) PriceUpTo(tokens int64) (sum Price, at []Occurrence) {
	for _, o := range c.At {
		if tokens == 0 || tokens != NoTokens && o.tokens() <= tokens {
			sum.add(o.Price)
			at = append(at, o)
		}
	}
	return sum, at
}

// Kernel is the first kernel of an occurrence.
func (o *Occurrence) Kernel() layer.Kernel {
	return o.Trace.Analysis.Of(o.Trace.Event(&o.Trace.Acts[o.Acts[0]]).ID())
}

// tokens are those of the pass of an occurrence, 0 where they are not known.
func (o *Occurrence) tokens() int64 {
	k := o.Kernel()
	if !k.Valid() || k.Place().Pass == trace.None {
		return 0
	}
	return k.Device().Passes[k.Place().Pass].Tokens
}
