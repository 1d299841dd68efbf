package layer_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// open loads a shared trace, skipping the test where shared is absent.
func open(t testing.TB, name string, opts ...trace.Option) *trace.Trace {
	t.Helper()
	tr, err := trace.Open(context.Background(), testdata.Shared(t, "traces/torch/"+name), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// config loads a shared config; "" is none.
func config(t testing.TB, name string) *profile.Config {
	t.Helper()
	if name == "" {
		return nil
	}
	c, err := profile.LoadConfig(testdata.Shared(t, "configs/"+name))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// analyze runs Analyze and fails the test on an error.
func analyze(t testing.TB, tr *trace.Trace, opts layer.Options) *layer.Analysis {
	t.Helper()
	a, err := layer.Analyze(context.Background(), tr, opts)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

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
		{"sglang-qwen3-8b-decode-layer5", "sglang-qwen3-8b-decode-graph-mi300.json.gz", "qwen3-8b.json", "paged_attention_ll4mi_QKV", 0, 5},
		{"vllm-gptoss20b-decode-layer5", "vllm-gptoss20b-decode-fullgraph-mi300.json.gz", "gpt-oss-20b.json", "kernel_unified_attention", 0, 5},
		{"sglang-qwen3-30b-a3b-b300-layer7", "sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz", "qwen3-30b-a3b.json", "fmhaSm100", 0, 7},
	} {
		t.Run(c.golden, func(t *testing.T) {
			a := analyze(t, open(t, c.trace), layer.Options{Config: config(t, c.config), Anchor: c.anchor,
				Boundaries: layer.BoundariesAnchorOpens, HashLayers: profile.HashLast})
			d, err := a.Detail(c.pass, c.layer)
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
			if diff := cmp.Diff(want, restrict(got, want)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// restrict keeps the fields of got that want has: more fields may be added, none renamed.
func restrict(got, want any) any {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return got
		}
		out := map[string]any{}
		for k := range w {
			if v, ok := g[k]; ok {
				out[k] = restrict(v, w[k])
			}
		}
		return out
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return got
		}
		out := make([]any, len(g))
		for i := range g {
			out[i] = restrict(g[i], w[i])
		}
		return out
	}
	return got
}
