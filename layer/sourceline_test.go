package layer_test

import (
	"context"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// mapped analyses a shared trace with another one as mapping.
func mapped(t *testing.T, path, config, mapping string, force bool) *layer.Device {
	t.Helper()
	read := func(name string, o layer.Options) *layer.Analysis {
		tr, err := trace.Open(context.Background(), testdata.Shared(t, "traces/torch/"+name+".json.gz"),
			trace.Options{Args: []event.Kind{event.Runtime}})
		if err != nil {
			t.Fatal(err)
		}
		a, err := layer.Analyze(context.Background(), tr, o)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	m := read(mapping, layer.Options{})
	return &read(path, layer.Options{Config: opConfig(t, config), Mapping: m, ForceMapping: force}).Devices[0]
}

// TestModelLinesOfReplays: the model's own file explains a replayed kernel; what only a prefill shows is said to be
// from one.
func TestModelLinesOfReplays(t *testing.T) {
	for _, tt := range []struct {
		mapping string
		from    layer.Stage
	}{{"sglang-qwen3-8b-graph-capture-mi300", ""}, {"sglang-qwen3-8b-extend-eager-mi300", layer.StagePrefill}} {
		d := mapped(t, "sglang-qwen3-8b-decode-graph-mi300", "qwen3-8b", tt.mapping, false)
		if why := d.MappingRefused(); why != "" {
			t.Fatalf("%s: refused: %s", tt.mapping, why)
		}
		want := map[string]string{"o_proj": "models/qwen3.py:", "down_proj": "models/qwen2.py:"}
		seen := map[string]int{}
		for k := range d.Kernels() {
			op, part, _ := k.Operator()
			file, ok := want[string(op)]
			if !ok || part != layer.PartMain {
				continue
			}
			m := k.ModelLine()
			if !strings.Contains(m.Line, file) || m.From != tt.from || tt.from != "" &&
				!strings.HasSuffix(m.String(), " (from prefill)") {
				t.Errorf("%s: %s comes from %q, want a line of %s from %q", tt.mapping, op, m, file, tt.from)
			}
			seen[string(op)]++
		}
		if seen["o_proj"] != 36 || seen["down_proj"] != 36 {
			t.Errorf("%s: lines of %v kernels, want 36 each", tt.mapping, seen)
		}
	}
}

// TestTwinsTellOperators: replayed kernels have the operators that module frames show of the same kernels in the
// mapping trace, and these are the ones that the plan shows without it.
func TestTwinsTellOperators(t *testing.T) {
	with := mapped(t, "sglang-qwen3-8b-decode-graph-mi300", "qwen3-8b", "sglang-qwen3-8b-extend-eager-mi300", false)
	without := mapped(t, "sglang-qwen3-8b-decode-graph-mi300", "qwen3-8b",
		"sglang-qwen3-30b-a3b-mi300-TP-0-DECODE.trace", false)
	byModule := 0
	for i := range with.NumKernels() {
		k := with.Kernel(i)
		got, _, _ := k.Operator()
		if want, _, _ := without.Kernel(i).Operator(); got != want {
			t.Errorf("kernel %d, %.60s: %s with the mapping trace, %s without", i, k.Event().Name(), got, want)
		}
		if k.OperatorEvidence() == "module" && k.Place().Layer != trace.None {
			byModule++
		}
		if e := without.Kernel(i).OperatorEvidence(); e == "module" && k.Place().Layer != trace.None {
			t.Fatalf("kernel %d: evidence module from a mapping trace of another model", i)
		}
	}
	if all := with.NumKernels(); 2*byModule < all {
		t.Errorf("%d of %d kernels have a source from the frames of their twins, want half", byModule, all)
	}
}

// TestForeignMappingsAreRefused: a mapping trace of another model or GPU gives no lines, with the reason, unless it
// is asked for.
func TestForeignMappingsAreRefused(t *testing.T) {
	for _, tt := range []struct{ trace, config, mapping, why string }{
		{"sglang-r1-distill-llama-8b-mi300-TP-0-DECODE.trace", "llama-3.1-8b", "sglang-qwen3-8b-extend-eager-mi300",
			"36 layers, this one 32"},
		{"sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace", "qwen3-30b-a3b", "hf-qwen1.5-0.5b-eager-h100",
			"kernels differ"},
	} {
		d := mapped(t, tt.trace, tt.config, tt.mapping, false)
		if why := d.MappingRefused(); !strings.Contains(why, tt.why) {
			t.Errorf("%s mapped by %s: refused with %q, want %q", tt.trace, tt.mapping, why, tt.why)
		}
		for k := range d.Kernels() {
			if k.Event().IsReplay() && k.Twin().Launch.Valid() {
				t.Fatalf("%s: a replayed kernel has a twin in a refused mapping", tt.trace)
			}
		}
		if why := mapped(t, tt.trace, tt.config, tt.mapping, true).MappingRefused(); why != "" {
			t.Errorf("%s: refused with %q although asked for", tt.trace, why)
		}
	}
}

// TestMappingOfOtherKernels: with the same number of layers on the same GPU the kernels decide.
func TestMappingOfOtherKernels(t *testing.T) {
	passes := func(m gen.Mode) []gen.Pass {
		return []gen.Pass{{Mode: m, Decodes: 8, Context: 500}, {Mode: m, Decodes: 8, Context: 501}}
	}
	dense, experts := gen.Arch{Layers: gen.Uniform(8, gen.Layer{})},
		gen.Arch{Layers: gen.Uniform(8, gen.Layer{FFN: gen.MoE, Mixer: gen.Mamba})}
	for _, tt := range []struct {
		mapping gen.Arch
		refused bool
	}{{dense, false}, {experts, true}} {
		m, _ := generate(t, gen.Config{Seed: 1, Dialect: gen.SGLang, Stacks: true, Modules: true, Arch: tt.mapping,
			Passes: passes(gen.Eager)}, nil)
		tr, _ := generate(t, gen.Config{Seed: 2, Dialect: gen.SGLang, Arch: dense, Passes: passes(gen.FullGraph)}, nil)
		o := layer.Options{Mapping: analyze(t, m, layer.Options{}).Analysis()}
		for _, o.NumLayers = range []int{8, 30} { // where there are no 30 layers, the mapping stays
			a, err := layer.AnalyzeAnyway(t.Context(), tr, o)
			if err != nil {
				t.Fatal(err)
			}
			if why := a.Devices[0].MappingRefused(); (why != "") != tt.refused || (a.Refused != nil) != (o.NumLayers == 30) {
				t.Errorf("mapping of %v layers: refused %q, want %v; %d layers refused: %v", tt.mapping.Layers[0], why,
					tt.refused, o.NumLayers, a.Refused)
			}
		}
	}
}
