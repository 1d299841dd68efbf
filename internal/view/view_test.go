package view_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/internal/view"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

const dsv4Trace = "synthetic-deepseek-v4-flash-TP-0.trace.json.gz"

// demoAnalysis analyses the demo trace, which has one GPU.
func demoAnalysis(t testing.TB, o layer.Options) *layer.Device {
	t.Helper()
	return analyze(t, bytes.NewReader(demo.Trace()), o)
}

// dsv4 analyses a shared trace with its config, and skips the test where shared is absent.
func dsv4(t testing.TB) *layer.Device {
	t.Helper()
	c, err := profile.LoadConfig(testdata.Shared(t, "configs/deepseek-v4-flash.json"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.Open(testdata.Shared(t, "traces/torch/"+dsv4Trace))
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	return analyze(t, data, layer.Options{Config: c})
}

// generated analyses a generated trace.
func generated(t testing.TB, cfg gen.Config, o layer.Options) *layer.Device {
	t.Helper()
	var b bytes.Buffer
	if err := gen.Write(&b, cfg); err != nil {
		t.Fatal(err)
	}
	return analyze(t, &b, o)
}

func analyze(t testing.TB, r io.Reader, o layer.Options) *layer.Device {
	t.Helper()
	tr, err := trace.Read(t.Context(), r, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := layer.Analyze(t.Context(), tr, o)
	if err != nil {
		t.Fatal(err)
	}
	d, err := a.Device(nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDetailWritesEveryForm: text followed by the diff, the compute flow with the model's summary, one JSON
// document.
func TestDetailWritesEveryForm(t *testing.T) {
	a := dsv4(t)
	d, err := view.NewDetail(a, 2, 4)
	if err != nil {
		t.Fatal(err)
	}
	other, err := view.NewDetail(a, 2, 5)
	if err != nil {
		t.Fatal(err)
	}
	d.Diff = view.DiffOf(d, other)
	arch := a.Analysis().Config.Summary()
	var text, flow, doc, diff bytes.Buffer
	for _, err := range []error{d.WriteText(&text), d.WriteComputeFlow(&flow, &arch), json.NewEncoder(&doc).Encode(d),
		d.Diff.WriteText(&diff)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		what, got string
		says      []string
	}{
		{"text", text.String(), []string{"C4_LIGHT", "compress ratio 4", "Hadamard", "attn", "ffn", "Only in layer 4",
			"Only in layer 5"}},
		{"flow", flow.String(), []string{"Model:", "Kernel", "In trace (ms)", "Input shapes"}},
		{"diff", diff.String(), []string{"Layer 4 (C4_LIGHT) against layer 5 (C128_HEAVY)", "In both"}},
	} {
		for _, s := range c.says {
			if !strings.Contains(c.got, s) {
				t.Errorf("%s does not say %q:\n%s", c.what, s, c.got)
			}
		}
	}
	var back document
	if err := json.Unmarshal(doc.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	for _, c := range d.Categories {
		want := view.CategorySum{DurUS: c.DurUS, Count: c.Count}
		if back.Categories[c.Key] != want {
			t.Errorf("category %s is %+v in the document, want %+v", c.Key, back.Categories[c.Key], want)
		}
	}
	if back.Metadata != d.Metadata || len(back.Kernels) != len(d.Kernels) || back.Diff == nil {
		t.Errorf("metadata %+v, %d kernels, want %+v, %d", back.Metadata, len(back.Kernels), d.Metadata, len(d.Kernels))
	}
}

// document is a Detail as its readers see it.
type document struct {
	Metadata   view.DetailMetadata
	Categories map[string]view.CategorySum `json:"category_summary"`
	Kernels    []view.KernelRow
	Diff       *view.Diff
}

// TestTimelineWritesOneDocument with the agreed names, the passes of the demo and a health report.
func TestTimelineWritesOneDocument(t *testing.T) {
	tl, err := view.NewTimeline(demoAnalysis(t, layer.Options{}), trace.None)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(tl); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Passes     []view.PassRow
		Layers     []struct{ Categories map[string]float64 }
		Categories []view.CategoryTotal `json:"kernel_categories"`
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	share := 0.0
	for _, c := range doc.Categories {
		share += c.SharePct
	}
	if len(doc.Passes) != 5 || len(doc.Layers) != 8 || doc.Layers[1].Categories["moe"] <= 0 || share < 99.9 ||
		share > 100.1 {
		t.Errorf("%d passes, %d layers, %v, shares of categories add up to %v", len(doc.Passes), len(doc.Layers),
			doc.Layers[1].Categories, share)
	}
	if note := doc.Passes[4].Note; !strings.HasPrefix(note, "graph replay") {
		t.Errorf("note of the replayed pass: %q", note)
	}
}

// TestWritersReportTheFirstError wherever the output ends.
func TestWritersReportTheFirstError(t *testing.T) {
	a := demoAnalysis(t, layer.Options{})
	tl, err := view.NewTimeline(a, trace.None)
	if err != nil {
		t.Fatal(err)
	}
	d, err := view.NewDetail(a, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, left := range []int{0, 40, 700, 1500} {
		if err := tl.WriteText(&failing{left}, view.TextOptions{}); !errors.Is(err, errFull) {
			t.Errorf("timeline after %d bytes: %v", left, err)
		}
		if err := d.WriteComputeFlow(&failing{left}, nil); !errors.Is(err, errFull) {
			t.Errorf("flow after %d bytes: %v", left, err)
		}
	}
}

// TestVariantsAreNamed: two kinds of attention in turns are two rows of the table of types, tile variants are not.
// If the config names kinds, they have its names, also where their kernels are the same.
func TestVariantsAreNamed(t *testing.T) {
	for _, c := range []struct {
		name, config string
		arch         gen.Arch
		types        []string
	}{
		{"hybrid", "", gen.Arch{Layers: gen.Hybrid(16, 4, gen.Dense)},
			[]string{"FIRST", "LAYER/A", "LAYER/B", "FINAL"}},
		{"tiles", "", gen.Arch{Layers: gen.Uniform(16, gen.Layer{}), TileVariants: true},
			[]string{"FIRST", "LAYER", "FINAL"}},
		{"sliding", `{"num_hidden_layers": 4, "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"]}`,
			gen.Arch{Layers: gen.Alternating(4, gen.Dense)}, []string{"FIRST", "LAYER/full", "LAYER/sliding", "FINAL"}},
		{"dense and experts", `{"num_hidden_layers": 6, "num_experts": 8, "mlp_layer_types": ["dense", "dense", "moe", "moe", "moe", "moe"]}`,
			gen.Arch{Layers: gen.LeadingDense(6, 2)}, []string{"FIRST", "LAYER/dense", "LAYER/moe", "FINAL"}},
		{"both", `{"num_hidden_layers": 4, "num_experts": 8, "layer_types": ["linear_attention", "linear_attention", "full_attention", "linear_attention"],
			"mlp_layer_types": ["dense", "moe", "moe", "moe"]}`, gen.Arch{Layers: gen.Uniform(4, gen.Layer{})}, []string{"FIRST", "LAYER/linear+moe", "LAYER/full+moe", "FINAL"}},
		{"one kind", `{"num_hidden_layers": 4}`, gen.Arch{Layers: gen.Uniform(4, gen.Layer{})},
			[]string{"FIRST", "LAYER", "FINAL"}},
	} {
		var o layer.Options
		if c.config != "" {
			cfg, err := profile.ParseConfig(strings.NewReader(c.config))
			if err != nil {
				t.Fatal(err)
			}
			o.Config = cfg
		}
		d := generated(t, gen.Config{Seed: 5, Arch: c.arch, Passes: []gen.Pass{{Decodes: 4, Context: 100}}}, o)
		tl, err := view.NewTimeline(d, trace.None)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range tl.Clusters {
			name := string(row.Type)
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

// TestDetailOfTheDemo: every form of a layer's kernels and of its difference to another layer.
func TestDetailOfTheDemo(t *testing.T) {
	a := demoAnalysis(t, layer.Options{})
	d, err := view.NewDetail(a, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	other, err := view.NewDetail(a, 1, 3)
	if err != nil {
		t.Fatal(err)
	}
	d.Diff = view.DiffOf(d, other)
	var text, flow, doc bytes.Buffer
	for _, err := range []error{d.WriteText(&text), d.WriteComputeFlow(&flow, nil), json.NewEncoder(&doc).Encode(d)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var back document
	if err := json.Unmarshal(doc.Bytes(), &back); err != nil || back.Metadata != d.Metadata || back.Diff == nil {
		t.Errorf("round trip: %v, %+v", err, back.Metadata)
	}
	for _, s := range []string{"Layer 2", "gainst layer 3"} {
		if !strings.Contains(text.String(), s) {
			t.Errorf("text does not say %q:\n%s", s, text.String())
		}
	}
	if a.Kernel(0).Half() != "" || flow.Len() == 0 {
		t.Errorf("kernel 0 is in half %q; flow of %d bytes", a.Kernel(0).Half(), flow.Len())
	}
	if _, err := view.NewDetail(a, 99, 0); !errors.Is(err, layer.ErrRange) {
		t.Errorf("pass 99: %v", err)
	}
	if _, err := view.NewDetail(a, 1, 99); !errors.Is(err, layer.ErrRange) {
		t.Errorf("layer 99: %v", err)
	}
}

// TestHadamardIsInRatioFourLayers: with the right boundaries only layers of ratio 4 have an indexer.
func TestHadamardIsInRatioFourLayers(t *testing.T) {
	a := dsv4(t)
	tl, err := view.NewTimeline(a, trace.None)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range tl.Layers {
		has := false
		for _, c := range l.Categories {
			has = has || c.Key == "hadamard"
		}
		if has != (l.CompressRatio == 4) {
			t.Errorf("layer %d with ratio %d: Hadamard kernels %v", l.Index, l.CompressRatio, has)
		}
	}
	if tl.Layers[0].Type != profile.FirstLayer || !tl.Layers[0].Hash || !tl.Layers[2].Hash || tl.Layers[3].Hash {
		t.Errorf("types %q, hash %v %v %v", tl.Layers[0].Type, tl.Layers[0].Hash, tl.Layers[2].Hash, tl.Layers[3].Hash)
	}
}

var errFull = errors.New("full")

// failing is a writer that takes so many bytes.
type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// TestRowsOfPaddedGraphs: where a graph runs more rows than there are tokens, the table of passes says so.
func TestRowsOfPaddedGraphs(t *testing.T) {
	var b bytes.Buffer
	if _, err := gen.Padded().Write(&b); err != nil {
		t.Fatal(err)
	}
	line, err := view.NewTimeline(analyze(t, &b, layer.Options{}), trace.None)
	if err != nil {
		t.Fatal(err)
	}
	padded, exact := 0, 0
	for _, p := range line.Passes {
		switch said := strings.Contains(p.Note, "rows run"); {
		case p.Tokens == 117 && (!said || p.Rows != 128 || !strings.Contains(p.Note, "128 rows run")):
			t.Errorf("pass %d of 117 tokens: %d rows, note %q", p.Index, p.Rows, p.Note)
		case p.Tokens == 117:
			padded++
		case p.Tokens > 500 && (said || p.Rows != p.Tokens):
			t.Errorf("pass %d of %d tokens without padding: %d rows, note %q", p.Index, p.Tokens, p.Rows, p.Note)
		case p.Tokens > 500:
			exact++
		}
	}
	if padded == 0 || exact == 0 {
		t.Errorf("%d padded and %d other passes, want some of each", padded, exact)
	}
}
