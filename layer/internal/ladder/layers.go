package ladder

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer/internal/segment"
	"github.com/llmstrata/strata/trace"
)

// A Result is a pass with the layer of each of its kernels.
type Result struct {
	Span
	line           []int32 // kernels of the main line, in launch order
	Second         []int32 // kernels of a second half of the batch, see secondHalf
	Seq            *Sequence
	Layer          []int32 // per kernel of Span.kernels
	Count          int     // layers present
	First          int     // index of the first one
	FromEnd        bool    // layers count from the end: which the first one is cannot be known
	LayerEvidence  Rung
	LayerConf      float64
	doubts         segment.Doubts
	Scrambled      bool          // times of its records are not those of their kernels
	foreign        bool          // read by a whole pass whose layers are unlike these
	st             *segment.Cut  // nil unless by anchors or repeats
	variant        *variant      // what passes like it run
	instance       int           // of the model, see ModelKey
	read           *reading      // nil where its layers are its own
	Missing        []segment.Gap // columns of the variant whose records are missing
	restored       int           // of how many passes it is what they ran without their losses; 0: it is of the trace
	atStart, atEnd bool          // the window begins, ends, with it
	Tower          bool          // a stack that the call of a model runs before the model's own layers
	CutFirst       bool          // the first layer is cut by the window
	CutLast        bool
	framed         frameSpan // what frames show of the calls whose layers it has: see cutByFrames
}

// split returns the kernels for which something holds, and the others.
func split(kernels []int32, holds func(int32) bool) (yes, no []int32) {
	for _, i := range kernels {
		if holds(i) {
			yes = append(yes, i)
		} else {
			no = append(no, i)
		}
	}
	return yes, no
}

// OneStream says that no two of the kernels are of different streams.
func (w *Work) OneStream(kernels []int32) bool {
	if len(kernels) == 0 || w.oneStream {
		return true
	}
	first := w.Act(kernels[0]).Stream()
	return !slices.ContainsFunc(kernels, func(i int32) bool { return w.Act(i).Stream() != first })
}

// streamsOf returns the streams of kernels, the busiest first, and how many run on each.
func (w *Work) streamsOf(kernels []int32) (streams []trace.StreamID, count map[trace.StreamID]int) {
	count = map[trace.StreamID]int{}
	for _, i := range kernels {
		count[w.Act(i).Stream()]++
	}
	return slices.SortedFunc(maps.Keys(count), func(a, b trace.StreamID) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	}), count
}

// prepare separates the second half of a batch and makes the sequence of the first.
func (w *Work) prepare(span Span) *Result {
	r := &Result{Span: span, LayerEvidence: RungNone}
	if r.line = span.Kernels; !w.OneStream(span.Kernels) {
		r.line, r.Second = w.withoutHalf(span.Kernels)
	}
	r.Seq = w.sharedSequence(r.line, span.Model)
	r.Layer = slices.Repeat([]int32{None}, len(span.Kernels))
	return r
}

// layersOfLine returns the layer of each kernel of the main line, which are in the order of the pass.
func (r *Result) layersOfLine() []int32 {
	if len(r.line) == len(r.Kernels) {
		return r.Layer
	}
	layers := placesIn(r.Kernels, r.line)
	for k, at := range layers {
		layers[k] = r.Layer[at]
	}
	return layers
}

// byModules assigns what the module frames show. It reports false when they show too little of the pass: kernels of
// graph replays outnumber those under a layer frame.
func (w *Work) byModules(r *Result, f *Frames) bool {
	inside, silent := 0, 0
	lo, hi := math.MaxInt, 0
	for k, i := range r.Kernels {
		l, known := w.layerOf(f, i)
		switch {
		case l != nil && l.Index != None:
			root := &f.roots[w.thread(i)][l.root]
			if inside++; inside == 1 {
				r.framed = *root
			}
			r.Layer[k], r.framed.toLayer = int32(l.Index), root.toLayer
			lo, hi = min(lo, l.Index), max(hi, l.Index)
			r.framed.first, r.framed.layers = min(r.framed.first, root.first), max(r.framed.layers, root.layers)
		case !known:
			silent++
		}
	}
	if inside == 0 || silent > inside || hi >= segment.MaxLayers {
		r.Layer = slices.Repeat([]int32{None}, len(r.Kernels))
		return false
	}
	r.First, r.Count = lo, hi-lo+1
	r.LayerEvidence, r.LayerConf = RungModule, 1
	return true
}

// byStructure writes the layers of a structure over the pass's main line and side streams.
func (w *Work) byStructure(r *Result, c *segment.Cut, evidence Rung, conf float64) {
	r.Count, r.st, r.LayerEvidence, r.LayerConf = c.Layers(), c, evidence, conf
	r.First, r.CutFirst, r.CutLast = 0, false, false // whatever it was read as before
	layers := make([]int32, len(r.line))
	layersBetween(c.Starts, layers)
	w.spreadLayers(r, layers)
}

// spreadLayers writes the layers of a pass's line, and those that its cut gives a second half of the batch.
func (w *Work) spreadLayers(r *Result, layers []int32) {
	if len(r.line) == len(r.Kernels) {
		copy(r.Layer, layers)
		return
	}
	layerOf := make(map[int32]int32, len(r.Kernels))
	for k, i := range r.line {
		layerOf[i] = layers[k]
	}
	w.assignHalf(r, layerOf)
	for k, i := range r.Kernels {
		r.Layer[k] = layerOf[i]
	}
}

// layersBetween writes the layer of each kernel of a line; starts are those of the layers, and the end of the last one.
func layersBetween(starts []int, layers []int32) {
	l := 0
	for k := range layers {
		for l < len(starts)-1 && k >= starts[l+1] {
			l++
		}
		if layers[k] = int32(l); k < starts[0] || l == len(starts)-1 {
			layers[k] = None
		}
	}
}

// Modulated says whether the layers of a pass are those of a diffusion transformer.
func (r *Result) Modulated() bool { return r.st != nil && segment.Modulated(r.Seq, r.st) }

// byRepeats finds n layers in the pass; it reports false when the pass has no such structure.
func (w *Work) byRepeats(r *Result, n int) bool {
	c, ok := segment.Layers(r.Seq, n)
	if !ok {
		return false
	}
	w.byStructure(r, c, RungRepeat, segment.Confidence(r.Seq, c))
	return true
}

// byReference finds the layers of a pass that the window cuts, with the comb and the unit of a whole pass. Layers are
// numbered from the end when the start is missing.
func (w *Work) byReference(r *Result, whole []*Result, n int) bool {
	f, foreign := fitted(r.Seq, whole, n, r.Cut)
	if f == nil {
		return false
	}
	r.foreign = foreign
	w.byFitted(r, f, RungRepeat, segment.ConfidenceReference)
	return true
}

// fitted reads a pass that the window cuts by each of the whole ones and returns the reading with the layers that are
// most like those of its reference: an encoder runs the kernels of its decoder, in other layers. It is nil where none
// reads it; foreign says that even the best reading gives layers unlike the reference's.
func fitted(s *Sequence, whole []*Result, n int, cut Partial) (best *segment.Fitted, foreign bool) {
	var most float64
	for _, o := range whole {
		f, ok := segment.Fit(s, o.st, n, cut.ends())
		if !ok {
			continue
		}
		if like := f.LikeReference(s, o.Seq, o.st); best == nil || like > most {
			best, most = f, like
		}
	}
	return best, most < segment.DoubtForeign
}

// byFitted writes the layers of a pass that the window cuts.
func (w *Work) byFitted(r *Result, f *segment.Fitted, evidence Rung, conf float64) {
	w.byStructure(r, f.Cut, evidence, conf)
	r.CutFirst, r.CutLast, r.First = f.CutFirst, f.CutLast, f.First
	for k, l := range r.Layer {
		if l != None {
			r.Layer[k] = l + int32(f.First)
		}
	}
}

// byFragment finds the layers of a pass that the window cuts, from nothing but itself: it holds fewer than n layers,
// and where it ends, or begins, it is in the middle of one. It reports false otherwise; a pass with an end of its own
// that holds fewer layers than the config says is a contradiction, not a fragment.
func (w *Work) byFragment(r *Result, n int) bool {
	f, cut, conf, ok := segment.Fragment(r.Seq, n, r.Cut.ends())
	if !ok {
		return false
	}
	r.Cut = partialOf(cut)
	w.byFitted(r, f, RungRepeat, conf)
	return true
}

// Describe says in words and numbers what a structure rests on.
func (w *Work) Describe(r *Result) string {
	st := r.st
	if st == nil {
		return ""
	}
	lengths := map[int]int{}
	for l := range st.Layers() {
		lengths[st.Starts[l+1]-st.Starts[l]]++
	}
	of := slices.SortedFunc(maps.Keys(lengths), func(a,
		b int) int {
		return cmp.Or(cmp.Compare(lengths[b], lengths[a]), cmp.Compare(a, b))
	})
	words := make([]string, min(len(of), 3), 4)
	for k := range words {
		words[k] = fmt.Sprintf("%d of %d", lengths[of[k]], of[k])
		if k == 0 {
			words[k] = table.Counted(lengths[of[k]], "layer", "layers") + " of " + table.Counted(of[k], "kernel", "kernels")
		}
	}
	if len(of) > 3 {
		words = append(words, fmt.Sprintf("… %d lengths", len(of)))
	}
	out := strings.Join(words, ", ")
	if len(st.Comb.Pos) > 0 {
		out += "; anchor " + clip(w.Names[r.Seq.ID[st.Comb.Pos[0]]], 48)
	}
	if width := max(st.Hi-st.Lo, st.Lo-st.Hi); width == 0 {
		out += "; layers start at one kernel only"
	} else if out += "; repetition alone leaves their start open by up to " + table.Counted(width, "kernel",
		"kernels"); st.ByRole {
		out += ", set at the input norm"
	}
	if words := segment.Words(r.doubts); words != "" {
		out += "; in doubt: " + words
	}
	return out
}

// byLayer returns the kernels of each layer, in launch order.
func (r *Result) byLayer() []segment.Part {
	of := make([]segment.Part, r.Count)
	to := 0
	for run := range runs(r.Layer, func(a, b *int32) bool { return *a == *b }) {
		if to += len(run); run[0] != None {
			of[int(run[0])-r.First].Add(r.Kernels, to-len(run), to)
		}
	}
	return of
}
