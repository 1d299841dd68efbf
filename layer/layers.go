package layer

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"github.com/llmstrata/strata/trace"
)

// A passResult is a pass with the layer of each of its kernels.
type passResult struct {
	passSpan
	line      []int32 // kernels of the main line, in launch order
	side      []int32 // kernels of streams that run beside it
	second    []int32 // kernels of a second half of the batch, see secondHalf
	seq       *sequence
	layer     []int32 // per kernel of passSpan.kernels
	count     int     // layers present
	first     int     // index of the first one
	levidence string
	lconf     float64
	st        *structure // nil unless by anchors or repeats
	cutFirst  bool       // the first layer is cut by the window
	cutLast   bool
}

// mainLine separates the kernels of streams that run beside the main one within a graph replay (or where nothing is known
// about launches). Kernels that were launched one by one need no separation: launch order is program order. A stream is
// beside the main one when more than one in twenty of its kernels overlaps it; streams that take turns are merged by start.
func (w *work) mainLine(kernels []int32) (line, side []int32) {
	type group struct {
		launch trace.EventID
		known  bool
	}
	groups := map[group][]int32{}
	var keys []group
	for _, i := range kernels {
		w.watch.Row()
		g := group{trace.NoEvent, false}
		switch {
		case w.replayed(i) && w.launch[i].Valid():
			g = group{w.launch[i].ID(), true}
		case w.known(i):
			continue
		}
		if _, ok := groups[g]; !ok {
			keys = append(keys, g)
		}
		groups[g] = append(groups[g], i)
	}
	beside := map[int32]bool{}
	for _, g := range keys {
		w.markBeside(groups[g], beside)
	}
	if len(beside) == 0 {
		return kernels, nil
	}
	for _, i := range kernels {
		if beside[i] {
			side = append(side, i)
		} else {
			line = append(line, i)
		}
	}
	return line, side
}

// markBeside adds the kernels of one replay that run beside its main stream to the set.
func (w *work) markBeside(kernels []int32, beside map[int32]bool) {
	count := map[trace.StreamID]int{}
	for _, i := range kernels {
		count[w.acts[i].Stream()]++
	}
	if len(count) < 2 {
		return
	}
	var mainStream trace.StreamID
	most := 0
	for s, n := range count {
		if n > most || n == most && s < mainStream {
			mainStream, most = s, n
		}
	}
	sorted := append([]int32(nil), kernels...)
	sort.Slice(sorted, func(a, b int) bool {
		w.watch.Row()
		return sorted[a] < sorted[b]
	})
	var mainEnd trace.Time = math.MinInt64
	overlap := map[trace.StreamID]int{}
	sideEnd := map[trace.StreamID]trace.Time{}
	for _, i := range sorted {
		w.watch.Row()
		e := w.acts[i]
		s := e.Stream()
		if s == mainStream {
			for o, end := range sideEnd {
				if end > e.Start() {
					overlap[o]++
					delete(sideEnd, o)
				}
			}
			mainEnd = max(mainEnd, e.End())
			continue
		}
		if mainEnd > e.Start() {
			overlap[s]++
			delete(sideEnd, s)
		} else {
			sideEnd[s] = e.End()
		}
	}
	for _, i := range kernels {
		s := w.acts[i].Stream()
		if s != mainStream && 20*overlap[s] > count[s] {
			beside[i] = true
		}
	}
}

// assignSide gives every kernel beside the main line the layer whose window holds its start: from the start of that
// layer's first kernel to the start of the next one's. A name that does not recur belongs to no layer.
func (w *work) assignSide(r *passResult, layerOf map[int32]int32) {
	if len(r.side) == 0 || r.count == 0 {
		return
	}
	type mark struct {
		at    trace.Time
		layer int32
	}
	w.watch.Rows(len(r.line) + len(r.side))
	var marks []mark
	prev := int32(-2)
	for _, i := range r.line {
		if l := layerOf[i]; l != prev {
			marks = append(marks, mark{w.acts[i].Start(), l})
			prev = l
		}
	}
	sort.SliceStable(marks, func(a, b int) bool { return marks[a].at < marks[b].at })
	recurs := map[int32]int{}
	for _, i := range r.side {
		recurs[w.seq.fine[i]]++
	}
	for _, i := range r.side {
		layerOf[i] = None
		if 4*recurs[w.seq.fine[i]] < r.count {
			continue
		}
		x := w.acts[i].Start()
		if k := sort.Search(len(marks), func(k int) bool { return marks[k].at > x }) - 1; k >= 0 {
			layerOf[i] = marks[k].layer
		}
	}
}

// prepare separates the main line and makes its sequence.
func (w *work) prepare(span passSpan) passResult {
	r := passResult{passSpan: span, lconf: 0, levidence: "none"}
	first, second := w.withoutHalf(span.kernels)
	r.line, r.side = w.mainLine(first)
	r.second = second
	r.seq = w.sequenceOf(r.line)
	r.layer = make([]int32, len(span.kernels))
	for k := range r.layer {
		r.layer[k] = None
	}
	return r
}

// byModules assigns what the module frames tell. It reports false when they tell too little of the pass: kernels of graph
// replays outnumber those under a layer frame.
func (w *work) byModules(r *passResult, f *frames) bool {
	inside, silent := 0, 0
	lo, hi := math.MaxInt, -1
	for k, i := range r.kernels {
		w.watch.Row()
		l, told := w.layerOf(f, i)
		r.layer[k] = int32(l)
		switch {
		case l != None:
			inside++
			lo, hi = min(lo, l), max(hi, l)
		case !told:
			silent++
		}
	}
	if inside == 0 || silent > inside {
		for k := range r.layer {
			r.layer[k] = None
		}
		return false
	}
	// A second instance of the same class continues the first one's numbers: {36…71} are the layers 0…35 of that model.
	if span := hi - lo + 1; lo >= span {
		for k, l := range r.layer {
			if l != None {
				r.layer[k] = l - int32(lo)
			}
		}
		lo, hi = 0, hi-lo
	}
	r.first, r.count = lo, hi-lo+1
	r.levidence, r.lconf = "module", 1
	return true
}

// byStructure writes the layers of a structure over the pass's main line and side streams.
func (w *work) byStructure(r *passResult, st structure, evidence string, conf float64) {
	w.watch.Rows(4 * len(r.kernels)) // a map entry each
	layerOf := make(map[int32]int32, len(r.kernels))
	l := 0
	for k, i := range r.line {
		for l < st.layers() && k >= st.starts[l+1] {
			l++
		}
		if k < st.starts[0] || l >= st.layers() {
			layerOf[i] = None
			continue
		}
		layerOf[i] = int32(l)
	}
	r.count = st.layers()
	w.assignSide(r, layerOf)
	w.assignHalf(r, st, layerOf)
	for k, i := range r.kernels {
		r.layer[k] = layerOf[i]
	}
	r.first = 0
	r.st, r.levidence, r.lconf = &st, evidence, conf
}

// byRepeats finds n layers in the pass; it reports false when the pass has no such structure.
func (w *work) byRepeats(r *passResult, n int) bool {
	st, ok := findRepeats(r.seq, n)
	if !ok || st.sim < minSimilarity && n > 2 || st.anchors.cost > 0.6 || overcounts(r.seq, st, n) {
		return false
	}
	w.byStructure(r, st, "repeat", repeatConfidence(r.seq, st))
	return true
}

// repeatConfidence is the share of kernels in layers whose sequence of base names occurs at least twice in the pass, less a
// tenth where the boundary was a guess between several places.
func repeatConfidence(s *sequence, st structure) float64 {
	count := map[uint64]int{}
	hashes := make([]uint64, st.layers())
	for l := range hashes {
		hashes[l] = hashNames(s.base[st.starts[l]:st.starts[l+1]])
		count[hashes[l]]++
	}
	shared, total := 0, 0
	for l, h := range hashes {
		n := st.starts[l+1] - st.starts[l]
		total += n
		if count[h] > 1 {
			shared += n
		}
	}
	if total == 0 {
		return 0
	}
	c := 0.7 + 0.29*float64(shared)/float64(total)
	if !st.byRole && st.hi > st.lo {
		c -= 0.1
	}
	return math.Round(c*1000) / 1000
}

// byReference finds the layers of a pass that the window cuts, with the anchors and the unit of a whole pass. Layers are
// numbered from the end when the start is missing.
func (w *work) byReference(r *passResult, whole *passResult, n int) bool {
	if whole.st == nil {
		return false
	}
	set := whole.st.anchors
	symbols := r.seq.fine
	if set.base {
		symbols = r.seq.base
	}
	var pos []int
	w.watch.Rows(len(symbols))
	for k, sym := range symbols {
		if sym == set.symbol {
			pos = append(pos, k)
		}
	}
	if set.stride > 1 {
		pos = strided(pos, set.stride, r.cut)
	}
	if len(pos) == 0 {
		return false
	}
	if len(pos) > n {
		if r.cut == CutAtStart {
			pos = pos[len(pos)-n:]
		} else {
			pos = pos[:n]
		}
	}
	st := cutAt(r.seq, anchorSet{pos: pos, symbol: set.symbol, base: set.base, stride: set.stride}, &whole.st.ref)
	atStart := r.cut == CutAtStart || r.cut == CutAtBoth
	atEnd := r.cut == CutAtEnd || r.cut == CutAtBoth
	if atStart && st.starts[0] > 0 && st.layers() < n { // what precedes the first whole layer is the end of one
		st.starts = append([]int{0}, st.starts...)
		r.cutFirst = true
	} else if atStart && st.starts[0] == 0 {
		r.cutFirst = true
	}
	if end := st.starts[st.layers()]; atEnd && st.layers() < n && end < r.seq.len() {
		st.starts = append(st.starts, r.seq.len())
		r.cutLast = true
	}
	cutFirst, cutLast := r.cutFirst, r.cutLast
	w.byStructure(r, st, "repeat", 0.8)
	r.cutFirst, r.cutLast = cutFirst, cutLast
	if atStart && !atEnd {
		shift := int32(n - r.count)
		for k, l := range r.layer {
			if l != None {
				r.layer[k] = l + shift
			}
		}
		r.first = int(shift)
	}
	if r.cut == CutAtBoth {
		r.lconf = 0.4 // which layers these are cannot be told
	}
	return true
}

// byFragment finds the layers of a pass that the window cuts, from nothing but itself: it holds fewer than n layers, and
// where it ends, or begins, it is in the middle of one. It reports false otherwise; a pass with an end of its own that holds
// fewer layers than the config says is a contradiction, not a fragment.
func (w *work) byFragment(r *passResult, n int) bool {
	g := guessLayers(r.seq, false)
	if len(g) == 0 || g[0].n >= n {
		return false
	}
	own := passResult{seq: r.seq}
	st, ok := findRepeats(r.seq, g[0].n)
	if !ok || st.sim < minSimilarity && g[0].n > 2 {
		return false
	}
	own.st = &st
	fits := goesOn(r.seq, st.starts)
	was := r.cut
	switch {
	case was != Whole: // the search for passes saw an end
	case fits:
		r.cut = CutAtEnd
	case st.starts[0] == 0:
		r.cut = CutAtStart
	default:
		return false
	}
	if !w.byReference(r, &own, n) {
		r.cut = was
		return false
	}
	r.lconf = min(r.lconf, 0.7)
	return true
}

// goesOn says whether what follows the last layer is the beginning of another one, which the window cuts: hardly a kernel of
// it is foreign to the layers. A pass with an end of its own has logits and sampling there.
func goesOn(s *sequence, starts []int) bool {
	return likeLayers(s, starts, starts[len(starts)-1], s.len())
}

// comesFrom says the same of what precedes the first layer. A pass with a beginning of its own has an embedding there.
func comesFrom(s *sequence, starts []int) bool {
	return likeLayers(s, starts, 0, starts[0])
}

// likeLayers says whether the kernels in [from, to) are at most a layer's and one in five at most foreign to the layers.
func likeLayers(s *sequence, starts []int, from, to int) bool {
	s.watch.Rows(s.len())
	longest := 0
	inside := map[int32]bool{}
	for l := range len(starts) - 1 {
		longest = max(longest, starts[l+1]-starts[l])
		for _, b := range s.base[starts[l]:starts[l+1]] {
			inside[b] = true
		}
	}
	foreign := 0
	for _, b := range s.base[from:to] {
		if !inside[b] {
			foreign++
		}
	}
	return to-from <= longest && 5*foreign <= to-from
}

// strided keeps every stride-th position, counted from the end that is present.
func strided(pos []int, stride int, cut Partial) []int {
	var out []int
	if cut == CutAtStart {
		for k := len(pos) - 1; k >= 0; k -= stride {
			out = append([]int{pos[k]}, out...)
		}
		return out
	}
	for k := 0; k < len(pos); k += stride {
		out = append(out, pos[k])
	}
	return out
}

// describe says in words and numbers what a structure rests on.
func (w *work) describe(r *passResult) string {
	st := r.st
	if st == nil {
		return ""
	}
	var b strings.Builder
	lengths := map[int]int{}
	for l := range st.layers() {
		lengths[st.starts[l+1]-st.starts[l]]++
	}
	var ls []int
	for l := range lengths {
		ls = append(ls, l)
	}
	sort.Slice(ls, func(a, c int) bool {
		if lengths[ls[a]] != lengths[ls[c]] {
			return lengths[ls[a]] > lengths[ls[c]]
		}
		return ls[a] < ls[c]
	})
	fmt.Fprintf(&b, "%d layers of ", st.layers())
	for k, l := range ls {
		if k == 3 {
			fmt.Fprintf(&b, ", … (%d lengths)", len(ls))
			break
		}
		if k > 0 {
			b.WriteString(", ")
		}
		if len(ls) == 1 {
			fmt.Fprintf(&b, "%d kernels", l)
		} else {
			fmt.Fprintf(&b, "%d×%d", lengths[l], l)
		}
	}
	if len(st.anchors.pos) > 0 {
		fmt.Fprintf(&b, "; anchor %s", clip(w.names[r.seq.fine[st.anchors.pos[0]]], 48))
	}
	switch width := abs(st.hi - st.lo); {
	case width == 0:
		b.WriteString("; boundary certain")
	case st.byRole:
		fmt.Fprintf(&b, "; boundary open by %d kernels, placed at the input norm", width)
	default:
		fmt.Fprintf(&b, "; boundary open by %d kernels", width)
	}
	return b.String()
}
