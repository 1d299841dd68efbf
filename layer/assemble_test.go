package layer_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// ofTruth is evidence of a kind that the caller names.
var ofTruth = layer.Evidence{Kind: "truth", Confidence: 1}

// assembled are the passes of a generated trace as its generator knows them.
func assembled(tr *trace.Trace, truths []gen.Truth) []layer.GivenPass {
	var passes []layer.GivenPass
	i := 0
	for e := range tr.Events(event.LaneGPU) {
		truth := truths[i]
		i++
		if truth.Pass < 0 {
			continue
		}
		for len(passes) <= truth.Pass {
			passes = append(passes, layer.GivenPass{Stage: layer.StageDecode, Evidence: ofTruth})
		}
		p := &passes[truth.Pass]
		if truth.Layer < 0 {
			p.Kernels = append(p.Kernels, e.ID())
			continue
		}
		for len(p.Layers) <= truth.Layer {
			p.Layers = append(p.Layers, layer.GivenLayer{Index: len(p.Layers)})
		}
		p.Layers[truth.Layer].Kernels = append(p.Layers[truth.Layer].Kernels, e.ID())
	}
	return passes
}

// TestAssembleTakesWhatIsGiven: every kernel where its generator put it, walls and counts that follow from that.
func TestAssembleTakesWhatIsGiven(t *testing.T) {
	tr, truths := generate(t, gen.Config{Seed: 3, Arch: gen.Arch{Layers: gen.Uniform(6, gen.Layer{})}, Passes: decodes},
		nil)
	passes := assembled(tr, truths)
	for _, p := range passes {
		slices.Reverse(p.Layers[2].Kernels) // any order will do
	}
	passes[1].Layers[0].End, passes[1].Note = 1<<40, "as given"
	an, err := layer.Assemble(t.Context(), tr, passes, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := &an.Devices[0]
	for kernel := range a.Kernels() {
		i, k := kernel.Index(), kernel.Place()
		if k.Pass != truths[i].Pass || k.Layer != truths[i].Layer {
			t.Fatalf("kernel %d is in pass %d, layer %d, want %d, %d", i, k.Pass, k.Layer, truths[i].Pass,
				truths[i].Layer)
		}
	}
	if a.NumLayers != 6 || a.LayerSource != "given" || an.Boundaries != "given" || len(a.Passes) != 3 ||
		a.Steady.Pass == trace.None {
		t.Errorf("%d layers from %s, boundaries %s, %d passes, steady %d", a.NumLayers, a.LayerSource, an.Boundaries,
			len(a.Passes), a.Steady.Pass)
	}
	if len(a.Evidence) != 2 || a.Evidence[0].Passes != 3 || a.Evidence[1].For != layer.OfLayers ||
		a.Evidence[1].Kind != ofTruth.Kind {
		t.Errorf("evidence %+v, want 3 passes and their layers by truth", a.Evidence)
	}
	for p := range a.Passes {
		fp := &a.Passes[p]
		if fp.Stage != layer.StageDecode || fp.Prologue != 0 && fp.Prologue != len(passes[p].Kernels)-fp.Epilogue {
			t.Errorf("pass %d: stage %s, %d kernels before the layers and %d after, %d given", p, fp.Stage, fp.Prologue,
				fp.Epilogue, len(passes[p].Kernels))
		}
		layers := fp.Layers()
		for l := range layers {
			if lay := &layers[l]; lay.Wall != time.Duration(lay.End-lay.Start) ||
				(lay.End == 1<<40) != (p == 1 && l == 0) || !slices.IsSorted(lay.Kernels) {
				t.Errorf("pass %d layer %d: wall %v from %d to %d", p, l, lay.Wall, lay.Start, lay.End)
			}
		}
	}
	if a.Passes[1].Note != "as given" || a.Passes[0].Note != "" {
		t.Errorf("notes %q and %q", a.Passes[0].Note, a.Passes[1].Note)
	}
}

// TestAssembleRefusesWhatDoesNotFit: each error is one of range.
func TestAssembleRefusesWhatDoesNotFit(t *testing.T) {
	tr, truths := generate(t, gen.Config{Seed: 3, Arch: gen.Arch{Layers: gen.Uniform(6, gen.Layer{})}, Passes: decodes},
		nil)
	for name, spoil := range map[string]func(p []layer.GivenPass){
		"a kernel twice": func(p []layer.GivenPass) {
			p[1].Kernels = append(p[1].Kernels,
				p[0].Layers[0].Kernels[0])
		},
		"no such event":          func(p []layer.GivenPass) { p[0].Layers[0].Kernels[0] = trace.EventID(1 << 30) },
		"an index left out":      func(p []layer.GivenPass) { p[0].Layers[3].Index = 4 },
		"an index below 0":       func(p []layer.GivenPass) { p[0].Layers = []layer.GivenLayer{{Index: -1}} },
		"an index beyond reason": func(p []layer.GivenPass) { p[0].Layers = []layer.GivenLayer{{Index: math.MaxInt}} },
		"too few halves":         func(p []layer.GivenPass) { p[0].Layers[0].Halves = []int8{0} },
	} {
		passes := assembled(tr, truths)
		spoil(passes)
		if a, err := layer.Assemble(t.Context(), tr, passes, layer.Options{}); !errors.Is(err, layer.ErrRange) ||
			a != nil {
			t.Errorf("%s: %v, want an error of range", name, err)
		}
	}
	if _, err := layer.Assemble(t.Context(), tr, nil, layer.Options{NumLayers: math.MaxInt}); !errors.Is(err,
		layer.ErrRange) {
		t.Errorf("2^40 layers: %v, want an error of range", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := layer.Assemble(ctx, tr, assembled(tr, truths), layer.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
