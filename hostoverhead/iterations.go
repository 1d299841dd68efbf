package hostoverhead

import (
	"cmp"
	"slices"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/timeline"
	"github.com/llmstrata/strata/trace/event"
)

// iteration is a run of all-reduces without a pause of 1 ms.
type iteration struct {
	span  interval.Span
	count int // all-reduce kernels
}

// benchPhase is where the iterations of the measured run lie.
type benchPhase struct {
	iterations int           // found in the trace
	common     int           // most frequent number of all-reduces, 0 without all-reduce
	bench      int           // iterations of the benchmark phase
	window     interval.Span // of the benchmark phase; empty when there is none
}

// findIterations groups all-reduce kernels into iterations and iterations into
// phases, and takes the last phase that looks like a steady run: at least five
// iterations, at least half of them of the common size.
// Kernel density is no guide: JIT warm-up is denser than inference.
func (w *recording) findIterations() benchPhase {
	var its []iteration
	for e := range w.events(event.LaneGPU) {
		if e.Kind() != event.Kernel || w.layers.Of(e.ID()).Facts().Collective != classify.AllReduce {
			continue
		}
		s := timeline.SpanOf(e)
		if n := len(its); n > 0 && s.Start-its[n-1].span.End <= int64(iterationGap) {
			its[n-1].span.End = max(its[n-1].span.End, s.End)
			its[n-1].count++
			continue
		}
		its = append(its, iteration{s, 1})
	}
	return choosePhase(its)
}

func choosePhase(its []iteration) benchPhase {
	out := benchPhase{iterations: len(its), common: commonSize(its)}
	for end := len(its); end >= minPhase; {
		start := end - 1
		for start > 0 && its[start].span.Start-its[start-1].span.End <= int64(phaseGap) {
			start--
		}
		phase := its[start:end]
		common := 0
		for _, it := range phase {
			if it.count == out.common {
				common++
			}
		}
		if len(phase) >= minPhase && 2*common >= len(phase) {
			out.bench = len(phase)
			out.window = interval.Span{Start: phase[0].span.Start, End: phase[len(phase)-1].span.End}
			return out
		}
		end = start
	}
	return out
}

// commonSize is the most frequent count, the larger one of equally frequent
// ones.
func commonSize(its []iteration) int {
	n := map[int]int{}
	for _, it := range its {
		n[it.count]++
	}
	best := 0
	for size, k := range n {
		if cmp.Or(cmp.Compare(k, n[best]), cmp.Compare(size, best)) > 0 {
			best = size
		}
	}
	return best
}

// benchSteps are the merged steps of all ranks in the benchmark phase: those
// whose span overlaps it. Without one, all steps.
func benchSteps(all []hostStep, b benchPhase) []hostStep {
	if b.window.Empty() {
		return all
	}
	in := slices.DeleteFunc(slices.Clone(all), func(s hostStep) bool { return s.Span.Clip(b.window).Empty() })
	if len(in) < minPhase {
		// Steps that end before their kernels run need not overlap; then the
		// phase only says when, not which.
		return all
	}
	return in
}
