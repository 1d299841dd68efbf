package compare

import (
	"math"
	"slices"

	"github.com/llmstrata/strata/internal/stat"
)

// A judgement is what the statistics say of all rows of a pair.
type judgement struct {
	rows    []judged
	shift   float64 // logarithm of the common shift of all rows
	p       float64 // that there is none
	uniform bool    // the shift is a finding
	steady  bool    // several passes a side, or their layers, show how times vary
}

type judged struct {
	result
	found  bool
	change Change // New or Removed where it occurs on one side only
}

// known reports whether something may be said.
func (j *judged) known() bool { return j.judged || j.change != Unchanged }

// floors are the relative standard deviations between two runs: of GPU work, of operations of the host, and of waiting
// and idle time.
type floors struct{ common, host, waits float64 }

// of is the floor of a series: that of one that waits is a share of the pass, as its times are judged.
func (f *floors) of(s *series, pass float64) float64 {
	switch {
	case s.class == OfHost:
		return f.host
	case s.class == Waiting && pass > 0:
		return math.Hypot(f.common, f.waits*(stat.Mean(s.a)+stat.Mean(s.b))/2/pass)
	}
	return f.common
}

// judgeAll tests all rows of a pair at once; each has a value of every pass, or run. shifts says that they may share
// a factor: on another GPU, or with other sizes, each row has its own.
func (k ruler) judgeAll(rows []series, floor floors, shifts bool) judgement {
	all := func(Class) bool { return true }
	j := judgement{rows: make([]judged, len(rows)), p: 1}
	if len(rows) == 0 {
		return j
	}
	if shifts {
		j.shift = k.shift(rows, all)
	}
	j.p = k.shiftTest(j.shift, floor.common, len(rows[0].a), len(rows[0].b))
	j.steady = k.runs || min(len(rows[0].a), len(rows[0].b)) > 1 ||
		slices.ContainsFunc(rows, func(s series) bool { return len(s.layers) > 1 })
	j.uniform = j.steady && j.p < alpha && math.Abs(j.shift) >= minShift
	byClass := map[Class]float64{}
	var ps []float64
	var at []int
	for i, s := range rows {
		if _, ok := byClass[s.class]; !ok && shifts {
			byClass[s.class] = k.classShift(rows, s.class, j.shift)
		}
		r := &j.rows[i]
		r.result = k.judge(s, byClass[s.class], floor.of(&s, k.pass))
		if s.class != Waiting && (s.class != OfHost || r.enough) { // nothing waits is a time like any other
			r.change = oneSided(s)
		}
		switch {
		case r.change != Unchanged:
			r.found = math.Abs(r.delta) >= minShare*k.pass && s.class != Transfer
		case r.judged && max(stat.Mean(s.a), stat.Mean(s.b)) >= leastShare(s.class)*k.pass: // others cost power
			ps, at = append(ps, r.p), append(at, i)
		}
	}
	for n, found := range holm(ps, alpha) {
		r, s := &j.rows[at[n]], rows[at[n]]
		r.found = found && math.Abs(r.delta) >= leastShare(s.class)*k.pass || !k.runs && mixed(s, k.pass)
	}
	return j
}

// leastShare is the smallest finding of a class, as a share of the pass.
func leastShare(c Class) float64 {
	if c == Waiting {
		return minWait
	}
	return minShare
}

// classShift is the shift of one class if its own rows show it, else that of all rows.
func (k ruler) classShift(rows []series, c Class, all float64) float64 {
	n := 0
	for _, s := range rows {
		if s.class == c && !s.other {
			n++
		}
	}
	if n < shiftRows {
		return all
	}
	return k.shift(rows, func(x Class) bool { return x == c })
}

// oneSided says whether a row is in at least half of the passes of one side and in none of the other.
func oneSided(s series) Change {
	present := func(x []float64) (some, many bool) {
		n := 0
		for _, v := range x {
			if v > 0 {
				n++
			}
		}
		return n > 0, len(x) > 0 && float64(n) >= presence*float64(len(x))
	}
	someA, manyA := present(s.a)
	someB, manyB := present(s.b)
	switch {
	case manyA && !someB:
		return Removed
	case manyB && !someA:
		return New
	}
	return Unchanged
}
