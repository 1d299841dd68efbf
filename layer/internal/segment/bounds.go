package segment

import (
	"maps"
	"slices"

	"github.com/llmstrata/strata/internal/stat"
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
func Bounds(s Stretch, marks []Mark) []int {
	n := s.Len()
	is := make([]bool, n+1)
	usual := usualGap(s.Gap, marks, 0)
	byMarks(s, marks, is, usual)
	for _, i := range restPlaces(s, marks, usual) {
		near := false
		for k := max(0, i-shortest); k <= min(n, i+shortest); k++ {
			near = near || is[k]
		}
		if !near {
			is[i] = true
		}
	}
	var out []int
	for i := shortest; i <= n-shortest; i++ {
		if is[i] && (len(out) == 0 || i-out[len(out)-1] >= shortest) {
			out = append(out, i)
		}
	}
	return out
}

// Hidden returns where stretches are to be divided that begin or end with what another one is that several run, if
// the GPU rests there longer than within that one: nobody saw the boundary, as it occurs only once. So are those that
// run the kernels of another one twice.
func Hidden(all []Stretch) [][]int {
	count, first := map[*Sequence]int{}, map[*Sequence]int{}
	var known []*Sequence
	sequences := make([]*Sequence, len(all))
	for k := range all {
		sequences[k] = all[k].Sequence
		if count[all[k].Sequence]++; count[all[k].Sequence] == 2 && all[k].Len() >= shortest {
			known = append(known, all[k].Sequence)
		}
	}
	slices.SortStableFunc(known, func(a, b *Sequence) int { return b.Len() - a.Len() })
	known = known[:min(len(known), maxClusters)]
	out := make([][]int, len(all))
	for k := range all {
		if f, ok := first[all[k].Sequence]; ok {
			out[k] = out[f]
			continue
		}
		first[all[k].Sequence] = k
		out[k] = hiddenIn(all[k].ID, all[k].Gap, known)
		if len(out[k]) > 0 || all[k].Len() <= shortest {
			continue
		}
		if t, ok := Twice(all[k].Sequence, sequences); ok {
			out[k] = middle(&all[k], t, sequences)
		}
	}
	return out
}

// middle returns where s, which runs the pass t twice, is to be divided: between two such passes, which may lack
// records, where the GPU rests longest. If no other one of all is like t, which the window may cut, it rests there
// longer than anywhere else in s.
func middle(s *Stretch, t *Sequence, all []*Sequence) []int {
	n := t.Len()
	from, to := max(1, min(n, s.Len()-n)-markGap), min(s.Len()-1, max(n, s.Len()-n)+markGap)
	if n < shortest || len(s.Gap) == 0 || from > to {
		return nil
	}
	alike := 0
	for _, o := range all {
		alike += stat.Int(runs(o, t, 1))
	}
	at := s.Rest(from, to)
	if s.Gap[at] <= usualGap(s.Gap, make([]Mark, s.Len()), 0) || alike < 2 && s.Gap[at] < slices.Max(s.Gap[1:]) {
		return nil
	}
	return []int{at}
}

// hiddenIn returns where kernels are to be divided, ascending.
func hiddenIn(ids []int32, gap []Span, known []*Sequence) []int {
	for _, o := range known {
		n, m := len(ids), o.Len()
		if n < m+shortest {
			continue
		}
		for _, at := range []int{n - m, m} {
			from := 0
			if at == n-m {
				from = at
			}
			if !slices.Equal(ids[from:from+m], o.ID) || gap[at] <= slices.Max(gap[from+1:from+m]) {
				continue
			}
			out := append(hiddenIn(ids[:at], gap[:at], known), at)
			for _, x := range hiddenIn(ids[at:], gap[at:], known) {
				out = append(out, at+x)
			}
			return out
		}
	}
	return nil
}

// usualGap is the idle time before a kernel that nine in ten do not exceed, of those with all of some marks.
func usualGap(gap []Span, marks []Mark, of Mark) Span {
	var gaps []Span
	for i, g := range gap {
		if marks[i]&of == of {
			gaps = append(gaps, g)
		}
	}
	if len(gaps) == 0 {
		return 1
	}
	slices.Sort(gaps)
	return max(1, gaps[9*len(gaps)/10])
}

// byMarks notes the places before embeddings, and after sampling where work follows without one. What the window begins
// with, if nothing works before its first embedding, belongs to the embedding, and so does what is alike before others.
func byMarks(s Stretch, marks []Mark, is []bool, usual Span) {
	gap := s.Gap
	first := max(0, slices.IndexFunc(marks, func(m Mark) bool { return m&(Begins|Samples|Works) != 0 }))
	prologue := func(from, i int) int { // where what belongs to the embedding at i begins
		k := 0
		for marks[first]&Begins != 0 && k < min(first, i-from) && s.Base[first-1-k] == s.Base[i-1-k] {
			k++
		}
		return i - k
	}
	rest := func(from, to, prefer int) { // the longest rest in [from, to], if there is one
		best := prefer
		for i := from; i <= to; i++ {
			if gap[i] > rests*usual && gap[i] > gap[best] {
				best = i
			}
		}
		is[best] = true
	}
	worked, sampled := -1, -1 // the last kernel of a pass that works, or samples
	begun := -together        // none yet
	for i, m := range marks {
		switch {
		case m&Begins != 0:
			if worked >= 0 && i-begun > together {
				at := prologue(worked+1, i)
				rest(worked+1, at, at)
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
// after it: what a prefill ends with, another pass does not. A replay is one pass at most: in it a kernel waits for
// other kernels, not for the host. Kernels that calls of their own launch wait for the host anyway.
func restPlaces(s Stretch, marks []Mark, usual Span) []int {
	alone := max(usual, usualGap(s.Gap, marks, Alone))
	rest := func(i int) bool {
		switch {
		case marks[i]&Inside != 0:
			return false
		case marks[i]&Alone != 0:
			return s.Gap[i] > rests*alone
		}
		return s.Gap[i] > rests*usual
	}
	type around struct{ a, b, c, d int32 }
	of := func(i, k int) [2]around { // what is around kernels i … k−1
		p := around{-1, s.Base[i-1], s.Base[k], -1}
		if i > 1 {
			p.a = s.Base[i-2]
		}
		if k+1 < s.Len() {
			p.d = s.Base[k+1]
		}
		return [2]around{p, {-1, -1, p.c, p.d}}
	}
	resting := map[around]int{}
	for i := 1; i < s.Len(); i++ {
		if rest(i) {
			for _, p := range of(i, i) {
				resting[p]++
			}
		}
	}
	all := map[around][]int{}
	for i := 1; i < s.Len(); i++ {
		for _, p := range of(i, i) {
			if resting[p] > 0 {
				all[p] = append(all[p], i)
			}
		}
	}
	maps.DeleteFunc(all, func(p around, at []int) bool { return len(at) < 2 || 100*resting[p] < restsMost*len(at) })
	between := map[around]int{} // how often a few kernels are there
	for i := 1; i < s.Len() && len(all) > 0; i++ {
		for k := i + 1; k <= min(i+fewDropped, s.Len()-1); k++ {
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
