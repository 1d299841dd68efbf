package layer_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
)

// demoAnalysis analyses the demo trace.
func demoAnalysis(t *testing.T, o layer.Options) *layer.Device {
	t.Helper()
	return analyze(t, demoTrace(), o)
}

// TestDetailWritesEveryForm: text with the diff behind it, the compute flow with the model's summary, one JSON document.
func TestDetailWritesEveryForm(t *testing.T) {
	a := analyze(t, open(t, dsv4Trace), layer.Options{Config: config(t, "deepseek-v4-flash.json")})
	d, err := layer.NewDetail(a, 2, 4)
	if err != nil {
		t.Fatal(err)
	}
	other, err := layer.NewDetail(a, 2, 5)
	if err != nil {
		t.Fatal(err)
	}
	d.Diff = layer.DiffOf(d, other)
	arch := a.Analysis().Config.Summary(0)
	var text, flow, doc, diff bytes.Buffer
	for _, err := range []error{d.WriteText(&text), d.WriteComputeFlow(&flow, &arch), d.WriteJSON(&doc), d.Diff.WriteText(&diff)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		what, got string
		says      []string
	}{
		{"text", text.String(), []string{"C4_LIGHT", "compress ratio 4", "Hadamard", "attn", "ffn", "Only in layer 4", "Only in layer 5"}},
		{"flow", flow.String(), []string{"Model:", "Simplified Name", "ts_rel(ms)", "Input Dims"}},
		{"diff", diff.String(), []string{"Layer 4 (C4_LIGHT) against layer 5 (C128_HEAVY)", "Common kernel types"}},
	} {
		for _, s := range c.says {
			if !strings.Contains(c.got, s) {
				t.Errorf("%s does not say %q:\n%s", c.what, s, c.got)
			}
		}
	}
	var back layer.Detail
	if err := json.Unmarshal(doc.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d.Categories, back.Categories); diff != "" {
		t.Errorf("categories after a round trip (-want +got):\n%s", diff)
	}
	if back.Metadata != d.Metadata || len(back.Kernels) != len(d.Kernels) || back.Diff == nil {
		t.Errorf("metadata %+v, %d kernels, want %+v, %d", back.Metadata, len(back.Kernels), d.Metadata, len(d.Kernels))
	}
	if err := json.Unmarshal([]byte(`{"category_summary": 3}`), &back); err == nil {
		t.Error("a number is taken for a category summary")
	}
}

// TestTimelineWritesOneDocument with the agreed names, the passes of the demo and a health report.
func TestTimelineWritesOneDocument(t *testing.T) {
	tl, err := layer.NewTimeline(demoAnalysis(t, layer.Options{}), layer.None)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := tl.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Passes     []layer.PassRow
		Layers     []struct{ Categories map[string]float64 }
		Categories []layer.CategoryTotal `json:"kernel_categories"`
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	share := 0.0
	for _, c := range doc.Categories {
		share += c.SharePct
	}
	if len(doc.Passes) != 5 || len(doc.Layers) != 8 || doc.Layers[1].Categories["moe"] <= 0 || share < 99.9 || share > 100.1 {
		t.Errorf("%d passes, %d layers, %v, shares of categories add up to %v", len(doc.Passes), len(doc.Layers), doc.Layers[1].Categories, share)
	}
	if note := doc.Passes[4].Note; note != "graph replay" {
		t.Errorf("note of the replayed pass: %q", note)
	}
}

// failing is a writer that takes so many bytes.
type failing struct{ left int }

var errFull = errors.New("full")

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// TestWritersReportTheFirstError wherever the output ends.
func TestWritersReportTheFirstError(t *testing.T) {
	a := demoAnalysis(t, layer.Options{})
	tl, err := layer.NewTimeline(a, layer.None)
	if err != nil {
		t.Fatal(err)
	}
	d, err := layer.NewDetail(a, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, left := range []int{0, 40, 700, 1500} {
		if err := tl.WriteText(&failing{left}, layer.TextOptions{}); !errors.Is(err, errFull) {
			t.Errorf("timeline after %d bytes: %v", left, err)
		}
		if err := d.WriteComputeFlow(&failing{left}, nil); !errors.Is(err, errFull) {
			t.Errorf("flow after %d bytes: %v", left, err)
		}
	}
}

// TestVariantsAreNamed: two kinds of attention in turns are two rows of the table of types, tile variants are not. Where the
// config tells kinds they have its names, also where their kernels are the same.
func TestVariantsAreNamed(t *testing.T) {
	for _, c := range []struct {
		name, config string
		arch         gen.Arch
		types        []string
	}{
		{"hybrid", "", gen.Arch{Layers: gen.Hybrid(16, 4, gen.Dense)}, []string{"FIRST", "LAYER/A", "LAYER/B", "FINAL"}},
		{"tiles", "", gen.Arch{Layers: gen.Uniform(16, gen.Layer{}), TileVariants: true}, []string{"FIRST", "LAYER", "FINAL"}},
		{"sliding", `{"num_hidden_layers": 4, "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"]}`,
			gen.Arch{Layers: gen.Alternating(4, gen.Dense)}, []string{"FIRST", "LAYER/full", "LAYER/sliding", "FINAL"}},
		{"dense and experts", `{"num_hidden_layers": 6, "num_experts": 8, "mlp_layer_types": ["dense", "dense", "moe", "moe", "moe", "moe"]}`,
			gen.Arch{Layers: gen.LeadingDense(6, 2)}, []string{"FIRST", "LAYER/dense", "LAYER/moe", "FINAL"}},
		{"both", `{"num_hidden_layers": 4, "num_experts": 8, "layer_types": ["linear_attention", "linear_attention", "full_attention", "linear_attention"],
			"mlp_layer_types": ["dense", "moe", "moe", "moe"]}`, gen.Arch{Layers: gen.Uniform(4, gen.Layer{})}, []string{"FIRST", "LAYER/linear+moe", "LAYER/full+moe", "FINAL"}},
		{"one kind", `{"num_hidden_layers": 4}`, gen.Arch{Layers: gen.Uniform(4, gen.Layer{})}, []string{"FIRST", "LAYER", "FINAL"}},
	} {
		var o layer.Options
		if c.config != "" {
			cfg, err := profile.ParseConfig(strings.NewReader(c.config))
			if err != nil {
				t.Fatal(err)
			}
			o.Config = cfg
		}
		tr, _ := generate(t, gen.Config{Seed: 5, Arch: c.arch, Passes: []gen.Pass{{Decodes: 4, Context: 100}}}, nil)
		tl, err := layer.NewTimeline(analyze(t, tr, o), layer.None)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range tl.Clusters {
			name := row.Type
			if row.Variant != "" {
				name += "/" + row.Variant
			}
			got = append(got, name)
		}
		if diff := cmp.Diff(c.types, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestTrainingIsNamed: iterations of a training loop are no layers, and the result says what they are.
func TestTrainingIsNamed(t *testing.T) {
	for _, name := range []string{"old-format-pythonstack-v100.pt.trace.json.gz", "train-absolute-float-ts-v100.pt.trace.json.gz", "train-pair-rank-0.json.gz"} {
		for _, mode := range []layer.Boundaries{layer.BoundariesAuto, layer.BoundariesRepeats} {
			a := analyze(t, open(t, name), layer.Options{Boundaries: mode})
			if a.NumLayers != 0 || !strings.Contains(strings.Join(a.Notes, "\n"), "training run") {
				t.Errorf("%s, %s: %d layers, notes %q", name, mode, a.NumLayers, a.Notes)
			}
			for _, p := range a.Passes {
				if p.PassEvidence == "whole" && p.Confidence > 0.5 {
					t.Errorf("%s, %s: pass %d rests on nothing and has confidence %v", name, mode, p.Index, p.Confidence)
				}
			}
		}
	}
}

// TestSteadyState: the first of the longest run of equal passes.
func TestSteadyState(t *testing.T) {
	decode := gen.Pass{Decodes: 8, Context: 500}
	other := gen.Pass{Decodes: 64, Context: 500}
	cfg := gen.Config{Seed: 5, Dialect: gen.SGLang, Arch: gen.Arch{Layers: gen.Uniform(8, gen.Layer{})},
		Passes: []gen.Pass{{Prefills: 1, Tokens: 2000}, other, other, decode, decode, decode, decode, other}}
	tr, _ := generate(t, cfg, nil)
	a := analyze(t, tr, layer.Options{})
	if a.Steady.Pass != 3 || a.Steady.Run != 4 || !strings.Contains(a.Steady.Reason, "batch 8") {
		t.Errorf("steady state %+v, want pass 3 and a run of 4", a.Steady)
	}
	if avg := a.Passes[3].AvgLayerWall(); avg <= 0 || avg > a.Passes[3].Wall() {
		t.Errorf("mean layer of %v in a pass of %v", avg, a.Passes[3].Wall())
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
