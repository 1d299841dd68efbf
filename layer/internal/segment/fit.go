package segment

import (
	"maps"
	"math"
	"slices"
)

// Cuts says which ends of a sequence the window cuts off, or may have.
type Cuts struct{ Start, End bool }

// fromEnd says that only the end of a sequence is present.
func (c Cuts) fromEnd() bool { return c.Start && !c.End }

// A Fitted is the layers of a pass that the window cuts.
type Fitted struct {
	*Cut
	First             int  // index of the first layer that is present
	CutFirst, CutLast bool // the window cuts the first, the last layer that is present
}

// Positions returns where a comb's symbol occurs in s, every Stride-th time, counted from the end that is present.
func (c *Comb) Positions(s *Sequence, cut Cuts) []int {
	return c.every(s, c.Symbol, cut)
}

// Same returns where the comb's kernel occurs in another sequence of the same ids as of, in which the comb was found.
func (c *Comb) Same(of, s *Sequence, cut Cuts) []int {
	if len(c.Pos) == 0 {
		return nil
	}
	return c.every(s, of.symbols(c.level)[c.Pos[0]], cut)
}

func (c *Comb) every(s *Sequence, symbol int32, cut Cuts) []int {
	var pos, out []int
	for k, x := range s.symbols(c.level) {
		if x == symbol {
			pos = append(pos, k)
		}
	}
	from := 0
	if cut.fromEnd() {
		pos = pos[:max(0, len(pos)-c.Rest)]
		from = max(0, len(pos)-1) % max(1, c.Stride)
	} else {
		pos = pos[min(c.Skip, len(pos)):]
	}
	for k := from; k < len(pos); k += max(1, c.Stride) {
		out = append(out, pos[k])
	}
	return out
}

// Fit finds the layers of a truncated pass, with the comb and the unit of a complete pass of n layers. Layers
// are numbered from the end when the start is missing.
func Fit(s *Sequence, whole *Cut, n int, cut Cuts) (*Fitted, bool) {
	pos := whole.Comb.Positions(s, cut)
	if len(pos) == 0 {
		return nil, false
	}
	if len(pos) > n {
		if cut.fromEnd() {
			pos = pos[len(pos)-n:]
		} else {
			pos = pos[:n]
		}
	}
	comb := whole.Comb
	comb.Pos, comb.Cost = pos, 0
	c := CutAt(s, comb, whole.Reference())
	starts := c.Starts
	// layers of another kind before the comb's
	for k := whole.Layers() - len(whole.Comb.Pos); k > 0 && len(starts)-1 < n && !cut.Start; k-- {
		at, found := layerBefore(s, starts)
		if !found {
			break
		}
		starts = append([]int{at}, starts...)
	}
	return Window(s, c.With(starts), n, cut), true
}

// LikeReference is the share of the complete layers of a truncated pass (of all its layers if none is complete) that
// is in layers of the reference pass: 1 if each one occurs there.
func (f *Fitted) LikeReference(s, of *Sequence, whole *Cut) float64 {
	from, to := 0, f.Layers()
	if to-from > 2 {
		if f.CutFirst {
			from++
		}
		if f.CutLast {
			to--
		}
	}
	kinds, _ := kindsOf(of.Base, whole.Starts)
	own, _ := kindsOf(s.Base, f.Starts[from:to+1])
	like := 0.0
	for _, k := range own {
		most := 0.0
		for _, o := range kinds {
			most = max(most, shared(s.Base[k.from:k.to], of.Base[o.from:o.to]))
		}
		like += most * float64(k.count*(k.to-k.from))
	}
	return like / float64(max(1, f.Starts[to]-f.Starts[from]))
}

// Window adds the layers that the window cuts to those of a pass, and numbers them: from the end when the start is
// missing.
func Window(s *Sequence, c *Cut, n int, cut Cuts) *Fitted {
	f, starts := &Fitted{}, c.Starts
	if cut.Start && starts[0] > 0 && len(starts)-1 < n { // what precedes the first whole layer is the end of one
		starts = append([]int{0}, starts...)
	}
	f.CutFirst = cut.Start && starts[0] == 0
	if end := starts[len(starts)-1]; cut.End && len(starts)-1 < n && end < s.Len() {
		starts = append(starts, s.Len())
		f.CutLast = true
	}
	f.Cut = c.With(starts)
	f.number(n, cut)
	return f
}

// number gives the first layer its index: layers count from the end where only that is present.
func (f *Fitted) number(n int, cut Cuts) {
	if cut.fromEnd() {
		f.First = max(0, n-f.Layers())
	}
}

// MissingEnds says which ends of a pass nothing shows: layers may have been there, as hardly a kernel before the
// first layer, or after the last one, is foreign to the layers. A pass begins with an embedding and ends with logits
// and sampling.
func MissingEnds(s *Sequence, starts []int) Cuts {
	first, last := starts[0], starts[len(starts)-1]
	return Cuts{Start: !s.Slice(0, first).has(embed) && likeLayers(s, starts, 0, first),
		End: !s.Slice(last, s.Len()).has(sample) && likeLayers(s, starts, last, s.Len())}
}

// CutOff reports whether the window cuts a pass of n layers at one of the ends asked for: the pass has no kernels of
// its own there. Without names that show a mixer, none shows an embedding.
func CutOff(s *Sequence, n int, start, end bool) bool {
	s, _ = ofTarget(s)
	c, ok := Best(s, n)
	if !ok || !s.has(mixer) {
		return false
	}
	missing := MissingEnds(s, c.Starts)
	return start && missing.Start || end && missing.End
}

// Fragment finds the layers of a pass that the window cuts from nothing but itself: it holds fewer than n layers, and
// where it ends, or begins, it is in the middle of one. known says which ends are cut where somebody knows. ok is
// false where that is none: a pass with ends of its own that holds fewer layers than the config says is a
// contradiction, no fragment. conf is low where either end may be the one that is cut.
func Fragment(s *Sequence, n int, known Cuts) (f *Fitted, cut Cuts, conf float64, ok bool) {
	part, from := ofTarget(s)
	s = s.Slice(0, from+part.Len())
	g := Guesses(s, false)
	if len(g) == 0 || g[0].N >= n {
		return nil, cut, 0, false
	}
	own, ok := Best(s, g[0].N)
	if !ok || own.Similarity < MinSimilarity && g[0].N > 2 {
		return nil, cut, 0, false
	}
	conf = confidenceFragment
	if cut = known; !cut.Start && !cut.End {
		if cut = MissingEnds(s, own.Starts); cut.Start && cut.End {
			cut.End, conf = false, ConfidenceBothEnds
		}
	}
	if !cut.Start && !cut.End {
		return nil, cut, 0, false
	}
	again, within, found := Reread(s, own, 0, cut)
	if !found || again.Layers() > n {
		f, ok = Fit(s, own, n, cut)
		return f, cut, conf, ok
	}
	f = &Fitted{Cut: again, CutFirst: within.Start, CutLast: within.End}
	f.number(n, cut)
	return f, cut, conf, true
}

// likeLayers says whether the kernels in [from, to) are at most a layer's and few are foreign to the layers.
func likeLayers(s *Sequence, starts []int, from, to int) bool {
	gaps, _ := gapsOf(starts)
	foreign := strange(s.Base[from:to], setOf(s.Base[starts[0]:starts[len(starts)-1]]))
	return to-from <= slices.Max(gaps) && float64(foreign) <= foreignShare*float64(to-from)
}

// Confidence is the share of kernels in layers whose sequence of base names occurs at least twice in the pass, less
// something where the boundary was a guess between several places.
func Confidence(s *Sequence, c *Cut) float64 {
	conf := confidenceRepeat + confidenceAlike*repeatedShare(s, c)
	if !c.ByRole && c.Hi > c.Lo {
		conf -= confidenceOpen
	}
	return round(conf)
}

// round keeps three digits: more mean nothing.
func round(x float64) float64 { return math.Round(x*1000) / 1000 }

// MostVotes returns the number with the most votes, the larger of equals; 0 without any.
func MostVotes(votes map[int]int) int {
	best := 0
	for n, v := range votes {
		if v > votes[best] || v == votes[best] && n > best {
			best = n
		}
	}
	return best
}

// Contradiction returns the number of layers that all of the first few complete passes show beyond doubt where that
// contradicts a given one, as it is no part and no multiple of it, and not one or two more; else 0.
func Contradiction(passes []*Sequence, given int) int {
	vote := 0
	for _, s := range passes[:min(len(passes), votePasses)] {
		n := clearVote(s)
		if n == 0 || vote != 0 && n != vote {
			return 0
		}
		vote = n
	}
	if vote == 0 || given%vote == 0 || vote%given == 0 || vote >= given && vote <= given+voteApart {
		return 0
	}
	return vote
}

// clearVote returns the number of layers that a complete pass shows beyond doubt, 0 if there is a doubt: evenly
// spaced, alike, and nearly all of the pass. An encoder or a vision tower before the layers covers less.
func clearVote(s *Sequence) int {
	s, _ = ofTarget(s)
	g := Guesses(s, false)
	if len(g) == 0 || g[0].Similarity < voteSimilarity || g[0].Combs[0].Cost > voteUneven ||
		g[0].Support < voteSupport {
		return 0
	}
	pos := g[0].Combs[0].Pos
	if float64(pos[len(pos)-1]-pos[0]) < voteCovers*float64(s.Len()) {
		return 0
	}
	return g[0].N
}

// StrongVote says whether n layers explain s well enough to contradict a config.
func StrongVote(s *Sequence, n int) bool {
	for _, g := range Guesses(s, false) {
		if g.N == n && g.Similarity >= strongSimilarity && g.Support >= strongSupport {
			return true
		}
	}
	return false
}

// Explained counts the kernels of s in layers that are what layers are: like another one shortly before or after,
// with a mixer where most have one.
func Explained(s *Sequence, c *Cut) int {
	mixed, n, kernels := mixedLayers(s, c.Starts), c.Layers(), 0
	for l := range n {
		from, to := c.Starts[l], c.Starts[l+1]
		like := 0.0
		for k := max(0, l-maxTurns); k <= min(n-1, l+maxTurns); k++ {
			if k != l {
				like = max(like, dice(s, from, to, c.Starts[k], c.Starts[k+1]))
			}
		}
		if like >= surplusAlike && (!mixed || s.Slice(from, to).has(mixer)) {
			kernels += to - from
		}
	}
	return kernels
}

// Settle chooses between nearly equal numbers of layers that passes vote for: the one whose layers explain most
// kernels; those in a layer that is like no other speak against it. votes are the kernels of the passes that show a
// number, and shows is one of these.
func Settle(shows map[int]*Sequence, votes map[int]int) int {
	top := MostVotes(votes)
	near := maps.Clone(votes)
	maps.DeleteFunc(near, func(n, _ int) bool { return abs(n-top) > max(maxLeading, int(missingShare*float64(top))) })
	if len(near) < 2 {
		return top
	}
	best, most := top, -1
	for n := range near {
		sum := 0
		for m, kernels := range near {
			if c, ok := Best(shows[m], n); ok {
				explained, covered := Explained(shows[m], c), c.Starts[n]-c.Starts[0]
				sum += (2*explained - covered) * kernels / shows[m].Len()
			}
		}
		if sum > most || sum == most && n > best {
			best, most = n, sum
		}
	}
	return best
}
