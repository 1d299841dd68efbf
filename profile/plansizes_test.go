package profile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/profile"
)

// sizes writes an operator with the sizes that it has.
func sizes(o profile.PlanOp) string {
	s := strings.TrimSpace(string(o.Operator) + " " + o.Module)
	add := func(format string, n ...any) {
		if slices.ContainsFunc(n, func(x any) bool { return x != 0 }) {
			s += " " + fmt.Sprintf(format, n...)
		}
	}
	add("%d×%d", o.K, o.N)
	add("groups %d", o.Groups)
	add("experts %d/%d", o.Experts, o.TopK)
	add("heads %d/%d of %d/%d", o.Heads, o.KVHeads, o.HeadDim, o.ValueDim)
	add("window %d", o.Window)
	add("top %d", o.TopTokens)
	add("ratio %d", o.Ratio)
	add("width %d", o.Width)
	return s
}

// TestSizesOfEverySortOfLayer has a small model of each sort of mixer and feed
// forward, with sizes that no two of its parts share, and the sizes that follow
// from the model's code.
func TestSizesOfEverySortOfLayer(t *testing.T) {
	experts := func(n, k, width int) []string {
		return []string{fmt.Sprintf("router 70×%d", n), fmt.Sprintf("routing experts %d/%d width %d", n, k, n),
			fmt.Sprintf("dispatch experts 0/%d width 70", k),
			fmt.Sprintf("experts_gate_up 70×%d experts %d/%d", 2*width, n, k),
			fmt.Sprintf("experts_activation experts %d/%d width %d", n, k, 2*width),
			fmt.Sprintf("experts_down %d×70 experts %d/%d", width, n, k),
			fmt.Sprintf("experts_combine experts 0/%d width 70", k)}
	}
	shared := func(width int, gate ...string) []string {
		return append(append([]string{fmt.Sprintf("shared_gate_up 70×%d", 2*width),
			fmt.Sprintf("shared_activation width %d", 2*width), fmt.Sprintf("shared_down %d×70", width)},
			gate...), "residual_add shared + routed width 70")
	}
	dense := func(width int) []string {
		return []string{fmt.Sprintf("gate_up_proj 70×%d", 2*width), fmt.Sprintf("activation width %d", 2*width),
			fmt.Sprintf("down_proj %d×70", width)}
	}
	// (6 + 2·2)·11, (6 + 2)·11, 2·2·11
	grouped := []string{"qkv_proj 70×110", "qk_norm width 88", "rope width 88", "kv_write heads 0/2 of 11/11 width 44"}
	latent := []string{"qkv_a_proj 70×54", "q_a_norm width 33", "kv_a_norm width 17", "q_b_proj 33×80", "rope width 24",
		"k_absorb 12×17 groups 5",
		"kv_write heads 0/1 of 21/0 width 21", "kv_b_proj 17×105", "attention heads 5/1 of 21/17",
		"v_absorb 17×9 groups 5", "o_proj 45×70"}
	compressed := []string{"qkv_a_proj 70×49", "q_a_norm width 33", "kv_a_norm width 16", "q_b_proj 33×80"}
	heads := []string{"qk_norm width 80", "rope width 24", "kv_write heads 0/1 of 16/0 width 16"}
	out := []string{"o_proj wo_a 16×21 groups 5", "o_proj wo_b 105×70"}
	v4 := slices.Concat(experts(8, 2, 30), shared(30))
	join := slices.Concat[[]string]
	for _, tc := range []struct {
		name, config string
		kinds        [][]string // mixer and feed forward of each kind of layer
		layers       []int
	}{
		{"dense", `{"model_type":"qwen3","num_hidden_layers":2,"hidden_size":70,"num_attention_heads":6,"num_key_value_heads":2,"head_dim":11,"intermediate_size":130,"vocab_size":1000}`,
			[][]string{join(grouped, []string{"attention heads 6/2 of 11/11", "o_proj 66×70"}, dense(130))},
			[]int{0, 0}},
		{"shared expert with a gate", `{"model_type":"qwen2_moe","num_hidden_layers":1,"hidden_size":70,"num_attention_heads":7,"num_key_value_heads":7,"moe_intermediate_size":30,"shared_expert_intermediate_size":50,"num_experts":12,"num_experts_per_tok":3,"vocab_size":1000}`,
			[][]string{join([]string{"qkv_proj 70×210", "qk_norm width 140", "rope width 140",
				"kv_write heads 0/7 of 10/10 width 140", "attention heads 7/7 of 10/10", "o_proj 70×70"},
				experts(12, 3, 30), shared(50, "shared_gate_up shared_expert_gate 70×1"))}, []int{0}},
		{"latent attention", `{"model_type":"deepseek_v3","num_hidden_layers":2,"first_k_dense_replace":1,"hidden_size":70,"num_attention_heads":5,"num_key_value_heads":5,"q_lora_rank":33,"kv_lora_rank":17,"qk_nope_head_dim":12,"qk_rope_head_dim":4,"v_head_dim":9,"intermediate_size":130,"moe_intermediate_size":30,"n_routed_experts":8,"n_shared_experts":2,"num_experts_per_tok":3,"vocab_size":1000}`,
			[][]string{join(latent, dense(130)), join(latent, experts(8, 3, 30), shared(60))}, []int{0, 1}},
		{"short convolution", `{"model_type":"lfm2","num_hidden_layers":2,"layer_types":["conv","full_attention"],"hidden_size":70,"num_attention_heads":7,"num_key_value_heads":1,"intermediate_size":130,"conv_L_cache":3,"vocab_size":1000}`,
			[][]string{join([]string{"in_proj 70×210", "conv1d width 210", "out_proj 70×70"}, dense(130)),
				join([]string{"qkv_proj 70×90", "qk_norm width 80", "rope width 80",
					"kv_write heads 0/1 of 10/10 width 20", "attention heads 7/1 of 10/10", "o_proj 70×70"},
					dense(130))}, []int{0, 1}},
		{"every other layer looks back a window", `{"model_type":"gpt_oss","num_hidden_layers":4,"hidden_size":70,"num_attention_heads":6,"num_key_value_heads":2,"head_dim":11,"intermediate_size":30,"num_local_experts":8,"num_experts_per_tok":4,"sliding_window":128,"vocab_size":1000}`,
			[][]string{join(grouped, []string{"attention heads 6/2 of 11/11 window 128", "o_proj 66×70"},
				experts(8, 4, 30)), join(grouped, []string{"attention heads 6/2 of 11/11", "o_proj 66×70"},
				experts(8, 4, 30))}, []int{0, 1, 0, 1}},
		{"every fourth layer has no chunks and no rope, every second one experts",
			`{"model_type":"llama4","num_hidden_layers":4,"hidden_size":70,"num_attention_heads":6,"num_key_value_heads":2,"head_dim":11,"intermediate_size":30,"intermediate_size_mlp":60,"attention_chunk_size":64,"interleave_moe_layer_step":2,"num_local_experts":8,"num_experts_per_tok":1,"vocab_size":1000}`,
			[][]string{join(grouped, []string{"attention heads 6/2 of 11/11 window 64", "o_proj 66×70"}, dense(60)),
				join(grouped, []string{"attention heads 6/2 of 11/11 window 64", "o_proj 66×70"}, experts(8, 1, 30),
					shared(30)),
				join(grouped[:2], grouped[3:], []string{"attention heads 6/2 of 11/11", "o_proj 66×70"},
					experts(8, 1, 30), shared(30))}, []int{0, 1, 0, 2}},
		{"compressed attention", `{"model_type":"deepseek_v4","num_hidden_layers":3,"compress_ratios":[0,4,128],"hidden_size":70,"num_attention_heads":5,"num_key_value_heads":1,"head_dim":16,"qk_rope_head_dim":4,"q_lora_rank":33,"o_lora_rank":21,"o_groups":5,"index_n_heads":3,"index_head_dim":8,"index_topk":64,"sliding_window":128,"moe_intermediate_size":30,"n_routed_experts":8,"n_shared_experts":1,"num_experts_per_tok":2,"hc_mult":4,"vocab_size":1000}`,
			[][]string{join(compressed, heads, []string{"attention heads 5/1 of 16/16 window 128"}, out, v4),
				join(compressed, []string{"kv_a_proj compressor 70×64 ratio 4"}, heads,
					[]string{"indexer wq_b 33×24", "indexer wk 70×32", "indexer weights_proj 70×3",
						"indexer scores heads 3/1 of 8/0", "indexer_topk top 64",
						"kv_write compressor heads 0/1 of 16/0 ratio 4 width 64",
						"attention heads 5/1 of 16/16 window 128 top 64 ratio 4"}, out, v4),
				join(compressed, []string{"kv_a_proj compressor 70×32 ratio 128"}, heads,
					[]string{"kv_write compressor heads 0/1 of 16/0 ratio 128 width 32",
						"attention heads 5/1 of 16/16 window 128 ratio 128"}, out, v4)}, []int{0, 1, 2}},
	} {
		c, err := profile.ParseConfig(strings.NewReader(tc.config))
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		p := c.Plan()
		if diff := cmp.Diff(tc.layers, p.LayerKinds); diff != "" {
			t.Errorf("%s: kinds of the layers (-want +got):\n%s", tc.name, diff)
		}
		var got [][]string
		for _, k := range p.Kinds {
			var ops []string
			for _, o := range k.Operators {
				switch s := sizes(o); s { // what every layer has, around its parts
				case "residual_add width 70", "input_norm width 70", "post_norm width 70", "attn_all_reduce width 70",
					"mlp_all_reduce width 70":
				case "hc_pre 280×24", "hc_post width 350": // (2 + 4)·4 of 4·70, 4·70 + 70
				default:
					ops = append(ops, s)
				}
			}
			got = append(got, ops)
		}
		if diff := cmp.Diff(tc.kinds, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}
