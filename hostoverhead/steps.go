package hostoverhead

import (
	"cmp"
	"slices"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// phaseGap is a time between two steps that parts two phases of a benchmark, and MinPhase how many steps or
// iterations a phase has at least, as in the published analysis.
const (
	phaseGap = framework.Pause
	minPhase = 5
)

// hostStep is a forward pass of one rank, or of all ranks that run one step of the
// server together.
type hostStep struct {
	Span    interval.Span // of the host: the annotation, else from the first launch to the end of the last
	GPU     interval.Span // of its kernels, empty where it launched none
	Longest int64         // longest of the ranks' host spans
	Gen     int           // generation requests, −1 unknown
	Phase   string
	Stage   layer.Stage
	Index   int // of the pass
	Pass    int // of the first device, by its index; −1 for none
}

// stepOfPass is a pass as this package looks at it.
func stepOfPass(p *layer.ForwardPass) hostStep {
	s := hostStep{Gen: -1, Pass: -1, Phase: names.Phase(p.Stage), Stage: p.Stage, Index: p.Index}
	s.Span = interval.Span{Start: int64(p.Host.Start), End: int64(p.Host.End)}
	if p.Kernels > 0 {
		s.GPU = interval.Span{Start: int64(p.Start), End: int64(p.End)}
	}
	if s.Span.Empty() { // no launch is known
		s.Span = s.GPU
	}
	s.Longest = s.Span.Len()
	if p.Annotation != nil {
		s.Gen = p.Annotation.GenerationRequests
	}
	return s
}

// join adds what another rank did in the same step.
func (s *hostStep) join(o hostStep) {
	s.Span = interval.Span{Start: min(s.Span.Start, o.Span.Start), End: max(s.Span.End, o.Span.End)}
	switch {
	case s.GPU.Empty():
		s.GPU = o.GPU
	case !o.GPU.Empty():
		s.GPU = interval.Span{Start: min(s.GPU.Start, o.GPU.Start), End: max(s.GPU.End, o.GPU.End)}
	}
	s.Longest, s.Gen = max(s.Longest, o.Longest), max(s.Gen, o.Gen)
	if o.Phase == names.Context || s.Phase == "" {
		s.Phase = o.Phase
	}
}

// stepsOf are the steps of a device, of all devices for nil, in the order in which the host ran them.
func stepsOf(a *layer.Analysis, device *trace.DeviceID) []hostStep {
	var steps []hostStep
	at := map[int]int{} // by the number of the server's step
	for i := range a.Devices {
		dev := &a.Devices[i]
		if device != nil && dev.ID != *device {
			continue
		}
		for j := range dev.Passes {
			p := &dev.Passes[j]
			if k, ok := at[p.Step]; ok {
				steps[k].join(stepOfPass(p))
				continue
			}
			at[p.Step] = len(steps)
			s := stepOfPass(p)
			if i == 0 {
				s.Pass = j
			}
			steps = append(steps, s)
		}
	}
	slices.SortStableFunc(steps, func(a, b hostStep) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	return steps
}

// periodOf is the time of the host that step i takes: up to the start of the next
// step, so that the host work between two steps counts for the step it follows.
// Where nothing follows within 100 ms it ends with the step and its kernels,
// which run later than the host's part.
func periodOf(steps []hostStep, i int) interval.Span {
	s := steps[i].Span
	end := max(s.End, steps[i].GPU.End)
	if i+1 < len(steps) {
		next := steps[i+1].Span.Start
		if next-s.End <= int64(phaseGap) {
			return interval.Span{Start: s.Start, End: max(next, s.Start)}
		}
		end = min(end, next)
	}
	return interval.Span{Start: s.Start, End: end}
}
