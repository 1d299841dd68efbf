package layer

// A structure is what the sequence of one pass says about its layers.
type structure struct {
	starts  []int // starts[i] is the first kernel of layer i; starts[N] the first one after the last layer
	anchors anchorSet
	lo, hi  int     // the boundary may lie at coordinates lo…hi of the unit; hi − lo is the width of the ambiguity
	at      int     // where it was put
	byRole  bool    // put there because an input norm stands there
	sim     float64 // unitSimilarity of the chosen anchors
	ref     reference
}

func (st *structure) layers() int { return len(st.starts) - 1 }

// A reference is a consensus unit and boundary found in another pass. A partial pass has too little of a prologue and an
// epilogue to find its own.
type reference struct {
	s    *sequence
	unit unitKind
	at   int
}

// findRepeats cuts s = prologue · unit₀ … unit_{n−1} · epilogue into n layers using the best comb of anchors.
func findRepeats(s *sequence, n int) (structure, bool) {
	// With few layers evenness says little: two positions are always even. More combs are tried then.
	limit := 4
	if n <= 4 {
		limit = 48
	}
	sets := anchorsFor(s, n, limit)
	if len(sets) == 0 || n < 2 {
		return structure{}, false
	}
	// The most even comb is not always in the layers (a vision tower can be perfectly even): how alike the layers come out
	// decides between combs that are about as even, and how much of the sequence they explain.
	best, bestScore := structure{}, -2.0
	for _, set := range sets {
		if n > 4 {
			set := set
			sim := unitSimilarity(s, set.pos)
			if score := sim - set.cost; score > bestScore+1e-9 {
				best, bestScore = structure{anchors: set, sim: sim}, score
			}
			continue
		}
		st := cutAt(s, set, nil)
		st.sim = layerSimilarity(s, st.starts)
		inside := float64(st.starts[n]-st.starts[0]) / float64(s.len())
		score := st.sim + 0.3*inside - 0.5*set.cost
		if share, known := mixerShare(s, st.starts[:n+1]); known {
			score += 0.3 * share
		}
		if score > bestScore+1e-9 {
			best, bestScore = st, score
		}
	}
	if best.starts == nil {
		sim := best.sim
		best = cutAt(s, best.anchors, nil)
		best.sim = sim
	}
	return best, true
}

// layerSimilarity is the mean similarity of neighbouring layers.
func layerSimilarity(s *sequence, starts []int) float64 {
	return unitSimilarity(s, starts)
}

// A unitKind is a distinct sequence of kernels between two neighbouring anchors.
type unitKind struct {
	from, to int // first instance
	count    int
}

// unitKinds returns the kinds in order of first appearance and the kind of every unit.
func unitKinds(s *sequence, pos []int) (kinds []unitKind, of []int) {
	byHash := map[uint64]int{}
	for k := 0; k+1 < len(pos); k++ {
		s.watch.Rows(pos[k+1] - pos[k])
		h := hashNames(s.fine[pos[k]:pos[k+1]])
		id, ok := byHash[h]
		if !ok {
			id = len(kinds)
			byHash[h] = id
			kinds = append(kinds, unitKind{from: pos[k], to: pos[k+1]})
		}
		kinds[id].count++
		of = append(of, id)
	}
	return kinds, of
}

// cutAt places the layer boundaries given one anchor per layer.
//
// Coordinates run over the consensus unit C from one anchor (0) to the next (P). A boundary coordinate β means: of the P
// kernels from an anchor on, β belong to the anchor's layer and P − β to the next one. Going back from the first anchor,
// layer 0 agrees with C down to coordinate B, so β ≥ B; going forward from the last one, the last layer agrees up to F, so
// β ≤ F. Prologue and epilogue look a little like layers at their ends, which is why B < F is normal.
//
// With a reference, C and β are the reference's. Without one set must hold at least two positions.
func cutAt(s *sequence, set anchorSet, known *reference) structure {
	pos := set.pos
	kinds, of := unitKinds(s, pos)
	cs, c := s, unitKind{}
	if known != nil {
		cs, c = known.s, known.unit
	} else {
		ref := 0
		for k := range kinds {
			if kinds[k].count > kinds[ref].count {
				ref = k
			}
		}
		c = kinds[ref]
	}
	P := c.to - c.from
	maps := make([][]int, len(kinds)) // kind → position per coordinate of C, made on demand
	mapOf := func(k int) []int {
		if maps[k] == nil {
			maps[k] = alignPositions(s, kinds[k].from, kinds[k].to, cs, c.from, c.to)
		}
		return maps[k]
	}
	first, last := pos[0], pos[len(pos)-1]
	// Head: compare with the kinds that occur, the first unit's kind among them; the best agreement counts.
	headS, lo := 0, P
	tailS, hi := 0, 0
	if known != nil {
		headS, lo = extend(s, first-1, first, cs, c.to-1, P, -1)
		lo = P - lo
		tailS, hi = extend(s, last, s.len()-last, cs, c.from, P, +1)
	}
	for _, k := range probeKinds(kinds, of) {
		kn := kinds[k]
		klen := kn.to - kn.from
		if ns, nt := extend(s, first-1, first, s, kn.to-1, klen, -1); ns > headS {
			headS, lo = ns, coordinateOf(mapOf(k), klen-nt)
		}
		if ns, nt := extend(s, last, s.len()-last, s, kn.from, klen, +1); ns > tailS {
			tailS, hi = ns, coordinateOf(mapOf(k), nt)
		}
	}
	// Where the sequence itself ends the comparison says nothing about the boundary: the window may have cut the layer.
	headC, tailC := lo, hi // the coordinates that headS and tailS reach
	if first == headS {
		lo = 0
	}
	if last+tailS == s.len() {
		hi = P
	}
	st := structure{anchors: set, lo: lo, hi: hi, ref: reference{cs, c, 0}}
	place := func(at int) []int {
		s.watch.Rows(len(pos))
		ref := reference{cs, c, at}
		starts := make([]int, len(pos)+1)
		starts[0] = headPosition(s, first, headS, ref, headC)
		for k := range of {
			starts[k+1] = pos[k] + mapOf(of[k])[at]
		}
		starts[len(pos)] = tailPosition(s, last, tailS, ref, tailC)
		return starts
	}
	if known != nil {
		st.at, st.byRole = known.at, true
		st.starts = place(st.at)
	} else {
		st.choosePhase(s, c, place)
	}
	st.ref.at = st.at
	return st
}

// probeKinds returns the kinds worth comparing the ends with: those of the first and last units and the most frequent ones.
func probeKinds(kinds []unitKind, of []int) []int {
	const most = 6
	if len(of) == 0 {
		return nil
	}
	out := []int{of[0]}
	add := func(k int) {
		for _, o := range out {
			if o == k {
				return
			}
		}
		out = append(out, k)
	}
	add(of[len(of)-1])
	for range most {
		best := -1
		for k := range kinds {
			taken := false
			for _, o := range out {
				taken = taken || o == k
			}
			if !taken && (best < 0 || kinds[k].count > kinds[best].count) {
				best = k
			}
		}
		if best < 0 {
			break
		}
		add(best)
	}
	return out
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

// choosePhase picks the coordinate where layers begin, and places them.
func (st *structure) choosePhase(s *sequence, c unitKind, place func(at int) []int) {
	input := inputNorm(s, c)
	best := -1.0
	for _, x := range phases(s, c, st.lo, st.hi) {
		starts := place(x)
		// What resembles a layer's start behind the last layer is the final norm: the earliest of equals.
		if score := weighPhase(s, starts, reference{s, c, x}, st.lo, st.hi, input); score > best {
			best = score
			st.at, st.starts = x, starts
			i := c.from + x%(c.to-c.from)
			st.byRole = s.role[i] == roleNorm || s.begins != nil && s.begins[s.pair(i)]
		}
	}
}

// headPosition is the first kernel of layer 0: the position of the boundary in the part before the first anchor, of which
// headS kernels agree with the unit from coordinate lo on.
func headPosition(s *sequence, first, headS int, r reference, lo int) int {
	if r.at < lo {
		if at, ok := headByBegin(s, first-headS, r); ok {
			return at
		}
	}
	if r.at <= lo {
		return max(0, first-headS-(lo-r.at))
	}
	m := alignPositions(s, first-headS, first, r.s, r.unit.from+lo, r.unit.to)
	return first - headS + m[r.at-lo]
}

// tailPosition is the end of the last layer: the position of the boundary in the part from the last anchor on, of which
// tailS kernels agree with the unit up to coordinate hi.
func tailPosition(s *sequence, last, tailS int, r reference, hi int) int {
	if r.at >= hi {
		return min(s.len(), last+tailS+r.at-hi)
	}
	m := alignPositions(s, last, last+tailS, r.s, r.unit.from, r.unit.from+hi)
	return last + m[r.at]
}
