package layer

import "sort"

// An anchorSet is a choice of one kernel per layer: positions in the sequence, ascending.
type anchorSet struct {
	pos    []int
	symbol int32   // id at its level
	base   bool    // symbol is a base name, not a full one
	stride int     // every stride-th occurrence
	cost   float64 // unevenness of the gaps in [0, 1], plus small penalties
}

// occurrences lists, per symbol, the positions where it occurs.
type occurrences struct {
	start []int // start[s]…start[s+1] in pos
	pos   []int
}

func occurrencesOf(symbols []int32) occurrences {
	top := int32(-1)
	for _, s := range symbols {
		top = max(top, s)
	}
	o := occurrences{start: make([]int, top+2), pos: make([]int, len(symbols))}
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

// unevenness is Σ|gapᵢ − median gap| / Σ gapᵢ: 0 for a perfect comb.
func unevenness(pos []int) float64 {
	if len(pos) < 3 {
		return 0
	}
	gaps := make([]int, len(pos)-1)
	for i := range gaps {
		gaps[i] = pos[i+1] - pos[i]
	}
	sorted := append([]int(nil), gaps...)
	sort.Ints(sorted)
	med := sorted[len(sorted)/2]
	dev, sum := 0, 0
	for _, g := range gaps {
		dev += abs(g - med)
		sum += g
	}
	return min(1, float64(dev)/float64(sum))
}

const (
	maxStride  = 4 // a kernel may occur up to four times a layer (Gemma's norms) and still serve as anchor
	maxSurplus = 3 // occurrences outside the layers (final norm, logits) that a comb may leave out
)

// anchorsFor returns the combs of exactly n kernels in s, best first, at most limit.
func anchorsFor(s *sequence, n, limit int) []anchorSet {
	var sets []anchorSet
	for _, level := range []bool{false, true} {
		symbols := s.fine
		if level {
			symbols = s.base
		}
		s.watch.Rows(s.len())
		occ := occurrencesOf(symbols)
		for sym := range occ.symbols() {
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
				s.watch.Rows(n * (surplus + 1))
				if set, ok := bestComb(occ.of(sym), n, stride, surplus, s.len()); ok {
					set.symbol, set.base = int32(sym), level
					if level {
						set.cost += 0.005
					}
					sets = append(sets, set)
				}
			}
		}
	}
	sort.SliceStable(sets, func(i, j int) bool { return sets[i].cost < sets[j].cost })
	return sets[:min(limit, len(sets))]
}

// bestComb picks the offset with the most even spacing. The penalties prefer a name that occurs exactly n times, and a
// comb that spans the sequence: a vision tower in front of the language model has combs of its own.
func bestComb(pos []int, n, stride, surplus, total int) (anchorSet, bool) {
	best := anchorSet{cost: 2}
	for off := 0; off <= surplus; off++ {
		set := make([]int, n)
		for i := range set {
			set[i] = pos[off+i*stride]
		}
		span := 1.0
		if n > 1 {
			span = min(1, float64(set[n-1]-set[0])*float64(n)/float64(n-1)/float64(total))
		}
		cost := unevenness(set) + 0.02*float64(stride-1) + 0.01*float64(min(surplus, 3)) + 0.25*(1-span)
		if cost < best.cost {
			best = anchorSet{pos: set, stride: stride, cost: cost}
		}
	}
	return best, best.pos != nil
}

// unitSimilarity is the mean Dice coefficient of the base-name multisets of neighbouring units. Units of one kind have 1, an
// attention half and its feed-forward half typically 0.2–0.6, sliding and full attention layers 0.85.
func unitSimilarity(s *sequence, pos []int) float64 {
	if len(pos) < 3 {
		return 0
	}
	s.watch.Rows(2 * s.len())
	top := int32(0)
	for _, b := range s.base {
		top = max(top, b)
	}
	prev, cur := make([]int32, top+1), make([]int32, top+1)
	count := func(m []int32, from, to int, d int32) {
		for i := from; i < to; i++ {
			m[s.base[i]] += d
		}
	}
	count(prev, pos[0], pos[1], 1)
	sum := 0.0
	for k := 1; k+1 < len(pos); k++ {
		count(cur, pos[k], pos[k+1], 1)
		shared := 0
		for i := pos[k]; i < pos[k+1]; i++ {
			if b := s.base[i]; prev[b] > 0 {
				prev[b]--
				shared++
			}
		}
		sum += 2 * float64(shared) / float64(pos[k+1]-pos[k-1])
		clearBag(prev, s, pos[k-1], pos[k])
		prev, cur = cur, prev
	}
	return sum / float64(len(pos)-2)
}

func clearBag(m []int32, s *sequence, from, to int) {
	for i := from; i < to; i++ {
		m[s.base[i]] = 0
	}
}

// mixerShare is the share of units that contain a kernel with a mixer's role, the part before the first and after the last
// anchor counted as one unit; ok is false where the sequence has no mixers to go by.
func mixerShare(s *sequence, pos []int) (share float64, ok bool) {
	s.watch.Rows(2 * s.len())
	total := 0
	for _, r := range s.role {
		if r == roleMixer {
			total++
		}
	}
	if total < 2 {
		return 0, false
	}
	has := func(from, to int) bool {
		for i := from; i < to; i++ {
			if s.role[i] == roleMixer {
				return true
			}
		}
		return false
	}
	with := 0
	for k := 0; k+1 < len(pos); k++ {
		if has(pos[k], pos[k+1]) {
			with++
		}
	}
	if has(0, pos[0]) || has(pos[len(pos)-1], s.len()) {
		with++
	}
	return float64(with) / float64(len(pos)), true
}

// A guess is a number of layers read from name counts.
type guess struct {
	n       int
	support float64 // share of kernels whose name occurs a whole multiple of n times, give or take one (per pass: a sixteenth)
	sim     float64
	mixers  float64
	anchors []anchorSet
}

// guessLayers reads N from the counts of kernel names. In a pass most names occur N, 2N, 3N … times; any divisor of N
// explains as many, so the largest well-supported count wins. Two things make a count too large: it counts halves of
// layers, or iterations of a loop inside a layer. Where roles are known a unit without a mixer gives that away; where
// they are not, the smaller share of names that come in whole multiples does. The reverse, two kinds of layers in turns
// counted as one, shows as a larger count whose units all hold a mixer.
//
// With passes s may hold several of them: a final norm then adds one per pass, not one in all.
func guessLayers(s *sequence, passes bool) []guess {
	s.watch.Rows(3 * s.len())
	seen := map[int]bool{}
	var counts []int
	for _, symbols := range [][]int32{s.fine, s.base} {
		occ := occurrencesOf(symbols)
		for sym := range occ.symbols() {
			if c := occ.count(sym); c >= 2 && !seen[c] {
				seen[c] = true
				counts = append(counts, c)
			}
		}
	}
	fine := occurrencesOf(s.fine)
	weight := map[int]int{} // kernels by their name's count
	for sym := range fine.symbols() {
		if c := fine.count(sym); c > 0 {
			weight[c] += c
		}
	}
	var all []guess
	best := 0.0
	for _, c := range counts {
		s.watch.Rows(4 * len(weight))
		sup := 0
		for x, w := range weight {
			surplus := 1
			if passes {
				surplus = max(1, c/16)
			}
			if x >= c && (x%c == 0 || c >= 4 && x >= 2*c && x%c <= surplus) {
				sup += w
			}
		}
		g := guess{n: c, support: float64(sup) / float64(s.len())}
		best = max(best, g.support)
		all = append(all, g)
	}
	// Only the best supported counts are worth an anchor search.
	sort.Slice(all, func(i, j int) bool {
		if all[i].support != all[j].support {
			return all[i].support > all[j].support
		}
		return all[i].n > all[j].n
	})
	const most = 24
	all = all[:min(most, len(all))]
	var kept []guess
	for _, g := range all {
		if g.support < 0.25*best {
			continue
		}
		g.anchors = anchorsFor(s, g.n, 3)
		if len(g.anchors) == 0 || g.anchors[0].cost > 0.6 {
			continue
		}
		g.sim = unitSimilarity(s, g.anchors[0].pos)
		share, known := mixerShare(s, g.anchors[0].pos)
		g.mixers = share
		switch {
		case known && share < 0.9:
			continue
		case known:
			if g.sim < 0.35 && g.n > 2 {
				continue
			}
		// Without roles a high similarity of neighbouring units stands in for the mixers: 0.75 for one full layer in four,
		// 0.61 for the halves of an unfused layer (transformers), 0.52 for those of DeepSeek-V4.
		case g.support < 0.8*best && (g.support < 0.4*best || g.sim < 0.7), g.sim < 0.35 && g.n > 2, ragged(g.anchors[0].pos):
			continue
		}
		if g.plausible(s, known) && (g.n > fewLayers || alike(s, g.n)) {
			kept = append(kept, g)
		}
	}
	sort.SliceStable(kept, func(i, j int) bool { return kept[i].n > kept[j].n })
	return dropSurplus(s, kept)
}

// dropSurplus takes out counts of N+1, which a norm or an embedding outside the layers makes of N: the count below explains
// more kernels, its units are as alike, and the first or last of the N+1 layers has little in common with its neighbour. A
// leading dense layer before layers with experts shares its attention half with them.
func dropSurplus(s *sequence, kept []guess) []guess {
	const common = 0.45 // dense and expert layers have 0.6, the embedding of a BERT and its layers 0.36
	out := kept[:0:0]
	for i, g := range kept {
		if i+1 < len(kept) && g.n >= 3 {
			less := kept[i+1]
			if less.n == g.n-1 && less.support > g.support && less.sim >= g.sim {
				if st, ok := findRepeats(s, g.n); ok && min(unitSimilarity(s, st.starts[:3]), unitSimilarity(s, st.starts[g.n-2:])) < common {
					continue
				}
			}
		}
		out = append(out, g)
	}
	return out
}

// overcounts says whether st, n layers as config or flags want them, is forced upon a sequence that holds fewer: a pass that
// the window cuts. Fewer units are then more even and more alike, and explain more names. Units of two layers each, where
// kinds take turns, look the same; they divide n, and the layers of st hold a mixer each.
func overcounts(s *sequence, st structure, n int) bool {
	const even = 0.1 // forced layers have combs of 0.18 and more, hybrids of 0.05 at most
	if n <= fewLayers || st.anchors.cost < even {
		return false
	}
	guesses := guessLayers(s, false)
	if len(guesses) == 0 || guesses[0].n >= n {
		return false
	}
	g := guesses[0]
	if g.anchors[0].cost >= st.anchors.cost || g.sim <= st.sim {
		return false
	}
	if n%g.n != 0 {
		return true
	}
	share, known := mixerShare(s, st.anchors.pos)
	if !known || share >= 0.9 {
		return false
	}
	starts := cutAt(s, g.anchors[0], nil).starts
	return goesOn(s, starts) || comesFrom(s, starts)
}

// fewLayers is up to how many layers evenness says nothing: their kernels must be alike.
const fewLayers = 3

// alike says whether n layers of s have most kernels in common. The layers of small models reach 0.9, the two halves of some
// other loop that was taken for layers 0.2.
func alike(s *sequence, n int) bool {
	const least = 0.6
	st, ok := findRepeats(s, n)
	return ok && st.sim >= least
}

// ragged says that one outer gap of an otherwise even comb is off: the kernel occurs once more in the prologue or epilogue.
func ragged(pos []int) bool {
	n := len(pos)
	if n < 4 {
		return false
	}
	gaps := make([]int, n-1)
	for i := range gaps {
		gaps[i] = pos[i+1] - pos[i]
	}
	sorted := append([]int(nil), gaps...)
	sort.Ints(sorted)
	med := sorted[len(sorted)/2]
	off := func(g int) bool { return 5*abs(g-med) > 2*med }
	return off(gaps[0]) && !off(gaps[1]) || off(gaps[n-2]) && !off(gaps[n-3])
}

// plausible rejects repeats that are no stack of decoder layers: five iterations of a training loop, three copies in a row.
// A stack is told by its mixers; where none is recognised although other kernels are, only many well-supported units of some
// length count, and where all names are unknown (hashed) a few less.
func (g *guess) plausible(s *sequence, mixers bool) bool {
	s.watch.Rows(2 * s.len())
	backward := 0
	for _, r := range s.role {
		if r == roleBackward {
			backward++
		}
	}
	if trainingShare*backward > s.len() {
		return false // what repeats in a training run are iterations
	}
	pos := g.anchors[0].pos
	covered := float64(pos[len(pos)-1]-pos[0]) * float64(g.n) / float64(g.n-1) / float64(s.len())
	unit := float64(s.len()) * covered / float64(g.n)
	if covered < 0.4 || unit < 3 || g.support < 0.25 {
		return false
	}
	if mixers {
		return g.n >= 4 || g.support >= 0.5 && unit >= 6
	}
	recognised := 0
	for _, r := range s.role {
		if r != roleOther {
			recognised++
		}
	}
	if 4*recognised > s.len() {
		return g.n >= 8 && g.support >= 0.6
	}
	return g.n >= 4 && g.support >= 0.35
}
