package layer_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/layer"
)

// demoAnalysis analyses the demo trace.
func demoAnalysis(t *testing.T, o layer.Options) *layer.Device {
	t.Helper()
	return analyze(t, demoTrace(), o)
}

// TestTrainingIsNamed: iterations of a training loop are no layers, and the result says what they are.
func TestTrainingIsNamed(t *testing.T) {
	for _, name := range []string{"old-format-pythonstack-v100.pt.trace.json.gz",
		"train-absolute-float-ts-v100.pt.trace.json.gz", "train-pair-rank-0.json.gz"} {
		for _, mode := range []string{"auto", "repeats"} {
			a := analyze(t, open(t, name), layer.Options{Boundaries: mode})
			if a.NumLayers != 0 || !strings.Contains(strings.Join(a.Notes, "\n"), "training run") {
				t.Errorf("%s, %s: %d layers, notes %q", name, mode, a.NumLayers, a.Notes)
			}
			for _, p := range a.Passes {
				if p.PassEvidence == layer.RungWhole && p.Confidence > 0.5 {
					t.Errorf("%s, %s: pass %d rests on nothing and has confidence %v", name, mode, p.Index,
						p.Confidence)
				}
			}
		}
	}
}

// TestSteadyState: of the longest run of equal passes the one nearest to their median.
func TestSteadyState(t *testing.T) {
	decode := gen.Pass{Decodes: 8, Context: 500}
	other := gen.Pass{Decodes: 64, Context: 500}
	cfg := gen.Config{Seed: 5, Dialect: gen.SGLang, Arch: gen.Arch{Layers: gen.Uniform(8, gen.Layer{})},
		Passes: []gen.Pass{{Prefills: 1, Tokens: 2000}, other, other, decode, decode, decode, decode, other}}
	tr, _ := generate(t, cfg, nil)
	a := analyze(t, tr, layer.Options{})
	var walls []time.Duration
	for p := 3; p < 7; p++ {
		walls = append(walls, a.Passes[p].Wall())
	}
	slices.Sort(walls)
	if p := a.Steady.Pass; p < 3 || p > 6 || a.Passes[p].Wall() != walls[2] || a.Steady.Run != 4 ||
		!strings.Contains(a.Steady.Reason, "batch 8") {
		t.Errorf("steady state %+v, want the pass of %v of a run of 4", a.Steady, walls[2])
	}
}

// TestUnknownDevice: the error names the devices there are.
func TestUnknownDevice(t *testing.T) {
	d := demoTrace().Devices()[0] + 7
	_, err := demoAnalysis(t, layer.Options{}).Analysis().Device(&d)
	if !errors.Is(err, layer.ErrRange) || !strings.Contains(err.Error(), "GPU 7") {
		t.Errorf("device 7: %v", err)
	}
}
