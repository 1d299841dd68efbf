package triage

import (
	"cmp"
	"slices"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/triage/fusion"
	"github.com/llmstrata/strata/triage/internal/activity"
)

// NOTE. A chain is looked for in the order of one stream. Between two of its
// kernels a bounded number of fillers may stand: kernels that only move data or
// work elementwise, never a matrix product, attention or a collective, unless
// the step says that it reaches through them. A pattern's occurrences do not
// share kernels; those of two patterns may, and the rows then say so.

// Bars of the chain rule.
const (
	// A chain of a layer must occur at least this often per attention block of
	// the stage: half of the layers may be of another kind (sliding and full
	// attention, dense and sparse feed-forward), and an attention block may be
	// counted twice where an indexer stands before it.
	minPerBlock = 0.25
	// minOccurrences holds where a stage has no attention to count.
	minOccurrences = 4
	// A gap beyond this between two kernels of a chain is idle time, which a
	// fusion would not save; a launch gap is 1 to 5 µs on the sample traces.
	maxLaunchGap = 5000 // ns
)

// occurrence is one place where a chain was found.
type occurrence struct {
	w       *activity.Trace
	members []int32 // activities that do a step
	fillers []int32 // fillers between them
	through []int32 // kernels that the chain reaches through; never part of it
	gain    int64   // ns
}

// chainMatch is a pattern found by the chain rule.
type chainMatch struct {
	p    *fusion.Pattern
	at   []occurrence
	ns   int64    // members only
	also []string // other patterns with the same kernels
	near []string // kept patterns that share some kernels

	room []int32 // what is left of the memory that keep hands out
}

// keep returns a copy of list. A chain may occur hundreds of thousands of times.
func (m *chainMatch) keep(list []int32) []int32 {
	const chunk = 4096
	if len(list) > chunk {
		return slices.Clone(list)
	}
	if len(list) > len(m.room) {
		m.room = make([]int32, min(chunk, max(len(list), 16*len(m.at), 64)))
	}
	n := copy(m.room, list)
	kept := m.room[:n:n]
	m.room = m.room[n:]
	return kept
}

// actRef is an activity of any of a stage's traces.
type actRef struct{ part, act int32 }

func (r actRef) compare(o actRef) int {
	return cmp.Or(cmp.Compare(r.part, o.part), cmp.Compare(r.act, o.act))
}

// members returns the chain's kernels in order.
func (m *chainMatch) members() []actRef {
	var out []actRef
	for _, o := range m.at {
		for _, i := range o.members {
			out = append(out, actRef{o.w.Part, i})
		}
	}
	slices.SortFunc(out, func(x, y actRef) int {
		return x.compare(y)
	})
	return out
}

// common counts what two ordered lists share.
func common(x, y []actRef) (n int) {
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

// prune drops matches that say what a better one says: the same kernels, or a
// pattern that a better one with some of these kernels subsumes.
func prune(in []*chainMatch) []*chainMatch {
	var out []*chainMatch
	kernels := map[*chainMatch][]actRef{}
next:
	for _, m := range in {
		mine := m.members()
		var near []string
		for _, k := range out {
			shared := common(mine, kernels[k])
			if shared == 0 {
				continue
			}
			if shared == len(mine) && shared == len(kernels[k]) {
				k.also = append(k.also, m.p.Pattern)
				continue next
			}
			if slices.Contains(k.p.Subsumes, m.p.Pattern) {
				continue next
			}
			near = append(near, k.p.Pattern)
		}
		m.near = near
		kernels[m] = mine
		out = append(out, m)
	}
	return out
}

// enough reports whether a chain occurs often enough to be part of the model, in
// so many steps of the server and attention blocks.
func (m *chainMatch) enough(steps, blocks int) bool {
	n := len(m.at)
	if n == 0 {
		return false
	}
	if m.p.Repeat == "pass" {
		return n >= max(1, steps/2)
	}
	if blocks == 0 {
		return n >= minOccurrences
	}
	return n >= 2 && float64(n) >= minPerBlock*float64(blocks)
}

// compiledChain is a chain with its step names as sets.
type compiledChain struct {
	p     *fusion.Pattern
	steps []compiledStep
}

type compiledStep struct {
	fusion.ChainStep
	any, without, before fusion.Set
	min, max             int
	names                classify.Keywords
	through              []classify.Category
}

func compile(reg *fusion.Registry, p *fusion.Pattern) *compiledChain {
	c := &compiledChain{p: p}
	for _, st := range p.Chain {
		cs := compiledStep{ChainStep: st, any: reg.Set(st.Any), without: reg.Set(st.Without), min: max(st.Min, 1),
			names: classify.NewKeywords(st.Names...)}
		cs.max = max(st.Max, cs.min)
		if st.Before != "" {
			cs.before = reg.Set([]string{st.Before})
		}
		for _, t := range st.Through {
			cs.through = append(cs.through, classify.Category(t))
		}
		c.steps = append(c.steps, cs)
	}
	return c
}

func (c *compiledChain) possible(all fusion.Set) bool {
	for _, st := range c.steps {
		if all&st.any == 0 {
			return false
		}
	}
	return true
}

func (st *compiledStep) takes(p *activity.Pool, q sequence, k seqKernel) bool {
	if k.set&st.any == 0 || k.set&st.without != 0 {
		return false
	}
	return len(st.Names) == 0 || st.names.In(p.Facts[q.w.Acts[k.act].Kernel].Words)
}

// find adds the chain's occurrences on one stream.
func (c *compiledChain) find(p *activity.Pool, q sequence, m *chainMatch) {
	var o occurrence
	for i := 0; i < len(q.kernels); {
		end, ok := c.match(p, q, i, &o)
		if !ok {
			i++
			continue
		}
		m.at = append(m.at, occurrence{w: q.w, members: m.keep(o.members), fillers: m.keep(o.fillers), through: m.keep(o.through)})
		i = end
	}
}

// match tries the chain at position i, writes what it found to o and returns the
// position after it.
func (c *compiledChain) match(p *activity.Pool, q sequence, i int, o *occurrence) (int, bool) {
	o.members, o.fillers, o.through = o.members[:0], o.fillers[:0], o.through[:0]
	pos := i
	for n := range c.steps {
		st := &c.steps[n]
		taken := 0
		for taken < st.max {
			at, fillers, through := c.seek(p, q, st, pos, len(o.members) > 0)
			if at < 0 {
				break
			}
			o.fillers = append(o.fillers, fillers...)
			o.through = append(o.through, through...)
			o.members = append(o.members, q.kernels[at].act)
			pos = at + 1
			taken++
		}
		if taken < st.min {
			return 0, false
		}
		if st.before != 0 && !c.precedes(q, st, pos) {
			return 0, false
		}
	}
	return pos, true
}

// seek finds the next kernel that does a step: at pos, or behind fillers when
// the chain has begun. at is -1 where there is none.
func (c *compiledChain) seek(p *activity.Pool, q sequence, st *compiledStep, pos int, begun bool) (at int, fillers, through []int32) {
	for at = pos; at < len(q.kernels); at++ {
		k := q.kernels[at]
		if st.takes(p, q, k) {
			return at, fillers, through
		}
		switch {
		case !begun:
			return -1, nil, nil
		case len(st.through) > len(through) && slices.Contains(st.through, p.Facts[q.w.Acts[k.act].Kernel].Result.Category):
			through = append(through, k.act)
		case k.filler && len(fillers) < c.p.Fillers:
			fillers = append(fillers, k.act)
		default:
			return -1, nil, nil
		}
	}
	return -1, nil, nil
}

// precedes reports whether the next kernel that is not a filler does the step
// that must follow.
func (c *compiledChain) precedes(q sequence, st *compiledStep, pos int) bool {
	for n := 0; pos < len(q.kernels) && n <= c.p.Fillers; pos, n = pos+1, n+1 {
		if q.kernels[pos].set&st.before != 0 {
			return true
		}
		if !q.kernels[pos].filler {
			return false
		}
	}
	return false
}

// measure sums the time of the chain's kernels and what a fused one would
// save: the launch gaps inside the chain, the fillers, and all members but the
// longest (or those of the Gain steps).
func (m *chainMatch) measure(reg *fusion.Registry) {
	for i := range m.at {
		o := &m.at[i]
		longest, sum, fill := int64(0), int64(0), int64(0)
		for _, i := range o.members {
			d := o.w.Acts[i].End - o.w.Acts[i].Start
			sum += d
			longest = max(longest, d)
		}
		for _, i := range o.fillers {
			fill += o.w.Acts[i].End - o.w.Acts[i].Start
		}
		m.ns += sum
		saved := sum - longest
		if len(m.p.Gain) > 0 {
			saved = o.gainOf(m.p.Chain, m.p.Gain)
		}
		o.gain = saved + fill + o.gaps()
	}
}

// gainOf sums the members at the positions of the Gain steps. It is used for
// chains of one kernel a step.
func (o *occurrence) gainOf(chain []fusion.ChainStep, gain []string) (ns int64) {
	// Steps that may take several kernels come first in such chains, so the
	// positions are counted from the end.
	for n := range chain {
		st := chain[len(chain)-1-n]
		at := len(o.members) - 1 - n
		if at >= 0 && slices.ContainsFunc(st.Any, func(s string) bool { return slices.Contains(gain, s) }) {
			ns += o.w.Acts[o.members[at]].End - o.w.Acts[o.members[at]].Start
		}
	}
	return ns
}

// gaps sums the launch gaps between neighbouring kernels of an occurrence.
func (o *occurrence) gaps() (ns int64) {
	all := slices.Concat(o.members, o.fillers, o.through)
	slices.Sort(all)
	for n := 1; n < len(all); n++ {
		if g := o.w.Acts[all[n]].Start - o.w.Acts[all[n-1]].End; g > 0 {
			ns += min(g, maxLaunchGap)
		}
	}
	return ns
}

// noTokens says that a path is taken at no size.
const noTokens = -1

// gainUpTo is the gain of the occurrences in steps of at most so many tokens;
// steps whose tokens are not known count. 0: any size.
func (m *chainMatch) gainUpTo(tokens int64) (ns int64) {
	for _, o := range m.at {
		if p := o.pass(); tokens != noTokens && (tokens == 0 || p == nil || p.Tokens <= tokens) {
			ns += o.gain
		}
	}
	return ns
}

// kernel is the first kernel of an occurrence.
func (o *occurrence) kernel() layer.Kernel {
	return o.w.Analysis.Of(o.w.Event(&o.w.Acts[o.members[0]]).ID())
}

// pass is the pass of an occurrence, nil outside of passes.
func (o *occurrence) pass() *layer.ForwardPass {
	k := o.kernel()
	if !k.Valid() || k.Place().Pass == layer.None {
		return nil
	}
	return &k.Device().Passes[k.Place().Pass]
}
