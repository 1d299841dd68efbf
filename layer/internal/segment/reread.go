package segment

import "slices"

// A comb needs one kernel that runs in every layer. Where kernels were lost, or the window holds a part of one pass,
// there may be none, or it is in half of a layer at either end. What layers are made of can then still be read
// off those that are complete, and the sequence be read again as layers of these kinds, perhaps with kernels missing.

// A reading is a sequence as layers of few kinds.
type reading struct {
	starts []int // as of a Cut
	score  int   // of the alignment with the kinds
	cut    Cuts  // the sequence begins, or ends, within a layer
	byRole bool  // its kinds were read off the roles of kernels
}

// Reread reads s again as layers of the kinds that most layers are, and returns c with them; n is their number, 0
// where nobody knows it. open says which ends the window may have cut: a layer may begin, or end, there at any of its
// kernels. The second value says which ends it did cut. ok is false if s shows no kinds, or other than n layers.
func Reread(s *Sequence, c *Cut, n int, open Cuts) (again *Cut, cut Cuts, ok bool) {
	var all []reading
	most := 0
	for _, starts := range outlines(s, c) {
		r, found := readAs(s, s, layerKinds(s, starts), open)
		if found && open == (Cuts{}) {
			r.starts = completeEnds(s, r.starts, n) // with layers of a kind that occurs once more
			r.joinBare(s)
		}
		r.byRole = c == nil || &starts[0] != &c.Starts[0]
		if !found || r.layers() > MaxLayers || n > 0 && r.layers() != n {
			continue
		}
		if c != nil && r.layers() < c.Layers() && (!r.byRole || n == 0 && mixedLayers(s, c.Starts)) {
			continue // layers of a kind of their own
		}
		all = append(all, r)
		most = max(most, r.score)
	}
	best := -1
	for k, r := range all {
		if AtLeast(r.score, ReadClose, most) && (best < 0 || readsBetter(s, &r, &all[best], c)) {
			best = k
		}
	}
	if best < 0 {
		return nil, Cuts{}, false
	}
	return fromReading(s, c, all[best].starts), all[best].cut, true
}

// ByKinds reads s as layers of the kinds that another sequence has: of a draft of one layer nothing repeats. ok is
// false if these kinds do not explain the kernels in layers, or leave a mixer outside them. A draft runs a token where
// its target verifies several, and so other kernels at many places.
func ByKinds(s, of *Sequence, whole *Cut) (c *Cut, ok bool) {
	r, ok := readAs(s, of, layerKinds(of, whole.Starts), Cuts{})
	if !ok {
		return nil, false
	}
	n := len(r.starts) - 1
	inside := s.Slice(r.starts[0], r.starts[n])
	if !AtLeast(r.score, readLike, scoreName*inside.Len()) || !inside.has(mixer) || inside.Count(mixer) < s.Count(mixer) {
		return nil, false
	}
	return &Cut{Starts: r.starts, ByRole: true, Similarity: 1, unit: unit{s, r.starts[0], r.starts[1]}}, true
}

// mixedLayers says whether layers hold a mixer each.
func mixedLayers(s *Sequence, starts []int) bool {
	share, known := mixerShareOfLayers(s, starts)
	return known && share >= mixersLeast
}

// reads says whether a reading is better than another one that explains about as much: more of its layers hold a
// mixer, or it has more, or as many that explain more, where those of c are settled or both are by roles.
func readsBetter(s *Sequence, r, than *reading, c *Cut) bool {
	mine, known := mixerShareOfLayers(s, r.starts)
	its, _ := mixerShareOfLayers(s, than.starts)
	if mixed := mine >= mixersLeast; known && mixed != (its >= mixersLeast) {
		return mixed
	}
	if r.layers() == than.layers() {
		return (r.byRole && than.byRole || c != nil && isSettled(s, c)) && r.score > than.score
	}
	return r.layers() > than.layers()
}

// isSettled says whether structure alone shows where the layers of c begin, and no kernels of them were lost: most are
// equal to another one.
func isSettled(s *Sequence, c *Cut) bool {
	return c.Lo == c.Hi && 1-repeatedShare(s, c) <= doubtSingle
}

func (r *reading) layers() int { return len(r.starts) - 1 }

// outlines returns where layers may begin: those of c, and what the roles of kernels show. Where c's layers are a
// mixer or a feed-forward part each, roles would show pairs of them; where norms close layers, roles would begin
// layers with them.
func outlines(s *Sequence, c *Cut) [][]int {
	var out [][]int
	for _, far := range []bool{false, true} {
		if starts := layersByRole(s, far); len(starts) > StackLayers && (c == nil || !inTurns(s, c.Starts)) &&
			!normsClose(s, starts) && (len(out) == 0 || !slices.Equal(starts, out[0])) {
			out = append(out, starts)
		}
	}
	if c != nil {
		out = append(out, c.Starts)
	}
	return out
}

// layersByRole returns where layers begin by their roles alone. Where one begins with a modulation, that is the first
// one after the mixer before. Else a mixer after a feed-forward part is of the next layer, which begins with a norm
// between them: see normBefore.
func layersByRole(s *Sequence, far bool) []int {
	var starts []int
	fed := true               // a feed-forward part is between the last mixer and here
	modulated, last := -1, -1 // the first modulation after the last mixer
	before := func(i int) Role {
		if i < 0 {
			return activation // of no layer, but as before all others
		}
		return s.Role[i]
	}
	for m, r := range s.Role {
		if modulated < 0 && s.modulates(m) {
			modulated = m
		}
		switch r {
		case moe, activation:
			fed = true
		case mixer:
			at := modulated
			if at < 0 && fed {
				x, _ := normBefore(before, m, -1, far)
				at = max(-1, x)
			}
			if at > last {
				starts, last = append(starts, at), at
			}
			fed, modulated = false, -1
		}
	}
	return starts
}

// layerKinds returns one layer of each kind between starts, most frequent first: each occurs twice at least, and is
// no other one with kernels missing. What follows the last start is no layer, as nobody knows where it ends.
func layerKinds(s *Sequence, starts []int) []kind {
	all, _ := kindsOf(s.Base, starts)
	slices.SortStableFunc(all, func(a, b kind) int {
		if a.count != b.count {
			return b.count - a.count
		}
		return (b.to - b.from) - (a.to - a.from)
	})
	var kinds []kind
	for _, k := range all {
		alike := func(o kind) bool { return dice(s, k.from, k.to, o.from, o.to) >= kindApart }
		if k.count >= 2 && k.from < k.to && len(kinds) < maxKinds && !slices.ContainsFunc(kinds, alike) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// A readState is the best way to have read the kernels so far, up to a place in a layer of a kind.
type readState struct {
	score int32
	from  int32 // where this layer began; −1 where the window cuts it
}

// read finds the layers of the kinds, which are parts of another sequence, that explain most of s: kernels outside
// layers cost nothing, those that a layer lacks or has too many what they cost in any alignment.
func readAs(s, of *Sequence, kinds []kind, open Cuts) (reading, bool) {
	var wants []int
	for _, k := range kinds {
		for j := k.from; j < k.to; j++ {
			wants = append(wants, j)
		}
		wants = append(wants, layerEnds)
	}
	if len(wants)*s.Len() > readCells {
		return reading{}, false
	}
	w := reader{s: s, of: of, wants: wants, now: make([]readState, len(wants)), next: make([]readState, len(wants)),
		before: make([]int32, s.Len()+1)}
	return w.run(open)
}

type reader struct {
	s, of     *Sequence
	wants     []int // by state: the kernel of the second one that a layer runs next, of the kinds one after another
	now, next []readState
	before    []int32 // where the layer before one that begins here began; noLayer for none
}

const (
	noLayer   = -2
	layerEnds = -1 // what a layer wants that has all its kernels
)

// begins says whether a layer begins with a state.
func (w *reader) begins(d int) bool { return d == 0 || w.wants[d-1] == layerEnds }

func (w *reader) run(open Cuts) (reading, bool) {
	for d := range w.now {
		w.now[d] = readState{dead, noLayer}
		if open.Start && !w.begins(d) {
			w.now[d] = readState{0, -1}
		}
	}
	best, end := readState{0, noLayer}, -1
	for i := range w.s.Len() + 1 {
		if out := w.settle(i); out.score > best.score {
			best, end = out, i
		}
		if i < w.s.Len() {
			w.consume(i)
		}
	}
	r := reading{}
	for _, st := range w.now {
		if open.End && st.score > best.score {
			best, end, r.cut.End = st, w.s.Len(), true
		}
	}
	if end < 0 {
		return r, false
	}
	r.score, r.starts = int(best.score), []int{end}
	at := best.from
	for ; at >= 0; at = w.before[at] {
		r.starts = append(r.starts, int(at))
	}
	if r.cut.Start = at != noLayer; r.cut.Start {
		r.starts = append(r.starts, 0)
	}
	slices.Reverse(r.starts)
	return r, len(r.starts) > 1
}

// settle lets layers end and begin before kernel i, and kernels of them be missing. It returns the best layer
// that ends there.
func (w *reader) settle(i int) (out readState) {
	skip := func() {
		for d, j := range w.wants {
			if x := w.now[d].score + int32(scoreGap); j != layerEnds && x > w.now[d+1].score {
				w.now[d+1] = readState{x, w.now[d].from}
			}
		}
	}
	skip()
	out = readState{dead, noLayer}
	for d, j := range w.wants {
		if j == layerEnds && w.now[d].score > out.score {
			out = w.now[d]
		}
	}
	score, from := int32(0), int32(noLayer) // the first layer begins here
	if out.score > 0 && out.from != int32(i) {
		score, from = out.score, out.from
	}
	w.before[i] = from
	for d := range w.now {
		if w.begins(d) && score > w.now[d].score {
			w.now[d] = readState{score, int32(i)}
		}
	}
	skip()
	return out
}

// consume reads kernel i as one of a layer, or as foreign to it.
func (w *reader) consume(i int) {
	for d := range w.now {
		w.next[d] = readState{w.now[d].score + int32(scoreGap), w.now[d].from}
		if w.begins(d) {
			continue
		}
		if x := w.now[d-1].score + int32(scoreOf(w.s, i, w.of, w.wants[d-1])); x > w.next[d].score {
			w.next[d] = readState{x, w.now[d-1].from}
		}
	}
	w.now, w.next = w.next, w.now
}

// fromReading returns c with other layers. Without a cut it makes one with every layer's first kernel as the
// anchor.
func fromReading(s *Sequence, c *Cut, starts []int) *Cut {
	if c != nil {
		return c.With(starts)
	}
	n := len(starts) - 1
	comb := Comb{Pos: starts[:n], Stride: 1, Symbol: s.ID[starts[n/2]], Cost: unevenness(starts)}
	kinds, _ := kindsOf(s.ID, starts)
	most := usual(kinds)
	return &Cut{Starts: starts, Comb: comb, At: most.to - most.from, ByRole: true, Similarity: Similarity(s, starts),
		unit: unit{s, most.from, most.to}}
}

// Layers returns the cut of a pass into n layers: at the best comb, or where something speaks against that, as it
// reads again.
func Layers(s *Sequence, n int) (*Cut, bool) {
	part, from := ofTarget(s)
	c, ok := cutInto(part, n)
	if ok {
		c = c.moved(s, from)
	}
	return c, ok
}

func cutInto(s *Sequence, n int) (*Cut, bool) {
	c, ok := Best(s, n)
	if pairs := MixesTwice(s); ok && (c.Similarity < MinSimilarity && n > 2 ||
		c.Comb.Cost > maxUneven && !inTurns(s, c.Starts) || Overcounts(s, c, n) || pairs > 0 && n > pairs+maxLeading) {
		c, ok = nil, false // of layers that mix twice the window shows fewer
	}
	if ok && !doubtful(s, c) {
		return c, true
	}
	like := c
	if g := Guesses(s, false); !ok && len(g) > 0 {
		like, _ = Best(s, g[0].N)
	}
	if again, _, found := Reread(s, like, n, Cuts{}); found {
		return again, true
	}
	return c, ok
}

// Number returns the number of layers that a pass shows, 0 for none.
func Number(s *Sequence) int {
	s, _ = ofTarget(s)
	n, c := 0, (*Cut)(nil)
	if g := Guesses(s, false); len(g) > 0 {
		n = g[0].N
		if best, ok := Best(s, n); ok {
			if c = best; !doubtful(s, c) {
				return n
			}
		}
	}
	if again, _, found := Reread(s, c, 0, Cuts{}); found && (n > 0 || isStack(s, again)) {
		return again.Layers() - ofStack(s, again)
	}
	return n
}

// isStack says whether what was read by roles alone, where no count of names shows layers, is a stack of them: most of
// its kernels are in layers that are like others and hold a mixer.
func isStack(s *Sequence, c *Cut) bool {
	return c.Layers() >= StackLayers && mixedLayers(s, c.Starts) &&
		AtLeast(Explained(s, c), minCovered, s.Len())
}

// doubtful says whether something speaks against a cut.
func doubtful(s *Sequence, c *Cut) bool {
	d := Doubt(s, c, false)
	return d.Uneven > DoubtUneven || Words(d) != ""
}

// joinBare takes away what is no layer. What has neither a norm nor a mixer, where all others mix, is more of the layer
// before, such as its last experts. At the end, what neither mixes nor feeds forward, where all others do one of these,
// is the final norm and the logits.
func (r *reading) joinBare(s *Sequence) {
	n := r.layers()
	mixes, bare, idle := make([]bool, n), make([]bool, n), make([]bool, n)
	for l := range n {
		layer := s.Slice(r.starts[l], r.starts[l+1])
		mixes[l] = layer.has(mixer)
		bare[l], idle[l] = !mixes[l] && !layer.has(norm), !mixes[l] && !layer.feeds()
	}
	if n > 1 && idle[n-1] && count(idle, true) == 1 {
		r.starts = r.starts[:n]
	}
	if mixed := count(mixes, true); mixed > 0 && AtLeast(mixed, mixersLeast, n-count(bare, true)) {
		l := -1
		r.starts = slices.DeleteFunc(r.starts, func(int) bool {
			l++
			return l > 0 && l < r.layers() && bare[l]
		})
	}
}
