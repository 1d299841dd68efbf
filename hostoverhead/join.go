package hostoverhead

import (
	"fmt"

	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/fleet"
)

// wholeRanks is up to how many ranks a joined verdict keeps everything about each; of more it keeps that of the deciding one.
const wholeRanks = 16

// Join makes one verdict of those of ranks that were analysed each by itself, in their order, and of what they tell together. The one
// with the largest host share decides. It returns nil for none.
func Join(ranks []*Verdict, runs []fleet.Run) *Verdict {
	best := none
	for i, v := range ranks {
		if best == none || v.Headroom.share() > ranks[best].Headroom.share() {
			best = i
		}
	}
	if best == none {
		return nil
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
		if one.Health.Compare(v.Health) > 0 {
			v.Health = one.Health
		}
	}
	if v.Stragglers = stragglersOf(runs); v.Stragglers != nil {
		for i := range v.Stragglers.Ranks {
			a := &v.Stragglers.Ranks[i]
			for k := range v.Ranks {
				if r := &v.Ranks[k]; r.Rank == a.Rank {
					a.Kernels, a.HostNS = r.Kernels, r.Headroom.HostNS
				}
			}
		}
		if late := v.Stragglers.Straggler; late != "" {
			v.Summary += fmt.Sprintf("; the other ranks wait for %s", late)
		}
	}
	return &v
}

// figures is a rank without its lists of gaps, kernels and names.
func (r *RankVerdict) figures() RankVerdict {
	return RankVerdict{Rank: r.Rank, File: r.File, Path: r.Path, Device: r.Device, GPU: r.GPU, Ignored: r.Ignored, Verdict: r.Verdict, Kernels: r.Kernels, Steps: r.Steps,
		WindowNS: r.WindowNS, BusyNS: r.BusyNS, Exchange: r.Exchange, Alone: r.Alone, Headroom: r.Headroom, Idle: []IdleCause{}, Findings: []finding.Finding{},
		Stages: []StageVerdict{}, Paths: []Path{}, Drains: []IdleName{}, Passes: r.Passes, Worst: []PassHeadroom{}, Gaps: []GapBucket{}, Top: []Gap{}, Streams: []StreamGaps{}, DependsOn: r.DependsOn}
}

// stragglersOf words what the ranks of a run tell together, of the group that waits most; nil where no collectives were matched.
func stragglersOf(runs []fleet.Run) *Stragglers {
	var g *fleet.Group
	missing := 0
	for i := range runs {
		missing += len(runs[i].Missing)
		for k := range runs[i].Groups {
			c := &runs[i].Groups[k]
			if c.Collectives > 0 && (g == nil || b2i(c.Late != nil) > b2i(g.Late != nil) || c.Late != nil == (g.Late != nil) && c.Wait.Median > g.Wait.Median) {
				g = c
			}
		}
	}
	if g == nil {
		return nil
	}
	s := &Stragglers{Collectives: g.Collectives, Unmatched: g.Unmatched, Tied: g.Tied, Extra: []string{}, Note: "no rank is the last often enough to be the one that the others wait for"}
	for _, r := range g.Rows {
		s.Ranks = append(s.Ranks, RankArrival{Rank: r.Rank, Last: r.Last, LastShare: ratio(int64(r.Last), int64(g.Collectives)), WaitNS: r.Waited})
	}
	if l := g.Late; l != nil {
		s.Straggler = l.Rank
		s.Note = fmt.Sprintf("%s arrives last: the others wait for it; %s.", l.Rank, l.Why())
	}
	if n := missing; n > 0 {
		s.Note += fmt.Sprintf(" %d ranks are missing: the late one may be among them.", n)
	}
	return s
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
