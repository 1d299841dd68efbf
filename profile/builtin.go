package profile

// The names of the profiles inference chooses from.
const (
	// DSV4 is DeepSeek-V4: compressed sparse and heavily compressed attention
	// in turns, hyper-connections around each half of a layer.
	DSV4 = "dsv4_csa_hca"
	// dsv3 is the multi-head latent attention family: DeepSeek-V3, V3.2, Kimi-K2,
	// GLM-5.
	dsv3 = "dsv3_mla"
	// generic fits every model and knows none.
	generic = "generic"
)

// Names returns the built-in profiles' names: the three that inference chooses
// from first, then those chosen only by name.
func Names() []string {
	names := make([]string, len(builtins))
	for i, p := range builtins {
		names[i] = p.Name
	}
	return names
}

// Builtin returns a copy of a built-in profile.
func Builtin(name string) (*ModelProfile, bool) {
	for _, p := range builtins {
		if p.Name == name {
			return p.Clone(), true
		}
	}
	return nil, false
}

// builtin is Builtin for names that are known to exist.
func builtin(name string) *ModelProfile {
	p, ok := Builtin(name)
	if !ok {
		panic("profile: no built-in " + name) // a constant of this package is wrong
	}
	return p
}

var builtins = []*ModelProfile{
	{
		Name:        DSV4,
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
		BaseRules: BaseUniversal,
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
			ruleMLA, ruleMoE, ruleMLAMetadata, ruleMLACombine, ruleRoPE, ruleMoEGate, ruleMoEAlign, ruleMoESort, ruleMLAStore,
		},
		BaseRules: BaseUniversal,
	},
	{
		Name:           generic,
		Description:    "any model: no anchor of its own, the rich category rules",
		AutoAnchors:    []string{"mhc_post_tilelang", "flash_fwd_mla_combine", "AllReduce"},
		BlocksPerLayer: 1,
		HalfLabels:     []string{"full"},
		DefaultLayers:  1,
		BaseRules:      baseRich,
	},
	gqaDense, gqaMoE, hybridMamba, hybridLinear,
}
