package layer

import (
	"fmt"
	"slices"
	"time"

	"github.com/llmstrata/strata/trace"
)

// Steady names the pass that represents the steady state, and why.
type Steady struct {
	// Pass indexes Passes; None when there is no pass.
	Pass int `json:"pass"`
	// Run counts the passes of the run that it is one of.
	Run int `json:"run"`
	// TolerancePct is how far a pass of the run may be from the run's median duration, in percent.
	TolerancePct float64 `json:"tolerance_pct"`
	// Reason says the choice in words.
	Reason string `json:"reason"`

	from int // the first pass of the run
}

// Holds says whether a pass is one of several that make up the run.
func (s *Steady) Holds(pass int) bool { return s.Run > 1 && pass >= s.from && pass < s.from+s.Run }

// steadyTolerance is how far a pass may be from the median of its run. Decode steps of one batch vary by 1–4% in the
// traces seen and the first one after a start by 30% and more; a tenth lies between.
const steadyTolerance = 0.10

// chooseSteady picks a pass of the longest run of complete passes with the same stage, batch and evidence of layers
// whose durations stay within the tolerance of their median, the earliest of equally long runs: the pass whose
// duration is nearest to that median, of those that another pass follows. Runs of a draft model, passes without
// requests, passes without layers and passes of other models than the one with most GPU time represent the steady
// state only if there is nothing else.
func (a *Device) chooseSteady(ended func() error) {
	a.Steady = Steady{Pass: trace.None, TolerancePct: 100 * steadyTolerance}
	if len(a.Passes) == 0 {
		a.Steady.Reason = "no passes"
		return
	}
	bestFrom, bestLen := trace.None, 0
	working := slices.ContainsFunc(a.Passes, func(p ForwardPass) bool {
		return p.Model == 0 && p.works() &&
			p.Partial == whole
	})
	for from := 0; from < len(a.Passes); {
		to := from + 1
		for to < len(a.Passes) && sameWork(&a.Passes[from], &a.Passes[to]) {
			to++
		}
		if p := &a.Passes[from]; p.Model == 0 && p.Partial == whole && (p.works() || !working) {
			if f, n := longestRun(ended, a.Passes[from:to]); n > bestLen {
				bestFrom, bestLen = from+f, n
			}
		}
		from = to
	}
	if bestFrom == trace.None {
		a.Steady.Pass, a.Steady.Run = longestPass(a.Passes), 1
		a.Steady.Reason = "every pass is cut by the window; this is the longest"
		return
	}
	p := &a.Passes[bestFrom]
	a.Steady.from = bestFrom
	followed := bestLen
	if bestLen > 1 && bestFrom+bestLen == len(a.Passes) { // of the last pass, the time up to a next one is not known
		followed--
	}
	a.Steady.Pass = bestFrom + nearestMedian(a.Passes[bestFrom:bestFrom+bestLen], followed)
	a.Steady.Run = bestLen
	what := "passes"
	if p.Stage != StageUnknown {
		what = string(p.Stage) + " passes"
	}
	if p.Batch >= 0 {
		what += fmt.Sprintf(" of batch %d", p.Batch)
	}
	switch {
	case bestLen > 1:
		a.Steady.Reason = fmt.Sprintf("the median of %d neighbouring %s whose durations stay within %.0f%% of it",
			bestLen, what, a.Steady.TolerancePct)
	case len(a.Passes) == 1:
		a.Steady.Reason = "the only pass"
	default:
		a.Steady.Reason = fmt.Sprintf("no two neighbouring passes have the same stage and batch and durations within "+
			"%.0f%%; the first complete pass", a.Steady.TolerancePct)
	}
}

// works says whether the pass computes layers of the model for requests.
func (p *ForwardPass) works() bool {
	return p.NumLayers > 0 && p.serves()
}

// sameWork says whether two complete passes do the same work as far as their annotations show.
func sameWork(p, q *ForwardPass) bool {
	return p.Partial == whole && q.Partial == whole && p.Model == q.Model && p.Stage == q.Stage && p.Batch == q.Batch &&
		p.NumLayers == q.NumLayers
}

// longestRun returns the longest stretch whose durations lie within the tolerance of their median, by a window that
// grows to the right and shrinks from the left.
func longestRun(ended func() error, passes []ForwardPass) (from, n int) {
	var sorted []time.Duration
	lo := 0
	for hi := range passes {
		if ended() != nil {
			break
		}
		d := passes[hi].Wall()
		at, _ := slices.BinarySearch(sorted, d)
		sorted = slices.Insert(sorted, at, d)
		for !withinTolerance(sorted) {
			at, _ := slices.BinarySearch(sorted, passes[lo].Wall())
			sorted = slices.Delete(sorted, at, at+1)
			lo++
		}
		if hi-lo+1 > n {
			from, n = lo, hi-lo+1
		}
	}
	return from, n
}

// nearestMedian returns the index of the pass whose duration is nearest to the median of all, the first of equals. It
// is one of the first n.
func nearestMedian(passes []ForwardPass, n int) (nearest int) {
	walls := make([]time.Duration, len(passes))
	for p := range passes {
		walls[p] = passes[p].Wall()
	}
	median := slices.Sorted(slices.Values(walls))[len(walls)/2]
	// A pass that lacks records represents the others only where all do.
	intact := slices.ContainsFunc(passes[:n], func(p ForwardPass) bool { return p.Lost == 0 })
	for p, wall := range walls[:n] {
		if intact && passes[nearest].Lost > 0 && passes[p].Lost == 0 {
			nearest = p
		}
		if (!intact || passes[p].Lost == 0) && (wall-median).Abs() < (walls[nearest]-median).Abs() {
			nearest = p
		}
	}
	return nearest
}

func withinTolerance(sorted []time.Duration) bool {
	if len(sorted) < 2 {
		return true
	}
	med := float64(sorted[len(sorted)/2])
	return float64(sorted[0]) >= (1-steadyTolerance)*med && float64(sorted[len(sorted)-1]) <= (1+steadyTolerance)*med
}

func longestPass(passes []ForwardPass) int {
	best := 0
	for p := range passes {
		if passes[p].NumLayers > passes[best].NumLayers {
			best = p
		}
	}
	return best
}
