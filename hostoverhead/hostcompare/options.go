package hostcompare

import (
	"cmp"
	"time"

	"github.com/llmstrata/strata/hostoverhead/internal/steps"
	"github.com/llmstrata/strata/layer"
)

// Options change an analysis. The zero value is the default.
type Options struct {
	// Labels name the baseline and the target; "": "baseline" and "target". One run alone is the baseline.
	Labels [2]string
	// TPSizes are their tensor-parallel sizes, which may be larger than the number of ranks in a trace; 0: Ranks, else the
	// number of devices with work, and unknown for one.
	TPSizes [2]int
	// Ranks is the number by which times summed over ranks are divided; 0: the number of devices with work.
	Ranks int
	// Steps are further ways to tell that a range is a step's and names no host work, asked before the built-in ones (see
	// [layer.ParseStep]); which steps there are the analysis says.
	Steps []layer.StepPattern
	// MinChange is the share of the baseline's wall time per step below which a difference is not called a regression even if
	// it is significant; nil: 0.03, what two runs of one server differ by.
	MinChange *float64
}

// side is what is known about one run.
type side struct {
	label  string
	tpSize int
}

// minChange is the default of [Options.MinChange].
const minChange = 0.03

func (o *Options) change() float64 {
	if o.MinChange != nil {
		return *o.MinChange
	}
	return minChange
}

// sides are the baseline and the target.
func (o *Options) sides() (baseline, target side) {
	return side{cmp.Or(o.Labels[0], "baseline"), o.TPSizes[0]}, side{cmp.Or(o.Labels[1], "target"), o.TPSizes[1]}
}

// Constants of the published root-cause analysis.
const (
	iterationGap = time.Millisecond // between all-reduces: a new iteration
	phaseGap     = steps.PhaseGap   // between iterations: a new phase
	minPhase     = steps.MinPhase   // iterations of a benchmark phase, and steady steps
)
