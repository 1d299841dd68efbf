package hostoverhead

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/llmstrata/strata/internal/published/host"
	"github.com/llmstrata/strata/trace"
)

// Thresholds says from where on a metric of the published detector counts as crossed. GPUUtilization is crossed below its
// value, all others above.
type Thresholds struct {
	GPUIdle             float64 // M1
	LaunchOverhead      float64 // M2
	PrepExposed         float64 // M3a
	PrepImpact          float64 // M3b
	PrepIdleAttribution float64 // M3c
	GPUUtilization      float64 // M4
	NCCL                float64 // M5, a caveat only
}

// Published are the figures of the published detector, of the window, with all GPUs merged. [Verdict.PublishedJSON] has all of
// them.
type Published struct {
	Verdict string // "YES" or "NO"
	// Idle, Launch and Utilization are M1, M2 and M4 of the window; NaN where the trace does not tell.
	Idle, Launch, Utilization float64
	HostPrepConfirmed         bool // by M3

	report *host.Report
}

// document is the published document.
func (p *Published) document() (json.RawMessage, error) {
	if p == nil {
		return nil, nil
	}
	return json.Marshal(p.report)
}

// published runs the published detector; nil where it sees no kernels, as it does not count whole graph replays.
func published(ctx context.Context, t *trace.Trace, o *Options) (*Published, error) {
	h := host.Options{NoPrep: o.NoPrep}
	if o.Thresholds != nil {
		h.Thresholds = host.Thresholds(*o.Thresholds)
	}
	if o.Generation != nil {
		h.Generation = host.Thresholds(*o.Generation)
	}
	r, err := host.Detect(ctx, t, h)
	if errors.Is(err, host.ErrNoKernels) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m := &r.Metrics
	return &Published{Verdict: r.Verdict, Idle: float64(m.GPUIdle), Launch: float64(m.LaunchOverhead), Utilization: float64(m.GPUUtilization), HostPrepConfirmed: r.HostPrepConfirmed, report: r}, nil
}

// text is the published report as it is printed by itself.
func (p *Published) text() string {
	var b bytes.Buffer
	_ = p.report.WriteText(&b) // a Buffer does not fail
	return b.String()
}

// disagreement says in one sentence why the published detector answers otherwise, "" where it does not.
func (v *Verdict) disagreement() string {
	p := v.Published
	if p == nil || p.Verdict == v.Verdict {
		return ""
	}
	r := &v.Ranks[v.Deciding]
	if p.Verdict == answerNo {
		return fmt.Sprintf("The published metrics say NO because fewer than two of them cross their thresholds (the GPU is idle %s of the window); they do not ask why it is idle: the host causes %s of the %s.",
			percent(p.Idle), percent(v.Headroom.Share), v.Basis)
	}
	why := []string{fmt.Sprintf("the GPU is idle %s of the window", percent(p.Idle))}
	if p.Launch > 0 {
		exposed := int64(0)
		for _, c := range r.Idle {
			if c.Cause == causeLaunch {
				exposed = c.NS
			}
		}
		why = append(why, fmt.Sprintf("launch calls take %s of it, hidden behind GPU work or not (%s exposed)", percent(p.Launch), percentOf(exposed, r.WindowNS)))
	}
	groups := groupSums(r.Idle)
	rest := ""
	for _, g := range groups {
		if g.group != groupWork && g.group != groupWaiting && g.ns > 0 {
			rest = fmt.Sprintf(", and most of the rest is %s", g.group)
			break
		}
	}
	return fmt.Sprintf("The published metrics say YES because %s; the host causes %s of the %s%s.", strings.Join(why, " and "), percent(v.Headroom.Share), v.Basis, rest)
}
