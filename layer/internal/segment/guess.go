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

// Guesses reads N from the counts of kernel names, largest first. In a pass most names occur N, 2N, 3N … times; any divisor
// of N explains as many, so the largest well-supported count wins. Two things make a count too large: it counts halves of
// layers, or iterations of a loop inside a layer. Where roles are known a unit without a mixer gives that away; where
// they are not, the smaller share of names that come in whole multiples does. The reverse, two kinds of layers in turns
// counted as one, shows as a larger count whose units all hold a mixer.
//
// With passes s may hold several of them: a final norm then adds one per pass, not one in all.
func (p *Params) Guesses(s *Sequence, passes bool) []Guess {
	all := p.counts(s, passes)
	if len(all) == 0 {
		return nil
	}
	best := all[0].Support
	var kept []Guess
	keep := func(few bool) {
		for _, g := range all[:min(p.MaxGuesses, len(all))] {
			if (g.N <= p.FewLayers) == few && p.weigh(s, &g, best) && (g.Support >= p.GuessSupport*best || g.parts) {
				kept = append(kept, g)
			}
		}
	}
	keep(false)
	if !slices.ContainsFunc(kept, func(g Guess) bool { return g.N > p.FewLayers+1 }) {
		keep(true) // costs most, and counts only where nothing larger does
	}
	slices.SortFunc(kept, func(a, b Guess) int { return b.N - a.N })
	kept = p.dropSurplus(s, kept)
	if len(kept) > 0 && !passes {
		kept[0] = p.completeGuess(s, kept[0])
	}
	return kept
}

// completeGuess adds the layers that the guess's comb misses, and those that are missing where layers begin at their norms: in front of a
// comb of products stands a part of the first layer.
func (p *Params) completeGuess(s *Sequence, g Guess) Guess {
	if g.N <= p.FewTried {
		return g
	}
	if c, ok := p.exact(s, g.N); ok {
		g.N = p.complete(s, c, 0).Layers()
	}
	if c, ok := p.Best(s, g.N); ok {
		if n := p.complete(s, c, 0).Layers(); n > g.N {
			if _, ok := p.Best(s, n); ok {
				g.N = n
			}
		}
	}
	return g
}

// counts returns the counts of names with their support, best supported first, the larger of equals.
func (p *Params) counts(s *Sequence, passes bool) []Guess {
	weight, occ := map[int]int{}, occurrencesOf(s.ID) // kernels by their name's count
	for sym := range occ.symbols() {
		weight[occ.count(sym)] += occ.count(sym)
	}
	var all []Guess
	for c := range weight {
		if c < 2 {
			continue
		}
		surplus := 1
		if passes {
			surplus = max(1, c/p.PassLayers)
		}
		sup := 0
		for x, w := range weight {
			if x >= c && (x%c == 0 || c >= p.LongCount && x >= 2*c && x%c <= surplus) {
				sup += w
			}
		}
		all = append(all, Guess{N: c, Support: float64(sup) / float64(s.Len())})
	}
	slices.SortFunc(all, func(a, b Guess) int { return cmp.Or(cmp.Compare(b.Support, a.Support), b.N-a.N) })
	return all
}

// weigh looks for combs of a guess and says whether its units may be layers. best is the best support of any count.
func (p *Params) weigh(s *Sequence, g *Guess, best float64) bool {
	const combs = 3
	g.Combs = p.Combs(s, g.N, combs)
	if len(g.Combs) == 0 || g.Combs[0].Cost > p.MaxUneven {
		return false
	}
	pos := g.Combs[0].Pos
	g.Similarity = p.alikeUnits(s, pos)
	share, known := p.mixerShare(s, pos)
	if g.Similarity < p.GuessSimilarity && g.N > 2 {
		return false
	}
	if known {
		if share < p.MixerShare {
			if g.parts = p.turns(s, pos); !g.parts {
				return false
			}
		} else if pairs := p.mixesTwice(s); pairs > 0 && g.N > pairs+p.Leading {
			return false
		}
	} else if g.Support < p.NamelessSupport*best && (g.Support < p.NamelessLess*best || g.Similarity < p.NamelessSimilarity) || p.ragged(pos) {
		return false
	}
	return p.plausible(s, g, known) && (g.N > p.FewLayers || p.alike(s, g.N))
}

// mixesTwice returns the number of layers of a model whose layers mix twice, as those of a decoder do that attends to itself and to an encoder: there
// is a feed-forward part behind every second mixer, and between the two of a layer stands one norm. It is 0 for other models; a dense layer whose
// activation is fused away has two norms behind its mixer.
func (p *Params) mixesTwice(s *Sequence) int {
	var norms, behind, turns int
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
				if behind++; behind > 1 && now != before {
					turns++
				}
				before = now
			}
			fed, norms, mixed = false, 0, true
		}
	}
	if behind < 2*p.StackLayers || !atLeast(float64(turns), p.MixerShare, float64(behind-1)) {
		return 0
	}
	return (behind + 1) / 2
}

// dropSurplus takes out counts of N+1, which a norm or an embedding outside the layers makes of N: the count below explains
// more kernels, its units are as alike, and the first or last of the N+1 layers has little in common with its neighbour. A
// leading dense layer before layers with experts shares its attention half with them.
func (p *Params) dropSurplus(s *Sequence, kept []Guess) []Guess {
	out := kept[:0:0]
	for i, g := range kept {
		if i+1 < len(kept) {
			less := kept[i+1]
			if less.N == g.N-1 && less.Support > g.Support && less.Similarity >= g.Similarity {
				if c, ok := p.Best(s, g.N); ok && min(Similarity(s, c.Starts[:3]), Similarity(s, c.Starts[g.N-2:])) < p.Surplus {
					continue
				}
			}
		}
		out = append(out, g)
	}
	return out
}

// alike says whether n layers of s have most kernels in common.
func (p *Params) alike(s *Sequence, n int) bool {
	c, ok := p.Best(s, n)
	return ok && c.Similarity >= p.FewSimilarity
}

// Training says whether a sequence is of a training run, in which what repeats are iterations.
func (p *Params) Training(s *Sequence) (kernels int, ok bool) {
	kernels = s.Count(backward)
	return kernels, p.TrainingShare*kernels > s.Len()
}

// plausible rejects repeats that are no stack of decoder layers: five iterations of a training loop, three copies in a row.
// A stack is told by its mixers; where none is recognised although other kernels are, only many well-supported units of some
// length count, and where all names are unknown (hashed) a few less.
func (p *Params) plausible(s *Sequence, g *Guess, mixers bool) bool {
	if _, training := p.Training(s); training {
		return false
	}
	pos := g.Combs[0].Pos
	covered := float64(pos[len(pos)-1]-pos[0]) * float64(g.N) / float64(g.N-1) / float64(s.Len())
	unit := float64(s.Len()) * covered / float64(g.N)
	if covered < p.MinCovered || unit < p.MinUnit {
		return false
	}
	if g.Support < p.MinSupport && !g.parts && !(mixers && p.nearSupport(s, g.N) >= p.NearSupport) {
		return false
	}
	if g.N <= p.FewLayers && unit > float64(p.LongUnit) {
		return false
	}
	if mixers {
		return g.N >= p.StackLayers || g.Support >= p.SmallSupport && unit >= p.SmallUnit
	}
	if recognised := s.Len() - s.Count(other); p.RolesKnown*recognised > s.Len() {
		return g.N >= p.OddLayers && g.Support >= p.OddSupport
	}
	return g.N >= p.StackLayers && g.Support >= p.HashedSupport
}

// nearSupport is the share of kernels whose name occurs a multiple of n times, or a little less often: where kernels were lost hardly a
// name has its whole number.
func (p *Params) nearSupport(s *Sequence, n int) float64 {
	occ := occurrencesOf(s.ID)
	near := 0
	for sym := range occ.symbols() {
		x := occ.count(sym)
		if k := (x + n - 1) / n; k > 0 && float64(k*n-x) <= p.LostShare*float64(k*n) {
			near += x
		}
	}
	return float64(near) / float64(s.Len())
}

// Overcounts says whether c, n layers as config or flags want them, is forced upon a sequence that holds fewer: a pass that
// the window cuts. Fewer units are then more even and more alike, and explain more names. Units of two layers each, where
// kinds take turns, look the same; they divide n, and the layers of c hold a mixer each.
func (p *Params) Overcounts(s *Sequence, c *Cut, n int) bool {
	share, known := p.mixerShare(s, c.Comb.Pos)
	mixed := !known || share >= p.MixerShare
	if n <= p.FewLayers || mixed && c.Comb.Cost < p.ForcedUneven {
		return false
	}
	guesses := p.Guesses(s, false)
	if len(guesses) == 0 || guesses[0].N >= n {
		return false
	}
	g := guesses[0]
	if mixed && g.Combs[0].Cost >= c.Comb.Cost || g.Similarity <= c.Similarity {
		return false // halves of layers may be as even as layers
	}
	if p.turns(s, c.Comb.Pos) {
		return false
	}
	if mixed || n%g.N != 0 {
		return n%g.N != 0
	}
	less := p.CutAt(s, g.Combs[0], nil)
	return p.GoesOn(s, less.Starts) || p.ComesFrom(s, less.Starts) || !s.Slice(0, less.Starts[0]).has(embed)
}
