package hostoverhead

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/fleet"
)

// wholeRanks is up to how many ranks a joined verdict keeps everything about each; of more it keeps that of the
// deciding one.
const wholeRanks = 16

// Join makes one verdict of those of ranks that were analysed separately, in their order, and one of them
// together. The one with the largest host share decides. It returns nil for none.
func Join(ranks []*Verdict, runs []fleet.Run) *Verdict {
	if len(ranks) == 0 {
		return nil
	}
	best := 0
	for i, v := range ranks {
		if v.Headroom.share() > ranks[best].Headroom.share() {
			best = i
		}
	}
	v := *ranks[best]
	v.Ranks = nil
	for i, one := range ranks {
		for k := range one.Ranks {
			r := one.Ranks[k]
			r.File = i
			if i == best && k == one.Deciding {
				v.Deciding = len(v.Ranks)
			} else if len(ranks) > wholeRanks {
				r = r.figures()
			}
			v.Ranks = append(v.Ranks, r)
		}
	}
	v.Health = slices.MaxFunc(ranks, func(x, y *Verdict) int { return x.Health.Compare(y.Health) }).Health
	v.join(runs, func(row *fleet.Row) int {
		return slices.IndexFunc(v.Ranks, func(r RankVerdict) bool {
			return filepath.Base(r.Path) == row.File &&
				int(r.Device) == row.Device
		})
	})
	if s := v.Stragglers; s != nil && s.Straggler != "" {
		v.Summary += fmt.Sprintf("; the other ranks wait for %s", s.Straggler)
	}
	return &v
}

// figures is a rank without its lists of gaps, kernels and names.
func (r *RankVerdict) figures() RankVerdict {
	return RankVerdict{Rank: r.Rank, File: r.File, Path: r.Path, Device: r.Device, GPU: r.GPU, Ignored: r.Ignored,
		Verdict: r.Verdict, Kernels: r.Kernels, Steps: r.Steps,
		WindowNS: r.WindowNS, BusyNS: r.BusyNS, Exchange: r.Exchange, Alone: r.Alone, Headroom: r.Headroom,
		Idle: []IdleCause{}, Findings: []finding.Finding{},
		Stages: []StageVerdict{}, Paths: []Path{}, Drains: []IdleName{}, Passes: r.Passes, Worst: []PassHeadroom{},
		Gaps: []GapBucket{}, Top: []Gap{}, DependsOn: r.DependsOn, IdleUnknown: r.IdleUnknown}
}

// RankArrival is what one rank does at the collectives.
type RankArrival struct {
	Rank      string  `json:"rank"`       // file's rank or device
	Last      int     `json:"last"`       // collectives at which it alone arrived last
	LastShare float64 `json:"last_share"` // of the matched ones
	WaitNS    int64   `json:"wait_ns"`    // time it spent waiting for the last one, summed
	Kernels   int     `json:"kernels"`    // kernels of the rank
	// HostNS is the idle time of its GPU that its host causes, HostName the operation with most of that time.
	HostNS   int64  `json:"host_ns"`
	HostName string `json:"host_name,omitempty"`
}

// Stragglers says which rank the others wait for, as package layer/fleet finds it.
type Stragglers struct {
	Collectives int           `json:"collectives"` // matched
	Unmatched   int           `json:"unmatched"`   // of single ranks
	Tied        int           `json:"tied"`        // no rank arrived clearly last
	Ranks       []RankArrival `json:"ranks"`       // the ranks, in their order
	Straggler   string        `json:"straggler"`   // "" where none is last by more than chance
	Note        string        `json:"note"`        // how long the ranks wait, and why for it
}

// runOf is the result for the devices of one or several traces. Files of digests are places among the
// verdicts.
func runOf(ranks []*layer.Analysis, verdicts []RankVerdict, accounts []*account) []fleet.Run {
	var list []fleet.Rank
	for i, acc := range accounts {
		a := ranks[verdicts[i].File]
		r := fleet.Rank{Rank: a.Trace().Meta().Rank, NameRank: verdicts[i].File, Device: int(acc.d.id),
			File: strconv.Itoa(i)}
		describe(&r, a)
		r.Record(acc.d.layers)
		acc.digestIdle(&r)
		r.Fingerprint = "" // whoever hands in a trace twice wants it twice
		list = append(list, r)
	}
	return []fleet.Run{fleet.OfRun(list)}
}

// join adds the joint result of the ranks: that of the group that has a late rank, or waits most. place is the verdict
// of a row's rank, none where it has none.
func (v *Verdict) join(runs []fleet.Run, place func(*fleet.Row) int) {
	var g *fleet.Group
	for i := range runs {
		for k := range runs[i].Groups {
			c := &runs[i].Groups[k]
			if c.Collectives > 0 && (g == nil || stat.Int(c.Late != nil) > stat.Int(g.Late != nil) ||
				(c.Late != nil) == (g.Late != nil) && c.Wait.Median > g.Wait.Median) {
				g = c
			}
		}
	}
	if g == nil {
		return
	}
	s := &Stragglers{Collectives: g.Collectives, Unmatched: g.Unmatched, Tied: g.Tied, Note: g.Waits("")}
	for i := range g.Rows {
		row := &g.Rows[i]
		a := RankArrival{Rank: row.Rank, Last: row.Last, LastShare: ratio(int64(row.Last), int64(g.Collectives)),
			WaitNS: row.Waited}
		own := ""
		if k := place(row); k != none {
			r := &v.Ranks[k]
			a.Rank, a.Kernels = v.shortName(k), r.Kernels
			if a.HostNS, a.HostName = r.hostIdle(); a.HostName != "" {
				own = fmt.Sprintf(" Its own host keeps it idle for %s, most of that in %s.", nanos(a.HostNS),
					cut(a.HostName))
			}
		}
		s.Ranks = append(s.Ranks, a)
		if l := g.Late; l != nil && l.Rank == row.Rank {
			s.Straggler = a.Rank
			s.Note = g.Waits(a.Rank) + own
		}
	}
	v.Stragglers = s
}

// shortName is the name of a rank, without the device where it has one.
func (v *Verdict) shortName(k int) string {
	r := &v.Ranks[k]
	for i := range v.Ranks {
		if i != k && v.Ranks[i].Rank == r.Rank {
			return r.name()
		}
	}
	return cmp.Or(r.Rank, r.name())
}

// hostIdle is the idle time that the host causes, and the operation with most of that time.
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
