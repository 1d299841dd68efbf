package replay

import "github.com/llmstrata/strata/internal/stat"

// constants are what the model assumes where nothing was measured.
type constants struct {
	call int64 // of a graph launch
	lat  int64 // from that to the first node
	body int64 // between two nodes
	host int64 // what the host does before the launches of a step, when it is a step ahead
	most bool  // a kernel in place of several takes the most that it may, and spares the host nothing but the calls
}

// The ends of what is assumed: graph calls of 6–15 µs with a latency of 6–20 µs and nodes 0.3–2 µs apart, and 20–200
// µs of host work that a step needs before its first launch. They come from real servers that replay graphs or
// overlap steps.
var (
	cheap = constants{call: 6_000, lat: 6_000, body: 300, host: 20_000}
	dear  = constants{call: 15_000, lat: 20_000, body: 2_000, host: 200_000, most: true}
)

// edges are the kinds of edges that an edit may use.
type edges uint8

const (
	launchEdges edges = 1 << iota // an act starts after its launch
	streamEdges                   // and after the act before it on its stream
	waitEdges                     // a call returns when what it waits for has ended
)

// edited is what an edit changes of an act.
type edited struct {
	d, lat  int64
	chain   int64 // it follows the act before it on its stream by so much, as in a graph; 0: as recorded
	without bool  // it does not run
}

// plan is what a replay does: calls and acts with other values, and an order of the calls.
type plan struct {
	items  []item
	acts   []edited
	order  []int32 // of items; nil: as recorded
	leaves edges   // edges that are taken out
	fitted bool    // constants instead of what was measured
	of     []bool  // the passes that the edit is about; nil: all
}

// unedited is the replay of the trace as it is. Its calls are those of the model: an edit changes copies.
func (m *model) unedited() *plan {
	if m.recorded == nil {
		m.recorded = make([]edited, len(m.acts))
		for i := range m.acts {
			m.recorded[i] = edited{d: m.acts[i].d, lat: m.acts[i].lat}
		}
	}
	return &plan{items: m.items, acts: m.recorded}
}

// run replays the trace and returns when each pass ends on the device, 0 where nothing of it runs: one pass, every edge
// points from what was issued earlier to later.
func (m *model) run(p *plan) []int64 {
	ends := make([]int64, m.passes)
	end := make([]int64, len(p.acts))
	threads := make([]int64, len(m.launching))
	tails := make([]int32, len(m.streams)) // last acts of streams, by stream
	for s := range tails {
		tails[s] = none
	}
	for k := range p.items {
		i := int32(k)
		if p.order != nil {
			i = p.order[k]
		}
		it := &p.items[i]
		st := threads[it.thread] + it.pre
		for a := it.first; a < it.first+it.acts; a++ {
			x := &m.acts[a]
			if p.acts[a].without {
				if end[a] = st; x.prev != none {
					end[a] = end[x.prev]
				}
				continue
			}
			end[a] = m.startOf(p, a, st, end, tails[x.stream]) + p.acts[a].d
			tails[x.stream] = a
			if x.pass >= 0 {
				ends[x.pass] = max(ends[x.pass], end[a])
			}
		}
		switch {
		case it.waits == none:
			threads[it.thread] = st + it.d
		case p.leaves&waitEdges != 0:
			threads[it.thread] = st + emptySync
		case p.fitted:
			threads[it.thread] = max(st+emptySync, end[it.waits]+m.ret)
		default:
			threads[it.thread] = max(st+emptySync, end[it.waits]+it.ret)
		}
	}
	return ends
}

// startOf is when act i starts whose call is made at st, after tail on its stream.
func (m *model) startOf(p *plan, i int32, st int64, end []int64, tail int32) int64 {
	a, with := &m.acts[i], &p.acts[i]
	if with.chain > 0 && tail != none {
		return end[tail] + with.chain
	}
	if a.pred != none {
		s := end[a.pred] + a.predG
		if a.tail && tail != none && p.leaves&streamEdges == 0 {
			s = max(s, end[tail])
		}
		return s
	}
	lat, gap := p.items[a.item].lat, int64(0)
	if tail != none {
		gap = m.gaps[stat.Int(a.copies)][stat.Int(m.acts[tail].copies)]
	}
	if !p.fitted && a.cross == none && a.hold == 0 { // what was measured, in the regime in which it was
		if a.bound {
			lat = with.lat
		} else if a.prev == tail {
			gap = a.gap
		}
	}
	s := int64(0)
	if p.leaves&launchEdges == 0 {
		s = st + lat
	}
	if tail != none && p.leaves&streamEdges == 0 {
		s = max(s, end[tail]+gap)
	}
	if a.cross != none && p.leaves&streamEdges == 0 {
		s = max(s, end[a.cross]+a.crossG)
	}
	return s + a.hold
}

// steps are the times from the end of each pass to that of the next, −1 where that is no step. An edit may let
// activities of a pass start while the one before runs: its start says nothing about how often a pass is done.
func (m *model) steps(ends []int64) []int64 {
	out := make([]int64, m.passes-1)
	for p := range out {
		if out[p] = ends[p+1] - ends[p]; ends[p] == 0 || out[p] <= 0 {
			out[p] = -1
		}
	}
	return out
}

// measured are the steps as recorded.
func (m *model) measured() []int64 {
	ends := make([]int64, m.passes)
	for i := range m.acts {
		if p := m.acts[i].pass; p >= 0 {
			ends[p] = max(ends[p], m.acts[i].end())
		}
	}
	out := m.steps(ends)
	for p := range out { // a step with a pause in it, without records, or of another kind than those around it, is none
		span, lost := m.d.StepSpan(p), m.d.Passes[p].Lost+m.d.Passes[p+1].Lost > 0
		if out[p] >= 0 && (lost || int64(m.d.StepTime(p)) != int64(span.End-span.Start)) {
			out[p] = -1
		}
	}
	return out
}

// agree says for each step whether the replay without some edges, of constants, reproduces it within a percent.
func (m *model) agree(without edges) []bool {
	if out := m.agreed[without]; out != nil {
		return out
	}
	p := m.unedited()
	p.fitted, p.leaves = true, without
	out := make([]bool, len(m.base))
	m.agreed[without] = out
	for i, got := range m.steps(m.run(p)) {
		d := got - m.base[i]
		out[i] = 100*max(d, -d) <= m.base[i] // neither where one is no step
	}
	return out
}
