package hostcompare

import (
	"time"

	"github.com/llmstrata/strata/hostoverhead/internal/steps"
	"github.com/llmstrata/strata/layer"
)

// Options change an analysis. The zero value is the default.
type Options struct {
	// Baseline and Target name the two runs, and tell their tensor-parallel sizes; one run alone is the Baseline.
	Baseline, Target Side
	// Ranks is the number by which times summed over ranks are divided; 0: the number of devices with work.
	Ranks int
	// Steps are further ways to tell that a range is a step's and names no host work, asked before the built-in ones (see
	// [layer.ParseStep]); which steps there are the analysis says.
	Steps []layer.StepPattern
	// MinChange is the share of the baseline's wall time per step below which a difference is not called a regression even if
	// it is significant; nil: 0.03, what two runs of one server differ by.
	MinChange *float64
}

// Side is what is known about one run.
type Side struct {
	Label string // "": "baseline" or "target"
	// TPSize is the tensor-parallel size, which may be larger than the number of ranks in the trace; 0: [Options.Ranks], else
	// the number of devices with work, and unknown for one.
	TPSize int
}

// minChange is the default of [Options.MinChange].
const minChange = 0.03

func (o *Options) change() float64 {
	if o.MinChange != nil {
		return *o.MinChange
	}
	return minChange
}

// or is the side with a label.
func (s Side) or(label string) Side {
	if s.Label == "" {
		s.Label = label
	}
	return s
}

// Constants of the published root-cause analysis.
const (
	iterationGap = time.Millisecond // between all-reduces: a new iteration
	phaseGap     = steps.PhaseGap   // between iterations: a new phase
	minPhase     = steps.MinPhase   // iterations of a benchmark phase, and steady steps
)
