package profile_test

import (
	"strings"
	"testing"

	"github.com/llmstrata/strata/profile"
)

func TestHowTheServerRunsTheModel(t *testing.T) {
	word := func(b *bool) string {
		switch {
		case b == nil:
			return "-"
		case *b:
			return "yes"
		}
		return "no"
	}
	for _, c := range []struct{ args, graphs, compile string }{
		{`{}`, "-", "-"},
		{`{"disable_cuda_graph": false, "enable_torch_compile": false}`, "yes", "no"}, // SGLang
		{`{"server_args": {"disable_cuda_graph": true, "enable_torch_compile": true}}`, "no", "yes"},
		{`{"enforce_eager": true}`, "no", "no"}, // vLLM
		{`{"enforce_eager": false}`, "yes", "yes"},
		{`{"enforce_eager": false, "compilation_config": {"level": 0, "cudagraph_mode": "NONE"}}`, "no", "no"},
		{`{"enforce_eager": false, "compilation_config": {"mode": 3, "cudagraph_mode": "FULL_AND_PIECEWISE"}}`, "yes",
			"yes"},
		{`{"cuda_graph_config": {"max_batch_size": 64}, "torch_compile_config": null}`, "yes", "no"}, // TensorRT-LLM
		{`{"cuda_graph_config": null}`, "no", "-"},
		{`{"use_cuda_graph": true}`, "yes", "-"},
		{`{"disable_cuda_graph": "maybe"}`, "-", "-"},
	} {
		a, err := profile.ParseServerArgs(strings.NewReader(c.args))
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		if word(a.Graphs) != c.graphs || word(a.Compile) != c.compile {
			t.Errorf("%s: graphs %s, compile %s; want %s and %s", c.args, word(a.Graphs), word(a.Compile), c.graphs,
				c.compile)
		}
	}
}
