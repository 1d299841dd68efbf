package hostoverhead

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/published/host"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
)

// Thresholds says from where on a metric of the published detector counts as crossed. GPUUtilization is crossed below
// its value, all others above.
type Thresholds = host.Thresholds

// detectPublished runs the published detector; nil where it sees no kernels, as it does not count whole replays.
func detectPublished(ctx context.Context, t *trace.Trace, o *Options) (*host.Report, error) {
	h := host.Options{NoPrep: o.NoPrep}
	if o.Thresholds != nil {
		h.Thresholds = *o.Thresholds
	}
	if o.Generation != nil {
		h.Generation = *o.Generation
	}
	r, err := host.Detect(ctx, t, h)
	if errors.Is(err, host.ErrNoKernels) {
		return nil, nil
	}
	return r, err
}

// disagreement says in one sentence why the published detector answers otherwise, "" where it does not.
func (v *Verdict) disagreement() string {
	p := v.published
	if p == nil || Answer(p.Verdict) == v.Verdict {
		return ""
	}
	r := &v.Ranks[v.Deciding]
	if Answer(p.Verdict) == No {
		return fmt.Sprintf("The published metrics say NO because fewer than two of them cross their thresholds (the GPU is idle %s of the window); they do not separate causes; host overhead is %s of the %s.",
			percent(float64(p.Metrics.GPUIdle)), percent(v.Headroom.Share), v.Basis)
	}
	why := []string{fmt.Sprintf("the GPU is idle %s of the window", percent(float64(p.Metrics.GPUIdle)))}
	if p.Metrics.LaunchOverhead > 0 {
		exposed := int64(0)
		for _, c := range r.Idle {
			if c.Cause == finding.LaunchCall {
				exposed = c.NS
			}
		}
		why = append(why, fmt.Sprintf("launch calls take %s of it, hidden behind GPU work or not (%s exposed)",
			percent(float64(p.Metrics.LaunchOverhead)), percentOf(exposed, r.WindowNS)))
	}
	groups := slices.DeleteFunc(groupSums(r.Idle), func(g groupSum) bool { return g.group.Host() || g.ns == 0 })
	rest := ""
	if len(groups) > 0 {
		g := slices.MaxFunc(groups, func(x, y groupSum) int { return cmp.Compare(x.ns, y.ns) })
		if rest = ", and most of the rest is " + g.group.String(); 2*g.steps < g.ns && v.Basis == BasisSteps {
			rest += ", outside of the steps"
		}
	}
	return fmt.Sprintf("The published metrics say YES because %s; the host causes %s of the %s%s.",
		strings.Join(why, " and "), percent(v.Headroom.Share), v.Basis, rest)
}
