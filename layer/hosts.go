package layer

import (
	"cmp"
	"slices"

	"github.com/llmstrata/strata/trace"
)

// HostSpan is what the CPU did for a pass: the step annotation around its launches, else the time from its first launch to the
// end of its last one.
type HostSpan struct {
	// Thread is the one that launched most of the pass; NoThread when no launch is known.
	Thread trace.ThreadIndex `json:"-"`
	Start  trace.Time        `json:"start_ns"`
	End    trace.Time        `json:"end_ns"`
	// Annotation is the step annotation, NoEvent where there is none.
	Annotation trace.EventID `json:"-"`
}

// hostOf returns the span of a pass.
func (w *work) hostOf(r *passResult) HostSpan {
	if r.host.End > r.host.Start {
		return r.host
	}
	counts := map[trace.ThreadIndex]int{}
	thread := trace.NoThread
	for _, i := range r.kernels {
		if t := w.thread[i]; t != trace.NoThread {
			counts[t]++
			if thread == trace.NoThread || counts[t] > counts[thread] {
				thread = t
			}
		}
	}
	h := HostSpan{Thread: thread, Annotation: trace.NoEvent}
	first := true
	for _, i := range r.kernels {
		if thread == trace.NoThread || w.thread[i] != thread {
			continue
		}
		end := w.at[i]
		if l := w.call(i); l.Valid() {
			end = l.End()
		}
		if first {
			h.Start, h.End, first = w.at[i], end, false
		}
		h.Start, h.End = min(h.Start, w.at[i]), max(h.End, end)
	}
	return h
}

// emptySteps returns the steps of a set that launched nothing, where the same thread launched steps before and behind them.
func emptySteps(set *stepSet, passes []passSpan) []passSpan {
	used := map[trace.EventID]bool{}
	last := map[trace.ThreadIndex]trace.Time{}
	for p := range passes {
		h := passes[p].host
		used[h.Annotation] = true
		last[h.Thread] = max(last[h.Thread], h.Start)
	}
	var out []passSpan
	for thread, spans := range set.spans {
		began := false
		for i := range spans {
			sp := &spans[i]
			if used[sp.Annotation] {
				began = true
			} else if began && sp.Start < last[thread] {
				step := sp.step
				out = append(out, passSpan{step: &step, evidence: "annotation", conf: 1, host: sp.HostSpan})
			}
		}
	}
	slices.SortFunc(out, func(x, y passSpan) int {
		return cmp.Or(cmp.Compare(x.host.Start, y.host.Start), cmp.Compare(x.host.Annotation, y.host.Annotation))
	})
	return out
}

// withEmpty puts the steps that launched nothing between the passes, in the order in which the CPU ran them.
func (w *work) withEmpty(results []passResult) []passResult {
	if len(w.empty) == 0 {
		return results
	}
	out := make([]passResult, 0, len(results)+len(w.empty))
	next := 0
	for p := range results {
		for start := w.hostOf(&results[p]).Start; next < len(w.empty) && w.empty[next].host.Start < start; next++ {
			out = append(out, w.prepare(w.empty[next]))
		}
		out = append(out, results[p])
	}
	for ; next < len(w.empty); next++ {
		out = append(out, w.prepare(w.empty[next]))
	}
	return out
}

// numberSteps gives passes of several GPUs that one step of the server launched the same number. They have the same annotation,
// or annotations of the same number, or the same stage and run at the same time. Pipeline ranks run a step one behind the
// other: without annotations they are taken for as many steps as run at the same time.
func (a *Analysis) numberSteps() {
	if len(a.Devices) == 0 {
		return
	}
	steps := make([][]*ForwardPass, 0, len(a.Devices[0].Passes)) // the first pass is that of the first device that ran the step
	for p := range a.Devices[0].Passes {
		steps = append(steps, []*ForwardPass{&a.Devices[0].Passes[p]})
	}
	for d := 1; d < len(a.Devices); d++ {
		known := len(steps)
		next := 0
		for p := range a.Devices[d].Passes {
			fp := &a.Devices[d].Passes[p]
			if k := matchingStep(steps[:known], next, fp); k >= 0 {
				steps[k] = append(steps[k], fp)
				next = k + 1
			} else {
				steps = append(steps, []*ForwardPass{fp})
			}
		}
		slices.SortStableFunc(steps, func(x, y []*ForwardPass) int { return cmp.Compare(x[0].Start, y[0].Start) })
	}
	for n, passes := range steps {
		for _, fp := range passes {
			fp.Step = n
		}
	}
}

// matchingStep returns the step from next on that the pass is a part of, −1 for none.
func matchingStep(steps [][]*ForwardPass, next int, fp *ForwardPass) int {
	best, most := -1, trace.Time(0)
	for k := next; k < len(steps); k++ {
		q := steps[k][0]
		if fp.Host.Annotation != trace.NoEvent && fp.Host.Annotation == q.Host.Annotation {
			return k
		}
		if x, y := fp.Annotation, q.Annotation; x != nil && y != nil && x.Index >= 0 && y.Index >= 0 {
			if x.Index == y.Index && x.Dialect == y.Dialect {
				return k
			}
			if x.Dialect == y.Dialect {
				continue
			}
		}
		if q.Start > fp.End {
			break
		}
		if both := min(q.End, fp.End) - max(q.Start, fp.Start); both > most && q.Stage == fp.Stage {
			best, most = k, both
		}
	}
	return best
}
