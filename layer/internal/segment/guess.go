package segment

import (
	"cmp"
	"slices"
)

// A Guess is a number of layers read from name counts.
type Guess struct {
	N          int     // layers
	Support    float64 // share of kernels whose name occurs a whole multiple of N times, give or take one a pass
	Similarity float64
	Combs      []Comb
	parts      bool // a layer is a norm and one thing
}

// Guesses reads N from the counts of kernel names, largest first. In a pass most names occur N, 2N, 3N … times; any
// divisor of N explains as many, so the largest well-supported count wins. Two things make a count too large: it
// counts halves of layers, or iterations of a loop inside a layer. Where roles are known a unit without a mixer gives
// that away; where they are not, the smaller share of names that come in exact multiples does. The reverse, two kinds
// of layers in turns counted as one, shows as a larger count whose units all hold a mixer.
//
// With passes s may hold several of them: a final norm then adds one per pass, not one in all.
func Guesses(s *Sequence, passes bool) []Guess {
	all := nameCounts(s, passes)
	if len(all) == 0 {
		return nil
	}
	best := all[0].Support
	var kept []Guess
	keep := func(few bool) {
		for _, g := range all[:min(maxGuesses, len(all))] {
			if (g.N <= fewLayers) == few && weigh(s, &g, best) && (g.Support >= guessSupport*best || g.parts) {
				kept = append(kept, g)
			}
		}
	}
	keep(false)
	if !slices.ContainsFunc(kept, func(g Guess) bool { return g.N > fewLayers+1 }) {
		keep(true) // costs most, and counts only where nothing larger does
	}
	kept = slices.DeleteFunc(kept, func(g Guess) bool { // the two parts of layers that are more even
		return g.parts && slices.ContainsFunc(kept, func(whole Guess) bool {
			return !whole.parts && abs(2*whole.N-g.N) <= maxSurplus && whole.Similarity > g.Similarity &&
				whole.Combs[0].Cost < partsUneven*g.Combs[0].Cost
		})
	})
	slices.SortFunc(kept, func(a, b Guess) int { return b.N - a.N })
	kept = dropSurplus(s, kept)
	if len(kept) > 0 && !passes {
		kept[0] = completeGuess(s, kept[0])
		if c, ok := Best(s, kept[0].N); ok {
			kept[0].N -= ofStack(s, c)
		}
	}
	return kept
}

// completeGuess adds the layers that the guess's comb misses, and those that are missing where layers begin at their
// norms: a part of the first layer is before a comb of products.
func completeGuess(s *Sequence, g Guess) Guess {
	if g.N <= fewTried {
		return g
	}
	if c, ok := exactCut(s, g.N); ok {
		g.N = complete(s, c, 0).Layers()
	}
	if c, ok := Best(s, g.N); ok {
		if n := complete(s, c, 0).Layers(); n > g.N {
			if _, ok := Best(s, n); ok {
				g.N = n
			}
		}
	}
	return g
}

// ofStack counts the first layers of a cut behind which lies what no later layer computes: they are of another stack,
// which prepares the input of the layers.
func ofStack(s *Sequence, c *Cut) int {
	last := map[int32]int{} // where each name runs last in layers
	for i := c.Starts[0]; i < c.Starts[c.Layers()]; i++ {
		last[s.Base[i]] = i
	}
	for k := min(maxLeading, c.Layers()-StackLayers); k > 0; k-- {
		only := func(i int) bool { return s.Role[i] == elementwise && last[s.Base[i]] < c.Starts[k] }
		for i := c.Starts[k] - 1; i > c.Starts[k-1]; i-- {
			if only(i) && only(i-1) {
				// layers may be cut anywhere: those of the other stack mix before it, if any do
				mixes, _ := Mixers(s, max(0, c.Starts[0]-medianLayer(c.Starts)), i)
				if all, _ := Mixers(s, 0, c.Starts[k]); all > 0 {
					k = min(k, mixes)
				}
				return k
			}
		}
	}
	return 0
}

// nameCounts returns the counts of names with their support, best supported first, the larger of equals.
func nameCounts(s *Sequence, passes bool) []Guess {
	weight := map[int]int{} // kernels by their name's count
	names, norms := slices.Clone(s.ID), s.writtenNorms()
	for k, written := range norms {
		names[k] = 2*names[k] + written
	}
	occ, written := occurrencesOf(names), count(norms, 1)
	for sym := range occ.symbols() {
		n := occ.count(sym)
		of := n
		if n > 0 && n == written && !passes {
			of-- // the last norm follows the layers, or the first one the embedding
		}
		weight[of] += n
	}
	var all []Guess
	for c := range weight {
		if c < 2 || c > MaxLayers && !passes {
			continue
		}
		surplus := 1
		if passes {
			surplus = max(1, c/passLayers)
		}
		sup := 0
		for x, w := range weight {
			if x >= c && (x%c == 0 || c >= longCount && x >= 2*c && x%c <= surplus) {
				sup += w
			}
		}
		all = append(all, Guess{N: c, Support: float64(sup) / float64(s.Len())})
	}
	slices.SortFunc(all, func(a, b Guess) int { return cmp.Or(cmp.Compare(b.Support, a.Support), b.N-a.N) })
	return all
}

// weigh looks for combs of a guess and says whether its units may be layers. best is the best support of any count.
func weigh(s *Sequence, g *Guess, best float64) bool {
	const combs = 3
	g.Combs = Combs(s, g.N, combs)
	if len(g.Combs) == 0 || g.Combs[0].Cost > maxUneven {
		return false
	}
	pos := g.Combs[0].Pos
	g.Similarity = alikeUnits(s, pos)
	share, known := mixerShare(s, pos)
	if g.Similarity < guessSimilarity && g.N > 2 {
		return false
	}
	if known {
		if share < mixersLeast {
			k := slices.IndexFunc(g.Combs, func(c Comb) bool { return inTurns(s, c.Pos) })
			if g.parts = k >= 0; !g.parts {
				return false
			}
			g.Combs = g.Combs[k:]
		} else if pairs := MixesTwice(s); pairs > 0 && g.N > pairs+maxLeading {
			return false
		}
	} else if g.Support < namelessSupport*best && (g.Support < namelessLess*best ||
		g.Similarity < namelessSimilarity) || ragged(pos) {
		return false
	}
	return plausible(s, g, known) && (g.N > fewLayers || fewAlike(s, g.N))
}

// MixesTwice returns the number of layers of a model whose layers mix twice, as those of a decoder do that attends to
// itself and to an encoder: there is a feed-forward part after every second mixer, and one norm between the two of a
// layer. It is 0 for other models; a dense layer whose activation is fused away has two norms after its mixer.
func MixesTwice(s *Sequence) int {
	var norms, after, turns int
	fed, mixed, before := false, false, false
	for _, r := range s.Role {
		switch r {
		case moe, activation:
			fed = true
		case norm:
			norms++
		case mixer:
			if mixed && norms == 0 {
				break // two kernels of one mixer
			}
			if mixed {
				now := fed || norms > 1
				if after++; after > 1 && now != before {
					turns++
				}
				before = now
			}
			fed, norms, mixed = false, 0, true
		}
	}
	if after+1 < 2*StackLayers || !AtLeast(turns, mixersLeast, after-1) {
		return 0
	}
	return (after + 1) / 2
}

// dropSurplus takes out counts of N+1, which a norm or an embedding outside the layers makes of N: the count below
// explains more kernels, its units are as alike, and the first or last of the N+1 layers has little in common with
// the others, or no mixer where they have one. A leading dense layer before layers with experts shares its attention
// half with them.
func dropSurplus(s *Sequence, kept []Guess) []Guess {
	out := kept[:0:0]
	for i, g := range kept {
		if i+1 < len(kept) {
			less := kept[i+1]
			if less.N == g.N-1 && less.Support > g.Support && less.Similarity >= g.Similarity {
				if c, ok := Best(s, g.N); ok && !(likeLayer(s, c.Starts[0], c.Starts[1], c.Starts[1:]) &&
					likeLayer(s, c.Starts[g.N-1], c.Starts[g.N], c.Starts[:g.N])) {
					continue
				}
			}
		}
		out = append(out, g)
	}
	return out
}

// fewAlike says whether n layers of s have most kernels in common.
func fewAlike(s *Sequence, n int) bool {
	c, ok := Best(s, n)
	return ok && c.Similarity >= fewSimilarity
}

// Training says whether a sequence is of a training run, in which what repeats are iterations.
func Training(s *Sequence) (kernels int, ok bool) {
	kernels = s.Count(backward)
	return kernels, trainingShare*kernels > s.Len()
}

// plausible rejects repeats that are no stack of decoder layers: five iterations of a training loop, three copies in
// a row. A stack shows by its mixers; where none is recognised although other kernels are, only many well-supported
// units of some length count, and where all names are unknown (hashed) a few less.
func plausible(s *Sequence, g *Guess, mixers bool) bool {
	if _, training := Training(s); training {
		return false
	}
	pos := g.Combs[0].Pos
	covered := float64(pos[len(pos)-1]-pos[0]) * float64(g.N) / float64(g.N-1) / float64(s.Len())
	unit := float64(s.Len()) * covered / float64(g.N)
	if covered < minCovered || unit < minUnit {
		return false
	}
	if g.Support < minSupport && !g.parts && !(mixers && nearSupport(s, g.N) >= nearLeast) {
		return false
	}
	if mixers {
		return g.N >= StackLayers || g.Support >= smallSupport && unit >= smallUnit
	}
	if recognised := s.Len() - s.Count(other); rolesKnown*recognised > s.Len() {
		return g.N >= oddLayers && g.Support >= oddSupport
	}
	return g.N >= StackLayers && g.Support >= hashedSupport
}

// nearSupport is the share of kernels whose name occurs a multiple of n times, or a little less often: where kernels
// were lost hardly a name has its full number.
func nearSupport(s *Sequence, n int) float64 {
	occ := occurrencesOf(s.ID)
	near := 0
	for sym := range occ.symbols() {
		x := occ.count(sym)
		if k := (x + n - 1) / n; k > 0 && float64(k*n-x) <= lostShare*float64(k*n) {
			near += x
		}
	}
	return float64(near) / float64(s.Len())
}

// Overcounts says whether c, n layers as config or flags want them, is forced upon a sequence that holds fewer: a
// pass that the window cuts. Fewer units are then more even and more alike, and explain more names. Units of two
// layers each, where kinds take turns, look the same; they divide n, and the layers of c hold a mixer each.
func Overcounts(s *Sequence, c *Cut, n int) bool {
	share, known := mixerShare(s, c.Comb.Pos)
	mixed := !known || share >= mixersLeast
	if n <= fewLayers || mixed && c.Comb.Cost < forcedUneven {
		return false
	}
	guesses := Guesses(s, false)
	if len(guesses) == 0 || guesses[0].N >= n {
		return false
	}
	g := guesses[0]
	if mixed && g.Combs[0].Cost >= c.Comb.Cost || g.Similarity <= c.Similarity {
		return false // halves of layers may be as even as layers
	}
	if inTurns(s, c.Comb.Pos) {
		return false
	}
	if mixed || n%g.N != 0 {
		return n%g.N != 0
	}
	less := CutAt(s, g.Combs[0], nil)
	return MissingEnds(s, less.Starts).End || !s.Slice(0, less.Starts[0]).has(embed)
}
