package profile_test

import (
	"fmt"
	"strings"

	"github.com/llmstrata/strata/profile"
)

func ExampleInfer() {
	c, err := profile.ParseConfig(strings.NewReader(`{
		"architectures": ["DeepseekV4ForCausalLM"],
		"num_hidden_layers": 6, "num_nextn_predict_layers": 1, "num_hash_layers": 2,
		"compress_ratios": [0, 0, 4, 128, 4, 128, 0]
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	p, reason := profile.Infer(c)
	fmt.Println(p.Name, "because", reason)
	fmt.Println(c.LayerTypes(c.NumLayers))
	// Output:
	// dsv4_csa_hca because config has compress_ratios
	// [FIRST HASH C4_LIGHT C128_HEAVY C4_LIGHT FINAL]
}

func ExampleParse() {
	p, err := profile.Parse(strings.NewReader(`{
		"name": "mine", "anchor": "my_norm", "anchor_position": "opens",
		"rules": [{"key": "attn", "label": "Attention", "patterns": ["my_attn"]}]
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	rules := p.Ruleset()
	fmt.Println(p.Anchor, p.AnchorPosition, rules.Facts("my_attn_v2").Label,
		rules.Facts("ncclDevKernel_AllReduce").Label)
	// Output: my_norm opens Attention ● NCCL AllReduce
}

func ExampleModelProfile_DisplayName() {
	p, _ := profile.Builtin(profile.DSV4)
	fmt.Println(p.DisplayName("void smxx::decode::get_mla_metadata_kernel(GetDecodeSchedMetaParams)"))
	// Output: get_mla_metadata(GetDecodeSchedMetaParams)
}

func ExampleInferParallelism() {
	p, err := profile.InferParallelism(profile.ParallelHints{TP: 4,
		Distributed: []byte(`{"rank": 0, "world_size": 8}`)})
	fmt.Println(p, err)
	// Output: TP 4 (flag), EP unknown (8 ranks in all) <nil>
}

func ExampleArchSummary_Lines() {
	c, err := profile.ParseConfig(strings.NewReader(`{
		"model_type": "qwen3_moe", "num_hidden_layers": 48, "hidden_size": 2048,
		"num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128,
		"num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, line := range c.Summary().Lines() {
		fmt.Println(line)
	}
	// Output:
	// Model:         qwen3_moe
	// Layers:        48
	// Hidden size:   2048
	// Heads:         32, KV heads 4, head dim 128
	// Attention:     GQA
	// MoE:           experts 128, top-k 8, intermediate 768, 48 of 48 layers
	// Layer types:   FIRST 1, LAYER 46, FINAL 1
	// Layer kinds:   full+moe 48
}
