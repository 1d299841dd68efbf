package ladder

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/trace"
)

// strayShare: at most one in so many kernels of a pass may be strays. A pass whose kernels are few has none: a pause
// in it says nothing. Warm-up and housekeeping kernels that a window catches before its first step were one to six of
// some thousands in the traces seen.
const strayShare = 20

// dropStrays takes from the passes what is apart from them: kernels outside of layers at the beginning or the end of
// a pass, with a pause between that is longer than all work of the pass. A time of the pass that held the pause would
// say nothing about it. The notes name them.
func (w *Work) dropStrays(results []*Result) (notes []string) {
	before, behind := strays{where: "before"}, strays{where: "after"}
	inLayer := make([]bool, len(w.Acts))
	var end []trace.Time
	for _, r := range results {
		if w.Ended() != nil {
			return nil
		}
		most := len(r.Kernels) / strayShare
		if most == 0 {
			continue
		}
		for k, i := range r.Kernels {
			inLayer[i] = r.Layer[k] != None
		}
		sorted := r.Kernels // by start
		if !slices.IsSorted(sorted) {
			sorted = slices.Sorted(slices.Values(r.Kernels))
		}
		var work time.Duration
		end, work = w.progress(end[:0], sorted)
		pause := func(k int) time.Duration { return time.Duration(w.Act(sorted[k]).Start() - end[k-1]) }
		from, to := 0, len(sorted)
		rest := work
		for k := 1; k <= most && !inLayer[sorted[k-1]]; k++ {
			if rest -= w.Act(sorted[k-1]).Duration(); pause(k) > rest {
				from, work = k, rest
			}
		}
		for k := to - 1; k >= len(sorted)-most && k > from && !inLayer[sorted[k]]; k-- {
			if work -= w.Act(sorted[k]).Duration(); pause(k) > work {
				to = k
			}
		}
		if from > 0 {
			before.add(w, sorted[:from], pause(from))
		}
		if to < len(sorted) {
			behind.add(w, sorted[to:], pause(to))
		}
		if to-from < len(sorted) {
			r.keep(sorted[from], sorted[to-1])
		}
	}
	for _, s := range []strays{before, behind} {
		if s.passes > 0 {
			notes = append(notes, s.note())
		}
	}
	return notes
}

// strays are the kernels that were taken from one end of passes.
type strays struct {
	where           string
	passes, kernels int
	first           string        // the name of the first one
	pause           time.Duration // the longest between them and the rest
}

func (s *strays) add(w *Work, kernels []int32, pause time.Duration) {
	s.first = cmp.Or(s.first, w.nameAt(kernels, 0))
	s.passes, s.kernels, s.pause = s.passes+1, s.kernels+len(kernels), max(s.pause, pause.Round(time.Microsecond))
}

func (s *strays) note() string {
	what := table.Counted(s.kernels, "GPU activity", "GPU activities")
	most, passes := "", "pass"
	if s.passes > 1 {
		most, passes = "up to ", table.Count(int64(s.passes))+" passes"
	}
	return fmt.Sprintf("%s (first %s) %s %s%s %s the %s that launched %s, and %s to no pass", what, s.first,
		table.Plural(s.kernels, "lies", "lie"), most, table.Duration(s.pause), s.where, passes,
		table.Plural(s.kernels, "it", "them"), table.Plural(s.kernels, "belongs", "belong"))
}

// progress appends when the kernels up to each have ended, and returns how long they run in all.
func (w *Work) progress(ends []trace.Time, kernels []int32) (_ []trace.Time, work time.Duration) {
	end := never
	for _, i := range kernels {
		e := w.Act(i)
		end = max(end, e.End())
		ends, work = append(ends, end), work+e.Duration()
	}
	return ends, work
}

// keep leaves the kernels from the first to the last one given, by start, in the pass.
func (r *Result) keep(first, last int32) {
	var order, layers []int32 // new ones: passes share theirs with what they were found in
	for k, i := range r.Kernels {
		if i >= first && i <= last {
			order, layers = append(order, i), append(layers, r.Layer[k])
		}
	}
	r.Kernels, r.Layer = order, layers
}
