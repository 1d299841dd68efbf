package triage_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage"
)

// analyzeForced is analyze with a mapping trace that is used whatever it is of.
func analyzeForced(t *testing.T, formal, mapping string) *triage.Report {
	t.Helper()
	in, err := triage.NewInput(t.Context(), []triage.Source{source(t, formal)}, []triage.Source{source(t, mapping)},
		layer.Options{ForceMapping: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := triage.Analyze(t.Context(), in, triage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestModelLinesAreAColumn: the products of a prefill all have one innermost line, and each has the line of the model
// and the module that it is of; nothing compiled is a line of the model.
func TestModelLinesAreAColumn(t *testing.T) {
	t.Run("products", testModelLinesOfProducts)
	for _, rel := range realReports {
		for _, s := range analyze(t, rel, "", triage.Options{MinSharePct: -1}).Stages {
			for _, k := range s.Kernels {
				for _, l := range k.ModelLines {
					if strings.Contains(l.Location, "torch/") || strings.Contains(l.Location, "inductor") ||
						strings.Contains(l.Module, "GraphModule") || l.Location == "" && l.Module == "" {
						t.Errorf("%s: %s has the model line %+v", rel, k.Label, l)
					}
				}
			}
		}
	}
}

func testModelLinesOfProducts(t *testing.T) {
	testdata.SharedGlob(t, realReports[0]) // a distilled copy has no frames inside the model's
	r := analyze(t, realReports[0], "", triage.Options{})
	want := map[string][2]string{
		"gate_up_proj": {"models/qwen2.py:94 forward", "Qwen2MLP/MergedColumnParallelLinear"},
		"down_proj":    {"models/qwen2.py:94 forward", "Qwen2MLP/RowParallelLinear"},
		"qkv_proj":     {"models/qwen3.py:167 forward_prepare_native", "Qwen3Attention/QKVParallelLinear"},
		"o_proj":       {"models/qwen3.py:263 forward", "Qwen3Attention/RowParallelLinear"},
	}
	for _, k := range r.Stages[0].ByOperator() {
		w, ok := want[k.Operator()]
		if !ok {
			continue
		}
		delete(want, k.Operator())
		if len(k.ModelLines) != 1 || !strings.HasSuffix(k.ModelLines[0].Location, w[0]) ||
			!strings.HasSuffix(k.ModelLines[0].Module, w[1]) ||
			!strings.HasSuffix(k.Locations[0].Location, "unquant.py:136 apply") {
			t.Errorf("%s: model lines %+v, innermost %+v, want %v at unquant.py", k.Operator(), k.ModelLines,
				k.Locations, w)
		}
	}
	if len(want) > 0 {
		t.Errorf("no rows of %v", want)
	}
}

// TestCompiledCodeIsNoModelLine: below a compiled forward the modules replace its line, which all of its kernels have;
// with the model's own frame inside, that is it.
func TestCompiledCodeIsNoModelLine(t *testing.T) {
	generated := "/root/.cache/vllm/torch_compile_cache/ab12/rank_0_0/inductor_cache/x/cxyz.py(428): call"
	for inner, want := range map[string]string{generated: "",
		"vllm/model_executor/models/llama.py(210): forward": "vllm/model_executor/models/llama.py:210 forward"} {
		type event = map[string]any
		frames := []string{"nn.Module: LlamaDecoderLayer_0", "vllm/model_executor/models/llama.py(343): forward",
			"nn.Module: GraphModule_3", generated, inner,
			"torch/_ops.py(1116): __call__"}
		events := []event{
			{"ph": "X", "cat": "kernel", "name": "flash_fwd_kernel", "pid": 0, "tid": 7, "ts": 300, "dur": 50,
				"args": event{"device": 0, "stream": 7, "correlation": 9}},
			{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 200, "dur": 5,
				"args": event{"correlation": 9}},
		}
		for i, f := range frames {
			events = append(events, event{"ph": "X", "cat": "python_function", "name": f, "pid": 1, "tid": 1,
				"ts": 100 + i, "dur": 400 - 2*i, "args": event{"Python id": i + 1}})
		}
		data, err := json.Marshal(event{"traceEvents": events})
		if err != nil {
			t.Fatal(err)
		}
		tr, err := trace.Read(t.Context(), strings.NewReader(string(data)), trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		in, err := triage.NewInput(t.Context(), []triage.Source{{Trace: tr, Path: "x"}}, nil, layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := triage.Analyze(t.Context(), in, triage.Options{})
		if err != nil {
			t.Fatal(err)
		}
		k := r.Stages[0].Kernels[0]
		module := "LlamaDecoderLayer"
		if want == "" {
			module += "." + k.Operator()
		}
		if got := k.ModelLines; len(got) != 1 || got[0].Location != want || got[0].Module != module {
			t.Errorf("inside %s: %+v, want %q in %s", inner, got, want, module)
		}
	}
}

// TestForeignMappingsTellNothing: a mapping trace of another model is refused with the reason, also by name, unless
// it is forced.
func TestForeignMappingsTellNothing(t *testing.T) {
	const formal, mapping = "traces/torch/sglang-r1-distill-llama-8b-b300-TP-0-DECODE.trace.json.gz",
		"traces/torch/sglang-qwen3-8b-extend-eager-mi300.json.gz"
	lines := func(r *triage.Report) (n int) {
		for _, k := range r.Stages[0].Kernels {
			if k.Replayed > 0 {
				n += len(k.ModelLines)
			}
		}
		return n
	}
	r := analyze(t, formal, mapping, triage.Options{})
	if !strings.Contains(r.MappingRefused, "36 layers, this one 32") || lines(r) != 0 {
		t.Errorf("refused with %q, and %d rows have lines", r.MappingRefused, lines(r))
	}
	if r := analyzeForced(t, formal, mapping); r.MappingRefused != "" || lines(r) == 0 {
		t.Errorf("forced: refused with %q, and %d rows have lines", r.MappingRefused, lines(r))
	}
	if r := analyze(t, "traces/torch/sglang-qwen3-8b-decode-graph-mi300.json.gz", mapping,
		triage.Options{}); r.MappingRefused != "" || lines(r) == 0 {
		t.Errorf("of the same model: refused with %q, and %d rows have lines", r.MappingRefused, lines(r))
	}
}

// TestReplaysSayHowTheyWereAligned: the report says how lines were found and, where only a prefill is there, of what
// they are.
func TestReplaysSayHowTheyWereAligned(t *testing.T) {
	const formal = "traces/torch/sglang-qwen3-8b-decode-graph-mi300.json.gz"
	for _, tt := range []struct {
		mapping string
		prefill bool
	}{{"traces/torch/sglang-qwen3-8b-extend-eager-mi300.json.gz", true},
		{"traces/torch/sglang-qwen3-8b-graph-capture-mi300.json.gz", false}} {
		r := analyze(t, formal, tt.mapping, triage.Options{MinSharePct: -1})
		s := &r.Stages[0]
		if len(s.ReplaySources) == 0 || s.ReplaySources[0].From != "alignment" || s.ReplaySources[0].SharePct < 95 {
			t.Errorf("%s: replayed kernels have lines by %+v, want alignment for 95%%", tt.mapping, s.ReplaySources)
		}
		for _, k := range s.ByOperator() {
			for _, l := range k.ModelLines {
				if k.Replayed > 0 && k.Operator() != "-" &&
					strings.HasSuffix(l.Location, "(from prefill)") != tt.prefill {
					t.Errorf("%s: %s comes from %+v, want from a prefill: %v", tt.mapping, k.Operator(), l, tt.prefill)
				}
			}
		}
		var b strings.Builder
		if err := r.WriteText(&b, 120); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), "* the line is that of a prefill"); got != tt.prefill ||
			!strings.Contains(b.String(), "the same place of a layer (alignment)") {
			t.Errorf("%s: a prefill's lines are explained: %v, want %v", tt.mapping, got, tt.prefill)
		}
	}
}

// TestPiecewiseMappingSaysItsShare: a run with piecewise graphs launches attention and its cache write only. All
// kernels of a full graph are found in it, and the report says that those launched there are 8.3% of the time, and that
// the others are replayed there, too: no more lines are in that trace.
func TestPiecewiseMappingSaysItsShare(t *testing.T) {
	const mapping = "traces/torch/vllm-gptoss20b-mixed-piecewise-mi300.json.gz"
	testdata.SharedGlob(t, mapping) // a distilled copy has other times
	r := analyze(t, "traces/torch/vllm-gptoss20b-decode-fullgraph-mi300.json.gz", mapping, triage.Options{MinSharePct: -1})
	s := &r.Stages[0]
	shares := map[string]float64{}
	for _, l := range s.ReplaySources {
		shares[l.From] = l.SharePct
	}
	lines := 0.0
	for _, k := range s.ByOperator() {
		if op := k.Operator(); k.Replayed > 0 && len(k.ModelLines) > 0 {
			if op != "attention" && op != "kv_write" {
				t.Errorf("%s of %s has a line, and is launched nowhere", k.Label, op)
			}
			lines += k.SharePct
		}
	}
	if shares["alignment"] < 8 || shares["alignment"] > 8.5 || shares["alignment"]+shares["replay"] < 99.99 ||
		lines < 8 || lines > shares["alignment"] {
		t.Errorf("replayed kernels have lines by %v, model lines for %v%%; want 8.3%%, and all others replayed", shares,
			lines)
	}
	var b strings.Builder
	if err := r.WriteText(&b, 0); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"91.7% not known, as the kernel that matches is replayed from a graph, too, 8.3% " +
		"from the same place",
		"replayed from graphs in the mapping trace, too; pass the trace of a run without graphs (--enforce-eager)"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report does not say %q", want)
		}
	}
}

// TestKernelTableAtEveryWidth: the kernel table fits screens of 80, 120 and 200 columns, with one source line.
func TestKernelTableAtEveryWidth(t *testing.T) {
	for _, rel := range realReports {
		r := analyze(t, rel, "", triage.Options{})
		for _, width := range []int{80, 120, 200} {
			var b strings.Builder
			if err := r.WriteText(&b, width); err != nil {
				t.Fatal(err)
			}
			_, table, _ := strings.Cut(b.String(), "\nGPU time ")
			_, table, _ = strings.Cut(table, "\n\n") // after the line about the stage
			for strings.HasPrefix(table, "Outside steps") {
				_, table, _ = strings.Cut(table, "\n\n")
			}
			table, _, _ = strings.Cut(table, "\n\n")
			for line := range strings.Lines(table) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%s at %d: %d characters: %s", rel, width, n, line)
				}
			}
			head, _, _ := strings.Cut(table, "\n---") // long titles take several lines
			if !strings.Contains(head, "Source line") || strings.Contains(head, "Python") {
				t.Errorf("%s at %d: %s", rel, width, head)
			}
		}
	}
}

// TestPiecewiseGraphsNameTheirLayer: attention of vLLM's piecewise graphs is launched between compiled pieces, and
// comes from the layer that computes it, not from the line where the compiled forward begins.
func TestPiecewiseGraphsNameTheirLayer(t *testing.T) {
	const path = "traces/torch/vllm-gptoss20b-mixed-piecewise-mi300.json.gz"
	testdata.SharedGlob(t, path)
	for _, k := range analyze(t, path, "", triage.Options{}).Stages[0].ByOperator() {
		if k.Operator() != "attention" {
			continue
		}
		line := k.ModelLines[0].Location
		if !strings.HasPrefix(line, "vllm/model_executor/layers/attention/attention.py:") {
			t.Errorf("%s comes from %q", k.Label, line)
		}
		return
	}
	t.Error("no row of attention")
}
