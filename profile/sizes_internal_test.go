package profile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/opname"
)

func TestDividedSizes(t *testing.T) {
	for _, c := range []struct {
		name    string
		d       distributed
		divided bool
		have    int
		want    int
	}{
		{"not divided", distributed{world: 2}, false, 0, 0},
		{"known", distributed{world: 2}, true, 4, 4},
		{"two ranks", distributed{world: 2}, true, 0, 2},
		{"three ranks", distributed{world: 3}, true, 0, 3},
		{"four ranks may be two twos", distributed{world: 4}, true, 0, 0},
		{"one rank", distributed{world: 1}, true, 0, 0},
		{"groups of one size", distributed{world: 8, sizes: []int{1, 4, 4}}, true, 0, 4},
		{"groups of two", distributed{world: 8, sizes: []int{2, 1, 2}}, true, 0, 2},
		{"groups of two sizes", distributed{world: 8, sizes: []int{2, 4}}, true, 0, 0},
		{"the larger first", distributed{world: 8, sizes: []int{4, 2}}, true, 0, 0},
		{"groups of one", distributed{world: 8, sizes: []int{1, 1}}, true, 0, 0},
	} {
		got := c.d.ofDivided(c.divided, Size{N: c.have, Source: "as before"})
		if found := got.Source != "as before"; got.N != c.want || found != (c.want != c.have) {
			t.Errorf("%s: %+v, want %d", c.name, got, c.want)
		}
	}
}

func TestProcessGroups(t *testing.T) {
	for _, c := range []struct{ json, all, kinds string }{
		{`{"pg_config":[{"pg_desc":"mesh_tp","pg_size":2}]}`, "[2]", "map[tp:2]"},
		{`{"pg_config":[{"pg_desc":"mesh_tp","ranks":[0,1,2]}]}`, "[3]", "map[tp:3]"},
		{`{"pg_config":[{"pg_desc":"mesh_tp","pg_size":1}]}`, "[1]", "map[tp:1]"},
		{`{"pg_config":[{"pg_desc":"mesh_tp"}]}`, "[]", "map[]"},
		{`{"pg_config":[{"pg_desc":"undefined","pg_size":4}]}`, "[4]", "map[]"},
		{`{"pg_config":[{"pg_desc":"TENSOR_MODEL_PARALLEL_GROUP","pg_size":2},{"pg_desc":"tp","pg_size":2}]}`, "[2 2]",
			"map[tp:2]"},
		{`{"pg_config":[{"pg_desc":"tp","pg_size":2},{"pg_desc":"tp","pg_size":4},{"pg_desc":"ep","pg_size":8}]}`,
			"[2 4 8]", "map[ep:8 tp:-1]"},
		{`{"pg_config":[{"pg_desc":"EXPERT_TENSOR_PARALLEL_GROUP","pg_size":2}]}`, "[2]", "map[]"},
		{`{"pg_config":3}`, "[]", "map[]"},
	} {
		all, kinds := groupSizes([]byte(c.json))
		if fmt.Sprint(all) != c.all || fmt.Sprint(kinds) != c.kinds {
			t.Errorf("%s: %v and %v, want %s and %s", c.json, all, kinds, c.all, c.kinds)
		}
	}
	for n, want := range map[int]int{maxRanks: 1, maxRanks + 1: 0} {
		if all, _ := groupSizes([]byte(fmt.Sprintf(`{"pg_config":[{"pg_size":%d}]}`, n))); len(all) != want {
			t.Errorf("a group of %d: %v", n, all)
		}
	}
	for text, want := range map[string]int{`{"world_size":8}`: 8, `{"world_size":1}`: 1, `{"world_size":0}`: 0, ``: 0,
		`{}`: 0, `[]`: 0} {
		if d, _ := parseDistributed([]byte(text)); d.world != want {
			t.Errorf("%s: %d, want %d", text, d.world, want)
		}
	}
	for _, c := range []struct {
		name        string
		world, tp   int
		group, want int
	}{{"arguments", 8, 4, 2, 4}, {"arguments of one", 8, 1, 2, 1}, {"groups", 8, 0, 2, 2},
		{"groups of one", 8, 0, 1, 1}, {"one rank", 1, 0, 0, 1}, {"two ranks", 2, 0, 0, 0}, {"nothing", 0, 0, 0, 0}} {
		d := distributed{world: c.world, groups: map[string]int{"tp": c.group}}
		if got := inferSize(0, c.tp, "tp", "", runNames{}, d).N; got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// layersOf writes the feed-forward parts of layers: D for dense ones, E for experts.
func layersOf(t *testing.T, config string) string {
	t.Helper()
	c, err := ParseConfig(strings.NewReader(config))
	if err != nil {
		t.Fatalf("%s: %v", config, err)
	}
	var b strings.Builder
	for _, l := range c.Layers {
		b.WriteByte(map[string]byte{ffnDense: 'D', ffnMoE: 'E'}[l.FFN])
	}
	return b.String()
}

// TestWhichLayersHaveExperts: each rule at both ends of its ranges.
func TestWhichLayersHaveExperts(t *testing.T) {
	for rule, want := range map[string]string{
		`"first_k_dense_replace":0`:                                        "EEEEEE",
		`"first_k_dense_replace":1`:                                        "DEEEEE",
		`"first_k_dense_replace":2,"moe_layer_freq":2`:                     "DDEDED",
		`"moe_layer_freq":3`:                                               "EDDEDD",
		`"moe_layer_freq":1`:                                               "EEEEEE",
		`"decoder_sparse_step":1`:                                          "EEEEEE",
		`"decoder_sparse_step":2`:                                          "DEDEDE",
		`"mlp_only_layers":[0,5]`:                                          "DEEEED",
		`"decoder_sparse_step":2,"mlp_only_layers":[1]`:                    "DDDEDE",
		`"interleave_moe_layer_step":1`:                                    "EEEEEE",
		`"interleave_moe_layer_step":3`:                                    "DDEDDE",
		`"expert_layer_period":1`:                                          "EEEEEE",
		`"expert_layer_period":2`:                                          "EDEDED",
		`"expert_layer_period":3,"expert_layer_offset":1`:                  "DEDDED",
		`"moe_layer_start_index":1`:                                        "DEEEEE",
		`"moe_layer_start_index":0,"moe_layer_end_index":0`:                "EDDDDD",
		`"moe_layer_start_index":2,"moe_layer_end_index":4`:                "DDEEED",
		`"moe_layer_interval":1`:                                           "EEEEEE",
		`"moe_layer_interval":2`:                                           "DEDEDE",
		`"moe_layer_interval":2,"moe_layer_end_index":3`:                   "DEDEDD",
		`"moe_layer_interval":1,"moe_layer_start_index":3`:                 "DDDEEE",
		`"moe_layer_freq":[0,1,0,1,1,0]`:                                   "DEDEED",
		`"mlp_layer_types":["dense","sparse","dense","dense","moe","moe"]`: "DEDDEE",
	} {
		config := `{"num_hidden_layers":6,"hidden_size":64,"intermediate_size":8,"moe_intermediate_size":8,"num_experts":4,` +
			rule + `}`
		if got := layersOf(t, config); got != want {
			t.Errorf("%s: %s, want %s", rule, got, want)
		}
	}
	for _, rule := range []string{`"expert_layer_period":0`, `"interleave_moe_layer_step":0`, `"decoder_sparse_step":0`,
		`"moe_layer_freq":0`, `"first_k_dense_replace":-1`, `"expert_layer_period":1,"expert_layer_offset":-1`,
		`"moe_layer_start_index":-1`, `"moe_layer_interval":0`,
		`"moe_layer_freq":[0,2,0,1,1,0]`, `"mlp_only_layers":[-1]`, `"moe_layer_freq":[1]`} {
		if _, err := ParseConfig(strings.NewReader(`{"num_hidden_layers":6,"num_experts":4,` + rule +
			`}`)); err == nil {
			t.Errorf("%s is read", rule)
		}
	}
}

// operators writes the products of a model's only kind of layer, with the products that may replace each.
func operators(t *testing.T, config string) []string {
	t.Helper()
	c, err := ParseConfig(strings.NewReader(config))
	if err != nil {
		t.Fatalf("%s: %v", config, err)
	}
	var out []string
	var write func(o PlanOp) string
	write = func(o PlanOp) string {
		s := string(o.Operator)
		if o.Module != "" {
			s += "." + o.Module
		}
		s += fmt.Sprintf(" %dx%d", o.K, o.N)
		for _, x := range o.Or {
			s += " | " + write(x)
		}
		return s
	}
	for _, o := range c.planLayer(c.Layers[0]) {
		if o.K > 0 && o.N > 0 {
			out = append(out, write(o))
		}
	}
	return out
}

// TestProductsOfEveryForm: what servers run as one product or as several, with sizes that no two share.
func TestProductsOfEveryForm(t *testing.T) {
	for _, c := range []struct{ name, config, want string }{
		{"attention", `{"num_hidden_layers":1,"hidden_size":70,"num_attention_heads":6,"num_key_value_heads":2,"head_dim":11,"intermediate_size":130}`,
			"qkv_proj 70x110 | q_proj 70x66 | k_proj 70x22 | v_proj 70x22; o_proj 66x70; gate_up_proj 70x260 | gate_proj 70x130 | up_proj 70x130; down_proj 130x70"},
		{"keys for each head", `{"num_hidden_layers":1,"hidden_size":60,"num_attention_heads":6,"intermediate_size":130,"hidden_act":"relu2"}`,
			"qkv_proj 60x180 | q_proj 60x60 | k_proj 60x60 | v_proj 60x60; o_proj 60x60; up_proj 60x130; down_proj 130x60"},
		{"one key head", `{"num_hidden_layers":1,"hidden_size":60,"num_attention_heads":6,"num_key_value_heads":1,"intermediate_size":130}`,
			"qkv_proj 60x80 | q_proj 60x60 | k_proj 60x10 | v_proj 60x10; o_proj 60x60; gate_up_proj 60x260 | gate_proj 60x130 | up_proj 60x130; down_proj 130x60"},
		{"gated attention", `{"model_type":"qwen3_next","num_hidden_layers":1,"hidden_size":70,"num_attention_heads":6,"num_key_value_heads":2,"head_dim":11,"intermediate_size":130}`,
			"qkv_proj 70x176 | q_proj 70x132 | k_proj 70x22 | v_proj 70x22; o_proj 66x70; gate_up_proj 70x260 | gate_proj 70x130 | up_proj 70x130; down_proj 130x70"},
		{"gated delta rule", `{"num_hidden_layers":1,"layer_types":["linear_attention"],"hidden_size":70,"num_attention_heads":7,"intermediate_size":130,"linear_num_key_heads":3,"linear_key_head_dim":5,"linear_num_value_heads":6,"linear_value_head_dim":4,"linear_conv_kernel_dim":4}`,
			"in_proj 70x78 | in_proj.in_proj_qkv 70x54 | in_proj.in_proj_z 70x24; in_proj.in_proj_ba 70x12 | in_proj.in_proj_b 70x6 | in_proj.in_proj_a 70x6; out_proj 24x70; gate_up_proj 70x260 | gate_proj 70x130 | up_proj 70x130; down_proj 130x70"},
		{"linear attention without sizes", `{"num_hidden_layers":1,"layer_types":["linear_attention"],"hidden_size":70,"num_attention_heads":7,"intermediate_size":130}`,
			"in_proj 70x280; out_proj 70x70; gate_up_proj 70x260 | gate_proj 70x130 | up_proj 70x130; down_proj 130x70"},
		{"Kimi's delta attention", `{"num_hidden_layers":1,"kv_lora_rank":512,"hidden_size":70,"num_attention_heads":7,"intermediate_size":130,"linear_attn_config":{"full_attn_layers":[],"kda_layers":[1],"num_heads":3,"head_dim":5,"short_conv_kernel_size":4}}`,
			"in_proj 70x45 | in_proj.q_proj 70x15 | in_proj.k_proj 70x15 | in_proj.v_proj 70x15; in_proj.b_proj 70x3; in_proj.f_a_proj 70x5; in_proj.f_b_proj 5x15; in_proj.g_a_proj 70x5; in_proj.g_b_proj 5x15; out_proj 15x70; gate_up_proj 70x260 | gate_proj 70x130 | up_proj 70x130; down_proj 130x70"},
		{"Mamba-2", `{"num_hidden_layers":1,"layer_types":["mamba"],"hidden_size":70,"num_attention_heads":7,"intermediate_size":130,"mamba_n_groups":1,"mamba_d_state":5,"mamba_n_heads":6,"mamba_d_head":4,"mamba_d_conv":4}`,
			"in_proj 70x64; out_proj 24x70; gate_up_proj 70x260 | gate_proj 70x130 | up_proj 70x130; down_proj 130x70"},
		{"Mamba-1", `{"num_hidden_layers":1,"layer_types":["mamba"],"hidden_size":70,"num_attention_heads":7,"intermediate_size":130,"mamba_d_state":3,"mamba_dt_rank":"auto","mamba_d_conv":4}`,
			"in_proj 70x280; in_proj.x_proj 140x11; in_proj.dt_proj 5x140; out_proj 140x70; gate_up_proj 70x260 | gate_proj 70x130 | up_proj 70x130; down_proj 130x70"},
		{"Mamba-1 with a rank, three times as wide",
			`{"num_hidden_layers":1,"layer_types":["mamba"],"hidden_size":70,"num_attention_heads":7,"intermediate_size":130,"mamba_d_state":3,"mamba_dt_rank":1,"mamba_d_conv":4,"mamba_expand":3}`,
			"in_proj 70x420; in_proj.x_proj 210x7; in_proj.dt_proj 1x210; out_proj 210x70; gate_up_proj 70x260 | gate_proj 70x130 | up_proj 70x130; down_proj 130x70"},
		{"latent attention", `{"num_hidden_layers":1,"hidden_size":70,"num_attention_heads":5,"kv_lora_rank":17,"q_lora_rank":1,"qk_nope_head_dim":12,"qk_rope_head_dim":4,"v_head_dim":9,"intermediate_size":130}`,
			"qkv_a_proj 70x22 | q_a_proj 70x1 | kv_a_proj 70x21; q_b_proj 1x80; k_absorb 12x17; kv_b_proj 17x105; v_absorb 17x9; o_proj 45x70; gate_up_proj 70x260 | gate_proj 70x130 | up_proj 70x130; down_proj 130x70"},
		{"latent keys only", `{"num_hidden_layers":1,"hidden_size":70,"num_attention_heads":5,"kv_lora_rank":17,"qk_nope_head_dim":12,"qk_rope_head_dim":4,"v_head_dim":9,"intermediate_size":130}`,
			"q_proj 70x80; kv_a_proj 70x21; k_absorb 12x17; kv_b_proj 17x105; v_absorb 17x9; o_proj 45x70; gate_up_proj 70x260 | gate_proj 70x130 | up_proj 70x130; down_proj 130x70"},
		{"experts beside one shared", `{"model_type":"llama4_text","num_hidden_layers":1,"hidden_size":60,"num_attention_heads":6,"intermediate_size":30,"num_local_experts":8,"num_experts_per_tok":1}`,
			"qkv_proj 60x180 | q_proj 60x60 | k_proj 60x60 | v_proj 60x60; o_proj 60x60; router 60x8; experts_gate_up 60x60; experts_down 30x60; shared_gate_up 60x60; shared_down 30x60"},
		{"experts in a latent space", `{"num_hidden_layers":1,"hidden_size":60,"num_attention_heads":6,"moe_intermediate_size":30,"n_routed_experts":8,"num_experts_per_tok":2,"moe_latent_size":1}`,
			"qkv_proj 60x180 | q_proj 60x60 | k_proj 60x60 | v_proj 60x60; o_proj 60x60; router 60x8; dispatch.fc1_latent_proj 60x1; experts_gate_up 1x60; experts_down 30x1; experts_combine.fc2_latent_proj 1x60"},
	} {
		if got := strings.Join(operators(t, c.config), "; "); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestTopKOfOtherLayers: layers use their own selection, or that of a layer before.
func TestTopKOfOtherLayers(t *testing.T) {
	for rule, want := range map[string]string{
		`"indexer_types":["full","shared","full"]`:       "IsIII",
		`"index_topk_pattern":"FSSF"`:                    "IssII",
		`"index_topk_freq":1`:                            "IIIII",
		`"index_topk_freq":2`:                            "IIsIs",
		`"index_topk_freq":2,"index_skip_topk_offset":1`: "IsIsI",
		`"index_topk_freq":3,"index_skip_topk_offset":3`: "IIIss",
	} {
		c, err := ParseConfig(strings.NewReader(`{"num_hidden_layers":5,"kv_lora_rank":4,"index_topk":1,"intermediate_size":8,` + rule + `}`))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, l := range c.Layers {
			got += map[[2]bool]string{{true, false}: "I", {false, true}: "s",
				{false, false}: "-"}[[2]bool{l.Indexer, l.SharedTopK}]
		}
		if got != want {
			t.Errorf("%s: %s, want %s", rule, got, want)
		}
	}
}

// TestStreamsOfHyperConnections: one stream is mixed as several are, none is not.
func TestStreamsOfHyperConnections(t *testing.T) {
	for n, want := range map[int]bool{0: false, 1: true, 4: true} {
		c, err := ParseConfig(strings.NewReader(fmt.Sprintf(`{"num_hidden_layers":1,"hidden_size":60,"num_attention_heads":6,"intermediate_size":8,"hc_mult":%d}`, n)))
		if err != nil {
			t.Fatal(err)
		}
		after, enter := c.planAfter()[0], c.enter()[0]
		if got := after.Operator == opname.HCPre; got != want || want && (after.K != 60*n || after.N != n) {
			t.Errorf("%d streams: behind the layers %+v", n, after)
		}
		if got := enter.Operator == opname.HCPre; got != want || want && (enter.K != 60*n || enter.N != (2+n)*n) {
			t.Errorf("%d streams: in front of a half %+v", n, enter)
		}
	}
}

// TestCodesOfLayers: lists of codes have two values, one for each layer.
func TestCodesOfLayers(t *testing.T) {
	for _, list := range []string{`"attn_type_list":[0,2]`, `"attn_type_list":[-1,0]`, `"hybrid_layer_pattern":[0,2]`,
		`"attn_type_list":[0]`, `"attention_chunk_size":8,"no_rope_layers":[0,2]`,
		`"attention_chunk_size":8,"no_rope_layers":[0]`} {
		if _, err := ParseConfig(strings.NewReader(`{"num_hidden_layers":2,"intermediate_size":8,` + list +
			`}`)); err == nil {
			t.Errorf("%s is read", list)
		}
	}
	for list, want := range map[string]string{`"attn_type_list":[0,1]`: "linear full",
		`"hybrid_layer_pattern":[0,1]`:                    "full sliding",
		`"attention_chunk_size":8,"no_rope_layers":[0,1]`: "full chunked",
		`"attention_chunk_size":8,"no_rope_layers":[]`:    "", `"attn_layer_indices":[1]`: "mamba full",
		`"attn_layer_indices":[0]`: "full mamba"} {
		c, err := ParseConfig(strings.NewReader(`{"num_hidden_layers":2,"intermediate_size":8,` + list + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(c.Layers[0].Mixer, " ", c.Layers[1].Mixer); want != "" && got != want {
			t.Errorf("%s: %s, want %s", list, got, want)
		}
	}
}

// TestEndsOfRanges: the first layer, the largest flag, one rank and no convolution.
func TestEndsOfRanges(t *testing.T) {
	for enum, want := range map[string]string{"0": "EDD", "0,2": "EDE", "2": "DDE"} {
		if got := layersOf(t, `{"num_hidden_layers":3,"hidden_size":64,"intermediate_size":8,"moe_num_experts":4,"moe_layers_enum":"`+enum+`"}`); got != want {
			t.Errorf("experts in %s: %s, want %s", enum, got, want)
		}
	}
	for n, want := range map[int]bool{-1: false, 0: true, maxRanks: true, maxRanks + 1: false} {
		if _, err := InferParallelism(ParallelHints{TP: n}); (err == nil) != want {
			t.Errorf("a flag of %d: %v", n, err)
		}
	}
	if got := (&distributed{world: 2}).ofDivided(true, Size{N: 1}).N; got != 1 {
		t.Errorf("one rank that is known becomes %d", got)
	}
	for taps, want := range map[int]bool{0: false, 1: true} {
		c, err := ParseConfig(strings.NewReader(fmt.Sprintf(`{"num_hidden_layers":1,"torch_dtype":"bfloat16","layer_types":["linear_attention"],"hidden_size":70,"num_attention_heads":7,"intermediate_size":130,"linear_num_key_heads":3,"linear_key_head_dim":5,"linear_num_value_heads":6,"linear_value_head_dim":4,"linear_conv_kernel_dim":%d}`, taps)))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, o := range c.planLayer(c.Layers[0]) {
			found = found || o.Operator == opname.Conv1D
		}
		if found != want {
			t.Errorf("%d taps: a convolution: %v, want %v", taps, found, want)
		}
		if notes := strings.Join(c.Plan().Notes, "; "); strings.Contains(notes, "type of activations") {
			t.Errorf("notes %q though the type is given", notes)
		}
	}
}
