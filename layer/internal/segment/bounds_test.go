package segment

import (
	"slices"
	"testing"

	"github.com/llmstrata/strata/internal/gen/families"
)

func init() {
	for name, rule := range map[string][]func(p *Params) bool{
		"MaxGuesses": sides(rankedGuess, 24, 25),
		"CombsOfFew": sides(rankedPair, 48, 49),
		"FewCovers":  sides(func(p *Params, x int) bool { return fewLayers(p, x, 0, false) }, 701, 702),
		"FewUneven":  sides(func(p *Params, x int) bool { return fewLayers(p, x, 0, false) }, 701, 702),
		"FewMixers":  sides(func(p *Params, x int) bool { return fewLayers(p, x, 0, true) }, 631, 632),
	} {
		rules[name] = rule
	}
}

// rankedSequence has 31 layers, a number that comes at a rank among the counts by support. One name occurs 2520 times, and so supports
// every count that divides 2520: such counts are those of names that stand in one place, and no layers.
func rankedSequence(rank int) *Sequence {
	const layers, often, own = 31, 2520, 60
	divisors := []int{2, 3, 4, 5, 6, 9, 12, 18, 20, 21, 24, 35, 36, 40, 42, 45, 56, 60, 63, 70, 72, 84, 90}
	s := &Sequence{}
	for k, d := range divisors[:rank-2] { // 2520 itself comes before, too
		for range d {
			s.add(int32(1000+k), 0)
		}
	}
	for range often % layers {
		s.add(500, 0)
	}
	for range layers {
		s.add(0, norm)
		s.add(1, mixer)
		for k := 2; k < own; k++ {
			s.add(int32(k), 0)
		}
		for range often / layers {
			s.add(500, 0)
		}
	}
	return s
}

// rankedGuess asks whether the 31 layers are found where their number comes at a rank.
func rankedGuess(p *Params, rank int) bool {
	g := p.Guesses(rankedSequence(rank), false)
	return len(g) > 0 && g[0].N == 31
}

// rankedPair asks whether two layers are found whose comb comes at a rank among those of two kernels.
func rankedPair(p *Params, rank int) bool { return fewLayers(p, 70, rank-2, false) }

// fewLayers asks whether two equal layers are found between two ends that are equal, too: a comb of the ends is even and covers all, one
// of the layers does not. An end has so many of the 1000 kernels of an end and a layer; where few are asked for, as many names beside
// the first occur once in each end. The ends may hold a mixer each.
func fewLayers(p *Params, end, pairs int, mixers bool) bool {
	s := fewSequence(end, pairs, mixers)
	c, ok := p.Best(s, 2)
	return ok && c.Starts[1]-c.Starts[0] == 1000-end
}

func fewSequence(end, pairs int, mixers bool) *Sequence {
	const inEnd, inLayer = 1, 2 // base names that occur too often for a comb
	s := &Sequence{}
	own := int32(10_000)
	add := func(id, base int32, r Role) {
		s.add(id, r)
		s.Base[s.Len()-1] = base
	}
	ends := func() {
		add(100, inEnd, norm)
		for k := 1; k < end; k++ {
			own++
			id, r := own, Role(0)
			if k <= pairs {
				id = int32(100 + k)
			}
			if k == 1 && mixers {
				r = mixer
			}
			add(id, inEnd, r)
		}
	}
	add(3, 3, embed)
	ends()
	for range 2 {
		add(4, inLayer, norm)
		for k := end + 1; k < 1000; k++ {
			own++
			add(own, inLayer, 0)
		}
	}
	ends()
	return s
}

// TestWorkIsBounded: what is tried does not grow with what could be.
func TestWorkIsBounded(t *testing.T) {
	p := DefaultParams()
	for _, rank := range []int{2, 12, 23, 24, 25} {
		if all := p.counts(rankedSequence(rank), false); len(all) != rank || all[rank-1].N != 31 {
			t.Fatalf("31 does not come at rank %d of %d", rank, len(all))
		}
		if got, want := rankedGuess(p, rank), rank <= p.MaxGuesses; got != want {
			t.Errorf("the guess at rank %d is tried: %v, want %v", rank, got, want)
		}
	}
	for _, pairs := range []int{10, 47, 48, 69} {
		if got, want := len(p.Combs(fewSequence(70, pairs, false), 2, p.CombsOfFew)), min(pairs+2, p.CombsOfFew); got != want {
			t.Errorf("of %d combs %d are tried, want %d", pairs+2, got, want)
		}
	}
}

// TestFewLayersBehindTower: as many layers of names that nobody knows stand in front of two to four layers, and repeat as well. Mixers
// tell which are meant.
func TestFewLayersBehindTower(t *testing.T) {
	right := func(p *Params) (right, of int) {
		for _, f := range allFamilies {
			for _, whole := range []families.Order{f.Prefill, f.Decode} {
				for n := 2; n <= min(4, len(whole.Layers)); n++ {
					o := whole
					o.Layers = o.Layers[:n]
					all := hidden(names(families.Order{Layers: o.Layers}))
					starts := []int{len(all) + len(o.Prologue)}
					for _, l := range o.Layers {
						starts = append(starts, starts[len(starts)-1]+len(l))
					}
					c, ok := p.Best(sequenceOf(append(all, names(o)...)), n)
					if of++; ok && slices.Equal(c.Starts, starts) {
						right++
					}
				}
			}
		}
		return right, of
	}
	got, of := right(DefaultParams())
	without, _ := right(with("FewMixers", 0))
	t.Logf("of %d passes %d are right, without mixers %d", of, got, without)
	if 100*got < 85*of || 100*without > 50*of {
		t.Errorf("of %d passes %d are right, without mixers %d; want 85%% and at most 50%%", of, got, without)
	}
}
