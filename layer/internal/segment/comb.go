package segment

import (
	"cmp"
	"slices"
)

// A Comb is a choice of one kernel per layer: positions in the sequence, ascending.
type Comb struct {
	Pos    []int   // ascending
	Symbol int32   // id at its level
	level  level   // of Symbol
	Stride int     // every Stride-th occurrence
	Skip   int     // occurrences before the first
	Rest   int     // and after the last
	Cost   float64 // unevenness of the gaps in [0, 1], plus small penalties
}

// occurrences lists, per symbol, the positions where it occurs.
type occurrences struct {
	start []int // start[s]…start[s+1] in pos
	pos   []int
}

// top is the largest of ids, 0 for none.
func top(ids []int32) (most int32) {
	for _, id := range ids {
		most = max(most, id)
	}
	return most
}

func occurrencesOf(symbols []int32) occurrences {
	o := occurrences{start: make([]int, top(symbols)+2), pos: make([]int, len(symbols))}
	for _, s := range symbols {
		o.start[s+1]++
	}
	for i := 1; i < len(o.start); i++ {
		o.start[i] += o.start[i-1]
	}
	fill := append([]int(nil), o.start...)
	for i, s := range symbols {
		o.pos[fill[s]] = i
		fill[s]++
	}
	return o
}

func (o occurrences) symbols() int    { return len(o.start) - 1 }
func (o occurrences) of(s int) []int  { return o.pos[o.start[s]:o.start[s+1]] }
func (o occurrences) count(s int) int { return o.start[s+1] - o.start[s] }

// gapsOf returns the distances of neighbouring positions and their median.
func gapsOf(pos []int) (gaps []int, median int) {
	gaps = make([]int, len(pos)-1)
	for i := range gaps {
		gaps[i] = pos[i+1] - pos[i]
	}
	sorted := append([]int(nil), gaps...)
	slices.Sort(sorted)
	return gaps, sorted[len(sorted)/2]
}

// unevenness is Σ|gapᵢ − median gap| / Σ gapᵢ: 0 for a perfect comb, at most 1, as no number is nearer to all gaps
// than their median.
func unevenness(pos []int) float64 {
	if len(pos) < 3 {
		return 0
	}
	gaps, med := gapsOf(pos)
	dev, sum := 0, 0
	for _, g := range gaps {
		dev += abs(g - med)
		sum += g
	}
	return float64(dev) / float64(sum)
}

// Combs returns the combs of exactly n kernels in s, best first, at most limit, and the best one of norms that are
// written out: all other kernels of a norm are as even, but layers may have no more than its beginning in common.
func Combs(s *Sequence, n, limit int) []Comb {
	var sets []Comb
	for _, at := range []level{byName, byBase, byNorm} {
		occ := occurrencesOf(s.symbols(at))
		for sym := range occ.symbols() {
			if at == byNorm && sym == 0 {
				continue // all other kernels
			}
			c := occ.count(sym)
			if c < n {
				continue
			}
			for stride := 1; stride <= maxStride; stride++ {
				surplus := c - ((n-1)*stride + 1)
				if surplus < 0 {
					break
				}
				if surplus > maxSurplus+stride-1 {
					continue
				}
				if set, ok := bestComb(occ.of(sym), n, stride, surplus, s.Len()); ok {
					set.Symbol, set.level = int32(sym), at
					set.Cost += baseCost * float64(at)
					sets = append(sets, set)
				}
			}
		}
	}
	slices.SortStableFunc(sets, func(a, b Comb) int { return cmp.Compare(a.Cost, b.Cost) })
	limit = min(limit, len(sets))
	if k := slices.IndexFunc(sets[limit:], func(c Comb) bool { return c.level == byNorm }); k >= 0 {
		return append(sets[:limit], sets[limit+k])
	}
	return sets[:limit]
}

// bestComb picks the offset with the most even spacing. The penalties prefer a name that occurs exactly n times, and a
// comb that spans the sequence.
func bestComb(pos []int, n, stride, surplus, total int) (Comb, bool) {
	best := Comb{Cost: 2} // more than any
	set := make([]int, n)
	for off := 0; off <= surplus; off++ {
		for i := range set {
			set[i] = pos[off+i*stride]
		}
		span := 1.0
		if n > 1 {
			span = min(1, float64(set[n-1]-set[0])*float64(n)/float64(n-1)/float64(total))
		}
		cost := unevenness(set) + strideCost*float64(stride-1) + surplusCost*float64(min(surplus, maxSurplus)) +
			spanCost*(1-span)
		if cost < best.Cost {
			best = Comb{Pos: append(best.Pos[:0], set...), Stride: stride, Skip: off, Rest: surplus - off, Cost: cost}
		}
	}
	return best, best.Pos != nil
}

// ragged says that one outer gap of an otherwise even comb is off: the kernel occurs once more in the prologue or
// epilogue.
func ragged(pos []int) bool {
	if len(pos) < 4 {
		return false
	}
	gaps, med := gapsOf(pos)
	n := len(gaps)
	off := func(g int) bool { return float64(abs(g-med)) > raggedOff*float64(med) }
	return off(gaps[0]) && !off(gaps[1]) || off(gaps[n-1]) && !off(gaps[n-2])
}

// Similarity is the mean Dice coefficient of the base-name multisets of neighbouring units. Units of one kind have 1,
// an attention half and its feed-forward half typically 0.2–0.6, sliding and full attention layers 0.85.
func Similarity(s *Sequence, pos []int) float64 { return likeness(s, pos, 1) }

// likeness is the mean similarity of each unit with the most similar one of the few before it.
func likeness(s *Sequence, pos []int, few int) float64 {
	sum, n := 0.0, len(pos)-1
	for k := 1; k < n; k++ {
		best := 0.0
		for lag := 1; lag <= min(k, few); lag++ {
			best = max(best, dice(s, pos[k], pos[k+1], pos[k-lag], pos[k-lag+1]))
		}
		sum += best
	}
	return sum / float64(max(1, n-1))
}

// mixerShare is the share of units that contain a mixer, the part before the first and after the last position
// counted as one unit; ok is false where the sequence has no mixers to go by. A unit of about the length and the
// kernels of one with a mixer has one, too, by a name that nobody knows.
func mixerShare(s *Sequence, pos []int) (share float64, ok bool) {
	const few = 2 // one mixer says nothing about a stack
	if s.Count(mixer) < few {
		return 0, false
	}
	mixes := mixesOf(s, pos)
	parts := partsOfLayers(mixes)
	with, known := 0, -1 // a unit with a mixer
	for k, m := range mixes {
		if m {
			with, known = with+1, k
		}
	}
	for k, m := range mixes {
		if m || known < 0 || parts && !(s.Slice(pos[k], pos[k+1]).feeds() &&
			s.Slice(pos[known], pos[known+1]).feeds()) {
			continue // a mixer without a feed-forward part, or the other way round, is a part of a layer
		}
		if sameLayer(s, pos[k], pos[k+1], pos[known], pos[known+1]) {
			with++
		}
	}
	if s.Slice(0, pos[0]).has(mixer) || s.Slice(pos[len(pos)-1], s.Len()).has(mixer) {
		with++
	}
	return float64(with) / float64(len(pos)), true
}

// mixesOf says which units hold a mixer. One that runs beside the mixer of the unit before, as no norm is between
// them although there are norms for all units, is no mixer of its own.
func mixesOf(s *Sequence, pos []int) []bool {
	mixes := make([]bool, len(pos)-1)
	norms := s.Count(norm) >= len(pos)
	fresh := true
	for k := range mixes {
		for _, r := range s.Role[pos[k]:pos[k+1]] {
			switch r {
			case norm:
				fresh = true
			case mixer:
				mixes[k] = mixes[k] || fresh
				fresh = !norms
			}
		}
	}
	return mixes
}

// mixerShareOfLayers is mixerShare of layers, given where they begin and where the last one ends: that end begins no
// unit of its own.
func mixerShareOfLayers(s *Sequence, starts []int) (share float64, ok bool) {
	return mixerShare(s, starts[:len(starts)-1])
}

// has says whether a kernel of a role occurs.
func (s *Sequence) has(r Role) bool { return slices.Contains(s.Role, r) }

// feeds says whether a feed-forward part runs.
func (s *Sequence) feeds() bool { return s.has(moe) || s.has(activation) }
