package layer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/layer/internal/ladder"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// Analyze finds the passes and layers of all GPUs of a trace and classifies their kernels. A trace without GPU work
// has no devices, and is no error. In mode auto a trace without layers is none either: the passes then have no
// layers.
//
// The error wraps [ErrNoEvidence] when nothing supports the asked-for boundaries, [ErrContradiction] when
// config or flags and trace disagree, [ErrRange] for a number of layers that cannot be; it is ctx's error when
// cancelled. Where that concerns another GPU than the busiest one, the GPU has a note instead, and no passes.
//
// ctx is asked between stages, passes and pieces of them. The longest stretch between two looks, which reads the
// kernels of a GPU once, took a twelfth of the time of all, of a trace of 128 MB.
func Analyze(ctx context.Context, t *trace.Trace, opts Options) (*Analysis, error) {
	mode, err := parseBoundaries(opts.Boundaries)
	if err != nil {
		return nil, err
	}
	opts.Boundaries = mode
	if err := opts.checkLayers(); err != nil {
		return nil, err
	}
	a := newAnalysis(t, opts)
	for i := range a.Devices {
		err := a.Devices[i].find(ctx)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err != nil && i == 0 {
			return nil, err
		}
		if err != nil {
			a.Devices[i].Notes = append(a.Devices[i].Notes, fmt.Sprintf("no passes and layers: %v", err))
		}
	}
	a.numberSteps()
	for i := range a.Devices {
		if err := a.Devices[i].adoptOperators(ctx); err != nil {
			return nil, err
		}
	}
	a.found = nil
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	anchored := func(d Device) bool { return d.NumAnchors > 0 }
	if opts.Anchor != "" && len(a.Devices) > 0 && !slices.ContainsFunc(a.Devices, anchored) {
		return nil, noAnchors(opts.Anchor)
	}
	return a, nil
}

// AnalyzeAnyway is [Analyze], without boundaries that the trace has no evidence of, and without what the options say of
// the model where the trace contradicts that. [Analysis.Refused] then says what.
func AnalyzeAnyway(ctx context.Context, t *trace.Trace, opts Options) (*Analysis, error) {
	var refused error
	a, err := Analyze(ctx, t, opts)
	if errors.Is(err, ErrNoEvidence) {
		refused, opts.Boundaries, opts.Anchor = err, "", ""
		a, err = Analyze(ctx, t, opts)
	}
	if errors.Is(err, ErrContradiction) {
		refused = err
		a, err = Analyze(ctx, t, Options{Rules: opts.Rules, Mapping: opts.Mapping, ForceMapping: opts.ForceMapping})
	}
	if err == nil {
		a.Refused = refused
	}
	return a, err
}

// newAnalysis makes an analysis whose devices are empty.
func newAnalysis(t *trace.Trace, opts Options) *Analysis {
	p := opts.Profile
	if p == nil {
		p, _ = profile.Infer(opts.Config)
	}
	p = p.WithAnchor(opts.Anchor)
	a := &Analysis{Boundaries: opts.Boundaries, BlocksPerLayer: max(1, p.BlocksPerLayer), HalfLabels: p.HalfLabels,
		Health: t.Health(), Profile: p,
		Config: opts.Config, trace: t, opts: opts, facts: make([]*classify.Facts, t.NumNames()),
		lines: &modelLines{frameworks: frameworks, names: t.NumNames()}}
	a.framework = sync.OnceValue(func() string { return frameworkOf(t, frameworks) })
	if a.found = findOnce(t, p, opts.Rules); a.found.work != nil {
		a.works = make([]classify.Category, t.NumNames())
	}
	gpus := a.found.gpus
	names := gpuNames(t)
	a.Devices = make([]Device, len(gpus)) // never appended to: kernels point into it
	for i, g := range gpus {
		a.Devices[i] = Device{ID: g.id, GPU: names[g.id], Time: g.busy, of: a, Steady: Steady{Pass: trace.None},
			twins: &twinTable{}}
	}
	return a
}

// work is the analysis of one GPU.
type work struct {
	*ladder.Work
	opts Options
	op   []uint16 // index into Device.operators; nil: not looked for

	times []passTime // by pass

	dims map[string][][]int64 // see dimsOf

	attention []attention // of each pass, see readAttention
	passKey   []byte      // see operatorsOf, shareOperators and launchesOf
}

// passTime is the GPU time of the kernels of a pass, and of those in layers.
type passTime struct{ all, layers time.Duration }

// collect gathers the device's activities.
func (a *Device) collect(ctx context.Context) *work {
	found, opts := a.of.found, a.of.opts
	w := &work{Work: ladder.Collect(ctx.Err, a.of.trace, a.ID, found.acts[a.ID]), opts: opts}
	delete(found.acts, a.ID)
	w.OnlyModules, w.OnlyAnchors = opts.Boundaries == boundariesModules, opts.Boundaries == boundariesAnchorCloses
	w.OnlyRepeats = opts.Boundaries == boundariesRepeats
	w.ReadStep = readStep
	return w
}

// find finds the passes and layers of the device. If it fails, all kernels are outside of passes.
func (a *Device) find(ctx context.Context) error {
	w := a.collect(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	model := w.model(a)
	a.classify(w)
	if err := ctx.Err(); err != nil {
		return err
	}
	err := w.segment(a, model)
	if err != nil {
		a.Passes = nil
		w.Forget()
		w.fillKernels(a, 0)
	}
	return err
}

// checkLayers refuses a number of layers that no model has.
func (o *Options) checkLayers() error {
	if o.NumLayers < 0 || o.NumLayers > profile.MaxLayers {
		return fmt.Errorf("%w: %d layers, at most %d", ErrRange, o.NumLayers, profile.MaxLayers)
	}
	return nil
}

// model gathers what options, profile and config say.
func (w *work) model(a *Device) *ladder.Model {
	p := a.of.Profile
	m := &ladder.Model{Profile: p, Anchor: p.Anchor, Position: p.AnchorPosition, Blocks: max(1, p.BlocksPerLayer)}
	switch {
	case w.opts.NumLayers > 0:
		m.Layers, m.Source = w.opts.NumLayers, ladder.FromFlag
	case w.opts.Config != nil && w.opts.Config.NumLayers > 0:
		m.Layers, m.Source = w.opts.Config.NumLayers, ladder.FromConfig
	}
	if m.Anchor == "" && w.opts.Boundaries == boundariesAnchorCloses {
		m.Anchor = w.autoAnchor(p.AutoAnchors)
	}
	var count int
	m.IsAnchor, count = w.FindAnchors(m.Anchor)
	switch w.opts.Boundaries {
	case boundariesAnchorCloses:
		m.UseAnchors, m.Position = count > 0, profile.AnchorCloses
	case boundariesAuto:
		// Elsewhere than in the model's own profile an anchor only counts layers, and repeats do that better.
		m.UseAnchors = count > 0 && (m.Position == profile.AnchorCloses || m.Position == profile.AnchorOpens ||
			w.opts.Anchor != "")
	}
	a.Anchor, a.NumAnchors = m.Anchor, count
	return m
}

// autoAnchor is the first of the candidates that enough kernels contain.
func (w *work) autoAnchor(candidates []string) string {
	for _, c := range candidates {
		if _, n := w.FindAnchors(c); n >= profile.AutoAnchorMin {
			return c
		}
	}
	return ""
}

// segment finds the passes and their layers by the evidence that was asked for.
func (w *work) segment(a *Device, m *ladder.Model) error {
	var f *ladder.Frames
	if w.opts.Boundaries == boundariesAuto || w.opts.Boundaries == boundariesModules {
		f = a.of.found.frames()
	}
	if w.opts.Boundaries == boundariesModules && (f == nil || f.Distinct == 0) {
		return fmt.Errorf("%w: boundaries=modules needs module frames of decoder layers, and the trace has %s; record "+
			"with with_stack=True and with_modules=True, or use --boundaries repeats",
			ErrNoEvidence, map[bool]string{true: "no module frames",
				false: "module frames but none of a layer"}[f == nil])
	}
	if w.opts.Boundaries == boundariesAnchorCloses && a.NumAnchors == 0 {
		if m.Anchor == "" {
			return fmt.Errorf("%w: boundaries=%s needs an anchor kernel and profile %s has none that occurs here; give "+
				"--anchor-kernel", ErrNoEvidence, w.opts.Boundaries, m.Profile.Name)
		}
		return noAnchors(m.Anchor)
	}
	found, err := w.Climb(f, m)
	if err != nil {
		return err
	}
	if len(a.of.found.acts) == 0 {
		a.of.found.frames = nil // no GPU is left that needs them
	}
	w.finish(a, found)
	a.Notes = append(a.Notes, found.Notes...)
	return nil
}

// finish writes passes and kernels, and stops where the context has ended.
func (w *work) finish(a *Device, found *ladder.Found) {
	results, m := found.Results, found.Model
	w.findOperators(a, results, true)
	if w.Ended() != nil {
		return
	}
	w.Place(results)
	a.NumLayers, a.LayerSource = m.Layers, m.Source
	w.fillKernels(a, len(results))
	w.nameExperts(a, results)
	a.Passes = make([]ForwardPass, 0, len(results))
	for p := range results {
		if w.Ended() != nil {
			return
		}
		a.Passes = append(a.Passes, w.buildPass(a, p, &results[p]))
	}
	w.nameIdle(a, results)
	w.readAttention(results)
	a.listModels(w, results)
	w.countTokens(a, results)
	w.stagesOfLikes(a, results)
	a.listDamage(w, results)
	a.cover()
	a.check(w, results)
	a.Evidence = append(a.Evidence, found.Evidence...)
	a.addLayerEvidence(w, results)
	a.chooseSteady(w.Ended)
	a.findStepEnds()
	a.noteDurations()
	a.noteUncovered()
	halves := 0
	for p := range results {
		halves += stat.Int(len(results[p].Second) > 0 && results[p].Count > 0)
	}
	if halves > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("%d of %d passes run two halves of their batch beside each other, on two "+
			"streams: each half is cut into layers by itself, and the times of neighbouring layers overlap",
			halves, len(results)))
	}
	if backward, training := w.Training(); training {
		a.Notes = append(a.Notes, fmt.Sprintf("%d of %d GPU activities compute gradients or update weights: this is a "+
			"training run, and its passes are iterations, not forward passes of a server",
			backward, len(w.Acts)))
	}
	if len(a.Passes) == 0 {
		a.Notes = append(a.Notes, "no passes were found")
	} else if a.NumLayers == 0 {
		a.Notes = append(a.Notes, "no layers found: no repeating block of kernels was found in any pass (if the model has "+
			"layers, pass --num-layers or --config)")
	}
}

// nameIdle gives a stage to passes of unknown stage that run the layers without any mixer while other passes of the
// model have one: a rank of a data-parallel group without requests runs the layers so that the others' collectives
// complete.
func (w *work) nameIdle(a *Device, results []ladder.Result) {
	mixes := make([]bool, len(results))
	mixing := map[ladder.ModelKey]bool{} // models with mixers in a pass
	for p := range results {
		mixes[p] = slices.Contains(results[p].Seq.Role, ladder.RoleMixer)
		mixing[results[p].Key()] = mixing[results[p].Key()] || mixes[p]
	}
	for p := range results {
		if fp := &a.Passes[p]; mixing[results[p].Key()] && fp.Stage == StageUnknown && fp.Partial == whole &&
			fp.NumLayers > 0 && !mixes[p] && fp.Tokens <= 1 { // a rank without requests runs one token at most
			fp.Stage = StageIdle
		}
	}
}

// fillKernels writes the columns of the device, of that many passes.
func (w *work) fillKernels(a *Device, passes int) {
	n := len(w.Acts)
	c := columns{pass: w.Pass, layer: w.Layer, half: w.Half, category: make([]uint16, n), operator: w.op,
		starts: make([]int32, passes+1)}
	for i := range w.Acts {
		c.category[i] = a.categoryOf[w.ID[i]]
		if p := w.Pass[i]; p != trace.None {
			c.starts[p+1]++
		}
	}
	if n > 0 && w.Acts[n-1] == w.Acts[0]+int32(n-1) { // no other device's are between them
		c.first = w.Act(0).ID()
	} else {
		c.event = make([]trace.EventID, n)
		for i := range c.event {
			c.event[i] = w.Act(int32(i)).ID()
		}
	}
	for p := range passes {
		c.starts[p+1] += c.starts[p]
	}
	c.order = make([]int32, c.starts[passes])
	next := slices.Clone(c.starts)
	for _, i := range w.Order {
		if p := w.Pass[i]; p != trace.None {
			c.order[next[p]] = i
			next[p]++
		}
	}
	a.columns = c
}

// buildPass makes the public form of a pass.
func (w *work) buildPass(a *Device, p int, r *ladder.Result) ForwardPass {
	fp := ForwardPass{Index: p, Kernels: len(r.Kernels), Stage: StageUnknown, Batch: -1, Tokens: -1, Rows: -1,
		Host: w.HostOf(r), Partial: string(r.Cut),
		NumLayers: r.Count, FirstLayer: r.First, PassEvidence: r.Evidence, LayerEvidence: r.LayerEvidence,
		Confidence: r.Conf, FromEnd: r.FromEnd,
		of: a, from: a.columns.starts[p], to: a.columns.starts[p+1], cutFirst: r.CutFirst, cutLast: r.CutLast}
	if r.Count > 0 {
		fp.Confidence = min(r.Conf, r.LayerConf)
	}
	if r.Step != nil {
		st := stepOf(r.Step)
		fp.Annotation, fp.Stage, fp.Batch, fp.Tokens = &st, st.Stage, st.Batch, st.Tokens
	}
	if r.Draft && fp.Stage == StageUnknown {
		fp.Stage = StageDraft
	}
	w.spread(&fp, r)
	if len(r.Kernels) == 0 { // after the pass before it
		fp.Start = fp.Host.Start
		if n := len(a.Passes); n > 0 {
			fp.Start = max(fp.Start, a.Passes[n-1].End)
		}
		fp.End = fp.Start
	}
	return fp
}

// spread notes when the kernels of a pass run and what they are outside of layers.
func (w *work) spread(fp *ForwardPass, r *ladder.Result) {
	fp.Start, fp.End = math.MaxInt64, math.MinInt64
	seen, sum := false, passTime{}
	for k, i := range r.Kernels {
		e := w.Act(i)
		start, d := e.Start(), e.Duration()
		fp.Start, fp.End = min(fp.Start, start), max(fp.End, start+trace.Time(d))
		if sum.all += d; r.Layer[k] != trace.None {
			sum.layers += d
		}
		if w.Replayed(i) {
			fp.Replay++
		}
		l := int(r.Layer[k])
		switch {
		case l == trace.None && !seen:
			fp.Prologue++
		case l == trace.None:
			fp.Epilogue++
		default:
			seen = true
		}
	}
	w.times = append(w.times, sum)
}

// addLayerEvidence says once per kind of evidence and model what the layers rest on.
func (a *Device) addLayerEvidence(w *work, results []ladder.Result) {
	index := map[any]int{}
	for p := range 2 * len(results) { // complete passes speak first
		r := &results[p%len(results)]
		if r.Count == 0 || (r.Cut != ladder.Uncut) != (p >= len(results)) {
			continue
		}
		a.rest(index, r.Key(), OfLayers, r.LayerEvidence, r.LayerConf, func() string {
			detail := w.Describe(r)
			if r.LayerEvidence == ladder.RungModule {
				detail = fmt.Sprintf("module frames of %d layers", r.Count)
			}
			if r.Model != "" && w.SeveralModels() {
				detail = r.Model + ": " + detail
			}
			return detail
		})
	}
}

// rest counts one more pass that rests on a kind of evidence of something; the first one says the detail.
func (a *Device) rest(index map[any]int, of any, what Subject, kind Rung, confidence float64, detail func() string) {
	key := [2]any{kind, of}
	at, ok := index[key]
	if !ok {
		at = len(a.Evidence)
		index[key] = at
		a.Evidence = append(a.Evidence, Evidence{For: what, Kind: kind, Detail: detail(), Confidence: confidence})
	}
	e := &a.Evidence[at]
	e.Passes, e.Confidence = e.Passes+1, min(e.Confidence, confidence)
}

func noAnchors(anchor string) error {
	return fmt.Errorf("%w: no kernel name contains the anchor kernel %q", ErrNoEvidence, anchor)
}
