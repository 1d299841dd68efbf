package segment

import "slices"

// A Cut is what a sequence of one pass says about its layers. It is not changed after it was made.
type Cut struct {
	Starts     []int // Starts[i] is the first kernel of layer i; Starts[N] the first one after the last layer
	Comb       Comb
	Lo, Hi     int     // the boundary may lie at coordinates Lo…Hi of the unit; Hi − Lo is the width of the ambiguity
	At         int     // where it was put
	ByRole     bool    // put there because an input norm is there
	Similarity float64 // of the units between the comb's kernels
	unit       unit
}

// Layers returns the number of layers.
func (c *Cut) Layers() int { return len(c.Starts) - 1 }

// Period returns the number of kernels of the consensus unit.
func (c *Cut) Period() int { return c.unit.to - c.unit.from }

// With returns the cut with its layers taken from elsewhere.
func (c *Cut) With(starts []int) *Cut {
	d := *c
	d.Starts = starts
	return &d
}

// A unit is a consensus unit: the kernels [from, to) of s, from one anchor to the next.
type unit struct {
	s        *Sequence
	from, to int
}

// A Reference is a consensus unit and a boundary in it, found in another pass or given. A pass that the window cuts
// has too little of a prologue and an epilogue to find its own.
type Reference struct {
	unit unit
	at   int
}

// Reference returns the cut's unit and boundary, for another pass.
func (c *Cut) Reference() *Reference { return &Reference{c.unit, c.At} }

// ReferenceAt returns the cut's unit with a boundary at another coordinate.
func (c *Cut) ReferenceAt(at int) *Reference { return &Reference{c.unit, at} }

// Best cuts s = prologue · unit₀ … unit_{n−1} · epilogue into n layers using the best comb.
//
// The most even comb is not always in the layers (a vision tower can be perfectly even): how alike the layers come
// out decides between combs that are about as even, and how much of the sequence they explain. With few layers
// evenness says little, so more combs are tried and each is cut.
func Best(s *Sequence, n int) (*Cut, bool) {
	if n < 2 {
		return nil, false
	}
	if n <= fewTried {
		return bestOfFew(s, n)
	}
	exact, ok := exactCut(s, n)
	if ok && exact.Comb.Cost < forcedUneven {
		return exact, true
	}
	// No kernel runs once a layer as evenly as it should: perhaps some were lost, or some layers do without it.
	for m := n - 1; m >= n-max(maxLeading, int(missingShare*float64(n))) && m > fewTried; m-- {
		near, found := exactCut(s, m)
		if !found || near.Comb.Cost >= forcedUneven {
			continue
		}
		if c := complete(s, near, n); c.Layers() == n {
			return c, true
		}
	}
	return exact, ok
}

// exact cuts s into n layers at the best comb of n kernels.
func exactCut(s *Sequence, n int) (*Cut, bool) {
	var best *Comb
	similarity, bestScore := 0.0, lowest
	sets := Combs(s, n, maxCombs)
	for k := range sets {
		sim := alikeUnits(s, sets[k].Pos)
		if score := sim - sets[k].Cost; score > bestScore+tie {
			best, similarity, bestScore = &sets[k], sim, score
		}
	}
	if best == nil {
		return nil, false
	}
	c := CutAt(s, *best, nil)
	c.Similarity = similarity
	return c, true
}

// alikeUnits is the similarity of units, of those in turns where neighbours are of different kinds but no parts of a
// layer.
func alikeUnits(s *Sequence, pos []int) float64 {
	sim := Similarity(s, pos)
	if sim < MinSimilarity && inTurns(s, pos) {
		return likeness(s, pos, maxTurns) // kinds of layers in turns have little in common with their neighbours
	}
	return sim
}

const (
	lowest = -2.0 // below every score
	tie    = 1e-9 // scores that differ less are equal, and the first one counts
)

func bestOfFew(s *Sequence, n int) (*Cut, bool) {
	var best *Cut
	bestScore := lowest
	for _, set := range Combs(s, n, combsOfFew) {
		c := CutAt(s, set, nil)
		c.Similarity = Similarity(s, c.Starts)
		inside := float64(c.Starts[n]-c.Starts[0]) / float64(s.Len())
		score := c.Similarity + fewCovers*inside - fewUneven*set.Cost
		if share, known := mixerShare(s, c.Starts); known {
			score += fewMixers * share
		}
		if score > bestScore+tie {
			best, bestScore = c, score
		}
	}
	return best, best != nil
}

// A kind is a distinct sequence of kernels between two neighbouring anchors.
type kind struct {
	from, to int // first instance
	count    int
	at       []int // position per coordinate of the consensus unit, made on demand
}

// kindsOf returns the distinct lists of ids between neighbouring positions, in order of first appearance, and which
// one each is.
func kindsOf(ids []int32, pos []int) (kinds []kind, of []int) {
	var memo Memo[int]
	for k := 0; k+1 < len(pos); k++ {
		id := memo.Get(ids[pos[k]:pos[k+1]], func() int {
			kinds = append(kinds, kind{from: pos[k], to: pos[k+1]})
			return len(kinds) - 1
		})
		kinds[id].count++
		of = append(of, id)
	}
	return kinds, of
}

// usual returns the most frequent kind, the first of equals.
func usual(kinds []kind) kind {
	return slices.MaxFunc(kinds, func(a, b kind) int { return a.count - b.count })
}

// A cutter places the boundaries of layers given one anchor per layer.
//
// Coordinates run over the consensus unit C from one anchor (0) to the next (P). A boundary coordinate β means: of
// the P kernels from an anchor on, β belong to the anchor's layer and P − β to the next one. Going back from the
// first anchor, layer 0 agrees with C down to coordinate B, so β ≥ B; going forward from the last one, the last layer
// agrees up to F, so β ≤ F. Prologue and epilogue look a little like layers at their ends, which is why B < F is
// normal.
type cutter struct {
	s     *Sequence
	c     unit
	pos   []int
	kinds []kind
	of    []int
	// How many kernels before the first and from the last anchor on agree with a layer, and the coordinates they reach.
	head, tail     int
	headAt, tailAt int
	// Position per coordinate in these parts, made on demand.
	inHead, inTail []int
	closes         bool // norms follow the halves of layers
	// layers are a mixer or a feed-forward part each: that one has no mixer says nothing about where it begins
	parts bool
}

// CutAt cuts s at a comb. With a reference, the unit and the boundary are the reference's; without one the comb must
// hold at least two positions.
func CutAt(s *Sequence, set Comb, known *Reference) *Cut {
	k := &cutter{s: s, pos: set.Pos}
	k.kinds, k.of = kindsOf(s.ID, set.Pos)
	if known != nil {
		k.c = known.unit
	} else {
		most := usual(k.kinds)
		k.c = unit{s, most.from, most.to}
	}
	k.measure(known != nil)
	cut := &Cut{Comb: set, unit: k.c, Lo: k.headAt, Hi: k.tailAt}
	end := set.Pos[len(set.Pos)-1] + k.tail
	if hi, to := k.seamless(); cut.Lo <= hi {
		cut.Hi, end = hi, to
	}
	// Where the sequence itself ends the comparison says nothing about the boundary: the window may have cut the layer.
	if set.Pos[0] == k.head {
		cut.Lo = 0
	}
	if end == s.Len() {
		cut.Hi = k.period()
	}
	if known != nil {
		cut.At, cut.ByRole = known.at, true
		cut.Starts = k.place(known.at)
	} else {
		k.choosePhase(cut)
	}
	return cut
}

func (k *cutter) period() int { return k.c.to - k.c.from }

// atCoordinates maps coordinates of the consensus unit to positions in a kind.
func (k *cutter) atCoordinates(id int) []int {
	kd := &k.kinds[id]
	if kd.at == nil {
		kd.at = alignPositions(k.s, kd.from, kd.to, k.c.s, k.c.from, k.c.to)
	}
	return kd.at
}

// measure compares head and tail with the reference's unit and the kinds that occur, the first unit's kind among
// them; the best agreement counts.
func (k *cutter) measure(known bool) {
	first, last := k.pos[0], k.pos[len(k.pos)-1]
	after := k.s.Len() - last
	k.headAt = k.period()
	if known {
		k.head, k.headAt, _ = extend(k.s, first-1, first, k.c.s, k.c.to-1, k.period(), -1)
		k.headAt = k.period() - k.headAt
		k.tail, k.tailAt, _ = extend(k.s, last, after, k.c.s, k.c.from, k.period(), +1)
	}
	for id, kd := range k.kinds {
		n := kd.to - kd.from
		if ns, nt, _ := extend(k.s, first-1, first, k.s, kd.to-1, n, -1); ns > k.head {
			k.head, k.headAt = ns, coordinateOf(k.atCoordinates(id), n-nt)
		}
		if ns, nt, _ := extend(k.s, last, after, k.s, kd.from, n, +1); ns > k.tail {
			k.tail, k.tailAt = ns, coordinateOf(k.atCoordinates(id), nt)
		}
	}
}

// seamless returns the coordinate, and the position after it, that the tail reaches without a kernel that is missing or
// foreign. What resembles a layer beyond a gap, as final norm and logits resemble the norm and the product of queries,
// is none.
func (k *cutter) seamless() (hi, end int) {
	most, last := -1, k.pos[len(k.pos)-1]
	for id, kd := range k.kinds {
		n := 0
		for n < min(kd.to-kd.from, k.s.Len()-last) && scoreOf(k.s, last+n, k.s, kd.from+n) > 0 {
			n++
		}
		if n > most {
			most, hi, end = n, coordinateOf(k.atCoordinates(id), n), last+n
		}
	}
	return hi, end
}

// coordinateOf inverts a position map: the smallest coordinate whose position is at or after p.
func coordinateOf(m []int, p int) int {
	for j, q := range m {
		if q >= p {
			return j
		}
	}
	return len(m) - 1
}

// place returns the boundaries of all layers for a boundary coordinate.
func (k *cutter) place(at int) []int {
	starts := make([]int, len(k.pos)+1)
	starts[0] = k.headPosition(at)
	for i, id := range k.of {
		starts[i+1] = k.pos[i] + k.boundaryIn(id, at)
	}
	starts[len(k.pos)] = k.tailPosition(at)
	return starts
}

// boundaryIn is the position of the boundary in a kind. A block with a norm and a mixer between the last kernel of a
// layer and the first one of the next, which other layers do not run, begins the next one: layers of Zamba begin with a
// block that some of them share.
func (k *cutter) boundaryIn(id, at int) int {
	m, from := k.atCoordinates(id), k.kinds[id].from
	if at > 0 && m[at] > m[at-1]+1 {
		if block := k.s.Slice(from+m[at-1]+1, from+m[at]); block.has(norm) && block.has(mixer) {
			return m[at-1] + 1
		}
	}
	return m[at]
}

// headPosition is the first kernel of layer 0: the position of the boundary in the part before the first anchor.
func (k *cutter) headPosition(at int) int {
	first, from := k.pos[0], k.pos[0]-k.head
	if at < k.headAt {
		if begin, ok := k.headByBegin(from, at); ok {
			return begin
		}
	}
	if at <= k.headAt {
		return max(0, from-(k.headAt-at))
	}
	if k.inHead == nil {
		k.inHead = alignPositions(k.s, from, first, k.c.s, k.c.from+k.headAt, k.c.to)
	}
	return from + k.inHead[at-k.headAt]
}

// tailPosition is the end of the last layer: the position of the boundary in the part from the last anchor on.
func (k *cutter) tailPosition(at int) int {
	last := k.pos[len(k.pos)-1]
	if at >= k.tailAt {
		return min(k.s.Len(), last+k.tail+at-k.tailAt)
	}
	if k.inTail == nil {
		k.inTail = alignPositions(k.s, last, last+k.tail, k.c.s, k.c.from, k.c.from+k.tailAt)
	}
	return last + k.inTail[at]
}

// headByBegin finds the first kernel of a layer 0 that is of another kind than the unit: where the kernels begin to
// run as the unit does from its boundary on. from is the last position that may be it; ok is false where nothing
// agrees.
func (k *cutter) headByBegin(from, at int) (begin int, ok bool) {
	period := k.period()
	best, c := headLeast-1, k.c.from+at%period
	for i := from; i >= max(0, from-2*period-maxBand); i-- {
		if scoreOf(k.s, i, k.c.s, c) <= 0 {
			continue
		}
		if ns, _, _ := extend(k.s, i, from-i, k.c.s, c, period-at%period, +1); ns > best {
			best, begin, ok = ns, i, true
		}
	}
	return begin, ok
}

// BeginningAt returns the cut with its boundary at kernel i, which somebody knows to begin layer 1; ok is false where
// the consensus unit does not hold it.
func (c *Cut) BeginningAt(i int) (moved *Cut, ok bool) {
	pos := c.Comb.Pos
	if len(pos) < 2 || c.unit.from != pos[0] || i <= pos[0] || i > pos[1] {
		return c, false
	}
	d := *c
	d.At = i - pos[0]
	return &d, true
}
