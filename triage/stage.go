package triage

import (
	"slices"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// The stages in the order of a report.
const (
	stagePrefill int8 = iota
	stageDecode
	stageMixed
	stageCapture // the work of capturing graphs, which is no serving
	stageRest    // the trace does not tell, or work outside any step
	numStages

	noStage = int8(-1) // work that belongs to no stage yet
)

// stageIndex returns a stage's number, noStage where reports have no
// word for it. The passes of speculative decoding are decode: a server runs them
// in its decode loop.
func stageIndex(s layer.Stage) int8 {
	switch s {
	case layer.StagePrefill:
		return stagePrefill
	case layer.StageMixed:
		return stageMixed
	case layer.StageDecode, layer.StageVerify, layer.StageDraft:
		return stageDecode
	case layer.StageCapture:
		return stageCapture
	}
	return noStage
}

// fileStage is the stage that a file's name hints at: the weakest evidence.
func fileStage(path string) int8 {
	return stageIndex(layer.Stage(framework.ReadFileName(framework.All(), path).Stage))
}

// stages tells the stage of the passes of one analysis, by device and pass, and
// of what is outside of passes.
type stages struct {
	pass map[trace.DeviceID][]int8
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
func stagesOf(a *layer.Analysis, hint int8) *stages {
	s := &stages{pass: map[trace.DeviceID][]int8{}, rest: hint}
	for i := range a.Devices {
		d := &a.Devices[i]
		list := make([]int8, len(d.Passes))
		for p := range d.Passes {
			if list[p] = stageIndex(d.Passes[p].Stage); list[p] == noStage {
				list[p] = hint
			}
		}
		s.pass[d.ID] = list
	}
	if hint == noStage {
		s.settle(a)
	}
	return s
}

// settle gives a stage to what has none.
func (s *stages) settle(a *layer.Analysis) {
	sum := make([]int64, numStages)
	var total, known int64
	for i := range a.Devices {
		d := &a.Devices[i]
		for k := range d.Kernels() {
			ns := int64(k.Event().Duration())
			total += ns
			if st := s.of(k); st != noStage {
				sum[st] += ns
				known += ns
			}
		}
	}
	best := int8(slices.Index(sum, slices.Max(sum)))
	s.rest = stageRest
	clean := known > 0 && float64(known) >= splitFrom*float64(total)
	if clean && sum[best] == known && float64(known) >= splitWhole*float64(total) {
		s.rest = best
	}
	for _, list := range s.pass {
		for p := range list {
			if list[p] == noStage || !clean {
				list[p] = s.rest
			}
		}
	}
}

// of returns the stage of a kernel's pass, else that of what is outside.
func (s *stages) of(k layer.Kernel) int8 {
	if !k.Valid() {
		return s.rest
	}
	if p := k.Place().Pass; p != layer.None {
		return s.pass[k.Device().ID][p]
	}
	return s.rest
}

// stepCount is the steps of the server in one stage.
type stepCount struct {
	steps int
	batch int // −1 when steps disagree
}

// wholeTrace is the evidence of a pass that stands for a trace in which no steps
// were found.
const wholeTrace = "whole"

// countSteps counts the steps of each stage: passes of several GPUs that one
// step launched count once.
func (s *stages) countSteps(a *layer.Analysis) []stepCount {
	out := make([]stepCount, numStages)
	seen := map[int]bool{}
	for i := range a.Devices {
		d := &a.Devices[i]
		for p := range d.Passes {
			fp := &d.Passes[p]
			st := s.pass[d.ID][p]
			if seen[fp.Step] || fp.Kernels == 0 || st == noStage || fp.PassEvidence == wholeTrace {
				continue
			}
			seen[fp.Step] = true
			c := &out[st]
			c.steps++
			if batch := max(fp.Batch, 0); c.steps == 1 {
				c.batch = batch
			} else if c.batch != batch {
				c.batch = -1
			}
		}
	}
	return out
}

// mainStage returns the stage of most of an analysis' steps, else what the path
// hints at.
func mainStage(a *layer.Analysis, path string) int8 {
	hint := fileStage(path)
	best, most := hint, 0
	for i, c := range stagesOf(a, hint).countSteps(a) {
		if c.steps > most {
			best, most = int8(i), c.steps
		}
	}
	return best
}
