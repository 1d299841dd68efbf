package programs

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/internal/testdata"
)

// TestLayerBreakdownComputeFlowOfAReplay: shapes come from the eager twins of the replayed kernels, side stream
// included.
func TestLayerBreakdownComputeFlowOfAReplay(t *testing.T) {
	apptest.Golden(t, "testdata/layer-breakdown/flow.golden",
		apptest.MustRun(t, LayerBreakdown(), "--fwd-pass", "4", "--layer", "1",
			"--format", "compute-flow").Stdout)
}

// breakdownDocument runs the program and reads its JSON.
func breakdownDocument(t *testing.T, args ...string) map[string]any {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(apptest.MustRun(t, LayerBreakdown(), append(args, "--format", "json")...).Stdout),
		&doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestLayerBreakdownAnchorOpensWritesThePublishedDocument compares field by field what layer_kernel_breakdown.py wrote.
func TestLayerBreakdownAnchorOpensWritesThePublishedDocument(t *testing.T) {
	for golden, args := range map[string]string{
		"dsv4-pass2-layer0":                "synthetic-deepseek-v4-flash-TP-0.trace.json.gz deepseek-v4-flash.json - 2 0",
		"dsv4-pass2-layer42":               "synthetic-deepseek-v4-flash-TP-0.trace.json.gz deepseek-v4-flash.json - 2 42",
		"sglang-qwen3-8b-decode-layer5":    "sglang-qwen3-8b-decode-graph-mi300.json.gz qwen3-8b.json paged_attention_ll4mi_QKV 0 5",
		"vllm-gptoss20b-decode-layer5":     "vllm-gptoss20b-decode-fullgraph-mi300.json.gz gpt-oss-20b.json kernel_unified_attention 0 5",
		"sglang-qwen3-30b-a3b-b300-layer7": "sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz qwen3-30b-a3b.json fmhaSm100 0 7",
	} {
		f := strings.Fields(args)
		flags := []string{"--trace", testdata.Shared(t, "traces/torch/"+f[0]), "--config",
			testdata.Shared(t, "configs/"+f[1]),
			"--boundaries", "anchor-opens", "--hash-layers", "last", "--fwd-pass", f[3], "--layer", f[4]}
		if f[2] != "-" {
			flags = append(flags, "--anchor-kernel", f[2])
		}
		text, err := os.ReadFile(testdata.Shared(t, "golden/pipeline/"+golden+".breakdown.json"))
		if err != nil {
			t.Fatal(err)
		}
		var want map[string]any
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, testdata.Restrict(breakdownDocument(t, flags...), want)); diff != "" {
			t.Errorf("%s (-published +ours):\n%s", golden, diff)
		}
	}
}

// TestLayerBreakdownDiffStaysOneDocument: the comparison is part of the JSON, not text after it.
func TestLayerBreakdownDiffStaysOneDocument(t *testing.T) {
	doc := breakdownDocument(t, "--layer", "1", "--compare-layer", "0")
	diff, ok := doc["diff"].(map[string]any)
	if !ok || len(diff["common"].([]any)) == 0 || len(diff["only_a"].([]any)) == 0 || len(diff["only_b"].([]any)) == 0 {
		t.Errorf("diff: %v", diff)
	}
}

// TestLayerBreakdownMappingInputGivesShapes: a capture of the same model gives modules and shapes of replayed kernels.
func TestLayerBreakdownMappingInputGivesShapes(t *testing.T) {
	doc := breakdownDocument(t, "--trace", testdata.Shared(t, "traces/torch/sglang-qwen3-8b-decode-graph-mi300.json.gz"),
		"--mapping-input", testdata.Shared(t, "traces/torch/sglang-qwen3-8b-graph-capture-mi300.json.gz"), "--layer",
		"5")
	rows := doc["kernels"].([]any)
	modules := 0
	for _, r := range rows {
		if m, _ := r.(map[string]any)["module"].(string); strings.Contains(m, "Qwen3DecoderLayer_5") {
			modules++
		}
	}
	if len(rows) != 15 || 10*modules < 9*len(rows) {
		t.Errorf("%d of %d kernels have a module of layer 5", modules, len(rows))
	}
}

func TestLayerBreakdownErrors(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"--layer 8", 1, "pass 2 has layers 0…7"},
		{"--layer -1", 1, "layer -1 is out of range: pass 2 has layers 0…7"},
		{"--fwd-pass 9", 1, "the trace has passes 0 to 4"},
		{"--compare-layer 8", 1, "--compare-layer"},
		{"--mapping-input absent.json", 1, "--mapping-input"},
		{"--trace absent.json", 1, "absent.json"},
		{"--boundaries anchor-closes --anchor-kernel nothing", 1, `"nothing"`},
		{"--format csv", 2, "want one of"},
	} {
		got := apptest.Run(t, LayerBreakdown(), strings.Fields(c.args)...)
		if got.Code != c.code || !strings.Contains(got.Stderr, c.says) || got.Stdout != "" {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q, want %d and %q", c.args, got.Code, got.Stdout, got.Stderr,
				c.code, c.says)
		}
	}
}

// TestLayerBreakdownPlanNeedsNoTrace: a config alone gives the operators of a model.
func TestLayerBreakdownPlanNeedsNoTrace(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(config, []byte(`{"num_hidden_layers":2,"hidden_size":64,"num_attention_heads":4,"intermediate_size":128,"vocab_size":100,"torch_dtype":"bfloat16"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	text := apptest.MustRun(t, LayerBreakdown(), "--plan", "--config", config).Stdout
	for _, want := range []string{"2 layers of 1 kind, bf16", "full+dense: 2 layers (0-1)", "  or q_proj", "lm_head"} {
		if !strings.Contains(text, want) {
			t.Errorf("--plan does not print %q:\n%s", want, text)
		}
	}
	if doc := breakdownDocument(t, "--plan", "--config", config); doc["schema"] != "strata.plan/1" ||
		len(doc["layer_kinds"].([]any)) != 2 {
		t.Errorf("--plan --format json: schema %v, %v layers; want strata.plan/1 and 2", doc["schema"],
			doc["layer_kinds"])
	}
	if r := apptest.Run(t, LayerBreakdown(), "--plan"); r.Code == 0 || !strings.Contains(r.Stderr, "--config FILE") {
		t.Errorf("--plan without a config: exit %d, %q; want an error that names --config FILE", r.Code, r.Stderr)
	}
}

// TestLayerBreakdownDefaultLayerIsTypical: the first layer of the pass takes 18% longer than most of its type.
func TestLayerBreakdownDefaultLayerIsTypical(t *testing.T) {
	trace := testdata.Shared(t, "traces/torch/hf-qwen1.5-0.5b-eager-h100.json.gz")
	wall := func(t *testing.T, args ...string) float64 {
		return breakdownDocument(t, args...)["metadata"].(map[string]any)["wall_us"].(float64)
	}
	var walls []float64
	for i := range 24 {
		walls = append(walls, wall(t, "--trace", trace, "--layer", strconv.Itoa(i)))
	}
	first := walls[0]
	slices.Sort(walls)
	median := walls[len(walls)/2]
	if got := wall(t, "--trace", trace); math.Abs(got-median) > 0.01*median ||
		first < 1.1*median {
		t.Errorf("%g µs, want about %g; the first layer takes %g", got, median, first)
	}
}

// TestBreakdownCountsFromTheEnd: layers of a pass without its start have negative numbers, as strata layers lists them.
func TestBreakdownCountsFromTheEnd(t *testing.T) {
	for _, path := range testdata.SharedGlob(t, "traces/other/jax-conv-mi300.xplane.pb") {
		if r := apptest.MustRun(t, LayerBreakdown(), path, "--layer", "-2"); !strings.HasPrefix(r.Stdout, "Layer -2 of ") {
			t.Errorf("begins with %.60q", r.Stdout)
		}
	}
}
