package hostoverhead

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/layer/finding"
)

// Handoff is the summary for whoever optimises next, with the published field names.
type Handoff struct {
	// the published verdict: YES, NO or INCONCLUSIVE
	Verdict string `json:"verdict"`
	// "context", "generation", "both", "aggregate" or "none"
	PrimaryBottleneckPhase string         `json:"primary_bottleneck_phase"`
	HostPrepConfirmed      bool           `json:"host_prep_confirmed"`      // by the published detector
	TopRegressingOps       []RegressingOp `json:"top_regressing_ops"`       // by µs per step
	RecommendedFirstTarget string         `json:"recommended_first_target"` // what to look at first
	WallTimePerStepUS      float64        `json:"wall_time_per_step_us"`    // from one step's start to the next one's
	InterStepGapP50US      float64        `json:"inter_step_gap_p50_us"`    // median time between two steps
	KernelsPerStep         float64        `json:"kernels_per_step"`         // kernels of a step
}

// RegressingOp is one host operation worth looking at.
type RegressingOp struct {
	NVTXName string `json:"nvtx_name"` // name of the range or frame
	// DeltaUSPerStep is how much longer it takes than in the baseline; null without one.
	DeltaUSPerStep *float64 `json:"delta_us_per_step"`
	// IdleUSPerStep is the idle time of the device per step while it runs; null in a comparison.
	IdleUSPerStep *float64 `json:"idle_us_per_step"`
	// SourceFunction is the function that opens the range, "server.py(12): schedule", or the operation itself where
	// it is a Python frame; "" if the trace has no frames.
	SourceFunction string `json:"source_function"`
}

// handoffOps is how many operations a handoff names.
const handoffOps = 5

// handoffAlone is the handoff of one run: without a second one to compare with, the operations are those during which
// the device idles most.
func handoffAlone(v *Verdict, run *Run) *Handoff {
	h := handoff(v, run)
	for _, c := range v.Idle {
		if c.Cause != finding.HostCode && c.Cause != finding.OtherRanks && c.Group != finding.HostWaiting {
			continue
		}
		for _, n := range c.Names {
			idle := round3(us(n.StepsNS) / float64(max(1, run.AllSteps)))
			h.TopRegressingOps = append(h.TopRegressingOps,
				RegressingOp{NVTXName: n.Name, IdleUSPerStep: &idle, SourceFunction: run.sourceOf(n.Name)})
		}
	}
	slices.SortStableFunc(h.TopRegressingOps, func(x,
		y RegressingOp) int {
		return cmp.Compare(*y.IdleUSPerStep, *x.IdleUSPerStep)
	})
	h.TopRegressingOps = h.TopRegressingOps[:min(len(h.TopRegressingOps), handoffOps)]
	h.RecommendedFirstTarget = firstTarget(v, h)
	return h
}

// sourceOf is the function that runs an operation, "" if no frame names it.
func (r *Run) sourceOf(name string) string {
	frame, _ := names.SplitFrame(name)
	bare := names.WithoutLine(name)
	for i := range r.Operations {
		o := &r.Operations[i]
		if o.Source == "" || o.Name != name && o.Name != bare {
			continue
		}
		if file, _ := names.SplitFrame(o.Source); file != "" {
			return o.Source
		}
		// a frame: its source is file and line
		return o.Source + ": " + o.Name[strings.LastIndex(o.Name, ": ")+len(": "):]
	}
	if frame != "" {
		return name
	}
	return ""
}

// Handoff summarises a comparison for whoever optimises next: v is the verdict
// of the target, the operations are those that clearly became slower, and the
// first target is the worst clear change, be it an operation, a kernel or idle
// time, or says that there is none. Of a Target alone, without Baseline, the
// operations are those during which the device idles most.
func (c *Comparison) Handoff(v *Verdict) *Handoff {
	if c.Baseline == nil {
		return handoffAlone(v, cmp.Or(c.Target, &Run{}))
	}
	h := handoff(v, c.Target)
	for _, d := range c.Regressions(0) {
		if d.Kind == compare.RangeKind && len(h.TopRegressingOps) < handoffOps {
			h.TopRegressingOps = append(h.TopRegressingOps,
				RegressingOp{NVTXName: d.Op, DeltaUSPerStep: &d.DeltaUS, SourceFunction: c.Target.sourceOf(d.Op)})
		}
	}
	h.RecommendedFirstTarget = c.worst()
	return h
}

// worst names the worst clear change for the worse.
func (c *Comparison) worst() string {
	for _, d := range c.Regressions(0) {
		if d.Kind != compare.APIKind {
			return d.Op
		}
	}
	if c.Conclusion == compare.HostBetween || c.Conclusion == compare.HostInStep {
		return "the time of " + string(c.Conclusion) + " (" + c.Reason +
			"): no operation that was recorded clearly changed, record NVTX ranges or Python stacks"
	}
	return "none: nothing clearly became slower"
}

func handoff(v *Verdict, run *Run) *Handoff {
	h := &Handoff{Verdict: v.Verdict.String(), PrimaryBottleneckPhase: primaryPhase(v),
		TopRegressingOps:  []RegressingOp{},
		WallTimePerStepUS: round3(run.WallUSPerStep), InterStepGapP50US: round3(run.GapUS),
		KernelsPerStep: round3(run.KernelsPerStep)}
	var published struct {
		Confirmed bool `json:"host_prep_confirmed"`
	}
	if len(v.Published) > 0 && json.Unmarshal(v.Published, &published) == nil { // what cannot be read confirms nothing
		h.HostPrepConfirmed = published.Confirmed
	}
	return h
}

// primaryPhase is the phase of the stages that wait for the host.
func primaryPhase(v *Verdict) string {
	waits := map[string]bool{}
	for _, s := range v.decides().Stages {
		if s.Verdict == Yes {
			waits[names.Phase(s.Stage)] = true
		}
	}
	switch c, g := waits[names.Context], waits[names.Generation]; {
	case c && g:
		return "both"
	case c:
		return names.Context
	case g:
		return names.Generation
	case v.Verdict == Yes:
		return "aggregate"
	}
	return "none"
}

// firstTarget is what to look at first.
func firstTarget(v *Verdict, h *Handoff) string {
	switch {
	case v.Verdict == No:
		return "GPU kernels: the host is not the bottleneck"
	case len(h.TopRegressingOps) > 0:
		return h.TopRegressingOps[0].NVTXName
	case len(v.Next) > 0:
		return v.Next[0].Do
	}
	return "record with NVTX ranges or Python stacks to name the host work"
}
