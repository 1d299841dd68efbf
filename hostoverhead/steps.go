package hostoverhead

import (
	"cmp"
	"slices"

	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// The phases of a step.
const (
	phaseContext    = "context"    // some context (prefill) requests
	phaseGeneration = "generation" // generation (decode) requests only
)

// step is a forward pass of one rank, or of all ranks that run one step of the
// server together.
type step struct {
	span      interval.Span // of the host: the annotation, else from the first launch to the end of the last
	gpu       interval.Span // of its kernels, empty where it launched none
	longest   int64         // longest of the ranks' host spans
	annotated bool          // span is that of an annotation
	gen       int           // generation requests, −1 unknown
	phase     string
	stage     layer.Stage
	index     int // of the pass
	pass      int // of the first device, by its index; −1 for none
}

// phaseOf puts the stages into the two phases that thresholds are known for:
// context requests make a context step, generation requests alone a generation
// step.
func phaseOf(s layer.Stage) string {
	switch s {
	case layer.StagePrefill, layer.StageMixed:
		return phaseContext
	case layer.StageDecode, layer.StageVerify, layer.StageDraft:
		return phaseGeneration
	}
	return ""
}

// stepOf is a pass as this package looks at it.
func stepOf(p *layer.ForwardPass) step {
	s := step{gen: -1, pass: -1, phase: phaseOf(p.Stage), stage: p.Stage, index: p.Index, annotated: p.Host.Annotation != trace.NoEvent}
	s.span = interval.Span{Start: int64(p.Host.Start), End: int64(p.Host.End)}
	if p.Kernels > 0 {
		s.gpu = interval.Span{Start: int64(p.Start), End: int64(p.End)}
	}
	if s.span.Empty() { // no launch is known
		s.span = s.gpu
	}
	s.longest = s.span.Len()
	if p.Annotation != nil {
		s.gen = p.Annotation.GenerationRequests
	}
	return s
}

// join adds what another rank did in the same step.
func (s *step) join(o step) {
	s.span = interval.Span{Start: min(s.span.Start, o.span.Start), End: max(s.span.End, o.span.End)}
	switch {
	case s.gpu.Empty():
		s.gpu = o.gpu
	case !o.gpu.Empty():
		s.gpu = interval.Span{Start: min(s.gpu.Start, o.gpu.Start), End: max(s.gpu.End, o.gpu.End)}
	}
	s.longest, s.gen = max(s.longest, o.longest), max(s.gen, o.gen)
	s.annotated = s.annotated && o.annotated
	if o.phase == phaseContext || s.phase == "" {
		s.phase = o.phase
	}
}

// stepsOf are the steps of a device, of all devices where they are merged, in
// the order in which the host ran them.
func (w *workload) stepsOf(d *deviceWork) []step {
	if w.layers == nil {
		return nil
	}
	var steps []step
	at := map[int]int{} // by the number of the server's step
	for i := range w.layers.Devices {
		dev := &w.layers.Devices[i]
		if !d.merged && dev.ID != d.id {
			continue
		}
		for j := range dev.Passes {
			p := &dev.Passes[j]
			if k, ok := at[p.Step]; ok {
				steps[k].join(stepOf(p))
				continue
			}
			at[p.Step] = len(steps)
			s := stepOf(p)
			if i == 0 {
				s.pass = j
			}
			steps = append(steps, s)
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.span.Start, b.span.Start) })
	return steps
}

// period is the time of the host that step i takes: up to the start of the next
// step, so that the host work between two steps counts for the step it follows.
// Where nothing follows within 100 ms it ends with the step and its kernels,
// which run later than the host's part.
func period(steps []step, i int) interval.Span {
	s := steps[i].span
	end := max(s.End, steps[i].gpu.End)
	if i+1 < len(steps) {
		next := steps[i+1].span.Start
		if next-s.End <= int64(phaseGap) {
			return interval.Span{Start: s.Start, End: max(next, s.Start)}
		}
		end = min(end, next)
	}
	return interval.Span{Start: s.Start, End: end}
}

// gpuPeriods are the times of the device that each step takes, in the order of
// steps and disjoint: its kernels and the idle time before them, which delays it
// even where the host launched it a step ahead. Idle time in which the host is
// still inside the annotation of the step before belongs to that one; of a pause
// of over 100 ms only the part from the step's own start on does. The first step
// begins with its first kernel: what ran before it, a stray kernel or the end of a
// step that the window cuts, says nothing about when it was asked for. A step
// without kernels has none.
func gpuPeriods(steps []step) []interval.Span {
	out := make([]interval.Span, len(steps))
	order := make([]int, 0, len(steps))
	for i := range steps {
		if !steps[i].gpu.Empty() {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(steps[a].gpu.Start, steps[b].gpu.Start) })
	before := -1
	for _, i := range order {
		s := &steps[i]
		if before < 0 {
			out[i], before = s.gpu, i
			continue
		}
		own := min(s.gpu.Start, s.span.Start)
		last := &out[before]
		if s.gpu.Start-last.End > int64(phaseGap) {
			out[i] = interval.Span{Start: max(own, last.End), End: s.gpu.End}
			before = i
			continue
		}
		if steps[before].annotated {
			last.End = max(last.End, min(steps[before].span.End, s.span.Start, s.gpu.Start))
		}
		out[i] = interval.Span{Start: last.End, End: max(last.End, s.gpu.End)}
		before = i
	}
	return out
}
