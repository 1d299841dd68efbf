package chain

import (
	"cmp"
	"slices"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/internal/wordmatch"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
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

// Occurrence is one place where a chain was found. There may be hundreds of
// thousands of them, so that it is small.
type Occurrence struct {
	Trace *activity.Trace // that it is in
	price Price
	// acts are the activities that do a step, the fillers between them, and the
	// kernels that the chain reaches through, which are never part of it.
	acts             []int32
	members, fillers int32
}

// Members are the activities that do a step.
func (o *Occurrence) Members() []int32 { return o.acts[:o.members] }

// found is an occurrence while it is looked for.
type found struct{ members, fillers, through []int32 }

// Match is a pattern found by the chain rule.
type Match struct {
	Pattern *fusion.Pattern // that was looked for
	At      []Occurrence    // in the order of the streams
	NS      int64           // members only
	Also    []string        // other patterns with the same kernels
	Near    []string        // kept patterns that share some kernels

	room []int32 // what is left of the memory that keep hands out
}

// keep returns what was found in one list.
func (m *Match) keep(f *found) []int32 {
	const chunk = 4096
	n := len(f.members) + len(f.fillers) + len(f.through)
	if n > len(m.room) {
		m.room = make([]int32, max(n, min(chunk, max(16*len(m.At), 64))))
	}
	kept := append(append(append(m.room[:0:n], f.members...), f.fillers...), f.through...)
	m.room = m.room[n:]
	return kept
}

// Ref is an activity of any of a stage's traces.
type Ref struct {
	Part int32 // which trace, see [activity.Trace]
	Act  int32 // index in its activities
}

// member is an activity of a chain; chains are looked for in the order of members.
type member struct{ part, queue, act int32 }

func (x member) compare(y member) int {
	return cmp.Or(cmp.Compare(x.part, y.part), cmp.Compare(x.queue, y.queue), cmp.Compare(x.act, y.act))
}

// members returns the chain's kernels in order.
func (m *Match) members() []member {
	n := 0
	for _, o := range m.At {
		n += int(o.members)
	}
	out := make([]member, 0, n)
	for _, o := range m.At {
		for _, i := range o.Members() {
			out = append(out, member{o.Trace.Part, o.Trace.Acts[i].Queue, i})
		}
	}
	return out
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

// Prune drops matches that say what a better one says: the same kernels, or a
// pattern that a better one with some of these kernels subsumes.
func Prune(in []*Match) []*Match {
	var out []*Match
	kernels := map[*Match][]member{}
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
				k.Also = append(k.Also, m.Pattern.Pattern)
				continue next
			}
			if slices.Contains(k.Pattern.Subsumes, m.Pattern.Pattern) {
				continue next
			}
			near = append(near, k.Pattern.Pattern)
		}
		m.Near = near
		kernels[m] = mine
		out = append(out, m)
	}
	return out
}

// Enough reports whether a chain occurs often enough to be part of the model, in
// so many steps of the server and attention blocks.
func (m *Match) Enough(steps, blocks int) bool {
	n := len(m.At)
	if n == 0 {
		return false
	}
	if m.Pattern.Repeat == "pass" {
		return n >= max(1, steps/2)
	}
	if blocks == 0 {
		return n >= minOccurrences
	}
	return n >= 2 && float64(n) >= minPerBlock*float64(blocks)
}

// Compiled is a chain with its step names as sets.
type Compiled struct {
	p     *fusion.Pattern
	steps []compiledStep
}

type compiledStep struct {
	fusion.ChainStep
	any, without, before fusion.Set
	min, max             int
	names                wordmatch.Patterns
	through              []classify.Category
}

// Compile looks the steps of a pattern up, once for all streams.
func Compile(reg *fusion.Registry, p *fusion.Pattern) *Compiled {
	c := &Compiled{p: p}
	for _, st := range p.Chain {
		cs := compiledStep{ChainStep: st, any: reg.Set(st.Any), without: reg.Set(st.Without), min: max(st.Min, 1),
			names: wordmatch.CompileAll(st.Names)}
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

// Possible reports whether each step of the chain is done by some kernel.
func (c *Compiled) Possible(all fusion.Set) bool {
	for _, st := range c.steps {
		if all&st.any == 0 {
			return false
		}
	}
	return true
}

func (st *compiledStep) takes(p *activity.Pool, q *sequence, k Kernel) bool {
	if set := q.sets[k.Sort]; set&st.any == 0 || set&st.without != 0 {
		return false
	}
	return len(st.Names) == 0 || st.names.In(p.Facts[q.Trace.Acts[k.Act].Kernel].Words)
}

// Find adds the chain's occurrences on one stream.
func (c *Compiled) Find(p *activity.Pool, q *sequence, m *Match) {
	var f found
	for i := 0; i < len(q.Kernels); {
		end, ok := c.match(p, q, i, &f)
		if !ok {
			i++
			continue
		}
		m.At = append(m.At, Occurrence{Trace: q.Trace, acts: m.keep(&f), members: int32(len(f.members)), fillers: int32(len(f.fillers))})
		i = end
	}
}

// match tries the chain at position i, writes what it found to f and returns the
// position after it.
func (c *Compiled) match(p *activity.Pool, q *sequence, i int, f *found) (int, bool) {
	f.members, f.fillers, f.through = f.members[:0], f.fillers[:0], f.through[:0]
	pos := i
	for n := range c.steps {
		st := &c.steps[n]
		taken := 0
		for taken < st.max {
			at := c.seek(p, q, st, pos, f)
			if at == nowhere {
				break
			}
			f.members = append(f.members, q.Kernels[at].Act)
			pos = at + 1
			taken++
		}
		if taken < st.min {
			return i, false
		}
		if st.before != 0 && !c.precedes(q, st, pos) {
			return i, false
		}
	}
	return pos, true
}

// nowhere is no place in a stream.
const nowhere = -1

// seek finds the next kernel that does a step: at pos, or behind fillers, which it adds to f, when
// the chain has begun. It is nowhere where there is none.
func (c *Compiled) seek(p *activity.Pool, q *sequence, st *compiledStep, pos int, f *found) int {
	fillers, through := len(f.fillers), len(f.through)
look:
	for at := pos; at < len(q.Kernels); at++ {
		k := q.Kernels[at]
		switch {
		case st.takes(p, q, k):
			return at
		case len(f.members) == 0:
			return nowhere
		case len(st.through) > len(f.through)-through && slices.Contains(st.through, p.Facts[q.Trace.Acts[k.Act].Kernel].Shown.Category):
			f.through = append(f.through, k.Act)
		case k.filler && len(f.fillers)-fillers < c.p.Fillers:
			f.fillers = append(f.fillers, k.Act)
		default:
			break look
		}
	}
	f.fillers, f.through = f.fillers[:fillers], f.through[:through]
	return nowhere
}

// precedes reports whether the next kernel that is not a filler does the step
// that must follow.
func (c *Compiled) precedes(q *sequence, st *compiledStep, pos int) bool {
	for n := 0; pos < len(q.Kernels) && n <= c.p.Fillers; pos, n = pos+1, n+1 {
		if q.sets[q.Kernels[pos].Sort]&st.before != 0 {
			return true
		}
		if !q.Kernels[pos].filler {
			return false
		}
	}
	return false
}

// Measure sums the time of the chain's kernels and prices a fused one in place of them and of the fillers.
func (m *Match) Measure(p *Pricer) {
	var room [16]int32 // longer chains cost memory
	for i := range m.At {
		o := &m.At[i]
		for _, act := range o.Members() {
			m.NS += duration(o.Trace, act)
		}
		acts := append(room[:0], o.acts[:o.members+o.fillers]...)
		slices.Sort(acts)
		o.price = p.price(o.Trace, acts)
		if len(m.Pattern.Gain) > 0 {
			saved := o.gainOf(m.Pattern.Chain, m.Pattern.Gain)
			o.price.Low, o.price.GPU, o.price.High = saved, saved, saved
		}
	}
}

// gainOf sums the members at the positions of the Gain steps. It is used for
// chains of one kernel a step.
func (o *Occurrence) gainOf(chain []fusion.ChainStep, gain []string) (ns int64) {
	// Steps that may take several kernels come first in such chains, so the
	// positions are counted from the end.
	members := o.Members()
	for n := range chain {
		st := chain[len(chain)-1-n]
		at := len(members) - 1 - n
		if at >= 0 && slices.ContainsFunc(st.Any, func(s string) bool { return slices.Contains(gain, s) }) {
			ns += duration(o.Trace, members[at])
		}
	}
	return ns
}

// HostBound reports whether time that the GPU saves in an occurrence makes its step no shorter.
func (o *Occurrence) HostBound() bool { return o.Trace.Absorbed(slices.Max(o.acts)) }

// NoTokens says that a path is taken at no size.
const NoTokens = -1

// LeastTokens is the smallest step with an occurrence, 0 where the tokens of none are known.
func (m *Match) LeastTokens() (least int64) {
	for i := range m.At {
		if n := m.At[i].tokens(); n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// PriceUpTo is the price of the occurrences in steps of at most so many tokens, and which those are; steps whose tokens are not
// known count. 0: any size.
func (m *Match) PriceUpTo(tokens int64) (sum Price, at []Occurrence) {
	for _, o := range m.At {
		if tokens == 0 || tokens != NoTokens && o.tokens() <= tokens {
			sum.add(o.price)
			at = append(at, o)
		}
	}
	return sum, at
}

// Kernel is the first kernel of an occurrence.
func (o *Occurrence) Kernel() layer.Kernel {
	return o.Trace.Analysis.Of(o.Trace.Event(&o.Trace.Acts[o.acts[0]]).ID())
}

// tokens are those of the pass of an occurrence, 0 where they are not known.
func (o *Occurrence) tokens() int64 {
	k := o.Kernel()
	if !k.Valid() || k.Place().Pass == trace.None {
		return 0
	}
	return k.Device().Passes[k.Place().Pass].Tokens
}
