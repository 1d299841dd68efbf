package hostoverhead

import (
	"context"
	"strconv"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// handoffOps is how many operations a handoff names.
const handoffOps = 5

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// NewHandoff summarises a verdict for whoever optimises next. Without a second
// run to compare with, the operations are the most expensive ones per step
// that run while the device idles (see [Handoff]). It returns [ErrNoKernels] for
// a trace without kernels, and ctx's error when cancelled.
func NewHandoff(ctx context.Context, a *layer.Analysis, v *Verdict, opts ...Option) (*Handoff, error) {
	r, err := Breakdown(ctx, a, opts...)
	if err != nil {
		return nil, err
	}
	h := &Handoff{
		Verdict: v.Verdict, PrimaryBottleneckPhase: v.primaryPhase(), HostPrepConfirmed: v.HostPrepConfirmed, TopRegressingOps: []RegressingOp{},
		WallTimePerStepUS: round3(r.WallUSPerStep), InterStepGapP50US: round3(r.GapUS), KernelsPerStep: round3(r.KernelsPerStep),
	}
	ledgers, err := Ledger(ctx, a.Trace(), opts...)
	if err != nil {
		return nil, err
	}
	for _, l := range ledgers {
		if l.Device != v.Device && v.Device != trace.NoDevice {
			continue
		}
		for _, n := range l.Names {
			if len(h.TopRegressingOps) < handoffOps && (n.Cause == CauseHostPrep || n.Cause == CauseCollectiveWait || n.Cause == CauseBlockingCall) && n.Name != "" {
				_, function := splitFrame(n.Name)
				op := RegressingOp{NVTXName: n.Name, SourceFunction: function}
				if r.AllSteps > 0 {
					op.DeltaUSPerStep = round3(us(n.TotalNS) / float64(r.AllSteps))
				}
				h.TopRegressingOps = append(h.TopRegressingOps, op)
			}
		}
		break
	}
	h.RecommendedFirstTarget = recommend(v, h)
	return h, nil
}

// Handoff summarises a comparison for whoever optimises next: v is the verdict
// of the target, the operations are those that became slower.
func (c *Comparison) Handoff(v *Verdict) *Handoff {
	h := &Handoff{
		Verdict: v.Verdict, PrimaryBottleneckPhase: v.primaryPhase(), HostPrepConfirmed: v.HostPrepConfirmed, TopRegressingOps: []RegressingOp{},
		WallTimePerStepUS: round3(c.Target.WallUSPerStep), InterStepGapP50US: round3(c.Target.GapUS), KernelsPerStep: round3(c.Target.KernelsPerStep),
	}
	for _, d := range c.Regressions(0) {
		if d.Kind == OpRange && len(h.TopRegressingOps) < handoffOps {
			_, function := splitFrame(d.Op)
			h.TopRegressingOps = append(h.TopRegressingOps, RegressingOp{NVTXName: d.Op, DeltaUSPerStep: d.DeltaUS, SourceFunction: function})
		}
	}
	h.RecommendedFirstTarget = recommend(v, h)
	return h
}

func (v *Verdict) primaryPhase() string {
	is := func(phase string) bool { p := v.Phases[phase]; return p != nil && p.Verdict == Yes }
	switch c, g := is(phaseContext), is(phaseGeneration); {
	case c && g:
		return "both"
	case c:
		return phaseContext
	case g:
		return phaseGeneration
	case v.Verdict == Yes:
		return "aggregate"
	}
	return "none"
}

func recommend(v *Verdict, h *Handoff) string {
	switch {
	case v.Verdict == No:
		return "GPU kernels: the host is not the bottleneck"
	case len(h.TopRegressingOps) > 0:
		return h.TopRegressingOps[0].NVTXName
	case v.CrossedDetails["launch_overhead_ratio"]:
		return "kernel launches: capture CUDA graphs"
	}
	return "record with NVTX ranges or Python stacks to name the host work"
}
