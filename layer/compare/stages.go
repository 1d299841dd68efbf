package compare

import (
	"context"
	"fmt"
	"slices"

	"github.com/llmstrata/strata/layer"
)

// StageReport is what differs in the passes of one stage.
type StageReport struct {
	Stage layer.Stage `json:"stage"` // of the passes that are compared
	// Report is nil where the stage is not compared, and Why says why not.
	Report *Report `json:"comparison"`
	Why    string  `json:"why,omitempty"`
}

// stages are those that are compared by themselves, each with the stages of passes that count as it.
var stages = []struct {
	stage  layer.Stage
	passes []layer.Stage
}{
	{layer.StagePrefill, []layer.Stage{layer.StagePrefill}},
	{layer.StageDecode, []layer.Stage{layer.StageDecode, layer.StageVerify, layer.StageDraft}},
	{layer.StageMixed, []layer.Stage{layer.StageMixed}},
	{layer.StageCapture, []layer.Stage{layer.StageCapture}},
	{layer.StageUnknown, []layer.Stage{layer.StageUnknown}},
}

// ByStage is [Compare] for each stage that a side has. Passes of different sizes are not compared. The error is
// ctx's, or that of sides without runs.
func ByStage(ctx context.Context, a, b *Side, o Options) ([]StageReport, error) {
	var out []StageReport
	for _, s := range stages {
		has := func(side *Side) bool {
			return slices.ContainsFunc(side.Runs, func(r Run) bool {
				return slices.ContainsFunc(r.Passes, func(p Pass) bool { return slices.Contains(s.passes, p.Stage) })
			})
		}
		switch inA, inB := has(a), has(b); {
		case !inA && !inB:
			continue
		case inA != inB:
			out = append(out, StageReport{Stage: s.stage,
				Why: fmt.Sprintf("only in the %s run", map[bool]string{true: "old", false: "new"}[inA])})
			continue
		}
		own := o
		own.Stages = s.passes
		r, err := Compare(ctx, a, b, own)
		if err != nil {
			return nil, err
		}
		if r.Verdict == NotComparable || r.Doubtful(DoubtWork) {
			out = append(out, StageReport{Stage: s.stage,
				Why: "not compared: " + r.Why()})
			continue
		}
		out = append(out, StageReport{Stage: s.stage, Report: r})
	}
	return out, nil
}

// Tolerance is what gates of the same limit on GPU work and on the step say of a comparison with both, in this order:
// idle time of few passes proves nothing, and leaves it undecided only where it makes the steps as much slower as the
// limit. A report without them leaves it undecided.
func (r *Report) Tolerance() GateOutcome {
	if len(r.Gates) < len(Tolerate(0)) {
		return GateUndecided
	}
	work, step := &r.Gates[0], &r.Gates[1]
	switch {
	case work.Outcome == GateFailed || step.Outcome == GateFailed:
		return GateFailed
	case work.Outcome == GateUndecided || step.Outcome == GateUndecided && step.Estimate >= step.Limit:
		return GateUndecided
	}
	return GatePassed
}

// Tolerate are the gates of [Report.Tolerance].
func Tolerate(limit float64) []Gate { return []Gate{{What: gateWork, Limit: limit}, {Limit: limit}} }
