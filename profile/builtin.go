package profile

// The names of the profiles inference chooses from.
const (
	// dsv4 is DeepSeek-V4: compressed sparse and heavily compressed attention
	// in turns, hyper-connections around each half of a layer.
	dsv4 = "dsv4_csa_hca"
	// dsv3 is the multi-head latent attention family: DeepSeek-V3, V3.2, Kimi-K2,
	// GLM-5.
	dsv3 = "dsv3_mla"
	// generic fits every model and knows none.
	generic = "generic"
)

// builtinNames returns the built-in profiles' names: the three that inference chooses
// from first, then those chosen only by name.
func builtinNames() []string {
	names := make([]string, len(builtins))
	for i, p := range builtins {
		names[i] = p.Name
	}
	return names
}

// builtinNamed returns a copy of a built-in profile.
func builtinNamed(name string) (*ModelProfile, bool) {
	for _, p := range builtins {
		if p.Name == name {
			return p.clone(), true
		}
	}
	return nil, false
}

// builtin is builtinNamed for names that are known to exist.
func builtin(name string) *ModelProfile {
	p, ok := builtinNamed(name)
	if !ok {
		panic("profile: no built-in " + name) // a constant of this package is wrong
	}
	return p
}

var builtins = []*ModelProfile{
	{
		Name:        dsv4,
		Description: "DeepSeek-V4: each layer is an attention half and a feed-forward half, each closed by mhc_post",
		ModelTypes:  []string{"deepseek_v4", "deepseek_ref"},
		Anchor:      "mhc_post_tilelang",
		// deepseek-v4.md: attn … mhc_post | ffn … mhc_post. The reference opens
		// blocks with it and so swaps the halves.
		AnchorPosition: AnchorCloses,
		BlocksPerLayer: 2,
		HalfLabels:     []string{"attn", "ffn"},
		DefaultLayers:  43, // DeepSeek-V4-Flash
		Rules: []RuleSpec{
			ruleMLA, ruleMoE, ruleHadamard, ruleIndexer, rulePagedMQA, ruleMLAMetadata, ruleC4Prefill, ruleC128Prefill,
			ruleRoPE, ruleMHCPreGEMM, ruleMHCPreFuse, ruleMHCPost, ruleMoEGate, ruleMoEAlign, ruleMoESort,
			ruleMLAStore, ruleIndexerStore,
		},
		BaseRules: baseUniversal,
	},
	{
		Name:        dsv3,
		Description: "multi-head latent attention (DeepSeek-V3 and V3.2, Kimi-K2, GLM-5): one MLA combine kernel per layer",
		ModelTypes:  []string{"deepseek_v3", "deepseek_v32", "kimi_k2", "glm_moe_dsa"},
		Anchor:      "flash_fwd_mla_combine",
		// The combine kernel follows the split-KV kernel in the middle of the
		// attention half: projections precede it, the output projection and the
		// MLP follow.
		AnchorPosition: anchorInside,
		BlocksPerLayer: 1,
		HalfLabels:     []string{"full"},
		DefaultLayers:  61, // DeepSeek-V3
		Rules: []RuleSpec{
			ruleMLA, ruleMoE, ruleMLAMetadata, ruleMLACombine, ruleRoPE, ruleMoEGate, ruleMoEAlign, ruleMoESort,
			ruleMLAStore,
		},
		BaseRules: baseUniversal,
	},
	{
		Name:           generic,
		Description:    "any model: no anchor of its own, the rich category rules",
		AnchorPosition: anchorUnknown,
		AutoAnchors:    []string{"mhc_post_tilelang", "flash_fwd_mla_combine", "AllReduce"},
		BlocksPerLayer: 1,
		HalfLabels:     []string{"full"},
		DefaultLayers:  1,
		BaseRules:      baseRich,
	},
	gqaDense, gqaMoE, hybridMamba, hybridLinear,
}

// Profiles chosen by name only. They cut layers exactly as generic does (no
// anchor, one block a layer) and add category rules before the rich set, for
// kernels of the open-source runtimes whose names are safely known: Triton
// kernels carry the name of the Python function that defines them, so the
// patterns are the function names of vLLM, SGLang, mamba_ssm and
// flash-linear-attention.

// familyModel is what these profiles share.
func familyModel(name, description string, modelTypes []string, rules ...RuleSpec) *ModelProfile {
	return &ModelProfile{
		Name:           name,
		Description:    description,
		ModelTypes:     modelTypes,
		AnchorPosition: anchorUnknown,
		AutoAnchors:    []string{"AllReduce"},
		BlocksPerLayer: 1,
		HalfLabels:     []string{"full"},
		DefaultLayers:  1,
		Rules:          rules,
		BaseRules:      baseRich,
	}
}

var (
	ruleCausalConv = RuleSpec{Key: "causal_conv1d", Label: "Causal Conv1D", Patterns: []string{"causal_conv1d"}}
	ruleSSDScan    = RuleSpec{Key: "mamba_ssd", Label: "★ Mamba SSD", Patterns: []string{
		"_chunk_scan_fwd", "_chunk_state_fwd", "_chunk_state_varlen", "_chunk_cumsum_fwd", "_state_passing_fwd",
		"_bmm_chunk_fwd",
	}}
	ruleSelectiveScan = RuleSpec{Key: "mamba_scan", Label: "★ Mamba Scan",
		Patterns: []string{"selective_scan_update", "selective_scan_fwd", "selective_state_update"}}
	ruleDeltaRule = RuleSpec{Key: "delta_rule", Label: "★ Gated Delta Rule", Patterns: []string{
		"gated_delta_rule", "sigmoid_gating_delta_rule", "chunk_scaled_dot_kkt", "recompute_w_u_fwd",
		"chunk_fwd_kernel_o",
		"chunk_local_cumsum", "solve_tril", "merge_16x16_to_64x64_inverse",
	}}
	ruleDeltaGate = RuleSpec{Key: "delta_gate", Label: "Delta Gate",
		Patterns: []string{"fused_gdn_gating", "fused_qkvzba_split"}}
	ruleQKNorm = RuleSpec{Key: "qk_norm", Label: "QK Norm", Patterns: []string{"qknorm", "qk_norm"},
		IgnoreCase: true}
)

var (
	gqaDense = familyModel("gqa_dense", "dense decoders with grouped-query attention (Llama, Qwen2, Qwen3, Mistral)",
		[]string{"llama", "qwen2", "qwen3", "mistral"}, ruleQKNorm)
	gqaMoE = familyModel("gqa_moe", "mixture-of-experts decoders with grouped-query attention (Qwen3-MoE, Llama-4, "+
		"gpt-oss, Mixtral, MiniMax-M2, GLM-4.5)",
		[]string{"qwen2_moe", "qwen3_moe", "llama4", "llama4_text", "gpt_oss", "mixtral", "minimax_m2", "glm4_moe"},
		ruleQKNorm, ruleMoE, ruleMoEGate, ruleMoEAlign, ruleMoESort)
	hybridMamba = familyModel("hybrid_mamba", "Mamba-2 layers with a few attention layers (Nemotron-H, Bamba, "+
		"Granite-4, Jamba)", []string{"nemotron_h", "bamba", "granitemoehybrid", "jamba", "falcon_h1", "zamba2"},
		ruleSSDScan, ruleSelectiveScan, ruleCausalConv, ruleMoE, ruleMoEGate, ruleMoEAlign, ruleMoESort)
	hybridLinear = familyModel("hybrid_linear", "gated delta rule layers with full attention every few layers "+
		"(Qwen3-Next, Qwen3.5)",
		[]string{"qwen3_next", "qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text"},
		ruleDeltaRule, ruleDeltaGate, ruleCausalConv, ruleQKNorm, ruleMoE, ruleMoEGate, ruleMoEAlign, ruleMoESort)
)

// Infer picks the profile for a config, in this order: non-empty
// compress_ratios is dsv4_csa_hca, a positive kv_lora_rank is dsv3_mla, anything
// else, a nil config included, is generic. The reason names the field that
// decided.
func Infer(c *Config) (p *ModelProfile, reason string) {
	switch {
	case c == nil:
		return builtin(generic), "no config"
	case len(c.CompressRatios) > 0:
		return builtin(dsv4), "config has compress_ratios"
	case c.KVLoraRank > 0:
		return builtin(dsv3), "config has kv_lora_rank"
	}
	return builtin(generic), "config has neither compress_ratios nor kv_lora_rank"
}
