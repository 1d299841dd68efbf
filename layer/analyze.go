package layer

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/llmstrata/strata/internal/stop"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// maxLayers is what model configs may ask for, too (see profile): 30 times the deepest model known. A number by mistake must
// not become gigabytes of layers.
const maxLayers = 4096

// Analyze finds the passes and layers of one GPU of a trace and classifies its kernels.
//
// The error wraps [ErrNoKernels] when there is nothing on the GPU, [ErrNoEvidence] when the asked-for boundaries have
// nothing to stand on, [ErrContradiction] when config or flags and trace disagree, [ErrRange] when the device is not in the
// trace; it is ctx's error when cancelled. In mode auto a trace without layers is no error: the result then has passes without
// layers.
func Analyze(ctx context.Context, t *trace.Trace, opts Options) (a *Analysis, err error) {
	defer func() {
		if err != nil {
			a = nil
		}
	}()
	defer stop.Guard(&err)
	mode, err := ParseBoundaries(string(opts.Boundaries))
	if err != nil {
		return nil, err
	}
	opts.Boundaries = mode
	if err := opts.checkLayers(); err != nil {
		return nil, err
	}
	watch := stop.New(ctx)
	device, err := pickDevice(watch, t, opts.Device)
	if err != nil {
		return nil, err
	}
	w := collect(watch, t, opts, device)
	if err := watch.Err(); err != nil {
		return nil, err
	}
	a = &Analysis{Device: device, Boundaries: mode, Health: t.Health(), Config: opts.Config, trace: t, opts: opts, Steady: Steady{Pass: None}}
	model := w.model(a)
	a.classify(w)
	if err := w.segment(a, model); err != nil {
		return nil, err
	}
	return a, nil
}

// checkLayers refuses a number of layers that no model has.
func (o *Options) checkLayers() error {
	if o.NumLayers < 0 || o.NumLayers > maxLayers {
		return fmt.Errorf("%w: %d layers, at most %d", ErrRange, o.NumLayers, maxLayers)
	}
	return nil
}

// model gathers what options, profile and config say.
func (w *work) model(a *Analysis) *modelFacts {
	p := w.opts.Profile
	if p == nil {
		p, _ = profile.Infer(w.opts.Config)
	}
	p = p.WithAnchor(w.opts.Anchor)
	m := &modelFacts{prof: p, anchor: p.Anchor, position: p.AnchorPosition, blocks: max(1, p.BlocksPerLayer)}
	switch {
	case w.opts.NumLayers > 0:
		m.layers, m.source = w.opts.NumLayers, "flag"
	case w.opts.Config != nil && w.opts.Config.NumLayers > 0:
		m.layers, m.source = w.opts.Config.NumLayers, "config"
	}
	if m.anchor == "" && w.opts.Boundaries == BoundariesAnchorCloses {
		m.anchor = w.autoAnchor(p.AutoAnchors)
	}
	var count int
	m.isAnchor, count = w.findAnchors(m.anchor)
	switch w.opts.Boundaries {
	case BoundariesAnchorCloses:
		m.useAnchors, m.position = count > 0, profile.AnchorCloses
	case BoundariesAuto:
		// Elsewhere than in the model's own profile an anchor only counts layers, and repeats do that better.
		m.useAnchors = count > 0 && (m.position == profile.AnchorCloses || m.position == profile.AnchorOpens || w.opts.Anchor != "")
	}
	a.Profile, a.Anchor, a.NumAnchors, a.BlocksPerLayer, a.HalfLabels = p, m.anchor, count, m.blocks, p.HalfLabels
	return m
}

// autoAnchor is the first of the candidates that enough kernels contain.
func (w *work) autoAnchor(candidates []string) string {
	for _, c := range candidates {
		if _, n := w.findAnchors(c); n >= profile.AutoAnchorMin {
			return c
		}
	}
	return ""
}

// segment finds passes, then layers in each, then the passes that the window cut.
func (w *work) segment(a *Analysis, m *modelFacts) error {
	var f *frames
	if w.opts.Boundaries == BoundariesAuto || w.opts.Boundaries == BoundariesModules {
		f = readFrames(w.watch, w.t)
	}
	if w.opts.Boundaries == BoundariesModules && (f == nil || f.distinct == 0) {
		return fmt.Errorf("%w: boundaries=modules needs module frames of decoder layers, and the trace has %s; record with with_stack=True and with_modules=True, or use --boundaries repeats",
			ErrNoEvidence, map[bool]string{true: "no module frames", false: "module frames but none of a layer"}[f == nil])
	}
	if w.opts.Boundaries == BoundariesAnchorCloses && a.NumAnchors == 0 {
		return noAnchors(m, w)
	}
	spans, evidence := w.findPasses(f, m)
	results := make([]passResult, len(spans))
	for p := range spans {
		results[p] = w.prepare(spans[p])
	}
	w.assignLayers(results, f, m)
	results = w.addLoose(results, m)
	if err := w.checkAgainst(results, f, m); err != nil {
		return err
	}
	w.finish(a, results, m, evidence)
	return nil
}

// assignLayers finds the layers of each pass by the best evidence its kernels have. N comes from flags or config, else from
// module frames, else from a vote of the passes.
func (w *work) assignLayers(results []passResult, f *frames, m *modelFacts) {
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
	if w.opts.Boundaries == BoundariesModules {
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
		if w.opts.Boundaries == BoundariesAnchorCloses {
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
	memo := map[uint64]int{} // passes of equal kernels (graph replays) have equal layers
	for p := range results {
		r := &results[p]
		if r.levidence == "module" {
			w.shadow(r, m) // a structure to find cut passes with
			continue
		}
		if r.levidence != "none" {
			continue
		}
		w.watch.Rows(r.seq.len())
		h := hashNames(r.seq.fine)
		if q, ok := memo[h]; ok && len(r.side) == 0 && len(results[q].side) == 0 && equalNames(r.seq, 0, r.seq.len(), results[q].seq, 0, results[q].seq.len()) {
			if st := results[q].st; st != nil && results[q].cut == Whole {
				w.byStructure(r, *st, results[q].levidence, results[q].lconf)
			}
			continue
		}
		memo[h] = p
		if r.cut == Whole {
			w.byRepeats(r, m.layers)
		}
	}
	if bestWhole(results, &sequence{}) == nil {
		for p := range results {
			if r := &results[p]; r.levidence == "none" && !r.draft && (p == 0 || p == len(results)-1) {
				w.byFragment(r, m.layers)
			}
		}
		return
	}
	for p := range results {
		r := &results[p]
		atEdge := p == 0 || p == len(results)-1
		if r.draft || r.levidence != "none" || !atEdge && r.cut == Whole {
			continue
		}
		whole := bestWhole(results, r.seq)
		if r.cut != Whole {
			w.byReference(r, whole, m.layers)
			continue
		}
		r.cut = CutAtEnd
		if p == 0 && len(results) > 1 {
			r.cut = CutAtStart
		}
		if !w.byReference(r, whole, m.layers) {
			r.cut = Whole
			w.byFragment(r, m.layers) // another stage than the whole passes: no kernel in common
		}
	}
}

// learnBegins notes what layers under module frames begin with, for the passes that have none: graph replays, orphans.
func (w *work) learnBegins(results []passResult) {
	count := map[uint64]int{}
	total := 0
	for p := range results {
		r := &results[p]
		if r.levidence != "module" {
			continue
		}
		w.watch.Rows(len(r.kernels))
		layerOf := make(map[int32]int32, len(r.kernels))
		for k, i := range r.kernels {
			layerOf[i] = r.layer[k]
		}
		prev := int32(None)
		for k, i := range r.line {
			if l := layerOf[i]; l != prev && l > prev {
				count[r.seq.pair(k)]++
				total++
				prev = l
			}
		}
	}
	w.begins = map[uint64]bool{}
	for p, n := range count {
		if 16*n >= total { // a stray launch at a layer's edge is no beginning
			w.begins[p] = true
		}
	}
	for p := range results {
		results[p].seq.begins = w.begins
	}
}

// shadow computes the structure of a pass whose layers the module frames told, as a reference for cut passes: it keeps the
// frames' layers.
func (w *work) shadow(r *passResult, m *modelFacts) {
	if st, ok := findRepeats(r.seq, m.layers); ok && st.sim >= minSimilarity {
		r.st = &st
		// The frames know where layers begin; the structure's boundary must agree with them.
		layerOf := make(map[int32]int32, len(r.kernels))
		for k, i := range r.kernels {
			layerOf[i] = r.layer[k]
		}
		for k, i := range r.line {
			if layerOf[i] == 1 && k > st.anchors.pos[0] && k <= st.anchors.pos[1] && st.ref.unit.from == st.anchors.pos[0] {
				r.st.ref.at = k - st.anchors.pos[0]
				break
			}
		}
	}
}

// bestWhole returns the whole pass that is the best reference for s: the one with most of its kernels, as prefill and decode may
// have none in common, then the one whose layers are surest, then the earliest.
func bestWhole(results []passResult, s *sequence) *passResult {
	var best *passResult
	most := -1
	memo := map[uint64]int{}
	for p := range results {
		r := &results[p]
		if r.st == nil || r.cut != Whole {
			continue
		}
		h := hashNames(r.seq.fine)
		n, ok := memo[h]
		if !ok {
			has := map[int32]bool{}
			for _, f := range r.seq.fine {
				has[f] = true
			}
			for _, f := range s.fine {
				if has[f] {
					n++
				}
			}
			memo[h] = n
		}
		if n > most || n == most && r.lconf > best.lconf {
			best, most = r, n
		}
	}
	return best
}

// layersByAnchors is N where nothing says it: the most frequent number of anchors per pass, by blocks.
func (w *work) layersByAnchors(results []passResult, m *modelFacts) int {
	votes := map[int]int{}
	for p := range results {
		if n := len(w.anchorPositions(results[p].line, m)); n%m.blocks == 0 && n > 0 {
			votes[n/m.blocks] += n
		}
	}
	return mostVotes(votes)
}

// voteLayers asks every pass for its number of layers; votes weigh by kernels in layers.
func voteLayers(results []passResult) int {
	votes := map[int]int{}
	memo := map[uint64]int{}
	for p := range results {
		results[p].seq.watch.Rows(results[p].seq.len())
		h := hashNames(results[p].seq.fine)
		n, ok := memo[h]
		if !ok {
			if g := guessLayers(results[p].seq, false); len(g) > 0 {
				n = g[0].n
			}
			memo[h] = n
		}
		if n >= 2 {
			votes[n] += results[p].seq.len()
		}
	}
	return mostVotes(votes)
}

func mostVotes(votes map[int]int) int {
	best := 0
	for n, v := range votes {
		if best == 0 || v > votes[best] || v == votes[best] && n > best {
			best = n
		}
	}
	return best
}

// addLoose makes passes of runs of unclaimed kernels that hold layers: passes whose mark, or whose launches, lie outside the
// window.
func (w *work) addLoose(results []passResult, m *modelFacts) []passResult {
	if m.layers < 2 || bestWhole(results, &sequence{}) == nil {
		return results
	}
	spans := make([]passSpan, len(results))
	for p := range results {
		spans[p] = results[p].passSpan
	}
	runs := w.looseRuns(spans)
	added := false
	for k, run := range runs {
		cut := CutAtBoth
		switch {
		case k == 0 && len(run) > 0 && run[0] == w.order[0]:
			cut = CutAtStart
		case k == len(runs)-1 && run[len(run)-1] == w.order[len(w.order)-1]:
			cut = CutAtEnd
		default:
			continue // between passes: batch preparation and sampling that no mark covers
		}
		r := w.prepare(passSpan{kernels: run, evidence: "structure", conf: 0.7, cut: cut})
		if w.byReference(&r, bestWhole(results[:len(spans)], r.seq), m.layers) {
			results = append(results, r)
			added = true
		}
	}
	if added {
		first := func(r *passResult) trace.Time { return w.acts[slices.Min(r.kernels)].Start() }
		sort.SliceStable(results, func(a, b int) bool { return first(&results[a]) < first(&results[b]) })
	}
	return results
}

// checkAgainst compares what was found with what config or flags say.
func (w *work) checkAgainst(results []passResult, f *frames, m *modelFacts) error {
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
		if r.levidence == "module" && (r.first+r.count > m.layers || r.first+r.count < m.layers && r.cut == Whole && hasBothEnds(r)) {
			return fmt.Errorf("%w: %s, the module frames of pass %d show %d (a pipeline rank holds a part of the layers: give --num-layers %d)",
				ErrContradiction, from, p, r.first+r.count, r.count)
		}
		if r.count > 0 {
			found++
		}
	}
	if found > 0 {
		const apart = 2 // next-token layers run behind those that a config counts
		if n := clearVote(results); n > 0 && m.layers%n != 0 && n%m.layers != 0 && (n < m.layers || n > m.layers+apart) {
			return fmt.Errorf("%w: %s, the kernels repeat %d times a pass (a pipeline rank holds a part of the layers: give --num-layers %d)", ErrContradiction, from, n, n)
		}
		for p := range results {
			r := &results[p]
			if r.st == nil || r.st.anchors.stride == 1 && len(occurrencesOf(r.seq.fine).of(int(r.st.anchors.symbol))) == m.layers {
				return nil
			}
		}
		// Every pass was cut at every second or third occurrence of its anchor only: see whether the trace has more layers.
		if n := voteLayers(results); n > m.layers && n%m.layers == 0 && w.strongVote(results, n) {
			return fmt.Errorf("%w: %s, the kernels repeat %d times a pass", ErrContradiction, from, n)
		}
		return nil
	}
	if n := voteLayers(results); n > 0 && w.strongVote(results, n) {
		return fmt.Errorf("%w: %s, the kernels repeat %d times a pass (a pipeline rank holds a part of the layers: give --num-layers %d)", ErrContradiction, from, n, n)
	}
	if w.opts.Boundaries == BoundariesRepeats {
		return fmt.Errorf("%w: %s, and no kernel repeats that often in any of %d passes", ErrNoEvidence, from, len(results))
	}
	return nil
}

// hasBothEnds says whether kernels stand before the first layer and after the last one, as embedding and logits do: the window
// does not cut the pass.
func hasBothEnds(r *passResult) bool {
	const least = 2 // final norm and logits
	n := 0
	for k := len(r.layer) - 1; k >= 0 && r.layer[k] == None; k-- {
		n++
	}
	return n >= least && r.layer[0] == None && r.first == 0
}

// clearVote returns the number of layers that the first whole passes found by repeats show beyond doubt, 0 where one of them leaves
// a doubt: evenly spaced, alike, and nearly the whole pass. An encoder or a vision tower in front of the layers covers less.
func clearVote(results []passResult) int {
	const (
		most          = 4 // passes that are asked
		alike, even   = 0.95, 0.05
		covers, holds = 0.8, 0.6
	)
	vote, asked := 0, 0
	for p := range results {
		r := &results[p]
		if r.levidence != "repeat" || r.cut != Whole || r.count == 0 {
			continue
		}
		if asked++; asked > most {
			break
		}
		g := guessLayers(r.seq, false)
		if len(g) == 0 || g[0].sim < alike || g[0].anchors[0].cost > even || g[0].support < holds || vote > 0 && g[0].n != vote {
			return 0
		}
		pos := g[0].anchors[0].pos
		if float64(pos[len(pos)-1]-pos[0]) < covers*float64(r.seq.len()) {
			return 0
		}
		vote = g[0].n
	}
	return vote
}

// strongVote says whether n layers explain some pass well enough to contradict a config.
func (w *work) strongVote(results []passResult, n int) bool {
	for p := range results {
		for _, g := range guessLayers(results[p].seq, false) {
			if g.n == n && g.sim >= 0.8 && g.support >= 0.6 {
				return true
			}
		}
	}
	return false
}

// trainingShare: one in so many kernels of a training run has a name that says that it computes gradients or updates weights.
// In the training traces seen 2.4 to 8.7 % have, in those of servers none.
const trainingShare = 50

// place notes pass, layer and half of each kernel of the passes.
func (w *work) place(results []passResult) {
	for p := range results {
		r := &results[p]
		w.watch.Rows(len(r.kernels))
		for k, i := range r.kernels {
			w.pass[i], w.layer[i] = int32(p), r.layer[k]
			w.conf[i] = float32(r.conf)
			if r.count > 0 {
				w.conf[i] = float32(min(r.conf, r.lconf))
			}
			if w.layer[i] != None && w.half[i] == None {
				w.half[i] = 0
			}
			if w.layer[i] == None {
				w.half[i] = None
			}
		}
	}
}

// finish writes passes and kernels.
func (w *work) finish(a *Analysis, results []passResult, m *modelFacts, evidence []Evidence) {
	w.place(results)
	a.NumLayers, a.LayerSource = m.layers, m.source
	w.fillKernels(a)
	for p := range results {
		a.Passes = append(a.Passes, w.buildPass(a, p, &results[p]))
	}
	w.nameIdle(a, results)
	a.Evidence = append(a.Evidence, evidence...)
	a.addLayerEvidence(w, results)
	a.label()
	a.chooseSteady(w.watch)
	halves := 0
	for p := range results {
		if len(results[p].second) > 0 && results[p].count > 0 {
			halves++
		}
	}
	if halves > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("%d of %d passes run two halves of their batch beside each other, on two streams: each half is cut into layers by itself, and the times of neighbouring layers overlap",
			halves, len(results)))
	}
	backward := 0
	for _, r := range w.seq.role {
		if r == roleBackward {
			backward++
		}
	}
	if trainingShare*backward > len(w.seq.role) {
		a.Notes = append(a.Notes, fmt.Sprintf("%d of %d GPU activities compute gradients or update weights: this is a training run, and its passes are iterations, not forward passes of a server",
			backward, len(w.seq.role)))
	}
	if len(a.Passes) == 0 {
		a.Notes = append(a.Notes, "no passes were found")
	} else if a.NumLayers == 0 {
		a.Notes = append(a.Notes, "no layers were found: the kernels of no pass repeat; give the number of layers or a config if the model has some")
	}
}

// nameIdle gives a stage to passes of unknown stage that run the layers without any mixer while other passes have one in each: a
// rank of a data-parallel group without requests runs the layers so that the others' collectives complete.
func (w *work) nameIdle(a *Analysis, results []passResult) {
	mixes := make([]bool, len(results))
	for p := range results {
		mixes[p] = slices.Contains(results[p].seq.role, roleMixer)
	}
	if !slices.Contains(mixes, true) {
		return
	}
	for p := range results {
		if fp := &a.Passes[p]; fp.Stage == StageUnknown && fp.Partial == Whole && len(fp.Layers) > 0 && !mixes[p] {
			fp.Stage = StageIdle
		}
	}
}

// fillKernels copies the per-kernel results.
func (w *work) fillKernels(a *Analysis) {
	cats := a.categoryOf
	a.order = w.order
	a.Kernels = make([]Kernel, len(w.acts))
	for i, e := range w.acts {
		w.watch.Row()
		a.Kernels[i] = Kernel{Event: e.ID(), Pass: int(w.pass[i]), Layer: int(w.layer[i]), Half: w.half[i],
			Category: cats[w.seq.fine[i]], Replay: w.replayed(int32(i)), Confidence: w.conf[i]}
	}
}

// buildPass makes the public form of a pass.
func (w *work) buildPass(a *Analysis, p int, r *passResult) ForwardPass {
	fp := ForwardPass{Index: p, Kernels: len(r.kernels), Stage: StageUnknown, Batch: -1, Tokens: -1, Step: r.step, Partial: r.cut,
		FirstLayer: r.first, PassEvidence: r.evidence, LayerEvidence: r.levidence, Confidence: r.conf}
	if r.count > 0 {
		fp.Confidence = min(r.conf, r.lconf)
	}
	if r.step != nil {
		fp.Stage, fp.Batch, fp.Tokens = r.step.Stage, r.step.Batch, r.step.Tokens
	}
	if r.draft && fp.Stage == StageUnknown {
		fp.Stage = StageDraft
	}
	w.watch.Rows(len(r.kernels))
	byLayer := make([][]int32, r.count)
	fp.Start, fp.End = math.MaxInt64, math.MinInt64
	seen := false
	for k, i := range r.kernels {
		fp.Start = min(fp.Start, w.acts[i].Start())
		fp.End = max(fp.End, w.acts[i].End())
		if w.replayed(i) {
			fp.Replay++
		}
		l := int(r.layer[k])
		switch {
		case l == None && !seen:
			fp.Prologue++
		case l == None:
			fp.Epilogue++
		default:
			seen = true
			byLayer[l-r.first] = append(byLayer[l-r.first], i)
		}
	}
	if len(r.kernels) == 0 {
		fp.Start, fp.End = 0, 0
	}
	kinds := map[uint64]int{}
	for l, kernels := range byLayer {
		lay := Layer{Index: r.first + l, CompressRatio: -1, Kernels: kernels}
		// The kind is the sequence in launch order; the list is by start.
		h := uint64(1)
		for _, i := range kernels {
			h = (h ^ uint64(uint32(w.seq.fine[i]))) * 1099511628211
		}
		id, ok := kinds[h]
		if !ok {
			id = len(kinds)
			kinds[h] = id
		}
		lay.Kind = id
		slices.Sort(lay.Kernels)
		if len(kernels) > 0 {
			lay.Start, lay.End = math.MaxInt64, math.MinInt64
		}
		for _, i := range kernels {
			lay.Start = min(lay.Start, w.acts[i].Start())
			lay.End = max(lay.End, w.acts[i].End())
			lay.Sum += w.acts[i].Duration()
		}
		lay.Wall = lay.End.Sub(lay.Start)
		lay.Partial = l == 0 && r.cutFirst || l == r.count-1 && r.cutLast
		fp.Layers = append(fp.Layers, lay)
	}
	return fp
}

// addLayerEvidence says once per kind of evidence what the layers rest on.
func (a *Analysis) addLayerEvidence(w *work, results []passResult) {
	index := map[string]int{}
	order := make([]int, 0, 2*len(results)) // whole passes speak first
	for _, cut := range []bool{false, true} {
		for p := range results {
			if (results[p].cut != Whole) == cut {
				order = append(order, p)
			}
		}
	}
	for _, p := range order {
		r := &results[p]
		if r.count == 0 {
			continue
		}
		k, ok := index[r.levidence]
		if !ok {
			k = len(a.Evidence)
			index[r.levidence] = k
			detail := w.describe(r)
			if r.levidence == "module" {
				detail = fmt.Sprintf("module frames of %d layers", r.count)
			}
			a.Evidence = append(a.Evidence, Evidence{For: "layers", Kind: r.levidence, Detail: detail, Confidence: r.lconf})
		}
		a.Evidence[k].Passes++
		a.Evidence[k].Confidence = min(a.Evidence[k].Confidence, r.lconf)
	}
}

func noAnchors(m *modelFacts, w *work) error {
	if m.anchor == "" {
		return fmt.Errorf("%w: boundaries=%s needs an anchor kernel and profile %s has none that occurs here; give --anchor-kernel", ErrNoEvidence, w.opts.Boundaries, m.prof.Name)
	}
	return fmt.Errorf("%w: no kernel name contains the anchor %q of profile %s", ErrNoEvidence, m.anchor, m.prof.Name)
}
