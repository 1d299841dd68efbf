package segment

import (
	"maps"
	"slices"
)

// Mark is what a kernel's name or launch says of where passes begin and end.
type Mark uint8

const (
	// Begins: it looks up an embedding.
	Begins Mark = 1 << iota
	// Ends: it samples.
	Samples
	// Works: it is of a layer or of a head: a norm, a product, attention.
	Works
	// Alone: calls of their own launched it and a pass's worth of kernels around it.
	Alone
	// Inside: the graph launch that launched the one before it launched it, too.
	Inside
)

const (
	// together: marks that are closer are one, as a word and a position embedding are, or the kernels of a sampler.
	together = 4
	// rests: a place where the GPU idles so many times as long as it does at nine in ten kernels is a rest.
	rests = 4
	// restsMost: of the occurrences of a place between passes so many in a hundred are rests.
	restsMost = 60
	// shortest is the least number of kernels of a pass.
	shortest = 8
)

// Bounds returns where passes may begin, ascending, the first kernel left out: at embeddings, after sampling, and
// where the GPU rests at a place that recurs. Between the end of one pass and the beginning of the next it is where
// the GPU idles longest.
func Bounds(rows []Row, marks []Mark, base []int32) []int {
	is := make([]bool, len(rows)+1)
	usual := usualGap(rows, marks, 0)
	byMarks(rows, marks, is, usual)
	for _, i := range restPlaces(rows, marks, base, usual) {
		near := false
		for k := max(0, i-shortest); k <= min(len(rows), i+shortest); k++ {
			near = near || is[k]
		}
		if !near {
			is[i] = true
		}
	}
	var out []int
	for i := shortest; i <= len(rows)-shortest; i++ {
		if is[i] && (len(out) == 0 || i-out[len(out)-1] >= shortest) {
			out = append(out, i)
		}
	}
	return out
}

// Hidden returns where stretches are to be divided that begin or end with what another one is that several run, if
// the GPU rests there longer than within that one: nobody saw the boundary, as it occurs only once.
func Hidden(all []Stretch) [][]int {
	count := make([]int, len(all))
	for k := range all {
		if first := all[k].Like - 1; first >= 0 {
			count[k], count[first] = -1, count[first]+1
		}
	}
	var known [][]Row
	for k, n := range count {
		if n > 0 && len(all[k].Rows) >= shortest {
			known = append(known, all[k].Rows)
		}
	}
	slices.SortStableFunc(known, func(a, b []Row) int { return len(b) - len(a) })
	known = known[:min(len(known), maxClusters)]
	out := make([][]int, len(all))
	for k := range all {
		if first := all[k].Like - 1; first >= 0 {
			out[k] = out[first]
		} else {
			out[k] = hiddenIn(all[k].Rows, known)
		}
	}
	return out
}

// hiddenIn returns where rows are to be divided, ascending.
func hiddenIn(rows []Row, known [][]Row) []int {
	for _, o := range known {
		n, m := len(rows), len(o)
		if n < m+shortest {
			continue
		}
		for _, at := range []int{n - m, m} {
			in := rows[:at]
			if at == n-m {
				in = rows[at:]
			}
			if !sameNames(in, o) || rows[at].Gap <= longestRest(in) {
				continue
			}
			out := append(hiddenIn(rows[:at], known), at)
			for _, x := range hiddenIn(rows[at:], known) {
				out = append(out, at+x)
			}
			return out
		}
	}
	return nil
}

// longestRest is how long the GPU idles at most between rows.
func longestRest(rows []Row) (longest Span) {
	for _, r := range rows[1:] {
		longest = max(longest, r.Gap)
	}
	return longest
}

// usualGap is the idle time before a kernel that nine in ten do not exceed, of those with all of some marks.
func usualGap(rows []Row, marks []Mark, of Mark) Span {
	var gaps []Span
	for i, r := range rows {
		if marks[i]&of == of {
			gaps = append(gaps, r.Gap)
		}
	}
	if len(gaps) == 0 {
		return 1
	}
	slices.Sort(gaps)
	return max(1, gaps[9*len(gaps)/10])
}

// byMarks notes the places before embeddings, and after sampling where work follows without one.
func byMarks(rows []Row, marks []Mark, is []bool, usual Span) {
	rest := func(from, to, prefer int) { // the longest rest in [from, to], if there is one
		best := prefer
		for i := from; i <= to; i++ {
			if rows[i].Gap > rests*usual && rows[i].Gap > rows[best].Gap {
				best = i
			}
		}
		is[best] = true
	}
	worked, sampled := -1, -1 // the last kernel of a pass that works, or samples
	begun := -2 * together
	for i, m := range marks {
		switch {
		case m&Begins != 0:
			if worked >= 0 && i-begun > together {
				rest(worked+1, i, i)
				worked, sampled = -1, -1
			}
			begun = i
		case m&Samples != 0:
			worked, sampled = i, i
		case m&Works != 0:
			if sampled >= 0 {
				rest(sampled+1, i, sampled+1)
				sampled = -1
			}
			worked = i
		}
	}
}

// restPlaces returns where the GPU rests, if most occurrences of the kernels around that place are rests, or of those
// after it: what a prefill ends with, another pass does not. A replay is one pass at most: in it the GPU waits for
// kernels, not for the host. Kernels that calls of their own launch wait for the host anyway.
func restPlaces(rows []Row, marks []Mark, base []int32, usual Span) []int {
	alone := max(usual, usualGap(rows, marks, Alone))
	rest := func(i int) bool {
		switch {
		case marks[i]&Inside != 0:
			return false
		case marks[i]&Alone != 0:
			return rows[i].Gap > rests*alone
		}
		return rows[i].Gap > rests*usual
	}
	type place struct{ a, b, c, d int32 }
	of := func(i, k int) [2]place { // what is around kernels i … k−1
		p := place{-1, base[rows[i-1].Name], base[rows[k].Name], -1}
		if i > 1 {
			p.a = base[rows[i-2].Name]
		}
		if k+1 < len(rows) {
			p.d = base[rows[k+1].Name]
		}
		return [2]place{p, {-1, -1, p.c, p.d}}
	}
	resting := map[place]int{}
	for i := 1; i < len(rows); i++ {
		if rest(i) {
			for _, p := range of(i, i) {
				resting[p]++
			}
		}
	}
	all := map[place][]int{}
	for i := 1; i < len(rows); i++ {
		for _, p := range of(i, i) {
			if resting[p] > 0 {
				all[p] = append(all[p], i)
			}
		}
	}
	maps.DeleteFunc(all, func(p place, at []int) bool { return len(at) < 2 || 100*resting[p] < restsMost*len(at) })
	between := map[place]int{} // how often a few kernels are there
	for i := 1; i < len(rows) && len(all) > 0; i++ {
		for k := i + 1; k <= min(i+fewDropped, len(rows)-1); k++ {
			if p := of(i, k)[0]; all[p] != nil && p != of(i, i)[0] {
				between[p]++
			}
		}
	}
	var out []int
	for p, at := range all {
		if between[p] <= len(at) { // else these are lost there
			out = append(out, at...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
