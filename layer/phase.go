package layer

// A layer may be cut out of a repeating unit at any of its kernels; which one is its first is the phase. Structure alone
// leaves a few kernels open (see cutAt), and leaves nothing but contradictions where the first layer is of another kind
// than the rest. This file weighs the candidates.

// The weights of what speaks for a phase. They only have to be ordered: what frames of the same trace tell outweighs a
// layer without a mixer, which outweighs what structure leaves open, and that outweighs the kind of norm.
const (
	weightBegins    = 8.0  // layers begin with two kernels that layers under module frames begin with
	weightMixer     = 6.0  // every layer holds a mixer
	weightOpen      = 2.0  // the phase lies where head and tail of the pass leave it open
	weightNorm      = 1.0  // layers begin with a norm
	weightInputNorm = 0.75 // and with the one in front of the mixer
)

// pair packs the base names of two neighbouring kernels.
func (s *sequence) pair(i int) uint64 {
	p := uint64(uint32(s.base[i])) << 32
	if i+1 < s.len() {
		p |= uint64(uint32(s.base[i+1])) + 1
	}
	return p
}

// phases returns the coordinates of the unit c worth trying, ascending: what structure proposes, every norm, and every
// kernel that layers are known to begin with.
func phases(s *sequence, c unitKind, lo, hi int) []int {
	P := c.to - c.from
	s.watch.Rows(P)
	var out []int
	for x := 0; x <= P; x++ {
		i := c.from + x%P
		if x == lo || x == hi || s.role[i] == roleNorm || s.begins != nil && s.begins[s.pair(i)] {
			out = append(out, x)
		}
	}
	return out
}

// weighPhase scores the layers that a phase gives. at is the coordinate in c, starts the layers' boundaries in s.
func weighPhase(s *sequence, starts []int, c reference, lo, hi, input int) float64 {
	n := len(starts) - 1
	P := c.unit.to - c.unit.from
	score := 0.0
	s.watch.Rows(s.len())
	begins, norms, mixers, anyMixer := 0, 0, 0, false
	for l := range n {
		i := starts[l]
		if i >= s.len() {
			continue
		}
		if s.begins != nil && s.begins[s.pair(i)] {
			begins++
		}
		if s.role[i] == roleNorm {
			norms++
		}
		for k := i; k < starts[l+1]; k++ {
			if s.role[k] == roleMixer {
				mixers++
				break
			}
		}
	}
	for _, r := range s.role {
		anyMixer = anyMixer || r == roleMixer
	}
	score += weightBegins * float64(begins) / float64(n)
	if anyMixer {
		score += weightMixer * float64(mixers) / float64(n)
	}
	score += weightNorm * float64(norms) / float64(n)
	switch {
	case lo <= c.at && c.at <= hi:
		score += weightOpen
	case hi <= c.at && c.at <= lo: // head and tail contradict each other: one of them is of another kind than the unit
		score += weightOpen / 4
	}
	if input >= 0 && c.at%P == input {
		score += weightInputNorm
	}
	return score
}

// inputNorm returns the coordinate in c of the norm that a layer begins with, −1 where roles do not tell. Between the
// feed-forward part of one layer and the mixer of the next stand the norm behind the feed-forward part, where a model has
// one, the input norm, the projections, and norms of queries and keys: it is the first norm that is not followed by another.
func inputNorm(s *sequence, c unitKind) int {
	P := c.to - c.from
	at := func(x int) role { return s.role[c.from+((x%P)+P)%P] }
	for m := range P {
		if at(m) != roleMixer {
			continue
		}
		first, found := 0, false
		for x := m - 1; x > m-P; x-- {
			r := at(x)
			if r == roleMoE || r == roleActivation {
				if found {
					return ((first % P) + P) % P
				}
				break
			}
			if r == roleMixer {
				break
			}
			if r == roleNorm && at(x+1) != roleNorm {
				first, found = x, true
			}
		}
	}
	return -1
}

// headByBegin finds the first kernel of a layer 0 that is of another kind than the unit: where the kernels begin to run as
// the unit does from its boundary on. from is the last position that may be it; ok is false where nothing agrees.
func headByBegin(s *sequence, from int, r reference) (at int, ok bool) {
	P := r.unit.to - r.unit.from
	const least = 4 // kernels that must agree: a norm, a product, and what a mixer needs
	best := least - 1
	for p := from; p >= max(0, from-2*P-maxBand); p-- {
		if s.score(p, r.s, r.unit.from+r.at%P) <= 0 {
			continue
		}
		ns, _ := extend(s, p, from-p, r.s, r.unit.from+r.at%P, P-r.at%P, +1)
		if ns > best {
			best, at, ok = ns, p, true
		}
	}
	return at, ok
}
