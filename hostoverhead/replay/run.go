package replay

// constants are what the model assumes where nothing was measured.
type constants struct {
	call int64 // of a graph launch
	lat  int64 // from that to the first node
	body int64 // between two nodes
	host int64 // what the host does before the launches of a step, when it is a step ahead
}

// The ends of what is assumed: graph calls of 6–15 µs with a latency of 6–20 µs and nodes 0.3–2 µs apart, and 20–200
// µs of host work that a step needs before its first launch. They come from real servers that replay graphs or
// overlap steps.
var (
	cheap = constants{call: 6_000, lat: 6_000, body: 300, host: 20_000}
	dear  = constants{call: 15_000, lat: 20_000, body: 2_000, host: 200_000}
)

// edges are the kinds of edges that an edit may use.
type edges uint8

const (
	launchEdges edges = 1 << iota // an act starts after its launch
	streamEdges                   // and after the act before it on its stream
	waitEdges                     // a call returns when what it waits for has ended
)

// plan is what a replay does: nodes with other values, and an order of the calls.
type plan struct {
	order   []int32         // of items; nil: as recorded
	pre     map[int32]int64 // host time before items
	took    map[int32]int64 // by calls
	runs    map[int32]int64 // of acts
	dropped map[int32]bool  // calls that are not made
	without map[int32]bool  // acts that do not run
	free    map[int32]bool  // calls that no longer wait
	chain   map[int32]int64 // acts that follow the act before them in issue order, by so much
	lat     map[int32]int64 // latencies of calls
	leaves  edges           // edges that are taken out
	fitted  bool            // constants instead of what was measured
}

// result is a replay: when each pass ends on the device, 0 where nothing of it runs.
type result struct {
	ends    []int64
	deepest int // most acts that waited for the device
}

// run replays the trace: one pass, every edge points from what was issued earlier to later.
func (m *model) run(p *plan) result {
	r := result{ends: make([]int64, m.passes)}
	start, end := make([]int64, len(m.acts)), make([]int64, len(m.acts))
	threads := make([]int64, len(m.launching))
	tails := map[int32]int32{} // last acts of streams, by stream
	begun := 0
	n := len(m.items)
	if p.order != nil {
		n = len(p.order)
	}
	for k := range n {
		i := int32(k)
		if p.order != nil {
			i = p.order[k]
		}
		it := &m.items[i]
		if p.dropped[i] && it.acts == 0 {
			continue
		}
		pre, d := it.pre, it.d
		if v, ok := p.pre[i]; ok {
			pre = v
		}
		if v, ok := p.took[i]; ok {
			d = v
		}
		if p.dropped[i] {
			pre, d = 0, 0
		}
		st := threads[it.thread] + pre
		en := st + d
		if it.blocked && m.depth > 0 && it.first >= int32(m.depth) {
			en = max(st+m.launch, start[it.first-int32(m.depth)])
		}
		for a := it.first; a < it.first+it.acts; a++ {
			if p.without[a] {
				start[a] = st
				end[a] = st
				if x := &m.acts[a]; x.prev != none {
					start[a], end[a] = end[x.prev], end[x.prev]
				}
				continue
			}
			start[a] = m.startOf(p, a, it, st, start, end, tails)
			run := m.acts[a].d
			if v, ok := p.runs[a]; ok {
				run = v
			}
			end[a] = start[a] + run
			tails[m.acts[a].stream] = a
			if pass := m.acts[a].pass; pass >= 0 {
				r.ends[pass] = max(r.ends[pass], end[a])
			}
		}
		if it.waits != none && !p.free[i] {
			ret := it.ret
			if p.fitted {
				ret = m.ret
			}
			en = max(st+emptySync, end[it.waits]+ret)
			if p.leaves&waitEdges != 0 {
				en = st + emptySync
			}
		} else if it.waits != none {
			en = st + emptySync
		}
		threads[it.thread] = en
		if it.acts > 0 {
			for begun < int(it.first) && start[begun] <= en {
				begun++
			}
			r.deepest = max(r.deepest, int(it.first)-begun)
		}
	}
	return r
}

// startOf is when an act starts.
func (m *model) startOf(p *plan, i int32, it *item, st int64, start, end []int64, tails map[int32]int32) int64 {
	a := &m.acts[i]
	tail := int32(none)
	if t, ok := tails[a.stream]; ok {
		tail = t
	}
	if g, ok := p.chain[i]; ok && tail != none {
		return end[tail] + g
	}
	if a.pred != none {
		s := end[a.pred] + a.predG
		if a.tail && tail != none && p.leaves&streamEdges == 0 {
			s = max(s, end[tail])
		}
		return s
	}
	lat, gap := m.lat[it.name], int64(0)
	if tail != none {
		gap = m.gaps[[2]bool{a.copies, m.acts[tail].copies}]
	}
	if !p.fitted { // what was measured, in the regime in which it was
		if a.bound && a.cross == none && a.hold == 0 {
			lat = a.lat
		} else if a.prev == tail && a.cross == none && a.hold == 0 {
			gap = a.gap
		}
	}
	if v, ok := p.lat[a.item]; ok {
		lat = v
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
	for p := range out { // a step with a pause in it, or of another kind than those around it, is none
		if span := m.d.StepSpan(p); out[p] >= 0 && int64(m.d.StepTime(p)) != int64(span.End-span.Start) {
			out[p] = -1
		}
	}
	return out
}

// agree says for each step whether a replay reproduces it within a percent.
func (m *model) agree(p *plan, base []int64) []bool {
	r := m.run(p)
	out := make([]bool, len(base))
	for i, got := range m.steps(r.ends) {
		d := got - base[i]
		out[i] = base[i] > 0 && got >= 0 && 100*max(d, -d) <= base[i]
	}
	return out
}
