package layer_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/gen/families"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// TestModelsOfFlux: an image server runs two text encoders, a compiled denoiser four times, and a decoder. Each is a
// model with its own layers, and the one that takes the time is the steady state.
func TestModelsOfFlux(t *testing.T) {
	d := analyze(t, open(t, "xdit-flux1-mi300.json.gz"), layer.Options{})
	got := map[string][2]int{}
	for _, m := range d.Models {
		got[m.Name] = [2]int{m.Passes, m.NumLayers}
	}
	for name, want := range map[string][2]int{"CLIPTextModel": {1, 12}, "T5EncoderModel": {1, 24}, "Decoder": {1, 0}} {
		if got[name] != want {
			t.Errorf("%s: passes, layers %v, want %v", name, got[name], want)
		}
	}
	main := d.Models[0]
	if len(d.Models) != 4 || main.Name != "OptimizedModule" || main.Passes != 4 ||
		float64(main.Time) < 0.8*float64(d.Time) || d.Steady.Run != 4 || d.Passes[d.Steady.Pass].Model != 0 {
		t.Errorf("models %+v, steady %+v", d.Models, d.Steady)
	}
	if float64(d.InPasses) < 0.99*float64(d.Time) || d.InLayers > d.InPasses || d.InLayers == 0 {
		t.Errorf("%v of %v in passes, %v in layers", d.InPasses, d.Time, d.InLayers)
	}
	for p := range d.Passes {
		if fp := &d.Passes[p]; fp.Stage != layer.StageUnknown {
			t.Errorf("pass %d of %s is %s, and nothing says so", p, d.Models[fp.Model].Name, fp.Stage)
		}
	}
}

// TestDenoiserOfFlux: after the attention of a layer that runs the image's and the text's feed-forward part is
// nothing that the next attention reads, and lines of a text encoder launch no kernel of the denoiser.
func TestDenoiserOfFlux(t *testing.T) {
	d := analyze(t, open(t, "xdit-flux1-mi300.json.gz"), layer.Options{})
	if err := d.Align(t.Context()); err != nil {
		t.Fatal(err)
	}
	attended, inputs, products := -1, 0, 0
	for k := range d.Kernels() {
		at := k.Place()
		if at.Pass != d.Steady.Pass {
			continue
		}
		op, part, _ := k.Operator()
		switch {
		case op == "attention" && part == layer.PartMain:
			attended = at.Layer
		case at.Layer >= 0 && at.Layer == attended && strings.Contains(string(op), "_proj"):
			products++
			if strings.Contains(string(op), "k_proj") || strings.Contains(string(op), "q_proj") {
				inputs++
			}
		}
		if line := k.ModelLine(); strings.Contains(line.Line, "t5") || strings.Contains(line.Line, "clip") {
			t.Fatalf("%s of the denoiser comes from %s", k.Event().Name(), line)
		}
	}
	if products < 57 || inputs > 0 {
		t.Errorf("of %d products behind attention %d are read by the next one", products, inputs)
	}
}

// TestModelsHaveTheirOwnLayers: an encoder before each run of a language model, separated by their outermost
// modules alone. What is said about the number of layers is of the one that takes more time.
func TestModelsHaveTheirOwnLayers(t *testing.T) {
	encoder := gen.Config{Seed: 3, Modules: true, Stacks: true,
		Arch:   gen.Arch{Family: "Bert", Layers: gen.Uniform(12, gen.Layer{}), Hidden: 512},
		Passes: []gen.Pass{{Prefills: 1, Tokens: 64}}}
	model := gen.Config{Seed: 4, Modules: true, Stacks: true,
		Arch:   gen.Arch{Family: "Llama", Layers: gen.Uniform(24, gen.Layer{}), Hidden: 4096},
		Passes: []gen.Pass{{Prefills: 1, Tokens: 2048}}}
	tr := inTurn(t, encoder, model, encoder, model)
	for _, n := range []int{0, 24} {
		d := analyze(t, tr, layer.Options{NumLayers: n})
		if len(d.Models) != 2 || len(d.Passes) != 4 || d.NumLayers != 24 || d.Models[0].NumLayers != 24 ||
			d.Models[1].NumLayers != 12 {
			t.Fatalf("n=%d: %d passes, models %+v", n, len(d.Passes), d.Models)
		}
		for p := range d.Passes {
			if fp := &d.Passes[p]; fp.Model != (p+1)%2 || fp.NumLayers != d.Models[fp.Model].NumLayers {
				t.Errorf("n=%d: pass %d is of model %d with %d layers", n, p, fp.Model, fp.NumLayers)
			}
		}
		for _, e := range d.Evidence {
			if name, _, _ := strings.Cut(e.Detail, ": "); e.For == layer.OfLayers && name != d.Models[0].Name &&
				name != d.Models[1].Name {
				t.Errorf("n=%d: evidence of layers of which model: %q", n, e.Detail)
			}
		}
		if d.Passes[d.Steady.Pass].Model != 0 || !strings.Contains(strings.Join(d.Notes, "\n"), "several models run") {
			t.Errorf("n=%d: steady pass %d, notes %q", n, d.Steady.Pass, d.Notes)
		}
	}
}

// TestOneModelIsOneModel: samplers and logits processors are outermost modules, too, and belong to the pass before
// them.
func TestOneModelIsOneModel(t *testing.T) {
	d := demoAnalysis(t, layer.Options{})
	if len(d.Models) != 1 || d.Models[0].Passes != len(d.Passes) || d.Models[0].NumLayers != d.NumLayers ||
		d.Models[0].Time != d.InPasses {
		t.Errorf("models %+v of %d passes", d.Models, len(d.Passes))
	}
	for _, e := range d.Evidence {
		if e.For == layer.OfLayers && d.Models[0].Name != "" && strings.HasPrefix(e.Detail, d.Models[0].Name) {
			t.Errorf("the only model is named: %q", e.Detail)
		}
	}
}

// inTurn is a trace of runs of several programs on one thread and GPU, one after the other.
func inTurn(t *testing.T, runs ...gen.Config) *trace.Trace {
	t.Helper()
	var b bytes.Buffer
	if err := gen.WriteInTurn(&b, time.Second, runs...); err != nil {
		t.Fatal(err)
	}
	tr, err := trace.Read(t.Context(), &b, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// TestCutPassIsOfItsModel: a profiler that starts within a pass has seen no module frame of it. Its layers are those
// of the model that runs after it, so it is no second model; a draft is one, but is separated by its stage.
func TestCutPassIsOfItsModel(t *testing.T) {
	model := gen.Config{Seed: 4, Modules: true, Stacks: true,
		Arch:   gen.Arch{Family: "Llama", Layers: gen.Uniform(24, gen.Layer{}), Hidden: 4096},
		Passes: []gen.Pass{{Prefills: 1, Tokens: 2048}}}
	for name, tr := range map[string]*trace.Trace{"generated": withoutFirstFrames(t, model, model),
		"real": open(t, "hf-qwen1.5-0.5b-eager-h100.json.gz")} {
		d := analyze(t, tr, layer.Options{})
		if len(d.Passes) != 2 || len(d.Models) != 1 || d.Models[0].Passes != 2 || d.Models[0].NumLayers != 24 ||
			d.ModelOf(0) == "unnamed model" || strings.Contains(strings.Join(d.Notes, "\n"), "several models") {
			t.Errorf("%s: %d passes, models %+v, notes %q; want two passes of one model", name, len(d.Passes), d.Models,
				d.Notes)
			continue
		}
		if p := &d.Passes[0]; p.Partial != "start" || p.NumLayers == 0 || d.ModelOf(0) != "" {
			t.Errorf("%s: pass 0 is cut %q with %d layers, of model %q", name, p.Partial, p.NumLayers, d.ModelOf(0))
		}
	}
	drafts, _ := interleaved(t, []gen.Arch{{Layers: gen.Uniform(32, gen.Layer{}), Hidden: 4096},
		{Layers: gen.Uniform(1, gen.Layer{}), Hidden: 4096}}, []int{0, 1, 1, 0, 1, 1, 0, 1, 1})
	if d := analyze(t, drafts, layer.Options{NumLayers: 32}); len(d.Models) != 2 || !d.Models[1].Draft ||
		d.ModelOf(0) != "" || d.ModelOf(1) != "" {
		t.Errorf("a model and its draft are %+v, kept apart as %q and %q", d.Models, d.ModelOf(0), d.ModelOf(1))
	}
}

// withoutFirstFrames is a trace of runs in turn, whose window begins in the middle of what the GPU does for the first
// one: nothing of the host is in it before the second one's first module frame.
func withoutFirstFrames(t *testing.T, runs ...gen.Config) *trace.Trace {
	t.Helper()
	var b bytes.Buffer
	if err := gen.WriteInTurn(&b, time.Second, runs...); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Events []map[string]any `json:"traceEvents"`
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	var roots, kernels []float64
	for _, e := range doc.Events {
		ts, _ := e["ts"].(float64)
		if name, _ := e["name"].(string); strings.Contains(name, "nn.Module: LlamaForCausalLM") {
			roots = append(roots, ts)
		}
		if e["cat"] == "kernel" {
			kernels = append(kernels, ts)
		}
	}
	slices.Sort(roots)
	slices.Sort(kernels)
	if len(roots) != 2 {
		t.Fatalf("%d outermost frames", len(roots))
	}
	doc.Events = slices.DeleteFunc(doc.Events, func(e map[string]any) bool {
		from := roots[1]
		switch e["cat"] {
		case "kernel", "gpu_memcpy", "gpu_memset":
			from = kernels[len(kernels)/4]
		}
		ts, ok := e["ts"].(float64)
		return ok && ts < from
	})
	data, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := trace.Read(t.Context(), bytes.NewReader(data), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// TestOneModelDenoises: beside the decoder of images the model with most time that no token enters denoises. A tower
// whose patches no convolution makes and an encoder of text whose lookup no name shows do not.
func TestOneModelDenoises(t *testing.T) {
	run := func(o families.Order) []act { return actsOf(families.Family{Decode: o}, false) }
	tower, text, denoiser := families.Tower(12, false), families.Tower(20, true), families.Tower(40, false)
	tower.Prologue, text.Prologue, denoiser.Prologue = []string{"nvjet_hsh_64x8"}, []string{"k"}, []string{"nvjet_hsh_64x8"}
	var acts []act
	for range 2 {
		acts = concat(acts, run(tower), run(text))
		for range 8 {
			acts = concat(acts, run(denoiser))
		}
		acts = concat(acts, run(families.Decoder()))
	}
	layers := map[layer.Role][]int{}
	for _, m := range analyze(t, traceOf(acts), layer.Options{}).Models {
		layers[m.Role] = append(layers[m.Role], m.NumLayers)
	}
	if !slices.Equal(layers[layer.RoleDenoiser], []int{40}) || !slices.Equal(layers[layer.RoleDecoder], []int{0}) {
		t.Errorf("layers by role: %v, want 40 of the denoiser and none of the decoder", layers)
	}
}
