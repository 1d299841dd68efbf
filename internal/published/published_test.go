package published_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/published"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/internal/view"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// TestAnchorOpensEqualsReference compares every field that the published scripts printed, numbers to the last bit.
func TestAnchorOpensEqualsReference(t *testing.T) {
	dsv4 := "synthetic-deepseek-v4-flash-TP-0.trace.json.gz"
	for _, c := range []struct {
		golden, trace, config, anchor string
		pass, layer                   int
	}{
		{"dsv4-pass2-layer0", dsv4, "deepseek-v4-flash.json", "", 2, 0},
		{"dsv4-pass2-layer2", dsv4, "deepseek-v4-flash.json", "", 2, 2},
		{"dsv4-pass2-layer3", dsv4, "deepseek-v4-flash.json", "", 2, 3},
		{"dsv4-pass2-layer42", dsv4, "deepseek-v4-flash.json", "", 2, 42},
		{"sglang-qwen3-8b-decode-layer5", "sglang-qwen3-8b-decode-graph-mi300.json.gz", "qwen3-8b.json",
			"paged_attention_ll4mi_QKV", 0, 5},
		{"vllm-gptoss20b-decode-layer5", "vllm-gptoss20b-decode-fullgraph-mi300.json.gz", "gpt-oss-20b.json",
			"kernel_unified_attention", 0, 5},
		{"sglang-qwen3-30b-a3b-b300-layer7", "sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz",
			"qwen3-30b-a3b.json", "fmhaSm100", 0, 7},
	} {
		t.Run(c.golden, func(t *testing.T) {
			tr, err := trace.Open(t.Context(), testdata.Shared(t, "traces/torch/"+c.trace), trace.Options{})
			if err != nil {
				t.Fatal(err)
			}
			config, err := profile.LoadConfig(testdata.Shared(t, "configs/"+c.config))
			if err != nil {
				t.Fatal(err)
			}
			config.HashLast = true
			a, err := published.Analyze(t.Context(), tr, layer.Options{Config: config, Anchor: c.anchor})
			if err != nil {
				t.Fatal(err)
			}
			d, err := published.Detail(&a.Devices[0], c.pass, c.layer)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(testdata.Shared(t, "golden/pipeline/"+c.golden+".breakdown.json"))
			if err != nil {
				t.Fatal(err)
			}
			var want map[string]any
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			out, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]any
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, testdata.Restrict(got, want)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// generated is a trace of three decode passes of 20 dense layers, in which down is each layer's last product.
func generated(t *testing.T) *trace.Trace {
	t.Helper()
	pass := gen.Pass{Decodes: 8, Context: 500}
	var data bytes.Buffer
	if err := gen.Write(&data, gen.Config{Seed: 7, Arch: gen.Arch{Layers: gen.Uniform(20, gen.Layer{})},
		Passes: []gen.Pass{pass, pass, pass}}); err != nil {
		t.Fatal(err)
	}
	tr, err := trace.Read(t.Context(), &data, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

const down = "64x8_64x16_4x1_v_bz_splitK_TNT"

// TestBlocksOfGeneratedTraces: 60 anchors open 59 blocks that have an end, two passes of 20 and one that is cut.
func TestBlocksOfGeneratedTraces(t *testing.T) {
	an, err := published.Analyze(t.Context(), generated(t), layer.Options{Anchor: down, NumLayers: 20})
	if err != nil {
		t.Fatal(err)
	}
	a := &an.Devices[0]
	got := []int{a.NumAnchors, a.NumLayers, len(a.Passes)}
	for _, p := range a.Passes {
		got = append(got, p.NumLayers)
	}
	if diff := cmp.Diff([]int{60, 20, 3, 20, 20, 19}, got); diff != "" {
		t.Errorf("anchors, layers, passes, layers of each (-want +got):\n%s", diff)
	}
	if p := &a.Passes[2]; p.Partial != "end" || a.Passes[1].Partial != "" || p.Note != "" ||
		a.Passes[0].Note != "cold-start" {
		t.Errorf("passes %q and %q, want the last one alone cut at its end", a.Passes[1].Partial, p.Partial)
	}
	tl, err := view.NewTimeline(a, trace.None)
	if err != nil {
		t.Fatal(err)
	}
	if tl.Boundaries != published.AnchorOpens || len(tl.Layers) != 20 || len(a.Notes) != 1 {
		t.Errorf("boundaries %q, %d layers, notes %q", tl.Boundaries, len(tl.Layers), a.Notes)
	}
}

func TestAnalyzeSaysWhatIsMissing(t *testing.T) {
	tr := generated(t)
	for name, c := range map[string]struct {
		o    layer.Options
		want error
	}{
		"anchor that does not occur": {layer.Options{Anchor: "no such kernel", NumLayers: 20}, layer.ErrNoEvidence},
		"no anchor known":            {layer.Options{NumLayers: 20}, layer.ErrNoEvidence},
		"absurd number of layers":    {layer.Options{Anchor: down, NumLayers: math.MaxInt}, layer.ErrNoEvidence},
	} {
		if a, err := published.Analyze(t.Context(), tr, c.o); !errors.Is(err, c.want) || a != nil {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}
