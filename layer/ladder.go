package layer

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/llmstrata/strata/internal/stop"
	"github.com/llmstrata/strata/layer/internal/segment"
	"github.com/llmstrata/strata/trace"
)

// The errors of evidence.
var (
	errNoEvidence    = errors.New("layer: no evidence")
	errContradiction = errors.New("layer: config contradicts the trace")
)

// look ends the analysis when its context has ended. It stands between passes: the structural core does not look.
func (w *Work) look() { w.watch.Rows(stop.Every) }

// assignLayers finds the layers of each pass by the best evidence its kernels have. N comes from flags or config, else from
// module frames, else from a vote of the passes.
func (w *Work) assignLayers(results []passResult, f *frames, m *modelFacts) {
	byFrames := 0
	for p := range results {
		if f != nil && w.byModules(&results[p], f) {
			byFrames++
		}
	}
	if byFrames > 0 {
		w.learnBegins(results)
	}
	if byFrames > 0 && m.layers == 0 {
		for p := range results {
			if results[p].levidence == "module" {
				m.layers = max(m.layers, results[p].first+results[p].count)
			}
		}
		m.source = "modules"
	}
	if w.onlyModules {
		return
	}
	if m.useAnchors {
		if m.layers == 0 {
			m.layers, m.source = w.layersByAnchors(results, m), "anchors"
		}
		for p := range results {
			if r := &results[p]; r.levidence == "none" {
				w.byAnchors(r, m)
			}
		}
		if w.onlyAnchors {
			return
		}
	}
	if m.layers == 0 {
		if n := voteLayers(results); n > 0 {
			m.layers, m.source = n, "repeats"
		}
	}
	if m.layers == 0 {
		return
	}
	w.assignWhole(results, m)
	w.doubtEdges(results, m.layers)
	w.assignCut(results, m.layers)
}

// assignWhole finds the layers of whole passes by their own repeats.
func (w *Work) assignWhole(results []passResult, m *modelFacts) {
	var memo segment.Memo[int] // passes of equal kernels (graph replays) have equal layers
	for p := range results {
		r := &results[p]
		w.look()
		if r.levidence == "module" {
			w.shadow(r, m) // a structure to find cut passes with
			continue
		}
		if r.levidence != "none" {
			continue
		}
		if q := memo.Get(r.seq.ID, func() int { return p }); q != p {
			if first := &results[q]; first.st != nil && first.cut == uncut {
				w.byStructure(r, first.st, first.levidence, first.lconf)
			}
			continue
		}
		if r.cut == uncut {
			w.byRepeats(r, m.layers)
		}
	}
}

// assignCut finds the layers of passes that the window cuts by those of a whole one, or by nothing but themselves.
func (w *Work) assignCut(results []passResult, n int) {
	if whole, _ := bestWhole(results, nil); whole == nil {
		for p := range results {
			if r := &results[p]; r.levidence == "none" && !r.draft && (p == 0 || p == len(results)-1) {
				if !w.byFragment(r, n) && w.byRepeats(r, n) {
					r.cut = uncut // its comb lacked kernels that were lost
				}
			}
		}
		return
	}
	for p := range results {
		r := &results[p]
		atEdge := p == 0 || p == len(results)-1
		if r.draft || r.levidence != "none" || !atEdge && r.cut == uncut {
			continue
		}
		w.look()
		whole, _ := bestWhole(results, r.seq)
		if r.cut != uncut {
			w.byReference(r, whole, n)
			continue
		}
		r.cut = cutAtEnd
		if p == 0 && len(results) > 1 {
			r.cut = cutAtStart
		}
		if !w.byReference(r, whole, n) {
			r.cut = uncut
			w.byFragment(r, n) // another stage than the whole passes: no kernel in common
		}
	}
}

// doubtEdges looks again at the first and the last pass: where the window cuts one, halves of its layers may be as many as
// the layers of a whole pass. Where it is shorter than another pass, and begins or ends within a layer, the layers of that
// pass count.
func (w *Work) doubtEdges(results []passResult, n int) {
	last := len(results) - 1
	if last < 1 {
		return
	}
	for _, p := range []int{0, last} {
		r := &results[p]
		if r.cut != uncut || r.levidence != "repeat" || r.evidence == "graph" {
			continue
		}
		d := params.Doubt(r.seq, r.st, false)
		cut := cutAtEnd
		switch {
		case p == 0 && d.Front:
			cut = cutAtStart
		case p == last && params.GoesOn(r.seq, r.st.Starts):
		default:
			continue
		}
		others := slices.Delete(slices.Clone(results), p, p+1)
		whole, length := bestWhole(others, r.seq)
		if whole == nil || !params.Shorter(r.seq.Len(), length) {
			continue
		}
		if f, ok := params.Fit(r.seq, whole, n, cut.ends()); ok && f.Layers() < n {
			r.cut = cut
			w.byFitted(r, f, "repeat", params.ConfidenceReference)
		}
	}
}

// learnBegins notes what layers under module frames begin with, for the passes that have none: graph replays, orphans.
func (w *Work) learnBegins(results []passResult) {
	count := map[uint64]int{}
	total := 0
	for p := range results {
		r := &results[p]
		if r.levidence != "module" {
			continue
		}
		layerOf := make(map[int32]int32, len(r.kernels))
		for k, i := range r.kernels {
			layerOf[i] = r.layer[k]
		}
		prev := int32(none)
		for k, i := range r.line {
			if l := layerOf[i]; l != prev && l > prev {
				count[r.seq.Pair(k)]++
				total++
				prev = l
			}
		}
	}
	w.begins = map[uint64]bool{}
	for p, n := range count {
		if params.OftenBegins(n, total) { // a stray launch at a layer's edge is no beginning
			w.begins[p] = true
		}
	}
	for p := range results {
		results[p].seq.Begins = w.begins
	}
}

// shadow computes the structure of a pass whose layers the module frames told, as a reference for cut passes: it keeps the
// frames' layers.
func (w *Work) shadow(r *passResult, m *modelFacts) {
	c, ok := params.Best(r.seq, m.layers)
	if !ok || !params.Alike(c) {
		return
	}
	r.st = c
	// The frames know where layers begin; the structure's boundary must agree with them.
	layerOf := make(map[int32]int32, len(r.kernels))
	for k, i := range r.kernels {
		layerOf[i] = r.layer[k]
	}
	for k, i := range r.line {
		if layerOf[i] == 1 {
			if moved, ok := c.BeginningAt(k); ok {
				r.st = moved
				return
			}
		}
	}
}

// bestWhole returns the cut of the whole pass that is the best reference for s: the one with most of its kernels, as prefill and
// decode may have none in common, then the one whose layers are surest, then the earliest. It is nil where no pass is whole.
func bestWhole(results []passResult, s *sequence) (c *segment.Cut, length int) {
	var best *passResult
	most := -1
	var memo segment.Memo[int]
	for p := range results {
		r := &results[p]
		if r.st == nil || r.cut != uncut {
			continue
		}
		n := memo.Get(r.seq.ID, func() int { return segment.Common(s, r.seq) })
		if n > most || n == most && r.lconf > best.lconf {
			best, most = r, n
		}
	}
	if best == nil {
		return nil, 0
	}
	return best.st, best.seq.Len()
}

// layersByAnchors is N where nothing says it: the most frequent number of anchors per pass, by blocks.
func (w *Work) layersByAnchors(results []passResult, m *modelFacts) int {
	votes := map[int]int{}
	for p := range results {
		if n := len(w.anchorPositions(results[p].line, m)); n%m.blocks == 0 && n > 0 {
			votes[n/m.blocks] += n
		}
	}
	return segment.MostVotes(votes)
}

// voteLayers asks every pass for its number of layers; votes weigh by kernels in layers.
func voteLayers(results []passResult) int {
	votes := map[int]int{}
	var voters []*sequence // one for each number
	var memo segment.Memo[int]
	for p := range results {
		s := results[p].seq
		n := memo.Get(s.ID, func() int { return params.Number(s) })
		if n >= 2 {
			if votes[n] == 0 {
				voters = append(voters, s)
			}
			votes[n] += s.Len()
		}
	}
	if len(votes) < 2 {
		return segment.MostVotes(votes)
	}
	return params.Settle(voters, votes)
}

// addLoose makes passes of runs of unclaimed kernels that hold layers: passes whose mark, or whose launches, lie outside the
// window.
func (w *Work) addLoose(results []passResult, m *modelFacts) []passResult {
	if whole, _ := bestWhole(results, nil); m.layers < 2 || whole == nil {
		return results
	}
	spans := make([]passSpan, len(results))
	for p := range results {
		spans[p] = results[p].passSpan
	}
	runs := w.looseRuns(spans)
	added := false
	for k, run := range runs {
		cut := cutAtBoth
		switch {
		case k == 0 && len(run) > 0 && run[0] == w.order[0]:
			cut = cutAtStart
		case k == len(runs)-1 && run[len(run)-1] == w.order[len(w.order)-1]:
			cut = cutAtEnd
		default:
			continue // between passes: batch preparation and sampling that no mark covers
		}
		r := w.prepare(passSpan{kernels: run, evidence: "structure", conf: params.ConfidenceLoose, cut: cut})
		if whole, _ := bestWhole(results[:len(spans)], r.seq); w.byReference(&r, whole, m.layers) {
			results = append(results, r)
			added = true
		}
	}
	if added {
		first := func(r *passResult) trace.Time { return w.act(slices.Min(r.kernels)).Start() }
		sort.SliceStable(results, func(a, b int) bool { return first(&results[a]) < first(&results[b]) })
	}
	return results
}

// checkAgainst compares what was found with what config or flags say.
func (w *Work) checkAgainst(results []passResult, f *frames, m *modelFacts) error {
	if m.source != "config" && m.source != "flag" {
		return nil
	}
	from := fmt.Sprintf("the config says %d layers", m.layers)
	if m.source == "flag" {
		from = fmt.Sprintf("%d layers were asked for", m.layers)
	}
	found := 0
	for p := range results {
		r := &results[p]
		if r.levidence == "module" && (r.first+r.count > m.layers || r.first+r.count < m.layers && r.cut == uncut && hasBothEnds(r)) {
			return fmt.Errorf("%w: %s, the module frames of pass %d show %d (a pipeline rank holds a part of the layers: give --num-layers %d)",
				errContradiction, from, p, r.first+r.count, r.count)
		}
		if r.count > 0 {
			found++
		}
	}
	if found > 0 {
		if n := clearVote(results); params.Contradicts(n, m.layers) {
			return fmt.Errorf("%w: %s, the kernels repeat %d times a pass (a pipeline rank holds a part of the layers: give --num-layers %d)", errContradiction, from, n, n)
		}
		for p := range results {
			r := &results[p]
			if r.st == nil || r.st.Comb.Stride == 1 && segment.Occurs(r.seq, r.st.Comb.Symbol) == m.layers {
				return nil
			}
		}
		// Every pass was cut at every second or third occurrence of its anchor only: see whether the trace has more layers.
		if n := voteLayers(results); n > m.layers && n%m.layers == 0 && strongVote(results, n) {
			return fmt.Errorf("%w: %s, the kernels repeat %d times a pass", errContradiction, from, n)
		}
		return nil
	}
	if n := voteLayers(results); n > 0 && strongVote(results, n) {
		return fmt.Errorf("%w: %s, the kernels repeat %d times a pass (a pipeline rank holds a part of the layers: give --num-layers %d)", errContradiction, from, n, n)
	}
	if w.onlyRepeats {
		return fmt.Errorf("%w: %s, and no kernel repeats that often in any of %d passes", errNoEvidence, from, len(results))
	}
	return nil
}

// hasBothEnds says whether kernels stand before the first layer and after the last one, as embedding and logits do: the window
// does not cut the pass.
func hasBothEnds(r *passResult) bool {
	n := 0
	for k := len(r.layer) - 1; k >= 0 && r.layer[k] == none; k-- {
		n++
	}
	return params.Ended(n) && r.layer[0] == none && r.first == 0
}

// clearVote returns the number of layers that the first whole passes found by repeats show beyond doubt, 0 where one of them leaves
// a doubt.
func clearVote(results []passResult) int {
	var whole []*sequence
	for p := range results {
		if r := &results[p]; r.levidence == "repeat" && r.cut == uncut && r.count > 0 {
			whole = append(whole, r.seq)
		}
	}
	return params.ClearVotes(whole)
}

// strongVote says whether n layers explain some pass well enough to contradict a config.
func strongVote(results []passResult, n int) bool {
	for p := range results {
		if params.StrongVote(results[p].seq, n) {
			return true
		}
	}
	return false
}

// foundPasses is what the passes of a GPU were found to be.
type foundPasses struct {
	results  []passResult // with steps that launched nothing
	model    *modelFacts  // the one with most GPU time
	evidence []finding
	notes    []string
}

// climb finds passes, then layers in each, then the passes that the window cut.
func (w *Work) climb(f *frames, m *modelFacts) (*foundPasses, error) {
	spans, evidence := w.findPasses(f, m)
	results := make([]passResult, len(spans))
	for p := range spans {
		w.look()
		results[p] = w.prepare(spans[p])
	}
	m = w.assignByModel(results, f, m)
	if w.models[""] == m { // else what lies between the passes is of no known model
		results = w.addLoose(results, m)
		w.judge(results, m)
	}
	if err := w.checkAgainst(w.ofModel(results, m), f, m); err != nil {
		return nil, err
	}
	notes := w.dropStrays(results)
	return &foundPasses{w.withEmpty(results), m, evidence, notes}, nil
}
