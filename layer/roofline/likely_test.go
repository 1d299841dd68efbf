package roofline_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/profile"
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
		r := analyseWith(t, file, nil, roofline.Options{})
		got := ""
		for _, n := range r.Notes {
			if strings.Contains(n, "looks like") || strings.Contains(n, " are those of ") {
				got += n
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
		little := r.GPU != nil && r.Passes[r.Steady].Covered < 0.5
		if slices.ContainsFunc(r.Notes, func(n string) bool { return strings.HasSuffix(n, "to cover more, "+r.Wanted()) }) !=
			little {
			t.Errorf("%s: %v, of little with a floor: %t", file, r.Notes, little)
		}
		_, name, known := strings.Cut(want, "--config ")
		if known != slices.Equal(r.Likely, []string{name}) || !known && len(r.Likely) > 0 {
			t.Errorf("%s: likely %q, want %q", file, r.Likely, name)
		}
		for i := range r.Findings {
			if f := &r.Findings[i]; strings.Contains(f.Advice.Do, "`--config") &&
				strings.Contains(f.Advice.Do, "--config "+name) != known {
				t.Errorf("%s: %q does not name %q", file, f.Advice.Do, name)
			}
		}
	}
}

// TestAssumed: where recorded sizes give most of the GPU time no floor, the only known model with them is taken, and
// gives the floors that it gives when named; nothing that rests on it is certain. Where recorded sizes give floors, and
// where several models have them or the path alone names one, none is taken; nor where kernels are faster than it allows.
func TestAssumed(t *testing.T) {
	const gpt = "vllm-gptoss20b-mixed-piecewise-mi300.json.gz"
	config, err := profile.ResolveConfig("gpt-oss-20b")
	if err != nil {
		t.Fatal(err)
	}
	named := analyseWith(t, gpt, config, roofline.Options{Assume: true})
	for _, c := range []struct {
		file    string
		o       roofline.Options
		assumed bool
	}{
		{gpt, roofline.Options{Assume: true}, true}, {gpt, roofline.Options{}, false},
		{gpt, roofline.Options{Assume: true, Peaks: map[string]float64{"memory": 1e9, "bf16": 1e10}}, false},
		{"hf-qwen1.5-0.5b-eager-h100.json.gz", roofline.Options{Assume: true}, false},
		{"sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz", roofline.Options{Assume: true}, false},
	} {
		r := analyseWith(t, c.file, nil, c.o)
		if r.Assumed != c.assumed || (r.AssumedConfig() != nil) != c.assumed || (r.Model != "") != c.assumed {
			t.Errorf("%s, %+v: assumed %t, model %q; want %t", c.file, c.o, r.Assumed, r.Model, c.assumed)
		}
		above := 0
		for i := range r.Findings {
			if f := &r.Findings[i]; f.Kind == finding.AboveFloor {
				above++
				if doubted := f.Confidence < finding.High && strings.HasSuffix(f.Evidence, "The model is assumed: "+
					"gpt-oss-20b."); doubted != c.assumed {
					t.Errorf("%s: %v of %q, want doubt %t", c.file, f.Confidence, f.Evidence, c.assumed)
				}
			}
		}
		if c.assumed && (r.Passes[0].Floor != named.Passes[0].Floor || above == 0 || r.Model != named.Model ||
			!strings.HasPrefix(r.Notes[0], "assumed: this looks like gpt-oss-20b (24 layers, ")) {
			t.Errorf("%s: floor %v, %d above, note %q; want that of the named model, %v", c.file, r.Passes[0].Floor, above,
				r.Notes[0], named.Passes[0].Floor)
		}
	}
	if named.Assumed || named.AssumedConfig() != nil {
		t.Error("a model that was named is assumed")
	}
}

// TestAssumedOfEdited: a real trace that lacks the inputs of its largest product is assumed to be the model that it is
// of. A product within layers is no table of the vocabulary, half of a table is one only where GPUs divide it, and
// nothing is assumed against the other products, the types that kernels compute with, or a config that was refused.
func TestAssumedOfEdited(t *testing.T) {
	const largest, type16, type8 = "24576", "Cijk_Alik_Bljk_BBS", "Cijk_Alik_Bljk_F8BS"
	for _, c := range []struct {
		name, likely, note string
		edits              []string
		assumed            bool
	}{
		{"the model's own sizes", "qwen3-8b", "", nil, true},
		{"another vocabulary", "", "", []string{"151936", "64000"}, false},
		{"a product of layers as large as a vocabulary", "", "", []string{"151936", "64000", "6144", "151936"}, false},
		{"half of the vocabulary on one GPU", "", "", []string{"151936", "75968"}, false},
		{"another product", "qwen3-8b", "qwen3-8b is not assumed, as recorded inputs contradict the config: down_proj was " +
			"recorded with N 4096 and K 9216, the config gives N 4096 and K 12288", []string{"12288", "9216"}, false},
		{"smaller weights", "qwen3-8b", "qwen3-8b is not assumed, as kernels contradict the config: down_proj computes with " +
			"fp8, the config has weights of bf16", []string{type16, type8}, false},
	} {
		a := edited(t, "sglang-qwen3-8b-extend-eager-mi300.json.gz", nil, func(text []byte) []byte {
			text = shapes.ReplaceAllFunc(text, func(s []byte) []byte {
				if bytes.Contains(s, []byte(largest)) {
					return []byte(`"hidden": 0`)
				}
				return s
			})
			return []byte(strings.NewReplacer(c.edits...).Replace(string(text)))
		})
		r, err := roofline.Analyze(t.Context(), a, roofline.Options{Assume: true})
		if err != nil {
			t.Fatal(err)
		}
		if r.Assumed != c.assumed || strings.Join(r.Likely, " ") != c.likely ||
			slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "not assumed") }) != (c.note != "") ||
			c.note != "" && !slices.Contains(r.Notes, c.note) {
			t.Errorf("%s: assumed %t, likely %q, notes %q", c.name, r.Assumed, r.Likely, r.Notes)
		}
		a.Refused = layer.ErrContradiction
		if r, err = roofline.Analyze(t.Context(), a, roofline.Options{Assume: true}); err != nil || r.Assumed != c.assumed {
			t.Errorf("%s: assumed %t where a config was left out, %v", c.name, r.Assumed, err)
		}
	}
}

// TestOwnTypesContradictNothing: activations that are smaller than the weights they meet are of no quantised variant.
func TestOwnTypesContradictNothing(t *testing.T) {
	r := analyse(t, "synthetic-deepseek-v4-flash-TP-0.trace.json.gz", "deepseek-v4-flash-fp8-sgl", roofline.Options{})
	for _, n := range r.Notes {
		if strings.Contains(n, "contradict") {
			t.Error(n)
		}
	}
}

// TestConfigHidesNothing: what recorded sizes show to be above its floor, the config of the model shows, too, and at
// least four fifths of it: prefills, whose norms, rotations and activations move much. By the config it may be more, as
// its floor is that of one kernel for each operator.
func TestConfigHidesNothing(t *testing.T) {
	for file, model := range map[string]string{"hf-qwen1.5-0.5b-eager-h100.json.gz": "qwen1.5-0.5b",
		"sglang-qwen3-8b-extend-eager-mi300.json.gz": "qwen3-8b"} {
		config, err := profile.ResolveConfig(model)
		if err != nil {
			t.Fatal(err)
		}
		without, with := analyseWith(t, file, nil, roofline.Options{}), analyseWith(t, file, config, roofline.Options{})
		for i := range without.Findings {
			f := &without.Findings[i]
			if f.Kind != finding.AboveFloor {
				continue
			}
			at := slices.IndexFunc(with.Findings, func(o finding.Finding) bool {
				return o.Kind == f.Kind && o.Code == f.Code
			})
			if at < 0 {
				t.Errorf("%s: the config hides %q, %s", file, f.Text, f.Size.PerStep)
			} else if got, want := with.Findings[at].Size.PerStep, f.Size.PerStep; got < want*4/5 {
				t.Errorf("%s: %q: %v with the config, %v by recorded sizes", file, f.Text, got, want)
			}
		}
	}
}

// TestExchangesOfAProfile: collectives are communication whatever the categories of the model's profile are, and no
// element-wise work, which has no floor where tokens are not known.
func TestExchangesOfAProfile(t *testing.T) {
	r := analyse(t, "synthetic-deepseek-v4-flash-TP-0.trace.json.gz", "deepseek-v4-flash", roofline.Options{TP: 8})
	exchanged := time.Duration(0)
	for _, s := range r.Passes[len(r.Passes)-1].Waterfall {
		if s.Kind == roofline.Communication {
			exchanged += s.Time
		}
		if strings.Contains(s.Note, "all_reduce") {
			t.Errorf("%s: %s", s.Name, s.Note)
		}
		if s.Kind == roofline.Above && strings.HasPrefix(s.Name, "element-wise") && s.Time > 0 {
			t.Errorf("%s: %v in a pass whose tokens are not known", s.Name, s.Time)
		}
	}
	if exchanged == 0 || len(r.Collectives) != 2 {
		t.Errorf("%v of communication, collectives %v", exchanged, r.Collectives)
	}
}

// TestConfigOfOneModel: passes of a draft, and of a model with other layers than the config's where another one has
// them, have no floor from it; where none has them, all do.
func TestConfigOfOneModel(t *testing.T) {
	config, err := profile.ResolveConfig("gpt-oss-20b")
	if err != nil {
		t.Fatal(err)
	}
	one := layer.Model{NumLayers: config.NumLayers}
	for _, c := range []struct {
		name   string
		models []layer.Model
		floor  bool
	}{
		{"the only model", []layer.Model{one}, true},
		{"a draft", []layer.Model{{NumLayers: 1, Draft: true}, one}, false},
		{"a draft with as many layers", []layer.Model{{NumLayers: one.NumLayers, Draft: true}, one}, false},
		{"a tower", []layer.Model{{NumLayers: 27}, one}, false},
		{"a tower, whose draft has the layers", []layer.Model{{NumLayers: 27}, {NumLayers: one.NumLayers, Draft: true}}, true},
		{"layers that no model has", []layer.Model{{NumLayers: 27}, {NumLayers: 3}}, true},
	} {
		a := edited(t, "vllm-gptoss20b-decode-fullgraph-mi300.json.gz", config, bytes.Clone)
		a.Devices[0].Models = c.models
		r, err := roofline.Analyze(t.Context(), a, roofline.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Passes[0].Covered > 0.5; got != c.floor {
			t.Errorf("%s: %.2f of the GPU time has a floor, want most: %t", c.name, r.Passes[0].Covered, c.floor)
		}
	}
}

// TestTokensThatAreNotUsed: a note says why the tokens that were given count for nothing; where they count, none does.
func TestTokensThatAreNotUsed(t *testing.T) {
	config, err := profile.ResolveConfig("gpt-oss-20b")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file   string
		config *profile.Config
		load   *roofline.Load
		want   string
	}{
		{"vllm-gptoss20b-mixed-piecewise-mi300.json.gz", config, &roofline.Load{Tokens: 5}, "the trace says how many its " +
			"passes have, or they are of another stage"},
		{"sglang-qwen3-8b-decode-graph-mi300.json.gz", nil, &roofline.Load{Tokens: 5}, "no config says what they cost"},
		{"vllm-gptoss20b-mixed-piecewise-mi300.json.gz", config, nil, ""},
	} {
		r, got := analyseWith(t, c.file, c.config, roofline.Options{Load: c.load}), ""
		for _, n := range r.Notes {
			if why, found := strings.CutPrefix(n, "the tokens that were given are not used: "); found {
				got += why
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.file, got, c.want)
		}
	}
}
