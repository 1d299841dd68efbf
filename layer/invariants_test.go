package layer_test

import (
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/gen/families"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// countsAdd says that every pass with layers rests on one finding of its layers, that findings of passes say no more
// than there are, and that a pass's kernels are those of its layers, those before and after them.
func countsAdd(t testing.TB, name string, d *layer.Device) {
	t.Helper()
	sum := map[layer.Subject]int{}
	for _, e := range d.Evidence {
		if sum[e.For] += e.Passes; e.Passes == 0 {
			t.Errorf("%s: a finding that no pass rests on: %+v", name, e)
		}
	}
	layered := 0
	for p := range d.Passes {
		if d.Passes[p].NumLayers > 0 {
			layered++
		}
	}
	passes, layers := sum[layer.OfPasses], sum[layer.OfLayers]
	if layers != layered || passes == 0 && len(d.Passes) > 0 || passes > len(d.Passes) {
		t.Errorf("%s: findings of %d passes and of the layers of %d; there are %d, %d with layers", name, passes, layers,
			len(d.Passes), layered)
	}
	kernels, inLayers := make([]int, len(d.Passes)), make([]int, len(d.Passes))
	for k := range d.Kernels() {
		if at := k.Place(); at.Pass != trace.None {
			if kernels[at.Pass]++; at.Layer != trace.None {
				inLayers[at.Pass]++
			}
		}
	}
	for p := range d.Passes {
		fp := &d.Passes[p]
		if fp.Kernels != kernels[p] || fp.Kernels != inLayers[p]+fp.Prologue+fp.Epilogue {
			t.Errorf("%s: pass %d has %d kernels, %d in front of layers, %d behind; %d are there, %d of them in layers",
				name, p, fp.Kernels, fp.Prologue, fp.Epilogue, kernels[p], inLayers[p])
		}
	}
}

// TestWhatPassesRestOn: one pass and several, whole and cut, with launches and without.
func TestWhatPassesRestOn(t *testing.T) {
	f := shortened(families.All()[0], 12)
	for name, acts := range map[string][]act{
		"one": actsOf(f, false), "three": actsOf(f, true, false, false), "graphs": replayed(actsOf(f, false, false)),
		"one graph": replayed(actsOf(f, false)), "no launches": orphaned(actsOf(f, false, false), 1),
		"one without launches": orphaned(actsOf(f, false), 1),
		"cut":                  window(actsOf(f, false, false, false), 0.3, 0.3),
		"hidden":               nameless(actsOf(f, false, false)),
		"one hidden":           nameless(actsOf(f, false)), "nothing that repeats": actsOf(f, false)[:4],
	} {
		for _, n := range []int{0, 12} {
			an, err := layer.Analyze(t.Context(), traceOf(acts), layer.Options{NumLayers: n})
			if err != nil {
				if name != "nothing that repeats" {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			countsAdd(t, name, &an.Devices[0])
		}
	}
}

// TestRangesInWords: an error about a pass or a layer that is not there says which are.
func TestRangesInWords(t *testing.T) {
	tr, _ := generate(t, gen.Config{Seed: 7, Dialect: gen.SGLang, Arch: gen.Arch{Layers: gen.Uniform(12, gen.Layer{})},
		Passes: decodes}, nil)
	d := analyze(t, tr, layer.Options{})
	f := shortened(families.All()[0], 20)
	half := analyze(t, traceOf(window(actsOf(f, false), 0.4, 0)), layer.Options{})
	for _, c := range []struct {
		name string
		d    *layer.Device
		p, l int
		want string // "" where there is such a layer
	}{
		{"the first", d, 0, 0, ""}, {"the last", d, 0, 11, ""}, {"one more", d, 0, 12, "0…11"},
		{"one less", d, 0, -1, "0…11"}, {"another pass", d, 3, 0, "0 to 2"}, {"no pass", d, -1, 0, "0 to 2"},
		{"the last from the end", half, 0, -1, ""}, {"the first from the end", half, 0, -half.Passes[0].NumLayers, ""},
		{"one more from the end", half, 0, -half.Passes[0].NumLayers - 1, "…-1"},
		{"none from the start", half, 0, 0, "…-1"},
	} {
		_, l, err := c.d.Layer(c.p, c.l)
		if c.want == "" && (err != nil || l == nil) || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: pass %d, layer %d: %v, want %q", c.name, c.p, c.l, err, c.want)
		}
	}
	if !half.Passes[0].FromEnd || half.Passes[0].NumLayers < 10 {
		t.Fatalf("a window without the first layers: %+v", half.Passes[0])
	}
}
