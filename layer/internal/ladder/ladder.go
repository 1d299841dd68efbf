package ladder

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/layer/internal/segment"
	"github.com/llmstrata/strata/trace"
)

// The errors of evidence.
var (
	ErrNoEvidence    = errors.New("layer: no evidence")
	ErrContradiction = errors.New("layer: config contradicts the trace")
)

// assignLayers finds the layers of each pass by the best evidence its kernels have. N comes from flags or config,
// else from module frames, else from a vote of the passes.
func (w *Work) assignLayers(results []*Result, f *Frames, m *Model) {
	byFrames := false
	for _, r := range results {
		if f != nil && w.byModules(r, f) {
			byFrames = true
			r.read = nil
		}
	}
	own, follow := clean(results)
	w.assignOwn(own, byFrames, m)
	for _, r := range follow {
		if r.LayerEvidence == RungNone {
			w.byVariant(r)
		}
	}
}

// assignOwn finds the layers of passes without others like them; byFrames says that frames gave those of some.
func (w *Work) assignOwn(results []*Result, byFrames bool, m *Model) {
	if byFrames && m.Layers == 0 {
		for _, r := range results {
			if r.LayerEvidence == RungModule {
				m.Layers, m.Source = max(m.Layers, r.framed.layers), FromModules
			}
		}
	}
	w.cutFramed(results, m)
	if w.OnlyModules {
		return
	}
	if m.UseAnchors {
		if m.Layers == 0 {
			m.Layers, m.Source = w.layersByAnchors(results, m), FromAnchors
		}
		for _, r := range results {
			if r.LayerEvidence == RungNone {
				w.byAnchors(r, m)
			}
		}
		if w.OnlyAnchors {
			return
		}
	}
	if w.convolves(results) {
		return
	}
	if m.Layers == 0 {
		n := voteLayers(results)
		if n == 0 {
			return
		}
		m.Layers, m.Source = n, FromRepeats
	}
	w.assignWhole(results, m)
	w.assignCut(results, m.Layers)
}

// convolves says whether passes are those of a model of convolutions, as the decoder of images is: what repeats in it
// are no layers.
func (w *Work) convolves(results []*Result) bool {
	convolutions, products := 0, 0
	for _, r := range results {
		c, p, mixes := w.convolutions(r.Kernels)
		if mixes {
			return false
		}
		convolutions, products = convolutions+c, products+p
	}
	return convolutions > products
}

// convolutions counts the convolutions of kernels and their other products; mixes says that one mixes tokens.
func (w *Work) convolutions(kernels []int32) (convolutions, products int, mixes bool) {
	for _, i := range kernels {
		switch f := &w.Facts[w.ID[i]]; {
		case w.RoleOf(i) == RoleMixer:
			mixes = true
		case f.Convolves():
			convolutions++
		case f.Role == classify.RoleProduct:
			products++
		}
	}
	return convolutions, products, mixes
}

// assignWhole finds the layers of whole passes by their own repeats.
func (w *Work) assignWhole(results []*Result, m *Model) {
	var memo segment.Memo[int] // passes of equal kernels have equal layers, whatever tiles they run
	known := map[*Sequence]*segment.Cut{}
	for p, r := range results {
		if w.Ended() != nil {
			return
		}
		if r.LayerEvidence == RungModule && r.Cut == Uncut {
			r.shadow(m.Layers, known) // a structure to find cut passes with
		}
		if r.LayerEvidence != RungNone {
			continue
		}
		if q := memo.Get(r.Seq.Base, func() int { return p }); q != p {
			if first := results[q]; first.st != nil && first.Cut == Uncut {
				w.byStructure(r, first.st, first.LayerEvidence, first.LayerConf)
			}
			continue
		}
		if r.Cut == Uncut {
			w.byRepeats(r, m.Layers)
		}
	}
}

// assignCut finds the layers of passes that the window cuts by those of a whole one, or by nothing but themselves.
func (w *Work) assignCut(results []*Result, n int) {
	alone := len(wholePasses(results)) == 0
	for _, r := range results {
		atEdge := r.atStart || r.atEnd
		if r.Draft || r.LayerEvidence != RungNone || !atEdge && (alone || r.Cut == Uncut) {
			continue
		}
		if w.Ended() != nil {
			return
		}
		switch whole := nearestPasses(wholePasses(results), r.Seq); {
		case alone:
			if !w.byFragment(r, n) && w.byRepeats(r, n) {
				r.Cut = Uncut // its comb lacked kernels that were lost
			}
		case r.Cut != Uncut:
			w.byReference(r, whole, n)
		default:
			if r.Cut = CutAtEnd; r.atStart {
				r.Cut = CutAtStart
			}
			if !w.byReference(r, whole, n) {
				r.Cut = Uncut
				w.byFragment(r, n) // another stage than the whole passes: no kernel in common
			} else if r.foreign {
				w.byItself(r)
			}
		}
	}
}

// byItself reads a pass that was read by one of another kind again, by its own repeats, where these explain as much
// of it: nothing is cut off it, and it is another model's.
func (w *Work) byItself(r *Result) {
	n := segment.Number(r.Seq)
	if n < segment.StackLayers {
		return
	}
	if c, ok := segment.Layers(r.Seq, n); ok && segment.Explained(r.Seq, c) >= segment.Explained(r.Seq, r.st) {
		w.byStructure(r, c, RungRepeat, segment.Confidence(r.Seq, c))
		r.Cut, r.foreign = Uncut, false
	}
}

// shadow computes the structure of a pass whose layers the module frames gave, as a reference for cut passes: it
// keeps the frames' layers. known are the structures of the passes before.
func (r *Result) shadow(n int, known map[*Sequence]*segment.Cut) {
	c, seen := known[r.Seq]
	if !seen {
		if best, ok := segment.Best(r.Seq, n); ok && best.Similarity >= segment.MinSimilarity {
			c = best
		}
		known[r.Seq] = c
	}
	if r.st = c; c == nil {
		return
	}
	// The frames know where layers begin; the structure's boundary must agree with them.
	if k := slices.Index(r.layersOfLine(), 1); k >= 0 {
		if moved, ok := c.BeginningAt(k); ok {
			r.st = moved
		}
	}
}

// wholePasses returns the complete passes whose structure is known: of equal ones the first, and those more certain.
func wholePasses(results []*Result) (whole []*Result) {
	type structure struct {
		seq *Sequence
		st  *segment.Cut
	}
	surest := map[structure]float64{}
	for _, r := range results {
		s := structure{r.Seq, r.st}
		if conf, ok := surest[s]; r.st != nil && r.Cut == Uncut && !(ok && conf >= r.LayerConf) {
			surest[s], whole = r.LayerConf, append(whole, r)
		}
	}
	return whole
}

// nearestPasses returns those of the whole passes with most of the kernels of s, as prefill and decode may have none
// in common: one of each structure, those with the most certain layers first, then the earliest.
func nearestPasses(whole []*Result, s *Sequence) (best []*Result) {
	most := 0
	var memo segment.Memo[int]
	for _, r := range whole {
		n := memo.Get(r.Seq.ID, func() int { return segment.Common(s, r.Seq) })
		if n > most {
			best, most = best[:0], n
		}
		if n == most && !slices.ContainsFunc(best, func(o *Result) bool {
			return o.st == r.st &&
				o.LayerConf >= r.LayerConf
		}) {
			best = append(best, r)
		}
	}
	slices.SortStableFunc(best, func(a, b *Result) int { return cmp.Compare(b.LayerConf, a.LayerConf) })
	return best
}

// layersByAnchors is N where nothing says it: the most frequent number of anchors per pass, by blocks.
func (w *Work) layersByAnchors(results []*Result, m *Model) int {
	votes := map[int]int{}
	for _, r := range results {
		if n := len(w.anchorPositions(r.line, m)); n%m.Blocks == 0 {
			votes[n/m.Blocks] += n
		}
	}
	return segment.MostVotes(votes)
}

// voteLayers asks every pass for its number of layers; votes weigh by kernels in layers. A pass at the edge of the
// window that the window cuts votes only where no other does: two of them would outvote a whole one between them.
func voteLayers(results []*Result) int {
	whole, cut := vote{map[int]int{}, map[int]*Sequence{}}, vote{map[int]int{}, map[int]*Sequence{}}
	var memo segment.Memo[int]
	for _, r := range results {
		s, passes := r.Seq, max(1, r.restored)
		n := memo.Get(s.Base, func() int { return segment.Number(s) })
		switch {
		case n < 2:
		case (r.atStart || r.atEnd) && segment.CutOff(s, n, r.atStart, r.atEnd):
			cut.add(n, s, passes)
		default:
			whole.add(n, s, passes)
		}
	}
	if len(whole.kernels) == 0 {
		whole = cut
	}
	return segment.Settle(whole.shows, whole.kernels)
}

// A vote is the kernels of the passes that show a number of layers, and the first one that does, by the number.
type vote struct {
	kernels map[int]int
	shows   map[int]*Sequence
}

func (v vote) add(n int, s *Sequence, passes int) {
	if v.kernels[n] == 0 {
		v.shows[n] = s
	}
	v.kernels[n] += s.Len() * passes
}

// addLoose makes passes of runs of unclaimed kernels that hold layers, and mix tokens as whole passes do: passes whose
// mark, or whose launches, lie outside the window or were lost.
func (w *Work) addLoose(results []*Result, m *Model) []*Result {
	if len(results) == 0 {
		return nil
	}
	spans := make([]Span, len(results))
	for p, r := range results {
		spans[p] = r.Span
	}
	complete := wholePasses(results)
	for _, run := range w.looseRuns(spans) {
		cut, between := CutAtStart, false
		switch {
		case run[0] == w.Order[0]:
			if results[0].precededBy(run) {
				continue
			}
		case run[len(run)-1] == w.Order[len(w.Order)-1]:
			cut = CutAtEnd
		default:
			between = true
		}
		r := w.prepare(Span{Kernels: run, Evidence: RungStructure, Conf: segment.ConfidenceLoose, Cut: cut})
		whole := nearestPasses(complete, r.Seq)
		if len(whole) == 0 {
			continue
		}
		r.Model = whole[0].Model // they are the model's
		if !w.byReference(r, whole, m.Layers) || between && r.Count < segment.StackLayers ||
			r.Seq.Count(RoleMixer) == 0 && whole[0].Seq.Count(RoleMixer) > 0 {
			continue // batch preparation and sampling that no mark covers
		}
		if between && r.Count == m.Layers && !r.CutFirst {
			r.Cut = Uncut // the window cuts nothing there
		}
		results = append(results, r)
	}
	if len(results) > len(spans) {
		w.sortByTime(results)
	}
	return results
}

// sortByTime sorts passes by the start of their first kernel: of two streams, passes that were launched later may run
// earlier.
func (w *Work) sortByTime(results []*Result) {
	first := make(map[*Result]trace.Time, len(results))
	for _, r := range results {
		first[r] = w.Act(slices.Min(r.Kernels)).Start()
	}
	slices.SortStableFunc(results, func(a, b *Result) int { return cmp.Compare(first[a], first[b]) })
}

// precededBy takes a run before a pass into the pass, where frames say that the window cuts off its beginning:
// what the host launched before the window.
func (r *Result) precededBy(run []int32) bool {
	if r.LayerEvidence != RungModule || !r.Cut.ends().Start {
		return false
	}
	r.Kernels, r.Layer = slices.Concat(run, r.Kernels), slices.Concat(slices.Repeat([]int32{None}, len(run)), r.Layer)
	return true
}

// checkAgainst compares what was found with what config or flags say.
func (w *Work) checkAgainst(results []*Result, f *Frames, m *Model) error {
	if m.Source != FromConfig && m.Source != FromFlag {
		return nil
	}
	from := fmt.Sprintf("the config says %d layers", m.Layers)
	if m.Source == FromFlag {
		from = fmt.Sprintf("%d layers were asked for", m.Layers)
	}
	for p, r := range results {
		if r.LayerEvidence == RungModule && (r.First+r.Count > m.Layers || r.First+r.Count < m.Layers &&
			r.Cut == Uncut && hasBothEnds(r)) {
			return fmt.Errorf("%w: %s, the module frames of pass %d show %d (a pipeline rank holds a part of the layers: "+
				"give --num-layers %d)", ErrContradiction, from, p, r.First+r.Count, r.Count)
		}
	}
	found := slices.ContainsFunc(results, func(r *Result) bool { return r.Count > 0 })
	var whole []*Sequence
	for _, r := range results {
		if r.LayerEvidence == RungRepeat && r.Cut == Uncut {
			whole = append(whole, r.Seq)
		}
	}
	n := segment.Contradiction(whole, m.Layers)
	if n == 0 {
		// Where every pass was cut at every second or third occurrence of its anchor only, the trace may have more
		// layers.
		if !found || !slices.ContainsFunc(results, func(r *Result) bool {
			return r.st == nil || r.st.Comb.Stride == 1 && r.st.Comb.Occurs(r.Seq) == m.Layers
		}) {
			n = voteLayers(results)
		}
		if found && (n <= m.Layers || n%m.Layers != 0) || !slices.ContainsFunc(results, func(r *Result) bool {
			return segment.StrongVote(r.Seq, n)
		}) {
			n = 0
		}
	}
	if n > 0 {
		return fmt.Errorf("%w: %s, the kernels repeat %d times a pass (a pipeline rank holds a part of the layers: give "+
			"--num-layers %d)", ErrContradiction, from, n, n)
	}
	if !found && w.OnlyRepeats {
		return fmt.Errorf("%w: %s, and no kernel repeats that often in any of %d passes", ErrNoEvidence, from,
			len(results))
	}
	return nil
}

// hasBothEnds reports whether kernels are before the first layer and after the last one, as embedding and logits do:
// the window does not cut the pass.
func hasBothEnds(r *Result) bool {
	after := 0
	for _, l := range slices.Backward(r.Layer) {
		if l != None {
			break
		}
		after++
	}
	return after >= segment.EndKernels && r.Layer[0] == None && r.First == 0
}

// Found is what the passes of a GPU were found to be.
type Found struct {
	Results  []Result // with steps that launched nothing
	Model    *Model   // the one with most GPU time
	Evidence []Evidence
	Notes    []string
}

// Climb finds passes, then layers in each, then the passes that the window cut. The error is that of Ended, or wraps
// [ErrContradiction] or [ErrNoEvidence].
func (w *Work) Climb(f *Frames, m *Model) (*Found, error) {
	spans, evidence := w.findPasses(f, m)
	results := make([]*Result, len(spans))
	for p := range spans {
		if err := w.Ended(); err != nil {
			return nil, err
		}
		results[p] = w.prepare(spans[p])
	}
	results = w.findVariants(results)
	if parts := w.divideTowers(results); len(parts) > len(results) {
		results = w.findVariants(parts)
	}
	w.restore(results)
	w.findInstances(results)
	m = w.assignByModel(results, f, m)
	w.sortByTime(results)
	if !w.SeveralModels() { // else what lies between the passes is of no known model
		results = w.addLoose(results, m)
		w.judge(results, m)
	}
	if err := w.Ended(); err != nil {
		return nil, err
	}
	if err := w.checkAgainst(w.ofModel(results, m), f, m); err != nil {
		return nil, err
	}
	results = w.dropStarts(results)
	notes := w.dropStrays(results)
	return &Found{w.withEmpty(results), m, evidence, notes}, nil
}
