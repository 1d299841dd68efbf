package activity

import (
	"slices"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
)

// The stages in the order of a report.
const (
	StagePrefill int8 = iota
	StageDecode
	StageMixed
	StageCapture // the work of capturing graphs, which is no serving
	StageRest    // not known from the trace, or work outside any step
	NumStages

	NoStage = int8(-1) // work that belongs to no stage yet
)

// Order are the stages of passes by number. Passes of other stages count for the one that has the same published
// word: verify passes are decode. A draft's pass has the stage of its target's step.
var Order = [NumStages]layer.Stage{
	StagePrefill: layer.StagePrefill,
	StageDecode:  layer.StageDecode,
	StageMixed:   layer.StageMixed,
	StageCapture: layer.StageCapture,
	StageRest:    layer.StageUnknown,
}

// stageIndex returns a stage's number, NoStage where the published word is that of StageRest, as the trace may show it.
func stageIndex(s layer.Stage) int8 {
	word := s.Info().Published
	i := slices.IndexFunc(Order[:], func(o layer.Stage) bool { return o.Info().Published == word })
	if i == int(StageRest) {
		return NoStage
	}
	return int8(i)
}

// FileStage is the stage that a file's name hints at: the weakest evidence.
func FileStage(path string) int8 {
	return stageIndex(layer.Stage(framework.ReadFileName(framework.All(), path).Stage))
}

// Stages gives the stage of the passes of one analysis, by device and pass, and
// of what is outside of passes.
type Stages struct {
	Pass map[trace.DeviceID][]int8 // the stage of each pass
	rest int8
}

// A split by stage is used when the passes with a stage explain at least
// splitFrom of GPU time; one stage that explains splitWhole of it takes the rest
// too (sampling and bookkeeping around the step).
const (
	splitFrom  = 0.5
	splitWhole = 0.9
)

// stagesOf finds the stage of each pass: what the pass says, else hint.
func stagesOf(a *layer.Analysis, hint int8) *Stages {
	s := &Stages{Pass: map[trace.DeviceID][]int8{}, rest: hint}
	for i := range a.Devices {
		d := &a.Devices[i]
		list := make([]int8, len(d.Passes))
		for p := range d.Passes {
			if list[p] = stageIndex(d.Passes[d.StepOf(p)].Stage); list[p] == NoStage {
				list[p] = hint
			}
		}
		s.Pass[d.ID] = list
	}
	if hint == NoStage {
		s.settle(a)
	}
	return s
}

// settle gives a stage to what has none.
func (s *Stages) settle(a *layer.Analysis) {
	sum := make([]int64, NumStages)
	var total, known int64
	for i := range a.Devices {
		d := &a.Devices[i]
		for k := range d.Kernels() {
			ns := int64(k.Event().Duration())
			total += ns
			if st := s.of(k); st != NoStage {
				sum[st] += ns
				known += ns
			}
		}
	}
	best := int8(slices.Index(sum, slices.Max(sum)))
	s.rest = StageRest
	clean := known > 0 && float64(known) >= splitFrom*float64(total)
	if clean && sum[best] == known && float64(known) >= splitWhole*float64(total) {
		s.rest = best
	}
	for _, list := range s.Pass {
		for p := range list {
			if list[p] == NoStage || !clean {
				list[p] = s.rest
			}
		}
	}
}

// of returns the stage of a kernel's pass, else that of what is outside.
func (s *Stages) of(k layer.Kernel) int8 {
	if p := k.Place().Pass; p != trace.None {
		return s.Pass[k.Device().ID][p]
	}
	return s.rest
}

// StepCount is the steps of the server in one stage.
type StepCount struct {
	Steps int // how many
	Batch int // of each; 0 when steps disagree or do not say
}

// countSteps counts the steps of each stage: passes of several GPUs that one
// step launched count once, a draft's with its target's.
func (s *Stages) countSteps(a *layer.Analysis) []StepCount {
	out := make([]StepCount, NumStages)
	seen := map[int]bool{}
	for i := range a.Devices {
		d := &a.Devices[i]
		for p := range d.Passes {
			fp := &d.Passes[p]
			st := s.Pass[d.ID][p]
			if seen[fp.Step] || d.StepOf(p) != p || fp.Kernels == 0 || st == NoStage || fp.Basis() == finding.OfWindow {
				continue
			}
			seen[fp.Step] = true
			c := &out[st]
			c.Steps++
			if batch := max(fp.Batch, 0); c.Steps == 1 {
				c.Batch = batch
			} else if c.Batch != batch {
				c.Batch = 0
			}
		}
	}
	return out
}

// MainStage returns the stage of most of an analysis' steps, else what the path
// hints at.
func MainStage(a *layer.Analysis, path string) int8 {
	hint := FileStage(path)
	best, most := hint, 0
	for i, c := range stagesOf(a, hint).countSteps(a) {
		if c.Steps > most {
			best, most = int8(i), c.Steps
		}
	}
	return best
}
