package profile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/profile"
)

func parseConfig(t *testing.T, text string) *profile.Config {
	t.Helper()
	c, err := profile.ParseConfig(strings.NewReader(text))
	if err != nil {
		t.Fatalf("ParseConfig(%s): %v", text, err)
	}
	return c
}

// TestLayerKinds has one small config per way to say what a layer is made of.
func TestLayerKinds(t *testing.T) {
	for _, tt := range []struct{ name, config, want string }{
		{"qwen3 next interval", `{"num_hidden_layers":4,"intermediate_size":8,"full_attention_interval":2}`,
			"linear+dense full+dense linear+dense full+dense"},
		{"gemma3 pattern", `{"num_hidden_layers":4,"intermediate_size":8,"sliding_window":512,"sliding_window_pattern":3}`,
			"sliding+dense sliding+dense full+dense sliding+dense"},
		{"mistral window", `{"num_hidden_layers":2,"intermediate_size":8,"sliding_window":4096}`,
			"sliding+dense sliding+dense"},
		{"window switched off", `{"num_hidden_layers":2,"intermediate_size":8,"sliding_window":4096,"use_sliding_window":false}`, "full+dense full+dense"},
		{"window minus one", `{"num_hidden_layers":1,"intermediate_size":8,"sliding_window":-1}`, "full+dense"},
		{"qwen2 window from a layer on", `{"num_hidden_layers":3,"intermediate_size":8,"sliding_window":64,"use_sliding_window":true,"max_window_layers":2}`,
			"full+dense full+dense sliding+dense"},
		{"gpt-oss without layer_types", `{"model_type":"gpt_oss","num_hidden_layers":2,"sliding_window":128,"num_local_experts":4,"intermediate_size":8}`,
			"sliding+moe full+moe"},
		{"llama4 no_rope_layers", `{"model_type":"llama4_text","num_hidden_layers":2,"attention_chunk_size":8,"no_rope_layers":[0,1],"num_local_experts":2,"intermediate_size":8,"moe_layers":[1]}`,
			"full+dense chunked+moe"},
		{"jamba", `{"num_hidden_layers":4,"intermediate_size":8,"attn_layer_period":4,"attn_layer_offset":2,"num_experts":4,"expert_layer_period":2,"expert_layer_offset":1}`,
			"mamba+dense mamba+moe full+dense mamba+moe"},
		{"bamba indices", `{"num_hidden_layers":3,"intermediate_size":8,"attn_layer_indices":[1]}`,
			"mamba+dense full+dense mamba+dense"},
		{"granite types", `{"num_hidden_layers":2,"intermediate_size":8,"layer_types":["mamba","attention"]}`,
			"mamba+dense full+dense"},
		{"kimi linear, counted from 1, MLA", `{"num_hidden_layers":3,"kv_lora_rank":512,"intermediate_size":8,"linear_attn_config":{"full_attn_layers":[3],"kda_layers":[1,2]}}`,
			"linear+dense linear+dense mla+dense"},
		{"minimax 01", `{"num_hidden_layers":3,"num_local_experts":4,"intermediate_size":8,"attn_type_list":[0,0,1]}`,
			"linear+moe linear+moe full+moe"},
		{"mimo v2", `{"num_hidden_layers":2,"n_routed_experts":4,"hybrid_layer_pattern":[0,1],"moe_layer_freq":[0,1]}`,
			"full+dense sliding+moe"},
		{"nemotron pattern with stages and MTP tail", `{"num_hidden_layers":4,"hybrid_override_pattern":"M-|*E/ME"}`,
			"mamba dense full moe"},
		{"nemotron block types", `{"num_hidden_layers":3,"layers_block_type":["mamba","moe","attention"]}`,
			"mamba moe full"},
		{"zamba block types", `{"num_hidden_layers":2,"intermediate_size":8,"layers_block_type":["mamba","hybrid"]}`,
			"mamba+dense hybrid+dense"},
		{"deepseek first k, every second", `{"num_hidden_layers":5,"n_routed_experts":8,"first_k_dense_replace":1,"moe_layer_freq":2,"kv_lora_rank":4}`,
			"mla+dense mla+dense mla+moe mla+dense mla+moe"},
		{"deepseek inference names", `{"n_layers":2,"n_routed_experts":8,"n_dense_layers":1,"kv_lora_rank":4}`,
			"mla+dense mla+moe"},
		{"moe_layer_freq list", `{"num_hidden_layers":3,"n_routed_experts":8,"moe_layer_freq":[0,1,1]}`,
			"full+dense full+moe full+moe"},
		{"qwen3 moe sparse step", `{"num_hidden_layers":4,"num_experts":8,"decoder_sparse_step":2,"mlp_only_layers":[3]}`,
			"full+dense full+moe full+dense full+dense"},
		{"step3 enumeration", `{"num_hidden_layers":3,"moe_num_experts":8,"moe_layers_enum":"1, 2"}`,
			"full+dense full+moe full+moe"},
		{"ernie range", `{"num_hidden_layers":4,"moe_num_experts":8,"moe_layer_start_index":1,"moe_layer_end_index":2,"moe_layer_interval":1}`,
			"full+dense full+moe full+moe full+dense"},
		{"mlp_layer_types", `{"num_hidden_layers":3,"n_routed_experts":8,"mlp_layer_types":["dense","sparse","sparse"]}`,
			"full+dense full+moe full+moe"},
		{"transformers' DeepSeek-V4", `{"num_hidden_layers":3,"num_local_experts":8,"layer_types":["sliding_attention","compressed_sparse_attention","heavily_compressed_attention"],"mlp_layer_types":["hash_moe","moe","moe"]}`,
			"sliding+moe(hash) csa+moe hca+moe"},
		{"an empty list of types", `{"num_hidden_layers":2,"intermediate_size":8,"layer_types":[]}`,
			"full+dense full+dense"},
		{"a type yet to come", `{"num_hidden_layers":2,"intermediate_size":8,"layer_types":["full_attention","quantum_attention"]}`, "full+dense unknown+dense"},
		{"nested in a multimodal config", `{"thinker_config":{"text_config":{"num_hidden_layers":1,"intermediate_size":8}},"num_hidden_layers":7}`, "full+dense"},
		{"TensorRT-LLM engine", `{"version":"1","pretrained_config":{"num_hidden_layers":1,"intermediate_size":8},"build_config":{"num_hidden_layers":9}}`, "full+dense"},
		{"a path where a nested config may stand", `{"llm_config":"other.json","num_hidden_layers":1,"intermediate_size":8}`,
			"full+dense"},
		{"nothing about the MLP", `{"num_hidden_layers":1}`, "full+unknown"},
	} {
		c := parseConfig(t, tt.config)
		var got []string
		for _, l := range c.Layers {
			got = append(got, l.String())
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestDerivedRatios: transformers writes DeepSeek-V4's ratios as layer types.
func TestDerivedRatios(t *testing.T) {
	c := parseConfig(t, `{"num_hidden_layers":3,"num_nextn_predict_layers":1,
		"layer_types":["sliding_attention","compressed_sparse_attention","heavily_compressed_attention","sliding_attention"],
		"compress_rates":{"compressed_sparse_attention":8},"mlp_layer_types":["hash_moe","moe","moe"]}`)
	if diff := cmp.Diff([]int{0, 8, 128}, c.CompressRatios); diff != "" {
		t.Errorf("CompressRatios (-want +got):\n%s", diff)
	}
	if p, _ := profile.Infer(c); p.Name != profile.DSV4 || c.NumHashLayers != 1 {
		t.Errorf("profile %s, %d hash layers; want %s, 1", p.Name, c.NumHashLayers, profile.DSV4)
	}
}

func TestLayerTypes(t *testing.T) {
	for _, tt := range []struct {
		n      int
		ratios []int
		hash   int
		last   bool
		want   string
	}{
		{0, nil, 0, false, "[]"},
		{-1, nil, 0, false, "[]"},
		{1, []int{4}, 1, false, "[FIRST]"},
		{3, nil, 0, false, "[FIRST LAYER FINAL]"},
		{6, []int{0, 0, 4, 128, 2, 0}, 0, false, "[FIRST FULL_ATTN C4_LIGHT C128_HEAVY CR2 FINAL]"},
		{6, []int{0, 0, 4, 128, 2, 0}, 3, false, "[FIRST HASH HASH C128_HEAVY CR2 FINAL]"},
		{6, []int{0, 0, 4, 128, 2, 0}, 3, true, "[FIRST FULL_ATTN C4_LIGHT HASH HASH HASH]"},
		{4, []int{4, 4}, 0, true, "[FIRST C4_LIGHT LAYER FINAL]"},
		{3, []int{4, 4, 4}, 9, true, "[FIRST HASH HASH]"},
	} {
		if got := fmt.Sprint(profile.LayerTypes(tt.n, tt.ratios, tt.hash, tt.last)); got != tt.want {
			t.Errorf("LayerTypes(%d, %v, %d, %v) = %s, want %s", tt.n, tt.ratios, tt.hash, tt.last, got, tt.want)
		}
	}
}

// TestInferenceOrder: compress_ratios beats kv_lora_rank beats everything.
func TestInferenceOrder(t *testing.T) {
	for _, tt := range []struct{ config, want string }{
		{`{"num_hidden_layers":1,"compress_ratios":[4],"kv_lora_rank":512}`, profile.DSV4},
		{`{"num_hidden_layers":1,"compress_ratios":[],"kv_lora_rank":512}`, profile.DSV3},
		{`{"num_hidden_layers":1,"compress_ratios":null,"kv_lora_rank":0}`, profile.Generic},
		// no ratios: the type alone does not say
		{`{"num_hidden_layers":1,"model_type":"deepseek_v4"}`, profile.Generic},
		{`{"num_hidden_layers":1,"text_config":{"num_hidden_layers":2,"kv_lora_rank":4}}`, profile.DSV3},
		{`{"num_hidden_layers":1,"model_type":"qwen3_moe"}`, profile.Generic},
	} {
		if p, _ := profile.Infer(parseConfig(t, tt.config)); p.Name != tt.want {
			t.Errorf("Infer(%s) = %s, want %s", tt.config, p.Name, tt.want)
		}
	}
	if p, reason := profile.Infer(nil); p.Name != profile.Generic || reason != "no config" {
		t.Errorf("Infer(nil) = %s, %s", p.Name, reason)
	}
}

// TestPlaces: a type that says only where a layer is, or nothing, is a place; one that says what it runs is none.
func TestPlaces(t *testing.T) {
	for typ, want := range map[profile.LayerType]bool{"": true, profile.FirstLayer: true, profile.FinalLayer: true,
		profile.PlainLayer: true, profile.HeavyC128: false, "MOE": false} {
		if typ.IsPlace() != want {
			t.Errorf("%q: a place %v, want %v", typ, !want, want)
		}
	}
}
