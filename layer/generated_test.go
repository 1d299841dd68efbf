package layer_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/profile"
)

// decodes are three eager decode passes.
var decodes = []gen.Pass{{Decodes: 8, Context: 500}, {Decodes: 8, Context: 501}, {Decodes: 8, Context: 502}}

// TestAnchorsOfGeneratedTraces: the last product of a dense layer closes it, its first one opens what follows it; a
// missing anchor is said.
func TestAnchorsOfGeneratedTraces(t *testing.T) {
	const down = "64x8_64x16_4x1_v_bz_splitK_TNT"
	tr, truths := generate(t, gen.Config{Seed: 7, Arch: gen.Arch{Layers: gen.Uniform(20, gen.Layer{})},
		Passes: decodes}, nil)
	for _, o := range []layer.Options{{Boundaries: "anchor-closes", Anchor: down},
		{Boundaries: "anchor-closes", Anchor: down, NumLayers: 20}} {
		a := analyze(t, tr, o)
		if share, wrong := placed(a, truths, itself); share < 1 || a.NumLayers != 20 || a.NumAnchors != 60 {
			t.Errorf("n=%d: %.2f%% right, N=%d, %d anchors\n%v", o.NumLayers, 100*share, a.NumLayers, a.NumAnchors,
				wrong)
		}
	}
	if _, err := layer.Analyze(t.Context(), tr, layer.Options{Boundaries: "anchor-closes", Anchor: "no such kernel",
		NumLayers: 20}); !errors.Is(err, layer.ErrNoEvidence) {
		t.Errorf("an anchor that does not occur: %v", err)
	}
}

// TestModulesOfGeneratedTraces: passes by annotations, profiler steps, and outermost frames alone, layers by frames.
func TestModulesOfGeneratedTraces(t *testing.T) {
	for _, dialect := range []gen.Dialect{gen.SGLang, gen.ProfilerStep, gen.NoAnnotations} {
		tr, truths := generate(t, gen.Config{Seed: 7, Dialect: dialect, Stacks: true, Modules: true, TP: 2,
			Arch: gen.Arch{Layers: gen.LeadingDense(12, 2), SharedExperts: true}, Passes: decodes}, nil)
		a := analyze(t, tr, layer.Options{Boundaries: "modules"})
		right := 0
		for kernel := range a.Kernels() {
			i, k := kernel.Index(), kernel.Place()
			if k.Layer == truths[i].Layer {
				right++
			}
		}
		if len(a.Passes) != 3 || a.NumLayers != 12 || a.LayerSource != "modules" || 100*right < 99*a.NumKernels() {
			t.Errorf("dialect %d: %d passes, N=%d from %s, %d of %d layers right", dialect, len(a.Passes), a.NumLayers,
				a.LayerSource, right, a.NumKernels())
		}
		if _, err := layer.Analyze(t.Context(), tr, layer.Options{NumLayers: 11}); !errors.Is(err,
			layer.ErrContradiction) {
			t.Errorf("dialect %d: 11 layers are taken for 12: %v", dialect, err)
		}
	}
}

// TestMissingLaunchesKeepTheirPass: activities whose launch calls are lost join the annotated passes around them on
// their stream, also where a whole stream has no launches.
func TestMissingLaunchesKeepTheirPass(t *testing.T) {
	for _, side := range []bool{false, true} {
		lost := map[string]bool{}
		r := rand.New(rand.NewSource(5))
		cfg := gen.Config{Seed: 7, Dialect: gen.SGLang, TP: 2,
			Arch: gen.Arch{Layers: gen.LeadingDense(16, 1), SharedExperts: side}, Passes: decodes}
		var data bytes.Buffer
		if err := gen.Write(&data, cfg); err != nil {
			t.Fatal(err)
		}
		edited(t, data.Bytes(), func(e map[string]any) map[string]any { // which calls are to be lost
			if args, ok := e["args"].(map[string]any); ok && onGPU(e) {
				if stream, _ := args["stream"].(json.Number).Int64(); side && stream != 7 || !side && r.Intn(3) == 0 {
					lost[args["correlation"].(json.Number).String()] = true
				}
			}
			return e
		})
		tr, truths := generate(t, cfg, func(e map[string]any) map[string]any {
			if args, ok := e["args"].(map[string]any); ok && e["cat"] == "cuda_runtime" {
				if c, ok := args["correlation"].(json.Number); ok && lost[c.String()] {
					return nil
				}
			}
			return e
		})
		a := analyze(t, tr, layer.Options{NumLayers: 16})
		share, wrong := placed(a, truths, itself)
		if a.Analysis().Health.Orphans == 0 || share < 1 || len(a.Passes) != 3 {
			t.Errorf("side stream %v: %d orphans, %.2f%% right, %d passes\n%v", side, a.Analysis().Health.Orphans,
				100*share, len(a.Passes), wrong)
		}
	}
}

// TestGraphsWithoutNames: full replays are the passes where no name shows embedding or sampling.
func TestGraphsWithoutNames(t *testing.T) {
	var passes []gen.Pass
	for range 4 {
		passes = append(passes, gen.Pass{Mode: gen.FullGraph, Decodes: 8, Context: 500})
	}
	arch := gen.Arch{Layers: gen.Uniform(24, gen.Layer{}), QKNorm: true}
	tr, truths := generate(t, gen.Config{Seed: 7, Arch: arch, Passes: passes, TP: 2},
		func(e map[string]any) map[string]any {
			if onGPU(e) {
				e["name"] = hashed(e["name"].(string))
			}
			return e
		})
	for _, n := range []int{24, 0} {
		a := analyze(t, tr, layer.Options{NumLayers: n})
		if share, wrong := placed(a, truths, hashed); share < 1 || len(a.Passes) != 4 || a.NumLayers != 24 {
			t.Errorf("n=%d: %.2f%% right, %d passes, N=%d\n%v", n, 100*share, len(a.Passes), a.NumLayers, wrong)
		}
	}
}

// TestContradictionsOfGeneratedTraces: a number of layers that the kernels contradict is an error that says theirs.
func TestContradictionsOfGeneratedTraces(t *testing.T) {
	tr, _ := generate(t, gen.Config{Seed: 7, Arch: gen.Arch{Layers: gen.Uniform(24, gen.Layer{})}, Passes: decodes,
		TP: 2, Dialect: gen.SGLang}, nil)
	for _, n := range []int{7, 11, 15, 17, 21, 25, 31, 100} {
		_, err := layer.Analyze(t.Context(), tr, layer.Options{NumLayers: n})
		if !errors.Is(err, layer.ErrContradiction) || !strings.Contains(err.Error(), "24") {
			t.Errorf("%d layers: %v", n, err)
		}
	}
	// Without it, the layers are those that the trace shows, a user's rules stay, and a finding says what was left out.
	own := classify.Rule{ID: "mine", Category: "mine", When: classify.Pattern{Substring: []string{"norm"}}}
	for n, refused := range map[int]bool{24: false, 17: true} {
		a, err := layer.AnalyzeAnyway(t.Context(), tr, layer.Options{NumLayers: n, Rules: []classify.Rule{own}})
		if err != nil || a.Devices[0].NumLayers != 24 || (a.Refused != nil) != refused {
			t.Fatalf("%d layers, anyway: %+v, %v", n, a, err)
		}
		mine := 0
		for k := range a.Devices[0].Kernels() {
			mine += stat.Int(k.Category() == own.Category)
		}
		said := slices.ContainsFunc(a.Findings(), func(f finding.Finding) bool {
			return f.Kind == finding.OtherModel && strings.Contains(f.Evidence, "17") && f.Do != ""
		})
		if mine == 0 || said != refused {
			t.Errorf("%d layers, anyway: %d kernels of the user's rule, said %t", n, mine, said)
		}
	}
	if _, err := layer.Analyze(t.Context(), tr, layer.Options{NumLayers: -1}); !errors.Is(err, layer.ErrRange) {
		t.Errorf("−1 layers: %v", err)
	}
	if _, err := layer.Analyze(t.Context(), tr, layer.Options{Boundaries: "modules"}); !errors.Is(err,
		layer.ErrNoEvidence) {
		t.Errorf("modules without frames: %v", err)
	}
	// Boundaries without evidence are left out alone: what is said of the model stays, if it is right.
	for n, is := range map[int]error{24: layer.ErrNoEvidence, 17: layer.ErrContradiction} {
		a, err := layer.AnalyzeAnyway(t.Context(), tr, layer.Options{Boundaries: "modules", NumLayers: n,
			Config: &profile.Config{NumLayers: n}})
		if err != nil || a.Devices[0].NumLayers != 24 || !errors.Is(a.Refused, is) || (a.Config != nil) != (n == 24) {
			t.Fatalf("%d layers by modules, anyway: %+v, %v", n, a, err)
		}
		if other := slices.ContainsFunc(a.Findings(), func(f finding.Finding) bool {
			return f.Kind == finding.OtherModel
		}); other != (n == 17) {
			t.Errorf("%d layers by modules: said to be another model: %t", n, other)
		}
	}
}
