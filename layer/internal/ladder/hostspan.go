package ladder

import (
	"cmp"
	"slices"

	"github.com/llmstrata/strata/trace"
)

// HostOf returns the span of a pass.
func (w *Work) HostOf(r *Result) HostSpan {
	if r.host.End > r.host.Start {
		return r.host
	}
	counts := map[trace.ThreadIndex]int{}
	thread := trace.ThreadIndex(trace.None)
	for _, i := range r.Kernels {
		if t := w.thread(i); t != trace.None {
			counts[t]++
			if thread == trace.None || counts[t] > counts[thread] {
				thread = t
			}
		}
	}
	h := HostSpan{Thread: thread, Annotation: trace.None}
	first := true
	for _, i := range r.Kernels {
		if thread == trace.None || w.thread(i) != thread {
			continue
		}
		end := w.at(i)
		if l := w.call(i); l.Valid() {
			end = l.End()
		}
		if first {
			h.Start, h.End, first = w.at(i), end, false
		}
		h.Start, h.End = min(h.Start, w.at(i)), max(h.End, end)
	}
	return h
}

// emptySteps returns the steps of a set that launched nothing, where the same thread launched steps before and behind them.
func emptySteps(set *stepSet, passes []Span) []Span {
	used := map[trace.EventID]bool{}
	last := map[trace.ThreadIndex]trace.Time{}
	for p := range passes {
		h := passes[p].host
		used[h.Annotation] = true
		last[h.Thread] = max(last[h.Thread], h.Start)
	}
	var out []Span
	for thread, spans := range set.spans {
		began := false
		for i := range spans {
			sp := &spans[i]
			if used[sp.Annotation] {
				began = true
			} else if began && sp.Start < last[thread] {
				step := sp.step
				out = append(out, Span{Step: &step, Evidence: "annotation", Conf: 1, host: sp.HostSpan})
			}
		}
	}
	slices.SortFunc(out, func(x, y Span) int {
		return cmp.Or(cmp.Compare(x.host.Start, y.host.Start), cmp.Compare(x.host.Annotation, y.host.Annotation))
	})
	return out
}

// withEmpty puts the steps that launched nothing between the passes, in the order in which the CPU ran them.
func (w *Work) withEmpty(results []*Result) []Result {
	out := make([]Result, 0, len(results)+len(w.empty))
	before := func(at trace.Time) {
		for ; len(w.empty) > 0 && w.empty[0].host.Start < at; w.empty = w.empty[1:] {
			out = append(out, *w.prepare(w.empty[0]))
		}
	}
	for _, r := range results {
		if len(w.empty) > 0 {
			before(w.HostOf(r).Start)
		}
		out = append(out, *r)
	}
	before(endOfTime)
	return out
}
