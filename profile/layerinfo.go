package profile

import "fmt"

// Mixer is what a layer does across tokens. More kinds may be added.
type Mixer uint8

const (
	// mixerUnknown: the config does not tell.
	mixerUnknown Mixer = iota
	// mixerNone: the layer has none (the MLP and MoE layers of Nemotron-H).
	mixerNone
	// mixerFull is full causal attention (MHA, GQA or MQA).
	mixerFull
	// mixerSliding is sliding-window attention.
	mixerSliding
	// mixerChunked is chunked local attention (Llama-4).
	mixerChunked
	// mixerMLA is multi-head latent attention.
	mixerMLA
	// mixerCSA is compressed sparse attention, ratio 4 (DeepSeek-V4).
	mixerCSA
	// mixerHCA is heavily compressed attention, ratio 128 (DeepSeek-V4).
	mixerHCA
	// mixerCompressed is attention over a cache compressed by another ratio.
	mixerCompressed
	// mixerLinear is linear attention (gated delta rule, lightning attention, KDA).
	mixerLinear
	// mixerMamba is a Mamba or Mamba-2 state space layer.
	mixerMamba
	// mixerConv is a short convolution (LFM2).
	mixerConv
	// mixerHybrid holds attention and a state space model side by side.
	mixerHybrid
)

var mixerNames = [...]string{
	mixerUnknown: "unknown", mixerNone: "none", mixerFull: "full", mixerSliding: "sliding", mixerChunked: "chunked", mixerMLA: "mla",
	mixerCSA: "csa", mixerHCA: "hca", mixerCompressed: "compressed", mixerLinear: "linear", mixerMamba: "mamba", mixerConv: "conv",
	mixerHybrid: "hybrid",
}

// String returns the kind in lower case.
func (m Mixer) String() string {
	if int(m) < len(mixerNames) {
		return mixerNames[m]
	}
	return fmt.Sprintf("Mixer(%d)", uint8(m))
}

// MarshalText writes the String form.
func (m Mixer) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// FFN is a layer's feed-forward part: "unknown" (the config does not tell),
// "none", "dense" or "moe". More may be added.
type FFN uint8

const (
	// ffnUnknown: the config does not tell.
	ffnUnknown FFN = iota
	// ffnNone: the layer has none (the Mamba and attention layers of Nemotron-H).
	ffnNone
	// ffnDense is a dense MLP.
	ffnDense
	// ffnMoE is a mixture of experts.
	ffnMoE
)

var ffnNames = [...]string{ffnUnknown: "unknown", ffnNone: "none", ffnDense: "dense", ffnMoE: "moe"}

// String returns the kind in lower case.
func (k FFN) String() string {
	if int(k) < len(ffnNames) {
		return ffnNames[k]
	}
	return fmt.Sprintf("FFN(%d)", uint8(k))
}

// MarshalText writes the String form.
func (k FFN) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// LayerInfo is what the config says of one decoder layer. Two layers with equal
// values run the same kernels, up to tile variants.
type LayerInfo struct {
	// Mixer is what the layer does across tokens, FFN its feed-forward part.
	Mixer Mixer `json:"mixer"`
	FFN   FFN   `json:"ffn"`
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
		s = l.FFN.String()
	case l.FFN == ffnNone:
		s = l.Mixer.String()
	default:
		s = l.Mixer.String() + "+" + l.FFN.String()
	}
	if l.SharedTopK {
		s += "(shared topk)"
	}
	if l.Hash {
		s += "(hash)"
	}
	return s
}
