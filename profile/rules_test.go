package profile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/profile"
)

// readable parses a config that is given as fields of one of eight layers.
func readable(t *testing.T, fields string) *profile.Config {
	t.Helper()
	text := `{"num_hidden_layers": 8, "hidden_size": 1024, "num_attention_heads": 8, "intermediate_size": 4096, ` +
		fields + `}`
	c, err := profile.ParseConfig(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", fields, err)
	}
	return c
}

// TestLayerRules: each rule by which a family says which layers attend how and
// which hold experts, with a config of its own; the numbers in the rules decide.
func TestLayerRules(t *testing.T) {
	const experts = `"num_experts": 16, "num_experts_per_tok": 2, `
	for _, tt := range []struct{ name, fields, mixers, ffns string }{
		{"llama4", `"model_type": "llama4_text", "attention_chunk_size": 4096`,
			"chunked chunked chunked full chunked chunked chunked full", ""},
		{"llama4 with its interval", `"model_type": "llama4_text", "attention_chunk_size": 4096, "no_rope_layer_interval": 2`,
			"chunked full chunked full chunked full chunked full", ""},
		{"gpt-oss", `"model_type": "gpt_oss", "sliding_window": 128`,
			"sliding full sliding full sliding full sliding full", ""},
		{"no window", `"model_type": "gpt_oss"`, "full full full full full full full full", ""},
		{"gemma3", `"sliding_window": 512, "sliding_window_pattern": 4`,
			"sliding sliding sliding full sliding sliding sliding full", ""},
		{"qwen3", `"sliding_window": 512, "use_sliding_window": true, "max_window_layers": 3`,
			"full full full sliding sliding sliding sliding sliding", ""},
		{"qwen3, all slide", `"sliding_window": 512, "use_sliding_window": true, "max_window_layers": 0`,
			"sliding sliding sliding sliding sliding sliding sliding sliding", ""},
		{"qwen3-next", `"full_attention_interval": 4`, "linear linear linear full linear linear linear full", ""},
		{"jamba", experts + `"attn_layer_period": 4, "attn_layer_offset": 2, "expert_layer_period": 2, "expert_layer_offset": 1`,
			"mamba mamba full mamba mamba mamba full mamba", "dense moe dense moe dense moe dense moe"},
		{"jamba without offsets", experts + `"attn_layer_period": 4, "expert_layer_period": 2`,
			"full mamba mamba mamba full mamba mamba mamba", "moe dense moe dense moe dense moe dense"},
		{"deepseek", experts + `"first_k_dense_replace": 3`, "", "dense dense dense moe moe moe moe moe"},
		{"deepseek, none dense", experts + `"first_k_dense_replace": 0`, "", "moe moe moe moe moe moe moe moe"},
		{"deepseek, every other", experts + `"first_k_dense_replace": 1, "moe_layer_freq": 2`, "",
			"dense dense moe dense moe dense moe dense"},
		{"qwen2-moe", experts + `"decoder_sparse_step": 2, "mlp_only_layers": [3]`, "",
			"dense moe dense dense dense moe dense moe"},
		{"llama4 experts", experts + `"interleave_moe_layer_step": 2`, "", "dense moe dense moe dense moe dense moe"},
		{"llama4, all experts", experts + `"interleave_moe_layer_step": 1`, "", "moe moe moe moe moe moe moe moe"},
		{"ernie", experts + `"moe_layer_start_index": 2, "moe_layer_end_index": 6, "moe_layer_interval": 2`, "",
			"dense dense dense moe dense moe dense dense"},
		{"ernie to the end", experts + `"moe_layer_start_index": 5`, "", "dense dense dense dense dense moe moe moe"},
	} {
		c := readable(t, tt.fields)
		var mixers, ffns []string
		for _, l := range c.Layers {
			mixers, ffns = append(mixers, l.Mixer), append(ffns, l.FFN)
		}
		if got := strings.Join(mixers, " "); tt.mixers != "" && got != tt.mixers {
			t.Errorf("%s: mixers %s, want %s", tt.name, got, tt.mixers)
		}
		if got := strings.Join(ffns, " "); tt.ffns != "" && got != tt.ffns {
			t.Errorf("%s: FFNs %s, want %s", tt.name, got, tt.ffns)
		}
	}
}

// TestAttentionWords: what a summary calls the attention of a config, on both
// sides of each number that decides.
func TestAttentionWords(t *testing.T) {
	for fields, want := range map[string]string{
		`"num_key_value_heads": 8`: "MHA", `"num_key_value_heads": 2`: "GQA", `"num_key_value_heads": 1`: "MQA",
	} {
		text := fmt.Sprint(readable(t, fields).Summary().Lines())
		if !strings.Contains(text, want) {
			t.Errorf("%s: no %s in %s", fields, want, text)
		}
	}
}

// TestNumbersOfConfigs: the largest number that a field may have, and the first
// that is refused.
func TestNumbersOfConfigs(t *testing.T) {
	const limit = 4096
	for _, tt := range []struct {
		fields string
		ok     bool
	}{
		{`"num_nextn_predict_layers": 0`, true},
		{`"attn_layer_period": 0`, false}, {`"attn_layer_period": 1`, true},
		{fmt.Sprintf(`"attn_layer_period": %d`, limit), true}, {fmt.Sprintf(`"attn_layer_period": %d`, limit+1), false},
		{`"num_experts": 4, "num_experts_per_tok": 2, "decoder_sparse_step": 0`, false},
		{`"num_experts": 4, "num_experts_per_tok": 2, "decoder_sparse_step": 1`, true},
		{`"num_experts": 4, "num_experts_per_tok": 2, "first_k_dense_replace": -1`, false},
		{`"sliding_window": 9007199254740993`, false},
	} {
		text := `{"num_hidden_layers": 8, "hidden_size": 1024, "num_attention_heads": 8, ` + tt.fields + `}`
		if _, err := profile.ParseConfig(strings.NewReader(text)); (err == nil) != tt.ok {
			t.Errorf("%s: error %v, accepted should be %v", tt.fields, err, tt.ok)
		}
	}
	if c := readable(t, `"vocab_size": 1000`); c.HeadDim != 128 {
		t.Errorf("1024 wide with 8 heads: head dim %d, want 128", c.HeadDim)
	}
	if c := readable(t, `"head_dim": 64`); c.HeadDim != 64 {
		t.Errorf("head_dim 64: %d", c.HeadDim)
	}
}
