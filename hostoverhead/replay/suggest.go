package replay

import (
	"strings"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/layer/finding"
)

// worthShare is the share of the steps that idle time of a name must take to be asked about.
const worthShare = 0.02

// Suggest lists the edits that the findings of a device lead to: one for each named cause of the host that costs at least 2% of the
// steps, and those that servers have settings for.
func Suggest(r *hostoverhead.RankVerdict) (out []Edit) {
	wall := float64(r.Headroom.WallNS)
	launches := int64(0)
	for i := range r.Idle {
		c := &r.Idle[i]
		for _, n := range c.Names {
			if float64(n.StepsNS) < worthShare*wall || n.Name == "" || strings.Contains(n.Name, "::") { // operators are what a step is made of
				continue
			}
			switch c.Cause {
			case finding.Synchronisation, finding.BlockingCopy:
				out = append(out, Edit{Kind: Sync, Name: n.Name})
			case finding.HostCode, finding.Lock, finding.GIL, finding.OtherProcess, finding.SystemCall:
				out = append(out, Edit{Kind: Cause, Name: n.Name})
			}
		}
		if c.Cause == finding.LaunchCall {
			launches = c.StepsNS
		}
	}
	if len(r.Drains) > 0 && float64(r.Drains[0].StepsNS) >= worthShare*wall {
		out = append(out, Edit{Kind: Overlap})
	}
	if float64(launches) >= worthShare*wall {
		out = append(out, Edit{Kind: Graphs})
	}
	return out[:min(len(out), mostEdits)]
}

// mostEdits bounds what is asked without being told.
const mostEdits = 8
