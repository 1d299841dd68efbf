package layer

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/llmstrata/strata/layer/internal/ladder"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// boundariesGiven is [Analysis.Boundaries] of what Assemble makes. It is not asked for, so Analyze does not take it.
const boundariesGiven = "given"

// GivenPass is a forward pass that was found elsewhere; see [Assemble].
type GivenPass struct {
	// Layers are the pass's layers; their indices count up by one.
	Layers []GivenLayer
	// Kernels are GPU activities of the pass in no layer: embedding, logits, sampling.
	Kernels []trace.EventID
	// End replaces the last end of the pass's kernels. 0: that.
	End trace.Time
	// Stage is what the pass does. "": StageUnknown.
	Stage Stage
	// Partial says which end of the pass is missing, as [ForwardPass] has it.
	Partial string
	// Evidence is what the pass and its layers rest on: Kind, Detail and Confidence; the rest is filled in.
	Evidence Evidence
	// Note is a remark for the table.
	Note string
}

// GivenLayer is a layer that was found elsewhere.
type GivenLayer struct {
	// Index is the layer's in the model, from 0.
	Index int
	// Kernels are the layer's GPU activities, in any order.
	Kernels []trace.EventID
	// Halves says which half of the layer each of Kernels is in. Nil: all in the first.
	Halves []int8
	// End replaces the last end of the layer's kernels. 0: that.
	End trace.Time
}

// Assemble makes an analysis of passes and layers that were found elsewhere: by a rule that this package does not
// have, or by whoever made the trace. A pass is of the GPU that its kernels ran on. Options.Boundaries and Anchor are
// not looked at.
//
// The error wraps [ErrNoKernels] when there is nothing on the GPU and [ErrRange] when the passes do not fit the
// trace: a kernel of another device or in two places, layer indices that do not count up. It is ctx's error when
// cancelled.
func Assemble(ctx context.Context, t *trace.Trace, passes []GivenPass, opts Options) (a *Analysis, err error) {
	opts.Boundaries = boundariesAuto
	if err := opts.checkLayers(); err != nil {
		return nil, err
	}
	a = newAnalysis(t, opts)
	a.Boundaries = boundariesGiven
	if len(a.Devices) == 0 {
		return nil, ErrNoKernels
	}
	of := map[trace.DeviceID][]GivenPass{}
	for p := range passes {
		id := a.Devices[0].ID
		if e := t.At(passes[p].first()); e.Valid() {
			id = e.Device()
		}
		of[id] = append(of[id], passes[p])
	}
	for i := range a.Devices {
		if err := a.Devices[i].assemble(ctx, of[a.Devices[i].ID]); err != nil {
			return nil, err
		}
	}
	a.numberSteps()
	a.found = nil
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return a, nil
}

// first is a kernel of the pass, None where it has none.
func (g *GivenPass) first() trace.EventID {
	for i := range g.Layers {
		if k := g.Layers[i].Kernels; len(k) > 0 {
			return k[0]
		}
	}
	if len(g.Kernels) > 0 {
		return g.Kernels[0]
	}
	return trace.None
}

func (a *Device) assemble(ctx context.Context, passes []GivenPass) error {
	w := a.collect(ctx)
	m := w.model(a)
	a.classify(w)
	results, err := w.given(passes)
	if err != nil {
		return err
	}
	if m.Layers == 0 {
		for p := range results {
			m.Layers, m.Source = max(m.Layers, results[p].First+results[p].Count), ladder.FromGiven
		}
	}
	w.findOperators(a, results, false)
	w.Place(results)
	a.NumLayers, a.LayerSource = m.Layers, m.Source
	w.fillKernels(a, len(results))
	w.nameExperts(a, results)
	a.Evidence = []Evidence{}
	for p := range passes {
		fp := w.buildPass(a, p, &results[p])
		fp.apply(&passes[p])
		a.Passes = append(a.Passes, fp)
		a.endLayers(p, passes[p].Layers)
	}
	w.Models = map[ladder.ModelKey]*ladder.Model{{}: m}
	w.readAttention(results)
	a.listModels(w, results)
	a.cover()
	a.addGivenEvidence(passes)
	a.chooseSteady(ctx.Err)
	a.findStepEnds()
	return nil
}

// given turns given passes into the form of found ones.
func (w *work) given(passes []GivenPass) ([]ladder.Result, error) {
	index := make(map[trace.EventID]int32, len(w.Acts))
	for i := range w.Acts {
		e := w.Act(int32(i))
		index[e.ID()] = int32(i)
	}
	rank := make([]int32, len(w.Order)) // in launch order
	for k, i := range w.Order {
		rank[i] = int32(k)
	}
	results := make([]ladder.Result, len(passes))
	for p := range passes {
		g, r := &passes[p], &results[p]
		r.Evidence, r.LayerEvidence, r.Cut, r.Count = g.Evidence.Kind, g.Evidence.Kind, ladder.Partial(g.Partial),
			len(g.Layers)
		r.Conf, r.LayerConf = g.Evidence.Confidence, g.Evidence.Confidence
		take := func(ids []trace.EventID, halves []int8, lay int32) error {
			for k, id := range ids {
				i, ok := index[id]
				if !ok {
					return fmt.Errorf("%w: event %d of pass %d is no activity of GPU %d, or is in two places", ErrRange,
						id, p, w.Device)
				}
				delete(index, id)
				r.Kernels, r.Layer = append(r.Kernels, i), append(r.Layer, lay)
				if halves != nil {
					w.Half[i] = halves[k]
				}
			}
			return nil
		}
		for l := range g.Layers {
			lay := &g.Layers[l]
			if l == 0 {
				r.First = lay.Index
			}
			if lay.Index != r.First+l || lay.Index < 0 || lay.Index >= profile.MaxLayers || lay.Halves != nil &&
				len(lay.Halves) != len(lay.Kernels) {
				return nil, fmt.Errorf("%w: layer %d of pass %d: layers count up by one from 0…%d, and each kernel has a half "+
					"or none has", ErrRange, lay.Index, p, profile.MaxLayers-1)
			}
			if err := take(lay.Kernels, lay.Halves, int32(lay.Index)); err != nil {
				return nil, err
			}
		}
		if err := take(g.Kernels, nil, trace.None); err != nil {
			return nil, err
		}
		inLaunchOrder(r, rank)
	}
	return results, nil
}

// inLaunchOrder sorts a pass's kernels as found ones are.
func inLaunchOrder(r *ladder.Result, rank []int32) {
	of := make(map[int32]int32, len(r.Kernels))
	for k, i := range r.Kernels {
		of[i] = r.Layer[k]
	}
	slices.SortFunc(r.Kernels, func(x, y int32) int { return cmp.Compare(rank[x], rank[y]) })
	for k, i := range r.Kernels {
		r.Layer[k] = of[i]
	}
}

// apply writes what a given pass says of itself.
func (p *ForwardPass) apply(g *GivenPass) {
	p.Note = g.Note
	if g.Stage != "" {
		p.Stage = g.Stage
	}
	if g.End != 0 {
		p.End = g.End
	}
}

// endLayers notes where the layers of a pass were said to end.
func (a *Device) endLayers(p int, layers []GivenLayer) {
	if !slices.ContainsFunc(layers, func(l GivenLayer) bool { return l.End != 0 }) {
		return
	}
	ends := make([]trace.Time, len(layers))
	for l := range layers {
		ends[l] = layers[l].End
	}
	if a.layerEnds == nil {
		a.layerEnds = map[int][]trace.Time{}
	}
	a.layerEnds[p] = ends
}

// addGivenEvidence counts the passes of each kind of evidence.
func (a *Device) addGivenEvidence(passes []GivenPass) {
	index := map[any]int{}
	for _, what := range []Subject{OfPasses, OfLayers} {
		for p := range passes {
			if e := &passes[p].Evidence; what == OfPasses || len(passes[p].Layers) > 0 {
				a.rest(index, what, what, e.Kind, e.Confidence, func() string { return e.Detail })
			}
		}
	}
}
