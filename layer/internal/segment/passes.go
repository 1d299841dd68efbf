package segment

import (
	"maps"
	"slices"
)

// SplitComb groups the positions of a comb into passes of per positions; the first and last group may hold fewer. With
// per 0 the size is read from where foreign kernels are.
func SplitComb(s *Sequence, comb []int, per int) [][2]int {
	m := len(comb)
	foreign := foreignKernels(s, comb)
	var breaks []int
	switch {
	case per == 0:
		breaks = breaksOf(foreign)
	case m > per:
		breaks = everyPer(foreign, m, per)
	}
	var groups [][2]int
	begin := 0
	for _, k := range breaks {
		groups = append(groups, [2]int{begin, k + 1})
		begin = k + 1
	}
	return append(groups, [2]int{begin, m})
}

// everyPer returns breaks every per units. foreign[k] counts foreign kernels between positions k and k+1;
// the offset where breaks hold most of them wins, and a complete first pass breaks ties.
func everyPer(foreign []int, m, per int) []int {
	var bestOff int
	best := -1
	for off := per - 1; off >= 0; off-- {
		sum, n := 0, 0
		for k := off; k < m-1; k += per {
			sum += foreign[k]
			n++
		}
		if n > 0 && sum > best {
			best, bestOff = sum, off
		}
	}
	var breaks []int
	for k := bestOff; k < m-1; k += per {
		breaks = append(breaks, k)
	}
	return breaks
}

// foreignKernels counts, per unit, the kernels whose name is rare among units.
func foreignKernels(s *Sequence, comb []int) []int {
	occ := occurrencesOf(s.ID)
	out := make([]int, len(comb)-1)
	for k := range out {
		for i := comb[k]; i < comb[k+1]; i++ {
			if rareUnits*occ.count(int(s.ID[i])) < len(comb) {
				out[k]++
			}
		}
	}
	return out
}

// breaksOf returns the units that hold nearly as many foreign kernels as the fullest one, if they are at regular
// distances; a cluster of neighbours (leading dense layers hold foreign kernels too) counts as its fullest unit.
func breaksOf(foreign []int) []int {
	most := slices.Max(foreign)
	if most < breakLeast {
		return nil
	}
	var breaks []int
	for k, f := range foreign {
		if breakShare*f < most || f < breakLeast {
			continue
		}
		if n := len(breaks); n > 0 && k-breaks[n-1] <= breakNear {
			if f > foreign[breaks[n-1]] {
				breaks[n-1] = k
			}
			continue
		}
		breaks = append(breaks, k)
	}
	if len(breaks) < 2 {
		return breaks
	}
	gaps, med := gapsOf(breaks)
	regular := 0
	for _, g := range gaps {
		if float64(abs(g-med)) <= regularOff*float64(med) {
			regular++
		}
	}
	if !AtLeast(regular, regularShare, len(gaps)) {
		return nil
	}
	return breaks
}

// Clusters returns the first of each cluster of kernels of a role: a word and a position embedding, the two kernels
// of an argmax.
func Clusters(s *Sequence, r Role) []int {
	var pos []int
	last := -2 * markGap
	for i, x := range s.Role {
		if x != r {
			continue
		}
		if i-last > markGap {
			pos = append(pos, i)
		}
		last = i
	}
	return pos
}

// StepGroups finds groups of names with equal counts whose occurrences interleave in step, rarest first, and returns
// the positions of the first name of each: where names show nothing, a pass runs a handful of kernels once.
func StepGroups(s *Sequence) [][]int {
	occ := occurrencesOf(s.ID)
	byCount := map[int][]int{}
	for sym := range occ.symbols() {
		if c := occ.count(sym); c >= 2 && markRare*c <= s.Len() {
			byCount[c] = append(byCount[c], sym)
		}
	}
	var out [][]int
	for _, c := range slices.Sorted(maps.Keys(byCount)) {
		syms := byCount[c]
		lead := occ.of(slices.MinFunc(syms, func(x, y int) int { return occ.of(x)[0] - occ.of(y)[0] }))
		in := -1 // the first of them is in step with itself
		for _, sym := range syms {
			if inStep(lead, occ.of(sym)) {
				in++
			}
		}
		if in >= markMembers && len(out) < markGroups {
			out = append(out, lead)
		}
	}
	return out
}

// inStep says whether b's occurrences fall one into each gap of a's.
func inStep(a, b []int) bool {
	for i := range a {
		if b[i] < a[i] || i+1 < len(a) && b[i] >= a[i+1] {
			return false
		}
	}
	return true
}

// Rounds returns where a sequence runs again what it ran before, from a name on that occurs once a round: nearly all
// of its kernels, up to its ends, are those of the round before. So run passes; other kernels precede layers and follow
// them. It is nil where rounds have fewer than least kernels, or there are none.
func Rounds(s *Sequence, least int) []int {
	for _, pos := range StepGroups(s) {
		_, period := gapsOf(pos)
		same := 0
		for i := period; i < s.Len(); i++ {
			if s.Base[i] == s.Base[i-period] {
				same++
			}
		}
		if period >= least && AtLeast(same, ReadClose, s.Len()-period) {
			return pos
		}
	}
	return nil
}

// Mixers counts the mixers of s in [from, to) and returns the position of the last one, −1 where there is none.
func Mixers(s *Sequence, from, to int) (count, last int) {
	last = -1
	for i := from; i < to; i++ {
		if s.Role[i] == mixer {
			count, last = count+1, i
		}
	}
	return count, last
}

// ofTarget returns the part of s between two samplings that holds nearly all mixers, and where it begins, as before
// and after it a draft model runs, or a layer that guesses the next token. Else it is all of s.
func ofTarget(s *Sequence) (part *Sequence, from int) {
	bounds := append(append([]int{0}, Clusters(s, sample)...), s.Len())
	all, _ := Mixers(s, 0, s.Len())
	for k, to := range bounds[1:] {
		n, _ := Mixers(s, bounds[k], to)
		if n < all && n >= StackLayers && n >= afterShare*(all-n) {
			return s.Slice(bounds[k], to), bounds[k]
		}
	}
	return s, 0
}

// moved returns a cut of the part of s that begins at from as one of s.
func (c *Cut) moved(s *Sequence, from int) *Cut {
	d := *c
	d.Starts, d.Comb.Pos = slices.Clone(c.Starts), slices.Clone(c.Comb.Pos)
	for _, list := range [][]int{d.Starts, d.Comb.Pos} {
		for k := range list {
			list[k] += from
		}
	}
	d.Comb.Skip += count(s.symbols(c.Comb.level)[:from], c.Comb.Symbol)
	return &d
}

// A Stack is the layers found in a part of a sequence: [From, To) of it, N of them; N 0 means none.
type Stack struct{ From, To, N int }

// StackIn looks for a stack of layers in a piece between two marks: of n layers, or if n is 0 of as many as it
// shows.
func StackIn(s *Sequence, n int) Stack {
	if n < 2 {
		n = Number(s)
	}
	c, ok := Layers(s, n)
	if !ok {
		return Stack{}
	}
	return Stack{c.Starts[0], c.Starts[c.Layers()], c.Layers()}
}

// Before looks for a stack of layers before the n layers of a pass. next is the first kernel of these.
func Before(s *Sequence, n int) (tower Stack, next int) {
	c, ok := Layers(s, n)
	if !ok {
		return Stack{}, 0
	}
	next = c.Starts[0]
	part := s.Slice(0, next)
	if tower = StackIn(part, 0); tower.N < StackLayers || part.Count(mixer) < tower.N {
		return Stack{}, 0
	}
	return tower, next
}

// Rest returns where the GPU idles longest before one of the kernels [from, to], the first of equals.
func (s *Stretch) Rest(from, to int) int {
	best := from
	for i := from; i <= to; i++ {
		if s.Gap[i] > s.Gap[best] {
			best = i
		}
	}
	return best
}
