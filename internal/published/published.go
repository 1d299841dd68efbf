package published

import (
	"context"
	"errors"
	"fmt"

	"github.com/llmstrata/strata/internal/view"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// AnchorOpens is what programs and documents call the rule of the anchors.
const AnchorOpens = "anchor-opens"

// confidence: a pass or layer that rests on anchors alone is as likely shifted as not.
const confidence = 0.5

// Analyze is [layer.Analyze] by the rule of the anchors. Categories are those of the published tables for every
// profile. Layers that are left over after the last complete pass make a pass that is cut at its end; the published
// tables leave it out, but can be asked for its layers.
func Analyze(ctx context.Context, t *trace.Trace, o layer.Options) (*layer.Analysis, error) {
	if t.Len(event.LaneGPU) == 0 {
		return layer.Assemble(ctx, t, nil, o) // which says so
	}
	p := o.Profile
	if p == nil {
		p, _ = profile.Infer(o.Config)
	}
	n, source := o.NumLayers, layer.SourceFlag
	if n == 0 && o.Config != nil && o.Config.NumLayers > 0 {
		n, source = o.Config.NumLayers, layer.SourceConfig
	}
	find := func(id *trace.DeviceID) (*blockCut, error) {
		return findBlocks(ctx, t, cutOptions{Profile: p, Anchor: o.Anchor, NumLayers: n, Device: id})
	}
	first, err := find(nil)
	if errors.Is(err, errNoAnchor) {
		err = fmt.Errorf("%w: %w", layer.ErrNoEvidence, err)
	}
	if err != nil {
		return nil, err
	}
	if n == 0 {
		source = layer.Source(first.Source)
	}
	cuts, passes := map[trace.DeviceID]*blockCut{first.Device: first}, given(first)
	for _, id := range t.Devices() {
		if id == first.Device {
			continue
		}
		cut, err := find(&id)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil && cut.NumLayers == first.NumLayers { // else the GPU has no passes by this rule
			cuts[id], passes = cut, append(passes, given(cut)...)
		}
	}
	reference := p.WithAnchor("")
	reference.BaseRules = "universal" // sums must agree, too
	o.Profile, o.NumLayers = reference, first.NumLayers
	a, err := layer.Assemble(ctx, t, passes, o)
	if err != nil {
		return nil, err
	}
	a.Boundaries = AnchorOpens
	for i := range a.Devices {
		if cut := cuts[a.Devices[i].ID]; cut != nil {
			a.Devices[i].LayerSource = source
			describe(&a.Devices[i], cut, p)
		}
	}
	return a, nil
}

// describe says what the passes of a GPU rest on.
func describe(d *layer.Device, cut *blockCut, p *profile.ModelProfile) {
	d.Anchor, d.NumAnchors = cut.Anchor, cut.Anchors
	if cut.Rest > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("anchor-opens leaves %d of %d blocks in no complete pass: a pass is %d blocks "+
			"and the kernels after the last anchor belong to nothing",
			cut.Rest, cut.Anchors-1, cut.NumLayers*cut.PerLayer))
	}
	if p.AnchorPosition == profile.AnchorCloses && cut.Anchor == p.Anchor {
		d.Notes = append(d.Notes, "anchor-opens shifts half labels and halves of layers: this model's anchor closes a "+
			"half; --boundaries auto or anchor-closes do not")
	}
}

// given are the passes of a cut as package layer takes them.
func given(c *blockCut) []layer.GivenPass {
	why := layer.Evidence{Kind: layer.RungAnchor, Confidence: confidence,
		Detail: fmt.Sprintf("%d blocks opened by %q, %d a pass, %d a layer",
			c.Anchors-1, c.Anchor, c.NumLayers*c.PerLayer, c.PerLayer)}
	passes := make([]layer.GivenPass, len(c.Passes))
	for i, p := range c.Passes {
		g := layer.GivenPass{End: p.End, Note: p.Note, Evidence: why}
		if !p.Whole {
			g.Partial = "end"
		}
		for l, lay := range p.Layers {
			g.Layers = append(g.Layers, layer.GivenLayer{Index: l, Kernels: lay.Kernels, Halves: lay.Halves,
				End: lay.End})
		}
		passes[i] = g
	}
	return passes
}

// Detail is [layer.Device.Detail] as the published script prints it: the wall time in its arithmetic, doubles of raw
// microseconds, and rows without the CPU side, as it reads shapes from the kernels themselves, which have none.
func Detail(a *layer.Device, pass, l int) (*view.Detail, error) {
	d, err := view.NewDetail(a, pass, l)
	if err != nil || len(d.Kernels) == 0 {
		return d, err
	}
	first, last := &d.Kernels[0], &d.Kernels[0]
	for i := range d.Kernels {
		k := &d.Kernels[i]
		if k.Index < first.Index {
			first = k
		}
		if k.Index > last.Index {
			last = k
		}
		k.InputDims, k.CPUOp, k.Module, k.SourceConfidence = nil, "", "", 0
	}
	d.Metadata.WallUS = last.TSUS + last.DurUS - first.TSUS
	return d, nil
}
