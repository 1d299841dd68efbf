package profile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/opname"
)

// read parses a config of these fields.
func read(t *testing.T, fields string) *Config {
	t.Helper()
	c, err := ParseConfig(strings.NewReader("{" + fields + "}"))
	if err != nil {
		t.Fatalf("%s: %v", fields, err)
	}
	return c
}

// TestSizesOfOne: a size of one is a size, and 0 is none.
func TestSizesOfOne(t *testing.T) {
	kinds := func(c *Config) string {
		var out []string
		for _, l := range c.Layers {
			out = append(out, l.String())
		}
		return strings.Join(out, " ")
	}
	for _, tt := range []struct {
		fields    string // %d is 1, then 0
		one, none string
		ask       func(c *Config) any
	}{
		{`"num_hidden_layers":2,"attention_chunk_size":%d,"no_rope_layers":[0,1]`, "full+unknown chunked+unknown",
			"full+unknown full+unknown", func(c *Config) any { return kinds(c) }},
		{`"num_hidden_layers":2,"attention_chunk_size":%d,"no_rope_layer_interval":2`, "chunked+unknown full+unknown",
			"full+unknown full+unknown", func(c *Config) any { return kinds(c) }},
		{`"num_hidden_layers":2,"model_type":"llama4","attention_chunk_size":%d`, "chunked+unknown chunked+unknown",
			"full+unknown full+unknown", func(c *Config) any { return kinds(c) }},
		{`"num_hidden_layers":2,"sliding_window":%d,"sliding_window_pattern":2`, "sliding+unknown full+unknown",
			"full+unknown full+unknown", func(c *Config) any { return kinds(c) }},
		{`"num_hidden_layers":2,"sliding_window":%d`, "sliding+unknown sliding+unknown", "full+unknown full+unknown",
			func(c *Config) any { return kinds(c) }},
		{`"num_hidden_layers":2,"sliding_window":%d,"use_sliding_window":true,"max_window_layers":1`,
			"full+unknown sliding+unknown", "full+unknown full+unknown", func(c *Config) any { return kinds(c) }},
		{`"num_hidden_layers":2,"model_type":"gpt_oss","sliding_window":%d`, "sliding+unknown full+unknown",
			"full+unknown full+unknown", func(c *Config) any { return kinds(c) }},
		{`"num_hidden_layers":1,"kv_lora_rank":%d`, "mla+unknown", "full+unknown",
			func(c *Config) any { return kinds(c) }},
		{`"num_hidden_layers":1,"intermediate_size":%d`, "full+dense", "full+unknown",
			func(c *Config) any { return kinds(c) }},
		{`"num_hidden_layers":1,"num_experts":%d,"mlp_layer_types":["moe"]`, "full+moe", "full+moe",
			func(c *Config) any { return kinds(c) }},
		{`"num_hidden_layers":1,"num_hash_layers":%d,"num_experts":4`, "full+moe(hash)", "full+moe",
			func(c *Config) any { return kinds(c) }},
		{`"num_hidden_layers":2,"compress_ratios":[%d,4]`, "compressed+unknown csa+unknown",
			"sliding+unknown csa+unknown", func(c *Config) any { return kinds(c) }},
		{`"num_hidden_layers":1,"compress_ratios":[%d]`, "compressed+unknown", "sliding+unknown",
			func(c *Config) any { return kinds(c) }},
		{`"num_hidden_layers":1,"kv_lora_rank":%d`, "dsv3_mla", "generic",
			func(c *Config) any { p, _ := Infer(c); return p.Name }},
		{`"num_hidden_layers":1,"kv_lora_rank":%d,"qk_nope_head_dim":5,"qk_rope_head_dim":2,"hidden_size":12,"num_attention_heads":3`, "7", "4", func(c *Config) any { return c.HeadDim }},
		{`"num_hidden_layers":1,"kv_lora_rank":8,"qk_nope_head_dim":%d,"qk_rope_head_dim":2,"hidden_size":12,"num_attention_heads":3`, "3", "4", func(c *Config) any { return c.HeadDim }},
		{`"num_hidden_layers":1,"hidden_size":12,"num_attention_heads":%d`, "12", "0",
			func(c *Config) any { return c.HeadDim }},
		{`"num_hidden_layers":1,"intermediate_size":9,"num_experts":%d`, "0 9", "9 0",
			func(c *Config) any { return fmt.Sprint(c.IntermediateSize, " ", c.MoEIntermediateSize) }},
		{`"num_hidden_layers":1,"num_experts":%d,"shared_expert_intermediate_size":5`, "1", "0",
			func(c *Config) any { return c.SharedExperts }},
		{`"num_hidden_layers":1,"num_experts":4,"shared_expert_intermediate_size":%d`, "1", "0",
			func(c *Config) any { return c.SharedExperts }},
		{`"num_hidden_layers":1,"linear_num_value_heads":%d,"linear_value_head_dim":4`, "true", "false",
			func(c *Config) any { return c.Recurrent != nil }},
		{`"num_hidden_layers":1,"linear_num_value_heads":%d,"mamba_dt_rank":3,"hidden_size":8`, "0", "3",
			func(c *Config) any { return c.Recurrent.StepRank }},
		{`"num_hidden_layers":1,"quantization_config":{"quant_method":"fp8","weight_block_size":[%d,128]}`, "[1 128]",
			"[]", func(c *Config) any { return c.Quantization.Block }},
		// What a summary says.
		{`"num_hidden_layers":1,"num_experts":%d`, "true", "false",
			func(c *Config) any { return c.Summary().MoE != nil }},
		{`"num_hidden_layers":1,"hc_mult":%d`, "true", "false", func(c *Config) any { return c.Summary().MHC != nil }},
		{`"num_hidden_layers":1,"index_n_heads":%d`, "true", "false",
			func(c *Config) any { return c.Summary().Indexer != nil }},
		{`"num_hidden_layers":1,"index_topk":%d`, "true", "false",
			func(c *Config) any { return c.Summary().Indexer != nil }},
		{`"num_hidden_layers":1,"kv_lora_rank":8,"index_topk":%d`, "sparse MLA (DSA)", "MLA",
			func(c *Config) any { return c.Summary().Attention }},
		{`"compress_ratios":[],"kv_lora_rank":%d,"num_attention_heads":4`, "MLA", "attention",
			func(c *Config) any { return c.Summary().Attention }},
		{`"num_hidden_layers":1,"num_attention_heads":%d,"num_key_value_heads":2`, "GQA", "unknown",
			func(c *Config) any { return c.Summary().Attention }},
		{`"num_hidden_layers":1,"layer_types":["mamba"],"num_attention_heads":%d,"num_key_value_heads":1`, "Mamba",
			"Mamba", func(c *Config) any { return c.Summary().Attention }},
		{`"num_hidden_layers":1,"compress_ratios":[%d]`, "compressed", "sliding window",
			func(c *Config) any { return c.Summary().Attention }},
		{`"num_hidden_layers":1,"num_hash_layers":%d`, "true", "false", func(c *Config) any {
			return strings.Contains(strings.Join(c.Summary().Lines(), "\n"), "Hash layers:   0")
		}},
		{`"num_hidden_layers":1,"kv_lora_rank":8,"index_topk":8,"index_n_heads":%d`, "top-k 8, 1 layers",
			"top-k 8, 1 layers", func(c *Config) any {
				_, says, _ := strings.Cut(strings.Join(c.Summary().Lines(), "\n"), "top-k")
				says, _, _ = strings.Cut("top-k"+says, "\n")
				return says
			}},
		{`"num_hidden_layers":1,"num_nextn_predict_layers":%d`, "Layers:        1 + 1 next-token-prediction",
			"Layers:        1", func(c *Config) any { return c.Summary().Lines()[1] }},
		// What a plan holds.
		{`"num_hidden_layers":1,"num_nextn_predict_layers":%d`, "true", "false", func(c *Config) any {
			return strings.Contains(strings.Join(c.Plan().Notes, "; "), "next-token-prediction")
		}},
		{`"num_hidden_layers":1,"num_experts":4,"n_shared_experts":1,"shared_expert_intermediate_size":%d`, "true",
			"false", func(c *Config) any {
				return slices.ContainsFunc(c.planMoE(), func(o PlanOp) bool { return o.Module == "shared_expert_gate" })
			}},
		{`"num_hidden_layers":1,"compress_ratios":[%d],"num_attention_heads":1,"head_dim":4`, "2", "0",
			func(c *Config) any {
				n := 0
				for _, o := range c.planLayer(c.Layers[0]) {
					if o.Module == "compressor" && o.Ratio == 1 {
						n++
					}
				}
				return n
			}},
		{`"num_hidden_layers":1,"compress_ratios":[0],"o_groups":%d,"o_lora_rank":3,"num_attention_heads":2,"head_dim":4`,
			"wo_a wo_b", " ", func(c *Config) any {
				ops := c.planMixer(c.Layers[0])
				if last := len(ops) - 1; ops[last].Module != "" {
					return ops[last-1].Module + " " + ops[last].Module
				}
				return " "
			}},
		{`"num_hidden_layers":1,"intermediate_size":8,"hc_mult":%d`, "true", "false", func(c *Config) any {
			ops := c.planLayer(c.Layers[0])
			return ops[len(ops)-1].Operator == opname.HCPost
		}},
		{`"num_hidden_layers":1,"layer_types":["full_attention"],"attention_chunk_size":%d`, "false", "true",
			func(c *Config) any {
				for _, o := range c.planLayer(c.Layers[0]) {
					if o.Operator == opname.Rope {
						return true
					}
				}
				return false
			}},
		{`"num_hidden_layers":1,"compress_ratios":[0],"sliding_window":%d`, "1", "0",
			func(c *Config) any { return c.windowOf(mixerFull) }},
		{`"num_hidden_layers":1,"linear_attn_config":{"full_attn_layers":[],"kda_layers":[1],"num_heads":2,"head_dim":%d}`,
			"6", "2", func(c *Config) any {
				n := 0
				for _, o := range c.planMixer(c.Layers[0]) {
					if o.Operator == opname.InProj {
						n++
					}
				}
				return n
			}},
	} {
		for n, want := range []string{tt.none, tt.one} {
			fields := strings.Replace(tt.fields, "%d", fmt.Sprint(n), 1)
			if strings.Contains(fields, `"compress_ratios":[],`) {
				fields = `"vocab_size":8,` + fields
			}
			if got := fmt.Sprint(tt.ask(read(t, fields))); got != want {
				t.Errorf("%s: %s, want %s", fields, got, want)
			}
		}
	}
}

// TestRecurrentSizes: the widths of what a recurrence reads and is given.
func TestRecurrentSizes(t *testing.T) {
	find := func(c *Config, op string) PlanOp {
		for _, o := range c.planMixer(c.Layers[0]) {
			if string(o.Operator) == op {
				return o
			}
		}
		t.Fatalf("no %s", op)
		return PlanOp{}
	}
	c := read(t, `"num_hidden_layers":1,"layer_types":["linear_attention"],"hidden_size":70,"num_attention_heads":7,"linear_num_key_heads":3,"linear_key_head_dim":5,"linear_num_value_heads":6,"linear_value_head_dim":4,"linear_conv_kernel_dim":4`)
	if o := find(c, opname.Conv1D); o.Width != 15+15+24 || o.K != 4 { // queries, keys and values
		t.Errorf("convolution %+v", o)
	}
	if o := find(c, opname.GateNorm); o.Width != 24 {
		t.Errorf("norm %+v", o)
	}
	if o := find(c, opname.LinearAttention); o.Heads != 6 || o.KVHeads != 3 || o.HeadDim != 5 || o.ValueDim != 4 {
		t.Errorf("recurrence %+v", o)
	}
	c = read(t, `"num_hidden_layers":1,"layer_types":["mamba"],"hidden_size":40,"mamba_d_state":5,"mamba_d_conv":4,"mamba_dt_rank":3`)
	// twice the hidden size
	if r := *c.Recurrent; r.KeyHeads != 1 || r.ValueHeads != 80 || r.ValueDim != 1 || r.KeyDim != 5 || r.StepRank != 3 {
		t.Errorf("a state space %+v", r)
	}
	if o := find(c, opname.GateNorm); o.Width != 3+5+5 {
		t.Errorf("norm %+v", o)
	}
	if o := find(c, opname.Conv1D); o.Width != 80 {
		t.Errorf("convolution %+v", o)
	}
	for hidden, want := range map[int]int{16: 1, 17: 2, 32: 2, 33: 3} { // a sixteenth, rounded up
		if c := read(t, fmt.Sprintf(`"num_hidden_layers":1,"hidden_size":%d,"mamba_dt_rank":"auto"`,
			hidden)); c.Recurrent.StepRank != want {
			t.Errorf("hidden size %d: rank %d, want %d", hidden, c.Recurrent.StepRank, want)
		}
	}
}

// TestNamesOfNestedModels: the type of a text model inside another is kept beside that one's.
func TestNamesOfNestedModels(t *testing.T) {
	if c := read(t, `"model_type":"outer","text_config":{"model_type":"inner","num_hidden_layers":1}`); c.ModelType != "outer" || c.TextModelType != "inner" {
		t.Errorf("%q with %q inside", c.ModelType, c.TextModelType)
	}
	if c := read(t, `"model_type":"outer","num_hidden_layers":1`); c.TextModelType != "" {
		t.Errorf("%q inside of none", c.TextModelType)
	}
}

// TestRatiosOfOneLayer: one layer and one next-token-prediction layer.
func TestRatiosOfOneLayer(t *testing.T) {
	const types = `"layer_types":["compressed_sparse_attention","sliding_attention"]`
	if c := read(t, `"num_hidden_layers":1,"num_nextn_predict_layers":1,`+types); fmt.Sprint(c.CompressRatios,
		c.NextNRatios) != "[4] [0]" {
		t.Errorf("ratios %v and %v, want [4] and [0]", c.CompressRatios, c.NextNRatios)
	}
	if c := read(t, `"num_hidden_layers":2,`+types); fmt.Sprint(c.CompressRatios) != "[4 0]" || c.NextNRatios != nil {
		t.Errorf("ratios %v and %v, want [4 0] and none", c.CompressRatios, c.NextNRatios)
	}
	if _, err := ParseConfig(strings.NewReader(`{"num_hidden_layers":1,` + types + `}`)); err == nil ||
		!strings.Contains(err.Error(), "2 entries for 1 layers") {
		t.Errorf("two entries for one layer: %v", err)
	}
}

// TestSourcesOfSizes: two ranks may be tensor-parallel ones, one rank is all.
func TestSourcesOfSizes(t *testing.T) {
	for _, c := range []struct {
		world  int
		kind   string
		onlyTP bool
		want   string
	}{
		{0, "tp", true, "unknown (not in the trace)"},
		{1, "tp", true, "1 (world_size of distributedInfo)"},
		{2, "tp", true, "2 (world_size of distributedInfo; the file's name knows tensor-parallel ranks only)"},
		{2, "tp", false, "unknown (2 ranks in all)"},
		{2, "ep", true, "unknown (2 ranks in all)"},
	} {
		if got := inferSize(0, 0, c.kind, "", runNames{OnlyTP: c.onlyTP},
			distributed{world: c.world}).String(); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	if _, err := parseDistributed([]byte(`{"world_size":2}` + strings.Repeat(" ", maxBytes))); err == nil {
		t.Error("more than a document's bytes are read")
	}
}

// TestModelsOfTheHub: of an id's double dashes the first parts owner and name.
func TestModelsOfTheHub(t *testing.T) {
	for path, want := range map[string]string{
		"/home/a/.cache/huggingface/hub/models--acme--gpt--9b/snapshots/0": "acme/gpt--9b",
		"models--acme--gpt": "acme/gpt", "models--gpt": "gpt", "acme/gpt--9b": "acme/gpt--9b",
	} {
		hub := t.TempDir()
		file := filepath.Join(hub, "models--"+strings.ReplaceAll(want, "/", "--"), "snapshots", "0123456",
			"config.json")
		mustWrite(t, file, `{"num_hidden_layers":2}`)
		env := func(name string) string { return map[string]string{"HF_HUB_CACHE": hub}[name] }
		run := t.TempDir()
		mustWrite(t, filepath.Join(run, "server_args.json"), `{"model_path":"`+path+`"}`)
		found, _, _, err := FindConfigWith(env, run)
		if err != nil || found.NameOrPath != want {
			t.Errorf("%s: %+v, %v; want %s", path, found, err, want)
		}
	}
	hub := t.TempDir()
	mustWrite(t, filepath.Join(hub, "models--acme--long--name", "snapshots", "0123456", "config.json"),
		`{"num_hidden_layers":2}`)
	env := func(name string) string { return map[string]string{"HF_HUB_CACHE": hub}[name] }
	found, _, _, err := FindConfigWith(env, filepath.Join(t.TempDir(), "run-of-long-name.json"))
	if err != nil || found.NameOrPath != "acme/long--name" {
		t.Errorf("by its name: %+v, %v", found, err)
	}
}

// TestDefaultLayersOfProfiles: what is drawn where no config shows the number of layers: that of the models published
// with the profile, or one.
func TestDefaultLayersOfProfiles(t *testing.T) {
	for _, name := range builtinNames() {
		p, _ := builtinNamed(name)
		want := map[string]int{dsv4: 43, dsv3: 61}[name] // DeepSeek-V4-Flash and DeepSeek-V3
		if want == 0 {
			want = 1
		}
		if p.DefaultLayers != want || p.BlocksPerLayer != len(p.HalfLabels) {
			t.Errorf("%s: %d layers of %d blocks labelled %q, want %d", name, p.DefaultLayers, p.BlocksPerLayer,
				p.HalfLabels, want)
		}
	}
}

func mustWrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
