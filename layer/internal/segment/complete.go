package segment

import "slices"

// A comb may lack teeth: the kernel was lost in one layer, or a leading dense layer does not run it. Then the
// kernels in the gap, before the first layer or after the last one look like a layer, and are made one.

// complete returns the cut with the layers that its comb misses; with n > 0 it adds none beyond n layers.
func complete(s *Sequence, c *Cut, n int) *Cut {
	if pos := fillGaps(s, c.Comb.Pos, n); len(pos) > len(c.Comb.Pos) {
		comb := c.Comb
		comb.Pos = pos
		similarity := c.Similarity
		c = CutAt(s, comb, c.Reference())
		c.Similarity = similarity
	}
	if starts := completeEnds(s, c.Starts, n); len(starts) != len(c.Starts) {
		c = c.With(starts)
	}
	return c
}

// completeEnds returns where layers begin with those before the first and after the last one that are like a layer;
// with n > 0 it adds none beyond n layers.
func completeEnds(s *Sequence, starts []int, n int) []int {
	limit := maxLeading
	if n > 0 {
		limit = min(limit, n-len(starts)+1)
	}
	given := starts
	for k := 0; ; k++ {
		at, ok := layerBefore(s, starts)
		if !ok {
			break
		}
		if k == limit {
			if n == 0 {
				starts = given // that many are another stack before this one
			}
			break
		}
		starts = append([]int{at}, starts...)
	}
	if n == 0 || len(starts)-1 < n {
		if end, ok := layerAfter(s, starts); ok {
			starts = append(slices.Clip(starts), end)
		}
	}
	return starts
}

// fillGaps adds the teeth that a comb misses inside: a gap of two units holds the kernels of two, one after the other.
func fillGaps(s *Sequence, pos []int, n int) []int {
	if len(pos) < StackLayers {
		return pos
	}
	gaps, med := gapsOf(pos)
	usual := func(k int) bool {
		return k >= 0 && k < len(gaps) && float64(abs(gaps[k]-med)) <= usualOff*float64(med)
	}
	out := []int{pos[0]}
	for k, g := range gaps {
		if float64(g) >= doubleGap*float64(med) && (n == 0 || len(out)+len(pos)-1-k < n) {
			if j := nearestPair(k, len(gaps), usual); j >= 0 {
				m := alignPositions(s, pos[k], pos[k+1], s, pos[j], pos[j+2])
				mid := pos[k] + m[pos[j+1]-pos[j]]
				if sameLayer(s, pos[k], mid, pos[j], pos[j+1]) && sameLayer(s, mid, pos[k+1], pos[j+1], pos[j+2]) {
					out = append(out, mid)
				}
			}
		}
		out = append(out, pos[k+1])
	}
	return out
}

// nearestPair returns the first of two neighbouring usual gaps, the nearest to k; −1 for none.
func nearestPair(k, n int, usual func(int) bool) int {
	for d := 1; d <= n; d++ {
		for _, j := range []int{k - d - 1, k + d} {
			if usual(j) && usual(j+1) {
				return j
			}
		}
	}
	return -1
}

// dice is the Dice coefficient of the base names of two ranges.
func dice(s *Sequence, from, to, tfrom, tto int) float64 {
	if to <= from || tto <= tfrom {
		return 0
	}
	return shared(s.Base[from:to], s.Base[tfrom:tto])
}

// shared is the Dice coefficient of two lists of names.
func shared(a, b []int32) float64 {
	if len(a)+len(b) == 0 {
		return 1
	}
	return 2 * float64(Both(a, b)) / float64(len(a)+len(b))
}

// Both counts what two lists have in common, in any order.
func Both(a, b []int32) (n int) {
	if slices.Equal(a, b) {
		return len(a) // as layers of one kind mostly are: no need to count
	}
	count := map[int32]int{}
	for _, x := range b {
		count[x]++
	}
	for _, x := range a {
		if count[x] > 0 {
			count[x]--
			n++
		}
	}
	return n
}

// layerBefore finds a layer before the first one: the kernels begin to run as a layer does, and those from there to
// the first layer are like a layer, with a mixer where layers have one. Of several places it takes the one
// from which on they agree best, not furthest: a layer and the end of the one before it reach further.
func layerBefore(s *Sequence, starts []int) (begin int, ok bool) {
	first, length := starts[0], medianLayer(starts)
	best := 0
	for i := first - 1; i >= max(0, first-int(leadLength*float64(length))); i-- {
		if s.Role[i] == embed {
			break
		}
		for _, l := range outer(len(starts)-1, maxTurns) {
			from, to := starts[l], starts[l+1]
			if from == to || scoreOf(s, i, s, from) <= 0 {
				continue
			}
			ns, _, score := extend(s, i, first-i, s, from, to-from, +1)
			if ns >= headLeast && score > best && likeLayer(s, i, first, starts) {
				best, begin, ok = score, i, true
			}
		}
	}
	return begin, ok
}

// outer returns the first and the last few of n layers.
func outer(n, few int) []int {
	var out []int
	for l := range n {
		if l < few || l >= n-few {
			out = append(out, l)
		}
	}
	return out
}

// likeLayer says whether [from, to) is like one of the outer layers, with a mixer where these have one.
func likeLayer(s *Sequence, from, to int, starts []int) bool {
	mixes, similar := false, 0.0
	n := len(starts) - 1
	for _, l := range outer(n, maxTurns) {
		mixes = mixes || s.Slice(starts[l], starts[l+1]).has(mixer)
		similar = max(similar, dice(s, from, to, starts[l], starts[l+1]))
	}
	return similar >= surplusAlike && (!mixes || s.Slice(from, to).has(mixer))
}

// layerAfter finds a layer after the last one, which runs as one of the layers does to its end.
func layerAfter(s *Sequence, starts []int) (end int, ok bool) {
	from := starts[len(starts)-1]
	best := wholeUnit
	for _, l := range outer(len(starts)-1, maxTurns) {
		a, n := starts[l], starts[l+1]-starts[l]
		if n == 0 || from >= s.Len() || scoreOf(s, from, s, a) <= 0 {
			continue
		}
		ns, nt, _ := extend(s, from, s.Len()-from, s, a, n, +1)
		if share := float64(nt) / float64(n); share >= best && likeLayer(s, from, from+ns, starts) {
			best, end, ok = share+tie, from+ns, true
		}
	}
	return end, ok
}

// medianLayer is the median length of layers.
func medianLayer(starts []int) int {
	_, med := gapsOf(starts)
	return med
}

// turns reports whether units are layers of several kinds, some without a mixer: a mixer or a feed-forward part
// each.
func inTurns(s *Sequence, pos []int) bool {
	if s.Role[pos[0]] != norm {
		return false // the norm is all that such layers have in common
	}
	share, known := mixerShare(s, pos)
	return known && share >= turnsMixers && Similarity(s, pos) < turnsSimilarity && !partsOfLayers(splitParts(s, pos)) &&
		likeness(s, pos, maxTurns) >= turnsSimilarity
}

// splitParts says of units whether they mix, and of one that also feeds forward, as the norm between its two parts was
// lost, that of both parts.
func splitParts(s *Sequence, pos []int) (parts []bool) {
	mixes := mixesOf(s, pos)
	for k, m := range mixes {
		parts = append(parts, m)
		if m && k+1 < len(mixes) && mixes[k+1] {
			unit := s.Slice(pos[k], pos[k+1])
			if unit.Slice(slices.Index(unit.Role, mixer), unit.Len()).feeds() {
				parts = append(parts, false)
			}
		}
	}
	return parts
}

// sameLayer says whether two units are about as long and run most kernels in the same order.
func sameLayer(s *Sequence, from, to, tfrom, tto int) bool {
	n, m := to-from, tto-tfrom
	return float64(min(n, m)) >= sameLength*float64(max(n, m)) && inOrder(s, from, to, tfrom, tto) >= sameKernels
}

// inOrder is the share of two ranges' kernels that an alignment pairs by name. Unlike [shared] it counts their order:
// parts that are written out in single operations have most names in common, in another order.
func inOrder(s *Sequence, from, to, tfrom, tto int) float64 {
	both := 0
	AlignPairs(s, from, to, s, tfrom, tto, func(i, j int) {
		if s.Base[i] == s.Base[j] {
			both++
		}
	})
	return 2 * float64(both) / float64(max(1, to-from+tto-tfrom))
}

// partsOfLayers says whether units are parts of layers: some hold no mixer, and those that do return at a small
// regular distance, as the two halves of a layer do. In a stack whose layers are a mixer or a feed-forward part each
// they do not.
func partsOfLayers(mixes []bool) bool {
	n := len(mixes)
	for period := 2; period <= maxParts && 2*period <= n; period++ {
		same := 0
		for k := period; k < n; k++ {
			if mixes[k] == mixes[k-period] {
				same++
			}
		}
		if float64(same) >= mixersLeast*float64(n-period) {
			return true
		}
	}
	return n < turnsLeast
}
