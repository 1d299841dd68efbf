package hostoverhead

import (
	"fmt"
	"math"
	"slices"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/internal/stat"
)

// NOTE: a collective ends on all ranks at the same moment, when the last one
// has arrived and the data has gone round. The rank that arrives last therefore
// runs the shortest kernel, and a rank waits for as long as its kernel is
// longer than that. Only durations are compared, so the clocks of the ranks,
// and of separate files, need not agree.

// RankArrival is what one rank does at the collectives.
type RankArrival struct {
	Rank      string  `json:"rank"`       // file's rank or device
	Last      int     `json:"last"`       // collectives at which it alone arrived last
	LastShare float64 `json:"last_share"` // of the matched ones
	WaitNS    int64   `json:"wait_ns"`    // time it spent waiting for the last one, summed
	Kernels   int     `json:"kernels"`    // kernels of the rank
	// HostNS is the idle time of its GPU that its host causes, HostName what most of it is in.
	HostNS   int64  `json:"host_ns"`
	HostName string `json:"host_name,omitempty"`
}

// Stragglers says which rank the others wait for.
type Stragglers struct {
	Collectives int           `json:"collectives"` // matched on all ranks
	Unmatched   int           `json:"unmatched"`   // of some ranks only
	Tied        int           `json:"tied"`        // no rank arrived clearly last
	Ranks       []RankArrival `json:"ranks"`       // the ranks, in their order
	Straggler   string        `json:"straggler"`   // "" when no rank is last often enough
	Extra       []string      `json:"extra"`       // kernels that only the straggler runs, or runs more often
	Note        string        `json:"note"`        // how far to trust it
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

// collectivesOf lists the durations of a rank's collectives by their short names, each in order of time, as far as they have
// a common end.
func (r rankWork) collectivesOf() map[string][]int64 {
	short := names.ByName(r.w.t, func(name string) string {
		if f := classify.Default().Facts(name); endTogether[f.Collective] {
			return f.Short
		}
		return ""
	})
	out := map[string][]int64{}
	for _, e := range r.w.kernelsOf(r.d) {
		if s := short(e.NameID()); s != "" {
			out[s] = append(out[s], int64(e.Duration()))
		}
	}
	return out
}

// stragglers compares ranks; nil for fewer than two, or none with collectives. The k-th collectives of a name are paired from
// the end of the recordings, which all ranks stop at about the same step; the start is where profilers come up at different
// times.
func stragglers(ranks []rankWork, verdicts []RankVerdict, p *params) *Stragglers {
	var with []rankWork
	var lists []map[string][]int64
	var of []*RankVerdict
	s := &Stragglers{Extra: []string{}}
	for i, r := range ranks {
		if l := r.collectivesOf(); len(l) > 0 {
			with, lists, of = append(with, r), append(lists, l), append(of, &verdicts[i])
			for _, list := range l {
				s.Unmatched += len(list)
			}
		}
	}
	if len(with) < 2 {
		return nil
	}
	s.Ranks = make([]RankArrival, len(with))
	for name, first := range lists[0] {
		n := len(first)
		paired := make([][]int64, len(with))
		for i, l := range lists {
			n, paired[i] = min(n, len(l[name])), l[name]
		}
		s.Collectives += n
		s.Unmatched -= n * len(with)
		for k := -n; k < 0; k++ {
			s.arrivals(paired, k)
		}
	}
	least := 0
	for i, r := range with {
		a := &s.Ranks[i]
		a.Rank, a.Kernels, a.LastShare = r.name, r.d.count, ratio(int64(a.Last), int64(s.Collectives))
		a.HostNS, a.HostName = of[i].hostIdle()
		if a.WaitNS < s.Ranks[least].WaitNS {
			least = i
		}
	}
	if decided := s.Collectives - s.Tied; decided > 0 && stat.SignTest(s.Ranks[least].Last, decided) <= p.LateBy {
		s.Straggler, s.Extra = s.Ranks[least].Rank, extraKernels(with, least)
	}
	s.Note = s.words()
	return s
}

// arrivals books one collective, the k-th from the end of each rank's list: k is negative. The rank with the shortest kernel
// came last.
func (s *Stragglers) arrivals(lists [][]int64, k int) {
	at := func(i int) int64 { return lists[i][len(lists[i])+k] }
	shortest, second := 0, int64(math.MaxInt64)
	for i := range lists {
		if at(i) < at(shortest) {
			shortest = i
		}
	}
	last := at(shortest)
	for i := range lists {
		s.Ranks[i].WaitNS += at(i) - last
		if i != shortest {
			second = min(second, at(i))
		}
	}
	if second == last {
		s.Tied++
		return
	}
	s.Ranks[shortest].Last++
}

// hostIdle is the idle time that the host causes, and what most of it is in.
func (r *RankVerdict) hostIdle() (ns int64, name string) {
	var most int64
	for i := range r.Idle {
		c := &r.Idle[i]
		if !c.Host {
			continue
		}
		ns += c.NS
		for _, n := range c.Names {
			if n.NS > most {
				most, name = n.NS, n.Name
			}
		}
	}
	return ns, name
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
	own := ""
	for i := range s.Ranks {
		if r := &s.Ranks[i]; r.Rank == s.Straggler && r.HostName != "" {
			own = fmt.Sprintf(" Its own host keeps it idle for %s, most of that in %s.", nanos(r.HostNS), cut(r.HostName, narrowName))
		}
	}
	return s.Straggler + " arrives last: the others wait for it." + own + " While they wait their launch queues fill, so that they look ahead of time; its own queue stays empty, which keeps it late. Look for what only it does."
}
