package hostoverhead

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/llmstrata/strata/hostoverhead/replay"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
)

// worthShare is the share of the steps that idle time of a name must take to be asked about.
const worthShare = 0.02

// suggestion is an edit and the cause of the idle time that it follows from.
type suggestion struct {
	replay.Edit
	cause finding.Cause
}

// Edits lists the edits that the findings of a device lead to: one for each named cause of the host that costs at
// least 2% of the steps, and those that servers have settings for.
func (r *RankVerdict) Edits() (out []replay.Edit) {
	for _, s := range r.suggestions() {
		out = append(out, s.Edit)
	}
	return out
}

func (r *RankVerdict) suggestions() (out []suggestion) {
	suggest := func(k replay.Kind, name string, cause finding.Cause) {
		out = append(out, suggestion{replay.Edit{Kind: k, Name: name}, cause})
	}
	wall := float64(r.Headroom.WallNS)
	launches := false
	for i := range r.Idle {
		c := &r.Idle[i]
		for _, n := range c.Names {
			// operators are what a step is made of
			if float64(n.StepsNS) < worthShare*wall || n.Name == "" || strings.Contains(n.Name, "::") {
				continue
			}
			switch c.Cause {
			case finding.Synchronisation, finding.BlockingCopy:
				suggest(replay.Sync, n.Name, c.Cause)
			case finding.HostCode, finding.Lock, finding.GIL, finding.OtherProcess, finding.SystemCall:
				suggest(replay.Cause, n.Name, c.Cause)
			}
		}
		if c.Cause == finding.LaunchCall {
			launches = float64(c.StepsNS) >= worthShare*wall
		}
	}
	if len(r.Drains) > 0 && float64(r.Drains[0].StepsNS) >= worthShare*wall {
		suggest(replay.Overlap, "", finding.HostCode)
	}
	if launches {
		suggest(replay.Graphs, "", finding.LaunchCall)
	}
	return out[:min(len(out), replay.MostEdits)]
}

// Replay adds to the findings of the deciding device what its steps would take without what they name, as far as the
// replay answers. ranks are the analyses that the verdict is about, nil in the place of one that is gone; models may be
// nil. The error is ctx's, or that the verdict is about none of ranks.
func (v *Verdict) Replay(ctx context.Context, ranks []*layer.Analysis, models *replay.Models) error {
	r := v.decides()
	if r.File >= len(ranks) {
		return fmt.Errorf("hostoverhead: the verdict is about file %d of %d", r.File, len(ranks))
	}
	if v.Verdict == Inconclusive || ranks[r.File] == nil {
		return nil
	}
	d, err := ranks[r.File].Device(&r.Device)
	if err != nil {
		return err
	}
	asked := slices.DeleteFunc(r.suggestions(), func(s suggestion) bool { // answers are said with a finding
		return !slices.ContainsFunc(r.Findings, s.about)
	})
	edits := make([]replay.Edit, len(asked))
	for i := range asked {
		edits[i] = asked[i].Edit
	}
	gains, err := models.Analyze(ctx, d, edits)
	if err != nil {
		return err
	}
	for i := range asked {
		if gains[i].Refused != "" {
			continue
		}
		for _, list := range [][]finding.Finding{r.Findings, v.Findings} {
			for k := range list {
				if asked[i].about(list[k]) {
					list[k].Gains = append(list[k].Gains, gains[i].Gain)
				}
			}
		}
	}
	return nil
}

// about reports whether a finding is of the idle time that the edit follows from.
func (s *suggestion) about(f finding.Finding) bool {
	return f.Kind == finding.IdleTime && f.Cause == s.cause
}
