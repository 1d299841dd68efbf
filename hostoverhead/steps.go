package hostoverhead

import (
	"cmp"
	"slices"

	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/stop"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// The phases of a step.
const (
	phaseContext    = "context"    // some context (prefill) requests
	phaseGeneration = "generation" // generation (decode) requests only
)

// step is one forward step of the server on one rank, or of all ranks once
// [mergeRanks] has joined them.
type step struct {
	span    interval.Span
	gpuEnd  int64 // end of the last kernel launched in it, at least span.End
	longest int64 // longest duration among the ranks' ranges
	thread  trace.ThreadIndex
	index   int64 // the step's own number, −1 when it has none
	ctx     int   // context requests, −1 unknown
	gen     int   // generation requests, −1 unknown
	phase   string
	ranks   int
}

// collectSteps finds the step ranges. Where a trace holds annotations of
// several dialects, those that tell phases win over mere profiler steps.
func (w *workload) collectSteps() {
	byDialect := map[string][]step{}
	for e := range w.events(trace.LaneAnnotation) {
		if e.Kind() == trace.KindGPUAnnotation || e.Kind() == trace.KindMark {
			continue
		}
		st := w.names.step(e.NameID(), w.cfg.steps)
		if st == nil {
			continue
		}
		s := step{span: spanOf(e), thread: e.Thread(), index: st.Index, ctx: st.ContextRequests, gen: st.GenerationRequests, ranks: 1}
		s.longest = s.span.Len()
		s.phase = phaseOf(st)
		byDialect[st.Dialect] = append(byDialect[st.Dialect], s)
	}
	best := ""
	known := func(d string) int {
		return len(slices.DeleteFunc(slices.Clone(byDialect[d]), func(s step) bool { return s.phase == "" }))
	}
	for d := range byDialect {
		if best == "" || cmp.Or(cmp.Compare(known(d), known(best)), cmp.Compare(len(byDialect[d]), len(byDialect[best])), cmp.Compare(best, d)) > 0 {
			best = d
		}
	}
	w.steps = byDialect[best]
	slices.SortStableFunc(w.steps, func(a, b step) int { return cmp.Compare(a.span.Start, b.span.Start) })
}

// phaseOf follows hostoverhead.md §2: context requests make a context step,
// generation requests alone a generation step.
func phaseOf(s *layer.Step) string {
	switch {
	case s.ContextRequests > 0:
		return phaseContext
	case s.ContextRequests == 0 && s.GenerationRequests > 0:
		return phaseGeneration
	}
	switch s.Stage {
	case layer.StagePrefill, layer.StageMixed:
		return phaseContext
	case layer.StageDecode, layer.StageVerify, layer.StageDraft:
		return phaseGeneration
	}
	return ""
}

// mergeRanks joins the ranges of one step on several ranks: same number where
// both have one, other thread, starts within 100 µs. Gaps between merged steps
// cannot be negative because of skew between ranks.
func mergeRanks(watch *stop.Watch, steps []step) []step {
	var out []step
	var members [][]trace.ThreadIndex
	for _, s := range steps {
		joined := false
		for i := len(out) - 1; i >= 0 && s.span.Start-out[i].span.Start <= int64(duplicateStart); i-- {
			if watch.Over() {
				return nil
			}
			o := &out[i]
			if o.index >= 0 && s.index >= 0 && o.index != s.index || slices.Contains(members[i], s.thread) {
				continue
			}
			o.span.End = max(o.span.End, s.span.End)
			o.longest = max(o.longest, s.longest)
			o.ctx, o.gen = max(o.ctx, s.ctx), max(o.gen, s.gen)
			if s.phase == phaseContext || o.phase == "" {
				o.phase = s.phase
			}
			o.ranks++
			members[i] = append(members[i], s.thread)
			joined = true
			break
		}
		if !joined {
			out = append(out, s)
			members = append(members, []trace.ThreadIndex{s.thread})
		}
	}
	return out
}

// stepsOf are the merged steps of the threads that work for a device.
func (w *workload) stepsOf(d *deviceWork) []step {
	steps := mergeRanks(w.stop, slices.DeleteFunc(slices.Clone(w.steps), func(s step) bool { return !w.drivesDevice(s.thread, d) }))
	for i := range steps {
		steps[i].gpuEnd = steps[i].span.End
	}
	for _, e := range w.kernelsOf(d) {
		l := e.Launch()
		if !l.Valid() {
			continue
		}
		i, found := slices.BinarySearchFunc(steps, int64(l.Start()), func(s step, t int64) int { return cmp.Compare(s.span.Start, t) })
		if !found {
			i--
		}
		if i >= 0 && int64(l.Start()) < steps[i].span.End {
			steps[i].gpuEnd = max(steps[i].gpuEnd, int64(e.End()))
		}
	}
	return steps
}

// period is the window of step i: up to the start of the next step, so that
// the host work between two steps counts for the step it follows. Where
// nothing follows within 100 ms it ends with the step and the kernels that it
// launched, which run later than the range on the CPU.
func period(steps []step, i int) interval.Span {
	s := steps[i].span
	if i+1 < len(steps) {
		next := steps[i+1].span.Start
		if next-s.End <= int64(phaseGap) {
			return interval.Span{Start: s.Start, End: max(next, s.Start)}
		}
		return interval.Span{Start: s.Start, End: min(max(s.End, steps[i].gpuEnd), next)}
	}
	return interval.Span{Start: s.Start, End: max(s.End, steps[i].gpuEnd)}
}

// phasePeriods are the windows of the steps of one phase, disjoint and in
// order.
func phasePeriods(steps []step, phase string) []interval.Span {
	var windows []interval.Span
	for i := range steps {
		if steps[i].phase == phase {
			windows = append(windows, period(steps, i))
		}
	}
	return windows
}
