package triage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/triage/internal/activity"
)

// perStep is the mean complete step of the stage, drafts' passes included, and the time per token where all say how
// many they process; 0 where not known, or where the passes are of several models: no step takes the mean of a text
// encoder's and a denoiser's.
func (s *stageWork) perStep() (step, token int64) {
	var ns, steps, tokens int64
	known, models := true, map[string]bool{}
	var last *layer.Device
	other := false // GPUs run different models
	for _, w := range s.parts {
		for i := range w.Analysis.Devices {
			d := &w.Analysis.Devices[i]
			stage := w.Stages.Pass[d.ID]
			for p := range d.Passes {
				of := d.StepOf(p)
				fp := &d.Passes[of]
				if int(stage[p]) != s.index || fp.Kernels == 0 || fp.Basis() == finding.OfWindow ||
					fp.Partial != "" {
					continue
				}
				if ns += int64(d.StepTime(p)); of != p {
					continue
				}
				steps++
				models[d.ModelOf(p)] = true
				other = other || !cmp.Or(last, d).SameModel(d)
				last = d
				tokens += fp.Tokens
				known = known && fp.Tokens > 0
			}
		}
	}
	if steps == 0 || len(models) > 1 || other {
		return 0, 0
	}
	if known {
		token = ns / tokens
	}
	return ns / steps, token
}

// figuresTitle names the line of a stage; where no stage is known it is that of the steps.
func figuresTitle(s layer.Stage) string {
	if s == layer.StageUnknown {
		return "Step"
	}
	return fmt.Sprintf("Step (%s)", stageTitle(s))
}

// figures is the line of a stage in the head of a report; "" where there is nothing to say.
func (s *StageReport) figures() string {
	if s.PassStage == layer.StageCapture {
		return "" // it runs no step
	}
	var out []string
	if s.TokenNS > 0 {
		out = append(out, nanos(s.TokenNS)+"/token")
	}
	for _, o := range s.Operators {
		if o.Operator != activity.NoOperator {
			out = append(out, fmt.Sprintf("top operator %s %s", o.Operator, pct(o.SharePct)))
			break
		}
	}
	if x := s.Exposure; x != nil {
		for _, r := range x.Rows {
			if r.Category == classify.CategoryCommunication {
				each := int64(float64(r.ExposedNS) / cmp.Or(x.CompleteSteps, 1))
				out = append(out, fmt.Sprintf("exposed communication %s (%s)", nanos(each), pct(r.ExposedPct)))
			}
		}
	}
	switch {
	case s.StepNS > 0:
		out = slices.Insert(out, 0, nanos(s.StepNS))
	case len(out) > 0:
		out = slices.Insert(out, 0, "?")
	}
	return strings.Join(out, ", ")
}
