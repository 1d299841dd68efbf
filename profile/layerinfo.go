package profile

// The words of [LayerInfo.Mixer]: what a layer does across tokens. More may be added.
const (
	// mixerUnknown: the config does not say.
	mixerUnknown string = "unknown"
	// mixerNone: the layer has none (the MLP and MoE layers of Nemotron-H).
	mixerNone string = "none"
	// mixerFull is full causal attention (MHA, GQA or MQA).
	mixerFull string = "full"
	// mixerSliding is sliding-window attention.
	mixerSliding string = "sliding"
	// mixerChunked is chunked local attention (Llama-4).
	mixerChunked string = "chunked"
	// mixerMLA is multi-head latent attention.
	mixerMLA string = "mla"
	// mixerCSA is compressed sparse attention, ratio 4 (DeepSeek-V4).
	mixerCSA string = "csa"
	// mixerHCA is heavily compressed attention, ratio 128 (DeepSeek-V4).
	mixerHCA string = "hca"
	// mixerCompressed is attention over a cache compressed by another ratio.
	mixerCompressed string = "compressed"
	// mixerLinear is linear attention (gated delta rule, lightning attention, KDA).
	mixerLinear string = "linear"
	// mixerMamba is a Mamba or Mamba-2 state space layer.
	mixerMamba string = "mamba"
	// mixerConv is a short convolution (LFM2).
	mixerConv string = "conv"
	// mixerHybrid holds attention and a state space model side by side.
	mixerHybrid string = "hybrid"
)

// The words of [LayerInfo.FFN], a layer's feed-forward part. More may be added.
const (
	// ffnUnknown: the config does not say.
	ffnUnknown string = "unknown"
	// ffnNone: the layer has none (the Mamba and attention layers of Nemotron-H).
	ffnNone string = "none"
	// ffnDense is a dense MLP.
	ffnDense string = "dense"
	// ffnMoE is a mixture of experts.
	ffnMoE string = "moe"
)

// LayerInfo is what the config says of one decoder layer. Two layers with equal
// values run the same kernels, up to tile variants.
type LayerInfo struct {
	// Mixer is what the layer does across tokens: "none", "full", "sliding", "chunked", "mla", "csa", "hca",
	// "compressed", "linear", "mamba", "conv", "hybrid". FFN is its feed-forward part: "none", "dense" or "moe". Both
	// are "unknown" where the config does not say; more may be added.
	Mixer string `json:"mixer"`
	FFN   string `json:"ffn"`
	// Hash: the experts come from a token-id table. It marks the first
	// num_hash_layers layers, as the model code has it; --hash-layers=last
	// changes labels only.
	Hash bool `json:"hash,omitempty"`
	// Indexer: the layer selects tokens with an indexer. Known for DeepSeek-V4's
	// ratio-4 layers and for sparse MLA (DeepSeek-V3.2, GLM-5), where every layer
	// has one unless the config says otherwise.
	Indexer bool `json:"indexer,omitempty"`
	// SharedTopK: the layer uses the tokens that the indexer of an earlier layer
	// selected.
	SharedTopK bool `json:"shared_topk,omitempty"`
}

// String returns "mixer+ffn", e.g. "sliding+moe", "mamba", "csa+moe(hash)".
func (l LayerInfo) String() string {
	var s string
	switch {
	case l.Mixer == mixerNone:
		s = l.FFN
	case l.FFN == ffnNone:
		s = l.Mixer
	default:
		s = l.Mixer + "+" + l.FFN
	}
	if l.SharedTopK {
		s += "(shared topk)"
	}
	if l.Hash {
		s += "(hash)"
	}
	return s
}
