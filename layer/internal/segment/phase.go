package segment

import "slices"

// A layer may be cut out of a repeating unit at any of its kernels; which one is its first is the phase. Structure
// alone leaves a few kernels open (see cutter), and leaves nothing but contradictions where the first layer is of
// another kind than the rest. This file weighs the candidates.

// choosePhase picks the coordinate where layers begin, and places them.
func (k *cutter) choosePhase(cut *Cut) {
	input := inputOf(k.c)
	if k.closes = input >= 0 && normsClose(k.s, k.place(input)); k.closes {
		input = (input + 1) % k.period()
	}
	k.parts = inTurns(k.s, k.pos)
	best := -1.0
	if k.displaced(cut.Lo, cut.Hi) {
		cut.Lo--
	}
	for _, x := range k.phases(cut.Lo, cut.Hi) {
		starts := k.place(x)
		// What resembles a layer's start after the last layer is the final norm: the earliest of equals. If nothing
		// comes before the first anchor, that would be an empty layer, or a part of one: the last.
		if score := k.weighPhase(starts, x, cut.Lo, cut.Hi, input); score > best || score == best && k.pos[0] == 0 {
			best = score
			cut.At, cut.Starts = x, starts
			cut.ByRole = k.c.s.opens(k.c.from + x%k.period())
		}
	}
}

// displaced says whether layers begin one kernel before where structure puts them, in a sequence in which no norm is
// known. A kernel that adds the residual and normalises begins each layer but the first one, which has nothing to add
// yet and runs another kernel in its place, and runs once more after the last: so what repeats begins and ends one
// kernel late. The other kernel follows the embedding.
func (k *cutter) displaced(lo, hi int) bool {
	return lo == hi && lo > 0 && k.pos[0]-k.head >= inFront && !k.c.s.has(norm)
}

// phases returns the coordinates of the unit worth trying, ascending: what structure proposes, and every norm.
func (k *cutter) phases(lo, hi int) []int {
	var out []int
	for x := 0; x <= k.period(); x++ {
		i := k.c.from + x%k.period()
		if x == lo || x == hi || k.c.s.opens(i) || k.closes && x > 0 && k.c.s.Role[k.c.from+x-1] == norm {
			out = append(out, x)
		}
	}
	return out
}

// opens says whether kernel i of the unit's sequence is a norm, or the modulation of one.
func (s *Sequence) opens(i int) bool { return s.Role[i] == norm || s.modulates(i) }

// modulates says whether a layer of a diffusion transformer may begin with kernel i: a product, of an activation or
// not, makes the scale and the shift for the norm after it, and follows a sum.
func (s *Sequence) modulates(i int) bool {
	if i == 0 || i >= s.Len() || s.Role[i-1] != elementwise {
		return false
	}
	if s.Role[i] == activation {
		i++
	}
	return i+3 < s.Len() && s.Role[i] == product && s.Role[i+1] == norm && s.Role[i+2] == elementwise &&
		s.Role[i+3] == elementwise
}

// Modulated says whether most layers begin with a modulation.
func Modulated(s *Sequence, c *Cut) bool {
	n := 0
	for _, i := range c.Starts[:c.Layers()] {
		if s.modulates(i) {
			n++
		}
	}
	return 2*n > c.Layers()
}

// normsClose says whether the norms of a model follow the halves of its layers, as they do in encoders of the
// family of BERT; opened is where layers begin if norms open them. Such a model looks up the word and its position, and
// normalises their sum. The kernels of its layers alone leave that open: the norm before the first mixer is of the
// embedding if nothing but sums is between it and three lookups, or if a kernel that other layers do not run is between
// it and the first product.
func normsClose(s *Sequence, opened []int) bool {
	first, next := opened[0], opened[1]
	lookups, sums := 0, true
	for _, r := range s.Role[:first] {
		switch r {
		case embed:
			lookups, sums = lookups+1, true
		case mixer:
			return lookups >= minLookups // of a layer without a norm
		default:
			sums = sums && r == elementwise
		}
	}
	if lookups < minLookups {
		return false
	}
	for n := range 1 + max(0, slices.Index(s.Role[next:], product)) {
		if scoreOf(s, first+n, s, next+n) <= 0 {
			return true
		}
	}
	return lookups > minLookups && sums
}

// weighPhase scores the layers that a phase gives. at is the coordinate in the unit, starts the layers' boundaries.
func (k *cutter) weighPhase(starts []int, at, lo, hi, input int) float64 {
	n := len(starts) - 1
	var norms, mixers int
	for l := range n {
		i := starts[l]
		if i >= k.s.Len() {
			continue
		}
		if !k.closes && k.s.opens(i) || k.closes && i > 0 && k.s.Role[i-1] == norm {
			norms++
		}
		if k.parts || i < starts[l+1] && k.s.Slice(i, starts[l+1]).has(mixer) {
			mixers++
		}
	}
	score := weightMixer*float64(mixers)/float64(n) + weightNorm*float64(norms)/float64(n)
	if lo <= at && at <= hi {
		score += weightOpen
	}
	if at%k.period() == input {
		score += weightInput
	}
	return score
}

// inputOf returns the coordinate in c of what a layer begins with, −1 if roles do not show it: the modulation or the
// norm before the mixer, or the only norm.
func inputOf(c unit) int {
	if x := modulationOfMixer(c); x >= 0 {
		return x
	}
	if x := normOfMixer(c); x >= 0 {
		return x
	}
	only := -1
	for x := range c.to - c.from {
		if c.s.Role[c.from+x] != norm {
			continue
		}
		if only >= 0 {
			return -1
		}
		only = x
	}
	return only
}

// modulationOfMixer returns the coordinate in c of the modulation whose norm is before a mixer, −1 if there is
// none. Of two streams that share a mixer it is that of the first: no projection is between their modulations.
func modulationOfMixer(c unit) int {
	at, projected, period := -1, false, c.to-c.from
	for x := range 2 * period { // twice, as the mixer may be at the unit's beginning
		switch i := c.from + x%period; {
		case c.s.Role[i] == mixer && at >= 0:
			return at
		case c.s.modulates(i):
			if at < 0 || projected {
				at = x % period
			}
			projected = false
		case c.s.Role[i] == product:
			projected = projected || i == 0 || !c.s.modulates(i-1)
		}
	}
	return -1
}

// normOfMixer returns the coordinate in c of the norm before a mixer. Between the feed-forward part of one layer and
// the mixer of the next are the norm after the feed-forward part, if a model has one, the input norm, the projections,
// and norms of queries and keys: it is the first norm that a product follows before another norm. An activation with no
// norm after it is the mixer's own. Where mixers follow each other, it is the only norm with a product between itself
// and the mixer before: others are that mixer's own. A mixer after a feed-forward part counts before all others: the
// second one of a decoder's layers attends to an encoder.
func normOfMixer(c unit) int {
	period, found := c.to-c.from, -1
	wrap := func(x int) int { return ((x % period) + period) % period }
	at := func(x int) Role { return c.s.Role[c.from+wrap(x)] }
	for m := range period {
		if at(m) == mixer {
			if x, fed := normBefore(at, m, m-period, false); x > noNorm && (fed || found < 0) {
				if found = wrap(x); fed {
					break
				}
			}
		}
	}
	return found
}

// noNorm is what normBefore returns where roles do not show the norm.
const noNorm = -1 << 20

// normBefore returns the norm that begins the layer of the mixer m, of those that follow least; fed says that a
// feed-forward part is before it. With far a norm before it that no product follows counts, too: its product may have a
// name that nobody knows, or it is modulated.
func normBefore(at func(int) Role, m, least int, far bool) (x int, fed bool) {
	first, after, several := noNorm, noNorm, false
	// a product between the norm and the mixer, and one between here and the norm
	projected, between := false, false
	for x := m - 1; x >= least; x-- {
		r := at(x)
		if first > noNorm && (r == moe || r == activation) {
			return first, true
		}
		if r == mixer {
			if several {
				return noNorm, false
			}
			return after, false
		}
		if !far && r == norm && at(x+1) == elementwise && at(x-1) != elementwise {
			return noNorm, false // it follows the part before it, and their sum follows
		}
		if r == norm && at(x+1) != norm && (far || between || !projected) {
			first, projected, between = x, projected || between, false
		}
		between = between || r == product
		if r == product && first != after {
			several = after > noNorm
			after = first
		}
	}
	return noNorm, false
}
