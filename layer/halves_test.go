package layer_test

import (
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
)

// TestHalvesOfABatch: two halves of each batch beside each other on two streams, in step and half a layer apart.
func TestHalvesOfABatch(t *testing.T) {
	for _, arch := range []gen.Arch{
		{Layers: gen.Uniform(32, gen.Layer{}), Hidden: 4096},
		{Layers: gen.LeadingDense(27, 1), Hidden: 2048, Experts: 64},
	} {
		for _, overlap := range []gen.Overlap{gen.Aligned, gen.Shifted} {
			for _, mode := range []gen.Mode{gen.Eager, gen.FullGraph} {
				for _, dialect := range []gen.Dialect{gen.SGLang, gen.NoAnnotations} {
					if !testdata.Long() && !chosen(len(arch.Layers), int(overlap)+2*int(mode), 4*int(dialect)) {
						continue
					}
					p := gen.Pass{Mode: mode, Overlap: overlap, Decodes: 64, Context: 1000}
					cfg := gen.Config{Seed: 3, Dialect: dialect, Arch: arch,
						Passes: []gen.Pass{p, p, {Decodes: 2, Context: 10}, p}, TP: 2}
					tr, truths := generate(t, cfg, nil)
					for _, n := range []int{len(arch.Layers), 0} {
						a := analyze(t, tr, layer.Options{NumLayers: n})
						share, wrong := placed(a, truths, itself)
						if share < 1 || a.NumLayers != len(arch.Layers) || len(a.Passes) != 4 {
							t.Errorf("%d layers, overlap %d, mode %d, dialect %d, n=%d: %.2f%% right, N=%d, %d passes\n%v", len(arch.Layers),
								overlap, mode, dialect, n, 100*share, a.NumLayers, len(a.Passes), wrong)
						}
						if !strings.Contains(strings.Join(a.Notes, "\n"), "3 of 4 passes run two halves") {
							t.Errorf("overlap %d, mode %d: notes %q", overlap, mode, a.Notes)
						}
					}
				}
			}
		}
	}
}

// TestIdlePasses: a data-parallel rank without requests runs all but attention. Such passes have the layers of the
// others, are called idle, and are not the steady state.
func TestIdlePasses(t *testing.T) {
	arch := gen.Arch{Layers: gen.LeadingDense(27, 1), Hidden: 2048, Experts: 64}
	idle, busy := gen.Pass{Idle: true}, gen.Pass{Decodes: 16, Context: 100}
	for _, dialect := range []gen.Dialect{gen.SGLang, gen.VLLM, gen.TensorRTLLM, gen.NoAnnotations} {
		tr, truths := generate(t, gen.Config{Seed: 3, Dialect: dialect, Arch: arch,
			Passes: []gen.Pass{idle, idle, idle, busy, busy, idle}, TP: 2}, nil)
		for _, n := range []int{27, 0} {
			a := analyze(t, tr, layer.Options{NumLayers: n})
			share, wrong := placed(a, truths, itself)
			if share < 1 || len(a.Passes) != 6 || a.NumLayers != 27 {
				t.Fatalf("dialect %d, n=%d: %.2f%% right, N=%d, %d passes\n%v", dialect, n, 100*share, a.NumLayers,
					len(a.Passes), wrong)
			}
			for p := range a.Passes {
				if is := p != 3 && p != 4; (a.Passes[p].Stage == layer.StageIdle) != is {
					t.Errorf("dialect %d, n=%d: pass %d has stage %s", dialect, n, p, a.Passes[p].Stage)
				}
			}
			if a.Steady.Pass != 3 {
				t.Errorf("dialect %d, n=%d: steady pass %d, want 3 (%s)", dialect, n, a.Steady.Pass, a.Steady.Reason)
			}
		}
	}
	// Nothing but idle passes and no N: no mixer separates a layer from its halves, and none are claimed.
	tr, _ := generate(t, gen.Config{Seed: 3, Dialect: gen.SGLang, Arch: arch, Passes: []gen.Pass{idle, idle}, TP: 2},
		nil)
	if a := analyze(t, tr, layer.Options{}); a.NumLayers != 0 || len(a.Passes) != 2 || len(a.Notes) == 0 {
		t.Errorf("idle passes alone: %d layers, %d passes, notes %q", a.NumLayers, len(a.Passes), a.Notes)
	}
}
