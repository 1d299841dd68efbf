package profile_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/profile"
)

// TestEveryConfigHasAPlan holds what is true of any model's plan.
func TestEveryConfigHasAPlan(t *testing.T) {
	known := map[string]bool{}
	for _, n := range opname.All {
		known[n] = true
	}
	files := testdata.SharedGlob(t, "configs/*.json")
	for _, file := range files {
		c, err := profile.LoadConfig(file)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		name, p := filepath.Base(file), c.Plan()
		if len(p.LayerKinds) != c.NumLayers || len(p.Kinds) == 0 {
			t.Errorf("%s: plan has %d layers of %d kinds, want %d layers", name, len(p.LayerKinds), len(p.Kinds),
				c.NumLayers)
		}
		all := append([]profile.PlanOp{}, p.Before...)
		total := 0
		for _, k := range p.Kinds {
			total += k.Layers
			if len(k.Operators) < 4 {
				t.Errorf("%s: %s has %d operators, want at least a norm, two products and what is between", name,
					k.Name, len(k.Operators))
			}
			all = append(all, k.Operators...)
		}
		if total != c.NumLayers {
			t.Errorf("%s: the kinds have %d layers, want %d", name, total, c.NumLayers)
		}
		for _, o := range append(all, p.After...) {
			if !known[string(o.Operator)] {
				t.Errorf("%s: %q is no operator", name, o.Operator)
			}
			if o.K < 0 || o.N < 0 || (o.K > 0) != (o.N > 0) && o.Operator != opname.Conv1D {
				t.Errorf("%s: %s is %d × %d, want both sizes or none", name, o.Operator, o.K, o.N)
			}
		}
	}
	if len(files) < 21 {
		t.Errorf("checked %d configs, want all 21", len(files))
	}
}

// TestPlanSizes holds sizes that follow from the models' own code.
func TestPlanSizes(t *testing.T) {
	for _, tt := range []struct {
		config string
		layer  int
		op     profile.Operator
		want   string // K×N groups weights
	}{
		{"llama-3.1-70b", 0, "qkv_proj", "8192×10240 bf16 heads"},
		{"llama-3.1-70b", 0, "k_proj", "8192×1024 bf16 heads"},
		{"llama-3.1-70b", 79, "down_proj", "28672×8192 bf16 rows"},
		{"qwen3-8b", 0, "gate_up_proj", "4096×24576 bf16 columns"},
		{"qwen3-30b-a3b", 0, "experts_gate_up", "2048×1536 bf16 experts"},
		{"gpt-oss-20b", 0, "experts_down", "2880×2880 mxfp4 experts"},
		{"gpt-oss-20b", 0, "o_proj", "4096×2880  rows"}, // neither the config's torch_dtype nor its quantisation says
		{"deepseek-v3.2", 3, "qkv_a_proj", "7168×2112 fp8 "},
		{"deepseek-v3.2", 3, "k_absorb", "128×512 bf16 heads"},
		{"deepseek-v3.2", 0, "gate_up_proj", "7168×36864 fp8 columns"},
		{"deepseek-v3.2", 60, "shared_down", "2048×7168 fp8 rows"},
		{"kimi-k2-instruct", 1, "router", "7168×384 bf16 "},
		{"glm-5", 0, "q_b_proj", "2048×16384 bf16 heads"},
		{"deepseek-v4-flash", 2, "experts_gate_up", "4096×4096 mxfp4 experts"},
		{"deepseek-v4-flash", 2, "hc_pre", "16384×24 fp32 "},
		{"deepseek-v4-flash-fp8-sgl", 2, "experts_down", "2048×4096 fp8 experts"},
		{"nemotron-3-nano-30b-a3b", 0, "in_proj", "2688×10304 bf16 heads"}, // 2·4096 + 2·8·128 + 64
		{"nemotron-3-nano-30b-a3b", 1, "experts_gate_up", "2688×1856 bf16 experts"},
		{"nemotron-3-nano-30b-a3b", 1, "shared_gate_up", "2688×3712 bf16 columns"},
		{"qwen3.5-397b-a17b", 0, "in_proj", "4096×20480 bf16 heads"}, // 2·16·128 + 2·64·128
		{"qwen3.5-397b-a17b", 3, "qkv_proj", "4096×17408 bf16 heads"},
		{"llama-4-maverick", 1, "shared_gate_up", "5120×16384 bf16 columns"},
		{"llama-4-maverick", 0, "gate_up_proj", "5120×32768 bf16 columns"},
		{"minimax-m2.5", 0, "experts_down", "1536×3072 fp8 experts"},
	} {
		t.Run(fmt.Sprint(tt.config, " ", tt.op), func(t *testing.T) {
			c, err := profile.LoadConfig(testdata.Shared(t, "configs/"+tt.config+".json"))
			if err != nil {
				t.Fatal(err)
			}
			p := c.Plan()
			o, ok := p.Kinds[p.LayerKinds[tt.layer]].Find(tt.op)
			got := fmt.Sprintf("%d×%d %s %s", o.K, o.N, o.WeightDType, o.Split)
			if !ok || got != tt.want {
				t.Errorf("%s layer %d: %s = %q (%v), want %q", tt.config, tt.layer, tt.op, got, ok, tt.want)
			}
		})
	}
}

// operatorsOf joins the operators of a layer of a config given as JSON.
func operatorsOf(t *testing.T, doc string, layer int) string {
	t.Helper()
	c, err := profile.ParseConfig(strings.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	p := c.Plan()
	var names []string
	for _, o := range p.Kinds[p.LayerKinds[layer]].Operators {
		if o.Operator != opname.ResidualAdd && !strings.HasSuffix(string(o.Operator), "all_reduce") {
			names = append(names, string(o.Operator))
		}
	}
	return strings.Join(names, " ")
}

// TestPlanFollowsTheConfig has a config for each thing that adds, drops or
// renames an operator.
func TestPlanFollowsTheConfig(t *testing.T) {
	const base = `"hidden_size":64,"num_attention_heads":4,"num_key_value_heads":2,"vocab_size":100`
	const attn = "input_norm qkv_proj qk_norm rope kv_write attention o_proj post_norm "
	for _, tt := range []struct {
		name, doc string
		layer     int
		want      string
	}{
		{"dense", `{` + base + `,"num_hidden_layers":1,"intermediate_size":128,"hidden_act":"silu"}`, 0,
			attn + "gate_up_proj activation down_proj"},
		{"ungated", `{` + base + `,"num_hidden_layers":1,"intermediate_size":128,"hidden_act":"relu2"}`, 0,
			attn + "up_proj activation down_proj"},
		{"no qk norm", `{` + base + `,"num_hidden_layers":1,"intermediate_size":128,"use_qk_norm":false}`, 0,
			"input_norm qkv_proj rope kv_write attention o_proj post_norm gate_up_proj activation down_proj"},
		{"shared expert", `{` + base + `,"num_hidden_layers":2,"intermediate_size":128,"moe_intermediate_size":32,"n_routed_experts":8,"n_shared_experts":1,"num_experts_per_tok":2,"first_k_dense_replace":1}`, 1,
			attn + "router routing dispatch experts_gate_up experts_activation experts_down experts_combine shared_gate_up shared_activation shared_down"},
		{"mla without a query rank", `{` + base + `,"num_hidden_layers":1,"intermediate_size":128,"kv_lora_rank":16,"qk_nope_head_dim":8,"qk_rope_head_dim":4,"v_head_dim":8}`, 0,
			"input_norm q_proj kv_a_proj kv_a_norm rope k_absorb kv_write kv_b_proj attention v_absorb o_proj post_norm gate_up_proj activation down_proj"},
		{"mamba layer of a hybrid", `{` + base + `,"num_hidden_layers":3,"hybrid_override_pattern":"M-*","mamba_num_heads":4,"mamba_head_dim":16,"ssm_state_size":8,"n_groups":2,"conv_kernel":4,"intermediate_size":128}`, 0,
			"input_norm in_proj conv1d linear_attention gate_norm out_proj"},
		{"mlp layer of a hybrid", `{` + base + `,"num_hidden_layers":3,"hybrid_override_pattern":"M-*","mamba_num_heads":4,"mamba_head_dim":16,"ssm_state_size":8,"n_groups":2,"intermediate_size":128}`, 1,
			"input_norm gate_up_proj activation down_proj"},
		{"selective state space", `{` + base + `,"num_hidden_layers":2,"attn_layer_period":2,"attn_layer_offset":1,"mamba_d_state":8,"mamba_dt_rank":4,"mamba_d_conv":4,"intermediate_size":128}`, 0,
			"input_norm in_proj conv1d in_proj gate_norm in_proj linear_attention out_proj post_norm gate_up_proj activation down_proj"},
		{"delta attention with gates of a low rank",
			`{` + base + `,"num_hidden_layers":2,"linear_attn_config":{"full_attn_layers":[2],"kda_layers":[1],"head_dim":8,"num_heads":4,"short_conv_kernel_size":4},"intermediate_size":128}`, 0,
			"input_norm in_proj in_proj in_proj in_proj in_proj in_proj conv1d linear_attention gate_norm out_proj post_norm gate_up_proj activation down_proj"},
		{"sparse attention with an indexer", `{` + base +
			`,"num_hidden_layers":4,"intermediate_size":128,"kv_lora_rank":16,"q_lora_rank":8,"qk_nope_head_dim":8,"qk_rope_head_dim":4,"v_head_dim":8,"index_topk":4,"index_n_heads":2,"index_head_dim":4,"index_topk_freq":2}`, 1,
			"input_norm qkv_a_proj q_a_norm kv_a_norm q_b_proj rope indexer indexer indexer indexer indexer_topk k_absorb kv_write kv_b_proj attention v_absorb o_proj post_norm gate_up_proj activation down_proj"},
		{"sparse attention by another layer's indexer",
			`{` + base + `,"num_hidden_layers":4,"intermediate_size":128,"kv_lora_rank":16,"q_lora_rank":8,"qk_nope_head_dim":8,"qk_rope_head_dim":4,"v_head_dim":8,"index_topk":4,"index_n_heads":2,"index_head_dim":4,"index_topk_freq":2}`, 2,
			"input_norm qkv_a_proj q_a_norm kv_a_norm q_b_proj rope k_absorb kv_write kv_b_proj attention v_absorb o_proj post_norm gate_up_proj activation down_proj"},
		{"chunked layers with positions", `{` + base +
			`,"num_hidden_layers":2,"intermediate_size":128,"use_qk_norm":true,"attention_chunk_size":8,"no_rope_layers":[1,0]}`,
			0, attn + "gate_up_proj activation down_proj"},
		{"full layers without", `{` + base + `,"num_hidden_layers":2,"intermediate_size":128,"use_qk_norm":true,"attention_chunk_size":8,"no_rope_layers":[1,0]}`, 1,
			"input_norm qkv_proj kv_write attention o_proj post_norm gate_up_proj activation down_proj"},
		{"short convolution", `{` + base + `,"num_hidden_layers":1,"layer_types":["conv"],"intermediate_size":128}`, 0,
			"input_norm in_proj conv1d out_proj post_norm gate_up_proj activation down_proj"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := operatorsOf(t, tt.doc, tt.layer); got != tt.want {
				t.Errorf("operators\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestLayersThatShareTopK: the three ways in which a config says which layers have an indexer, and what they say of
// each layer.
func TestLayersThatShareTopK(t *testing.T) {
	const base = `{"hidden_size":64,"num_attention_heads":4,"num_hidden_layers":6,"intermediate_size":128,"kv_lora_rank":16,"q_lora_rank":8,"qk_nope_head_dim":8,"qk_rope_head_dim":4,"v_head_dim":8,"index_topk":4`
	for _, tt := range []struct{ say, want string }{
		{``, "FFFFFF"},
		{`,"index_topk_freq":1`, "FFFFFF"},
		{`,"index_topk_freq":2`, "FFSFSF"},
		{`,"index_topk_freq":2,"index_skip_topk_offset":3`, "FFFSFS"},
		{`,"index_topk_pattern":"FSSFSS"`, "FSSFSS"},
		{`,"indexer_types":["full","shared","full","shared","full","shared"]`, "FSFSFS"},
		{`,"indexer_types":["full"]`, "FFFFFF"},
	} {
		c, err := profile.ParseConfig(strings.NewReader(base + tt.say + "}"))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, l := range c.Layers {
			got += map[bool]string{true: "S", false: "F"}[l.SharedTopK]
			if o, _ := c.Plan().Kinds[0].Find("attention"); l.Indexer == l.SharedTopK || o.TopTokens != 4 {
				t.Errorf("%s: a layer with indexer %v and shared tokens %v looks at %d tokens, want one of them and 4",
					tt.say, l.Indexer, l.SharedTopK, o.TopTokens)
			}
		}
		if got != tt.want {
			t.Errorf("%s: layers %s, want %s", tt.say, got, tt.want)
		}
	}
	if got := (profile.LayerInfo{SharedTopK: true}).String(); !strings.Contains(got, "shared topk") {
		t.Errorf("a layer that shares tokens is called %q", got)
	}
}

// TestExpertsInALatentSpace: products lead into the space of routed experts and out of it; the shared ones stay
// outside.
func TestExpertsInALatentSpace(t *testing.T) {
	for latent, want := range map[int]string{0: "experts_gate_up 64×32 experts_down 16×64 shared_gate_up 64×32 shared_down 16×64",
		24: "dispatch 64×24 experts_gate_up 24×32 experts_down 16×24 experts_combine 24×64 shared_gate_up 64×32 shared_down 16×64"} {
		c, err := profile.ParseConfig(strings.NewReader(fmt.Sprintf(`{"hidden_size":64,"num_attention_heads":4,"num_hidden_layers":1,"n_routed_experts":8,"n_shared_experts":1,"num_experts_per_tok":2,"moe_intermediate_size":16,"moe_latent_size":%d}`, latent)))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range c.Plan().Kinds[0].Operators {
			if name := string(o.Operator); o.K > 0 && (strings.HasPrefix(name, "experts") ||
				strings.HasPrefix(name, "shared") || name == "dispatch") {
				got = append(got, fmt.Sprintf("%s %d×%d", name, o.K, o.N))
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("latent size %d: %s, want %s", latent, s, want)
		}
	}
}

// TestQueriesWithGates: the config of Qwen3-Next does not say that queries come with gates of their size; one that
// says no is believed.
func TestQueriesWithGates(t *testing.T) {
	for doc, want := range map[string]int{
		`"model_type":"qwen3_next"`: 2*64 + 2*32, `"model_type":"qwen3_next","attn_output_gate":false`: 64 + 2*32,
		`"model_type":"qwen3"`: 64 + 2*32, `"attn_output_gate":true`: 2*64 + 2*32,
	} {
		c, err := profile.ParseConfig(strings.NewReader(`{"hidden_size":64,"num_attention_heads":4,"num_key_value_heads":2,"head_dim":16,"num_hidden_layers":1,"intermediate_size":8,` + doc + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if o, _ := c.Plan().Kinds[0].Find("qkv_proj"); o.N != want {
			t.Errorf("%s: qkv_proj is %d wide, want %d", doc, o.N, want)
		}
	}
}

// TestSizesOfStateSpaces: the products of mixers without heads, of gates with a low rank, and of dense layers as wide
// as experts.
func TestSizesOfStateSpaces(t *testing.T) {
	const jamba = `{"hidden_size":64,"num_attention_heads":4,"num_hidden_layers":4,"attn_layer_period":4,"attn_layer_offset":3,"expert_layer_period":2,"expert_layer_offset":1,"num_experts":4,"num_experts_per_tok":2,"intermediate_size":128,
		"mamba_d_state":8,"mamba_d_conv":4,"mamba_expand":%s,"mamba_dt_rank":%s}`
	const kimi = `{"hidden_size":64,"num_attention_heads":4,"num_hidden_layers":2,"intermediate_size":128,"linear_attn_config":{"full_attn_layers":[2],%s"head_dim":8,"num_heads":6,"short_conv_kernel_size":4}}`
	for _, tt := range []struct{ name, doc, want string }{
		{"rank given", fmt.Sprintf(jamba, "2", "6"), "64×256 128×22 6×128 128×64 64×256 128×64"},
		{"rank by itself", fmt.Sprintf(jamba, "2", `"auto"`), "64×256 128×20 4×128 128×64 64×256 128×64"}, // 64 / 16
		{"three times as wide", fmt.Sprintf(jamba, "3", "6"), "64×384 192×22 6×192 192×64 64×256 128×64"},
		{"low rank", fmt.Sprintf(kimi, `"kda_layers":[1],`), "64×144 64×6 64×8 8×48 64×8 8×48 48×64 64×256 128×64"},
		{"no low rank", fmt.Sprintf(kimi, ""), "64×192 64×12 48×64 64×256 128×64"},
	} {
		c, err := profile.ParseConfig(strings.NewReader(tt.doc))
		if err != nil {
			t.Fatal(err)
		}
		var sizes []string
		for _, o := range c.Plan().Kinds[0].Operators {
			if o.K > 0 && o.N > 0 {
				sizes = append(sizes, fmt.Sprintf("%d×%d", o.K, o.N))
			}
		}
		if got := strings.Join(sizes, " "); got != tt.want {
			t.Errorf("%s: products %s, want %s", tt.name, got, tt.want)
		}
	}
	for expand, ok := range map[string]bool{"64": true, "65": false} {
		if _, err := profile.ParseConfig(strings.NewReader(fmt.Sprintf(jamba, expand, "6"))); (err == nil) != ok {
			t.Errorf("a mixer %s times as wide: %v, want an error %v", expand, err, !ok)
		}
	}
}

// TestPlanWeightTypes has a quantization_config of each form.
func TestPlanWeightTypes(t *testing.T) {
	for _, tt := range []struct{ quant, want string }{
		{`null`, "bf16 bf16"},
		{`{"quant_method":"fp8","fmt":"e4m3","weight_block_size":[128,128]}`, "fp8 fp8"},
		{`{"quant_method":"fp8","modules_to_not_convert":["model.layers.*.self_attn"]}`, "bf16 fp8"},
		{`{"quant_method":"fp8","ignored_layers":["re:.*down_proj"]}`, "fp8 bf16"},
		{`{"quant_method":"awq","bits":4}`, "int4 int4"},
		{`{"quant_method":"gptq","bits":8}`, "int8 int8"},
		{`{"quant_method":"bitsandbytes","load_in_4bit":true}`, "int4 int4"},
		{`{"quant_method":"modelopt","quant_algo":"NVFP4"}`, "nvfp4 nvfp4"},
		{`{"quant_method":"mxfp4"}`, "bf16 bf16"}, // experts only, and here are none
		{`{"quant_method":"compressed-tensors","config_groups":{"group_0":{"weights":{"num_bits":8,"type":"float"}}},"ignore":["lm_head"]}`, "fp8 fp8"},
		{`{"quant_method":"compressed-tensors","config_groups":{"group_0":{"weights":{"num_bits":8,"type":"int"}}}}`,
			"int8 int8"},
		{`{"quant_method":"something-new"}`, " "},
	} {
		c, err := profile.ParseConfig(strings.NewReader(`{"hidden_size":64,"num_attention_heads":4,"num_hidden_layers":1,"intermediate_size":128,"torch_dtype":"bfloat16","quantization_config":` + tt.quant + `}`))
		if err != nil {
			t.Fatal(err)
		}
		p := c.Plan()
		q, _ := p.Kinds[0].Find("q_proj")
		d, _ := p.Kinds[0].Find("down_proj")
		if got := q.WeightDType + " " + d.WeightDType; got != tt.want {
			t.Errorf("%s: weights of q_proj and down_proj = %q, want %q", tt.quant, got, tt.want)
		}
	}
}

// TestPlanSaysWhatItLacks has configs that lack fields.
func TestPlanSaysWhatItLacks(t *testing.T) {
	for _, tt := range []struct{ doc, want string }{
		{`{"hidden_size":64}`, "number of layers"},
		{`{"hidden_size":64,"num_hidden_layers":1,"layer_types":["telepathy"],"intermediate_size":8}`,
			"attention side"},
		{`{"hidden_size":64,"num_hidden_layers":1}`, "feed-forward side"},
		{`{"hidden_size":64,"num_hidden_layers":1,"num_nextn_predict_layers":1}`, "speculative"},
	} {
		c, err := profile.ParseConfig(strings.NewReader(tt.doc))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.Plan().Notes, "; "); !strings.Contains(got, tt.want) {
			t.Errorf("%s: notes %q, want one about %q", tt.doc, got, tt.want)
		}
	}
}
