package hostoverhead

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/stop"
	"github.com/llmstrata/strata/trace"
)

// NOTE: a collective ends on all ranks at the same moment, when the last one
// has arrived and the data has gone round. The rank that arrives last therefore
// runs the shortest kernel, and a rank waits for as long as its kernel is
// longer than that. Only durations are compared, so the clocks of the ranks,
// and of separate files, need not agree.

// RankArrival is what one rank does at the collectives.
type RankArrival struct {
	Rank      string `json:"rank"`       // file's rank or device
	Last      int    `json:"last"`       // collectives at which it alone arrived last
	LastShare Ratio  `json:"last_share"` // of the matched ones
	WaitNS    int64  `json:"wait_ns"`    // time it spent waiting for the last one, summed
	Kernels   int    `json:"kernels"`
	HostNS    int64  `json:"host_ns"` // time in ranges or frames of its launching threads
}

// Stragglers says which rank the others wait for.
type Stragglers struct {
	Collectives int           `json:"collectives"` // matched on all ranks
	Unmatched   int           `json:"unmatched"`   // of some ranks only
	Tied        int           `json:"tied"`        // no rank arrived clearly last
	Ranks       []RankArrival `json:"ranks"`
	Straggler   string        `json:"straggler"` // "" when no rank is last often enough
	Extra       []string      `json:"extra"`     // kernels that only the straggler runs, or runs more often
	Note        string        `json:"note"`
}

// rankWork is one rank: a device of a trace.
type rankWork struct {
	name string
	w    *workload
	d    *deviceWork
}

// endTogether says whether the ranks of an exchange end it at the same time, so
// that who arrives last shows in the durations. The two ends of a point-to-point
// transfer need not. What hides its kind (RCCL's generic kernel) is a collective
// far more often than a transfer.
var endTogether = map[classify.Collective]bool{
	classify.NotCollective:   false,
	classify.AllReduce:       true,
	classify.AllGather:       true,
	classify.ReduceScatter:   true,
	classify.AllToAll:        true,
	classify.Broadcast:       true,
	classify.SendRecv:        false,
	classify.OtherCollective: true,
}

// collectivesOf lists a rank's collectives by start, as far as they have a
// common end.
func (r rankWork) collectivesOf() (out []trace.Event) {
	for _, e := range r.w.kernelsOf(r.d) {
		if endTogether[r.w.names.kernel(e.NameID()).Collective] {
			out = append(out, e)
		}
	}
	return out
}

// stragglers compares ranks; nil for fewer than two, or none with collectives.
func stragglers(watch *stop.Watch, ranks []rankWork, p *Params) *Stragglers {
	ranks = slices.DeleteFunc(ranks, func(r rankWork) bool { return len(r.collectivesOf()) == 0 })
	if len(ranks) < 2 {
		return nil
	}
	lists := make([][]trace.Event, len(ranks))
	for i, r := range ranks {
		lists[i] = r.collectivesOf()
	}
	s := &Stragglers{Extra: []string{}}
	matched := matchCollectives(watch, ranks, lists)
	s.Collectives = len(matched[0])
	for _, l := range lists {
		s.Unmatched += len(l) - s.Collectives
	}
	s.Ranks = make([]RankArrival, len(ranks))
	for k := range matched[0] {
		if watch.Over() {
			return nil
		}
		shortest, second := -1, int64(-1)
		for i := range ranks {
			if n := int64(matched[i][k].Duration()); shortest < 0 || n < int64(matched[shortest][k].Duration()) {
				shortest = i
			}
		}
		last := int64(matched[shortest][k].Duration())
		for i := range ranks {
			n := int64(matched[i][k].Duration())
			s.Ranks[i].WaitNS += n - last
			if i != shortest && (second < 0 || n < second) {
				second = n
			}
		}
		if second-last <= int64(p.Tie) {
			s.Tied++
			continue
		}
		s.Ranks[shortest].Last++
	}
	for i, r := range ranks {
		a := &s.Ranks[i]
		a.Rank, a.Kernels, a.LastShare = r.name, len(r.d.kernels), ratio(int64(a.Last), int64(s.Collectives))
		a.HostNS = r.w.hostTime(r.d)
		if s.Collectives >= p.MinCollectives && a.LastShare.Applicable && a.LastShare.Value > p.LastShare {
			s.Straggler = a.Rank
			s.Extra = extraKernels(ranks, i)
		}
	}
	s.Note = s.words()
	return s
}

// matchCollectives pairs the k-th collective of each name from the end of the
// recordings, which all ranks stop at about the same step; the start is where
// profilers come up at different times.
func matchCollectives(watch *stop.Watch, ranks []rankWork, lists [][]trace.Event) [][]trace.Event {
	byName := make([]map[string][]trace.Event, len(lists))
	for i, l := range lists {
		byName[i] = map[string][]trace.Event{}
		for _, e := range l {
			if watch.Over() {
				break
			}
			short := ranks[i].w.names.kernel(e.NameID()).Short
			byName[i][short] = append(byName[i][short], e)
		}
	}
	out := make([][]trace.Event, len(lists))
	for name := range byName[0] {
		n := len(byName[0][name])
		for _, m := range byName[1:] {
			n = min(n, len(m[name]))
		}
		for i, m := range byName {
			l := m[name]
			out[i] = append(out[i], l[len(l)-n:]...)
		}
	}
	// Rank 0's order for all; names were walked in map order.
	order := make([]int, len(out[0]))
	for i := range order {
		order[i] = i
	}
	stop.Sort(watch, order, func(a, b int) int { return cmp.Compare(out[0][a].ID(), out[0][b].ID()) })
	for i, l := range out {
		sorted := make([]trace.Event, len(l))
		for k, j := range order {
			sorted[k] = l[j]
		}
		out[i] = sorted
	}
	return out
}

// hostTime is the time the device's threads spend in ranges, else in frames.
func (w *workload) hostTime(d *deviceWork) int64 {
	for _, lane := range []trace.Lane{trace.LaneAnnotation, trace.LanePython} {
		var ns int64
		for _, th := range d.threads {
			end := int64(-1 << 62) // outermost events only
			for e := range w.t.OnThread(lane, th) {
				ns += max(0, int64(e.End())-max(end, int64(e.Start())))
				end = max(end, int64(e.End()))
			}
		}
		if ns > 0 {
			return ns
		}
	}
	return 0
}

// extraKernels lists what rank i runs more often than every other rank.
func extraKernels(ranks []rankWork, i int) []string {
	count := func(r rankWork) map[string]int {
		m := map[string]int{}
		for _, e := range r.w.kernelsOf(r.d) {
			m[e.Name()]++
		}
		return m
	}
	own := count(ranks[i])
	most := map[string]int{}
	for j, r := range ranks {
		if j == i {
			continue
		}
		for name, n := range count(r) {
			most[name] = max(most[name], n)
		}
	}
	out := []string{}
	for name, n := range own {
		if n > most[name] {
			out = append(out, fmt.Sprintf("%s: %d, others at most %d", name, n, most[name]))
		}
	}
	slices.Sort(out)
	return out[:min(len(out), maxGapNames)]
}

func (s *Stragglers) words() string {
	if s.Straggler == "" {
		return "no rank is the last often enough to be the one that the others wait for"
	}
	return s.Straggler + " arrives last: the others wait for it. While they wait their launch queues fill, so that they look ahead of time; its own queue stays empty, which keeps it late. Look for what only it does."
}
