package profile

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
		"_chunk_scan_fwd", "_chunk_state_fwd", "_chunk_state_varlen", "_chunk_cumsum_fwd", "_state_passing_fwd", "_bmm_chunk_fwd",
	}}
	ruleSelectiveScan = RuleSpec{Key: "mamba_scan", Label: "★ Mamba Scan", Patterns: []string{"selective_scan_update", "selective_scan_fwd", "selective_state_update"}}
	ruleDeltaRule     = RuleSpec{Key: "delta_rule", Label: "★ Gated Delta Rule", Patterns: []string{
		"gated_delta_rule", "sigmoid_gating_delta_rule", "chunk_scaled_dot_kkt", "recompute_w_u_fwd", "chunk_fwd_kernel_o",
		"chunk_local_cumsum", "solve_tril", "merge_16x16_to_64x64_inverse",
	}}
	ruleDeltaGate = RuleSpec{Key: "delta_gate", Label: "Delta Gate", Patterns: []string{"fused_gdn_gating", "fused_qkvzba_split"}}
	ruleQKNorm    = RuleSpec{Key: "qk_norm", Label: "QK Norm", Patterns: []string{"qknorm", "qk_norm"}, IgnoreCase: true}
)

var (
	gqaDense = familyModel("gqa_dense", "dense decoders with grouped-query attention (Llama, Qwen2, Qwen3, Mistral)",
		[]string{"llama", "qwen2", "qwen3", "mistral"}, ruleQKNorm)
	gqaMoE = familyModel("gqa_moe", "mixture-of-experts decoders with grouped-query attention (Qwen3-MoE, Llama-4, gpt-oss, Mixtral, MiniMax-M2, GLM-4.5)",
		[]string{"qwen2_moe", "qwen3_moe", "llama4", "llama4_text", "gpt_oss", "mixtral", "minimax_m2", "glm4_moe"},
		ruleQKNorm, ruleMoE, ruleMoEGate, ruleMoEAlign, ruleMoESort)
	hybridMamba = familyModel("hybrid_mamba", "Mamba-2 layers with a few attention layers (Nemotron-H, Bamba, Granite-4, Jamba)",
		[]string{"nemotron_h", "bamba", "granitemoehybrid", "jamba", "falcon_h1", "zamba2"},
		ruleSSDScan, ruleSelectiveScan, ruleCausalConv, ruleMoE, ruleMoEGate, ruleMoEAlign, ruleMoESort)
	hybridLinear = familyModel("hybrid_linear", "gated delta rule layers with full attention every few layers (Qwen3-Next, Qwen3.5)",
		[]string{"qwen3_next", "qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text"},
		ruleDeltaRule, ruleDeltaGate, ruleCausalConv, ruleQKNorm, ruleMoE, ruleMoEGate, ruleMoEAlign, ruleMoESort)
)
