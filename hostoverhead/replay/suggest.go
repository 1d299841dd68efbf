package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
)

// worthShare is the share of the steps that idle time of a name must take to be asked about.
const worthShare = 0.02

// Suggest lists the edits that the findings of a device lead to: one for each named cause of the host that costs at
// least 2% of the steps, and those that servers have settings for.
func Suggest(r *hostoverhead.RankVerdict) (out []Edit) {
	wall := float64(r.Headroom.WallNS)
	launches := int64(0)
	for i := range r.Idle {
		c := &r.Idle[i]
		for _, n := range c.Names {
			// operators are what a step is made of
			if float64(n.StepsNS) < worthShare*wall || n.Name == "" || strings.Contains(n.Name, "::") {
				continue
			}
			switch c.Cause {
			case finding.Synchronisation, finding.BlockingCopy:
				out = append(out, Edit{Kind: Sync, Name: n.Name, cause: c.Cause})
			case finding.HostCode, finding.Lock, finding.GIL, finding.OtherProcess, finding.SystemCall:
				out = append(out, Edit{Kind: Cause, Name: n.Name, cause: c.Cause})
			}
		}
		if c.Cause == finding.LaunchCall {
			launches = c.StepsNS
		}
	}
	if len(r.Drains) > 0 && float64(r.Drains[0].StepsNS) >= worthShare*wall {
		out = append(out, Edit{Kind: Overlap, cause: finding.HostCode})
	}
	if float64(launches) >= worthShare*wall {
		out = append(out, Edit{Kind: Graphs, cause: finding.LaunchCall})
	}
	return out[:min(len(out), mostEdits)]
}

// Explain adds to the findings of the deciding device what its steps would take without what they name, as far as the
// replay answers. ranks are the analyses that the verdict is about, nil in the place of one that is gone. The error
// is ctx's, or that the verdict is about none of ranks.
func Explain(ctx context.Context, ranks []*layer.Analysis, v *hostoverhead.Verdict) error {
	r := &v.Ranks[v.Deciding]
	if r.File >= len(ranks) {
		return fmt.Errorf("replay: the verdict is about file %d of %d", r.File, len(ranks))
	}
	if v.Verdict == hostoverhead.Inconclusive || ranks[r.File] == nil {
		return nil
	}
	d, err := ranks[r.File].Device(&r.Device)
	if err != nil {
		return err
	}
	about := func(f *finding.Finding, e *Edit) bool { return f.Kind == finding.IdleTime && f.Cause == e.cause }
	edits := slices.DeleteFunc(Suggest(r), func(e Edit) bool { // answers are said with a finding
		return !slices.ContainsFunc(r.Findings, func(f finding.Finding) bool { return about(&f, &e) })
	})
	gains, err := Analyze(ctx, d, edits)
	if err != nil {
		return err
	}
	for _, list := range [][]finding.Finding{r.Findings, v.Findings} {
		if err := attach(list, gains, about); err != nil {
			return err
		}
	}
	return nil
}

// attach adds each answer to the findings that it is about. One that is about none is an error.
func attach(list []finding.Finding, gains []Gain, about func(*finding.Finding, *Edit) bool) error {
	for n := range gains {
		g, found := &gains[n], false
		for i := range list {
			if f := &list[i]; g.Refused == "" && about(f, &g.Edit) {
				f.Gains, found = append(f.Gains, g.Gain), true
			}
		}
		if g.Refused == "" && !found {
			return fmt.Errorf("replay: no finding is about %v", &g.Edit)
		}
	}
	return nil
}

// mostEdits limits the edits tried by default.
const mostEdits = 8
