package compare

import "math"

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
	found bool
	// gone and fresh say that the row occurs on one side only.
	gone, fresh bool
}

// judgeAll tests all rows of a pair at once. shifts says that they may share a factor: on another GPU, or with other
// sizes, each row has its own.
func (k ruler) judgeAll(rows []series, floor floors, shifts bool) judgement {
	all := func(Class) bool { return true }
	j := judgement{rows: make([]judged, len(rows))}
	if shifts {
		j.shift = k.shift(rows, all)
	}
	na, nb := 1, 1
	byClass := map[Class]float64{}
	for _, s := range rows {
		na, nb = max(na, len(s.a)), max(nb, len(s.b))
		if _, ok := byClass[s.class]; !ok && shifts {
			byClass[s.class] = k.classShift(rows, s.class, j.shift)
		}
	}
	j.p = k.shiftTest(j.shift, floor.common, na, nb)
	j.steady = k.runs
	fewest := math.MaxInt
	for _, s := range rows {
		fewest = min(fewest, len(s.a), len(s.b))
		j.steady = j.steady || len(s.layers) > 1
	}
	j.steady = j.steady || fewest > 1
	j.uniform = j.steady && j.p < alpha && math.Abs(j.shift) >= minShift
	ps := make([]float64, 0, len(rows))
	at := make([]int, 0, len(rows))
	for i, s := range rows {
		r := &j.rows[i]
		r.result = k.judge(s, byClass[s.class], floor.of(s.class))
		if s.class != Waiting { // nothing waits is a time like any other
			r.gone, r.fresh = oneSided(s)
		}
		if r.gone || r.fresh {
			r.found = math.Abs(r.delta) >= minShare*k.pass && s.class != Transfer
			continue
		}
		if r.judged {
			ps, at = append(ps, r.p), append(at, i)
		}
	}
	for n, found := range holm(ps, alpha) {
		r := &j.rows[at[n]]
		least := minShare
		if rows[at[n]].class == Waiting {
			least = minWait
		}
		r.found = found && math.Abs(r.delta) >= least*k.pass
	}
	for i, s := range rows {
		if r := &j.rows[i]; r.judged && !r.found && !k.runs && mixed(s, k.pass) {
			r.found = true
		}
	}
	return j
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
func oneSided(s series) (gone, fresh bool) {
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
	return manyA && !someB, manyB && !someA
}
