package roofline_test

import (
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/trace"
)

// TestLooksLike: a public model is recognised by its layers and the recorded table of its vocabulary, looked up in or
// multiplied with, or by its layers and the path, and one of other sizes is not. The advice names it.
func TestLooksLike(t *testing.T) {
	for file, want := range map[string]string{
		"hf-qwen1.5-0.5b-eager-h100.json.gz": "this looks like qwen1.5-0.5b (24 layers, hidden size 1024, " +
			"vocabulary 151936); if it is, pass --config qwen1.5-0.5b",
		"sglang-qwen3-8b-extend-eager-mi300.json.gz": "this looks like qwen3-8b (36 layers, hidden size 4096, vocabulary " +
			"151936); if it is, pass --config qwen3-8b",
		"vllm-gptoss20b-mixed-piecewise-mi300.json.gz": "this looks like gpt-oss-20b (24 layers, hidden size 2880, " +
			"vocabulary 201088); if it is, pass --config gpt-oss-20b",
		"sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz": "the recording's path and its 48 layers are those of " +
			"qwen3-30b-a3b; if it is this model, pass --config qwen3-30b-a3b",
		"hf-bert-small-eager-h100.json.gz": "",
	} {
		tr, err := trace.Open(t.Context(), testdata.SharedGlob(t, "traces/torch/"+file)[0], trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		a, err := layer.Analyze(t.Context(), tr, layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := roofline.Analyze(t.Context(), a, roofline.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, n := range r.Notes {
			if strings.Contains(n, "looks like") || strings.Contains(n, " are those of ") {
				got += n
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
		_, name, known := strings.Cut(want, "--config ")
		for i := range r.Findings {
			if f := &r.Findings[i]; strings.Contains(f.Advice.Do, "`--config") &&
				strings.Contains(f.Advice.Do, "--config "+name) != known {
				t.Errorf("%s: %q does not name %q", file, f.Advice.Do, name)
			}
		}
	}
}
