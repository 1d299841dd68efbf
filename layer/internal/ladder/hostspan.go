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
	counts := map[trace.ThreadIndex]int{trace.None: 0}
	h := HostSpan{Thread: trace.None, Annotation: trace.None}
	for _, i := range r.Kernels {
		if t := w.thread(i); t != trace.None {
			if counts[t]++; counts[t] > counts[h.Thread] {
				h.Thread = t
			}
		}
	}
	if h.Thread == trace.None {
		return h
	}
	h.Start, h.End = endOfTime, never
	for _, i := range r.Kernels {
		if call := w.Trace.At(w.origin[i]); call.Thread() == h.Thread {
			h.Start, h.End = min(h.Start, call.Start()), max(h.End, call.End())
		}
	}
	return h
}

// emptySteps returns the steps of a set that launched nothing, where the same thread launched steps before and after
// them.
func emptySteps(set *stepSet, passes []Span) []Span {
	used := map[trace.EventID]bool{}
	for p := range passes {
		used[passes[p].host.Annotation] = true
	}
	var out []Span
	for _, spans := range set.spans {
		began := false
		var since []Span
		for _, sp := range spans {
			if used[sp.Annotation] {
				out, since, began = append(out, since...), nil, true
			} else if began {
				since = append(since, Span{Step: &sp.step, Evidence: RungAnnotation, Conf: 1, host: sp.HostSpan})
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
