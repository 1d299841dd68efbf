package profile

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/internal/table"
)

// ArchSummary is what a reader wants to know of a model before its layers.
// Parts the model does not have are nil.
type ArchSummary struct {
	Model      string `json:"model"`                  // best name the config has
	ModelType  string `json:"model_type,omitempty"`   // model_type
	NumLayers  int    `json:"num_layers"`             // decoder layers
	NumNextN   int    `json:"num_nextn,omitempty"`    // next-token-prediction layers after them
	HiddenSize int    `json:"hidden_size,omitempty"`  // width of the residual stream
	NumHeads   int    `json:"num_heads,omitempty"`    // query heads
	NumKVHeads int    `json:"num_kv_heads,omitempty"` // key/value heads
	HeadDim    int    `json:"head_dim,omitempty"`     // size of one head
	// Attention names the kind: "CSA + HCA", "MLA", "sparse MLA (DSA)", "GQA",
	// "MQA", "MHA", "GQA + Mamba", "unknown".
	Attention     string `json:"attention"`
	QKNopeDim     int    `json:"qk_nope_head_dim,omitempty"`     // head dim without position
	QKRopeDim     int    `json:"qk_rope_head_dim,omitempty"`     // head dim with rotary position
	VHeadDim      int    `json:"v_head_dim,omitempty"`           // head dim of values
	QLoraRank     int    `json:"q_lora_rank,omitempty"`          // rank of the query projection
	OLoraRank     int    `json:"o_lora_rank,omitempty"`          // rank of the output projection
	KVLoraRank    int    `json:"kv_lora_rank,omitempty"`         // rank of the compressed KV cache
	SlidingWindow int    `json:"sliding_window,omitempty"`       // tokens; 0: none
	ChunkSize     int    `json:"attention_chunk_size,omitempty"` // tokens of chunked attention; 0: none
	// IntermediateSize is the width of the dense MLP; 0 when no layer has one.
	IntermediateSize int             `json:"intermediate_size,omitempty"`
	MoE              *MoESummary     `json:"moe,omitempty"`
	MHC              *MHCSummary     `json:"mhc,omitempty"`
	Indexer          *IndexerSummary `json:"indexer,omitempty"`
	// Types counts the layers of each type, in order of first appearance.
	Types []TypeCount `json:"types,omitempty"`
	// Kinds counts the layers by what they are made of ([LayerInfo]), in order of
	// first appearance.
	Kinds []TypeCount `json:"kinds,omitempty"`
	// HashLayers are the indices of hash layers, counted from 0, as [Config.IsHash] has them.
	HashLayers []int `json:"hash_layers,omitempty"`
}

// MoESummary describes the mixture of experts.
type MoESummary struct {
	Experts          int `json:"experts"`                     // routed experts
	TopK             int `json:"top_k,omitempty"`             // experts a token is routed to
	Shared           int `json:"shared,omitempty"`            // experts every token goes through
	IntermediateSize int `json:"intermediate_size,omitempty"` // width of one routed expert
	// width of the shared expert where it differs
	SharedIntermediateSize int `json:"shared_intermediate_size,omitempty"`
	// Layers counts the layers that have it.
	Layers int `json:"layers"`
}

// MHCSummary describes manifold-constrained hyper-connections.
type MHCSummary struct {
	Streams       int `json:"streams"`                  // hc_mult
	SinkhornIters int `json:"sinkhorn_iters,omitempty"` // iterations of the mixing matrix
}

// IndexerSummary describes the indexer of sparse attention (NSA, DSA, CSA).
type IndexerSummary struct {
	Heads   int `json:"heads"`              // heads of the indexer
	HeadDim int `json:"head_dim,omitempty"` // their size
	TopK    int `json:"top_k,omitempty"`    // tokens or blocks it selects
	// Layers counts the layers known to have one; 0: not known which.
	Layers int `json:"layers,omitempty"`
}

// TypeCount is a number of layers of one type.
type TypeCount struct {
	Type  string `json:"type"`  // type or kind
	Count int    `json:"count"` // layers of it
}

// Summary condenses the config.
func (c *Config) Summary() ArchSummary {
	s := ArchSummary{
		Model: c.displayName(), ModelType: c.ModelType, NumLayers: c.NumLayers, NumNextN: c.NumNextN,
		HiddenSize: c.HiddenSize, NumHeads: c.NumHeads, NumKVHeads: c.NumKVHeads, HeadDim: c.HeadDim,
		Attention: c.attention(), QLoraRank: c.QLoraRank, OLoraRank: c.OLoraRank, KVLoraRank: c.KVLoraRank,
		QKNopeDim: c.QKNopeDim, QKRopeDim: c.QKRopeDim, VHeadDim: c.VHeadDim,
		SlidingWindow: c.SlidingWindow, ChunkSize: c.ChunkSize,
	}
	moe, indexed := 0, 0
	for i, l := range c.Layers {
		switch l.FFN {
		case ffnMoE:
			moe++
		case ffnDense:
			s.IntermediateSize = c.IntermediateSize
		}
		if l.Indexer {
			indexed++
		}
		if c.IsHash(i, c.NumLayers) {
			s.HashLayers = append(s.HashLayers, i)
		}
		l.Hash = false // a routing detail; the types show it
		s.Kinds = count(s.Kinds, l.String())
	}
	for _, t := range c.LayerTypes(c.NumLayers) {
		s.Types = count(s.Types, string(t))
	}
	if c.NumExperts > 0 {
		s.MoE = &MoESummary{
			Experts: c.NumExperts, TopK: c.ExpertsPerToken, Shared: c.SharedExperts,
			IntermediateSize: c.MoEIntermediateSize, SharedIntermediateSize: c.SharedIntermediateSize, Layers: moe,
		}
	}
	if c.HCMult > 0 {
		s.MHC = &MHCSummary{Streams: c.HCMult, SinkhornIters: c.HCSinkhornIters}
	}
	if c.IndexHeads > 0 || c.IndexTopK > 0 {
		s.Indexer = &IndexerSummary{Heads: c.IndexHeads, HeadDim: c.IndexHeadDim, TopK: c.IndexTopK, Layers: indexed}
	}
	return s
}

// count adds one to a type, appending it when it is new. Kinds are a handful, so
// a search is cheaper than a map.
func count(list []TypeCount, t string) []TypeCount {
	for i := range list {
		if list[i].Type == t {
			list[i].Count++
			return list
		}
	}
	return append(list, TypeCount{t, 1})
}

// attention names the attention kinds in the field's terms.
func (c *Config) attention() string {
	has := map[string]bool{}
	for _, l := range c.Layers {
		has[l.Mixer] = true
	}
	var parts []string
	add := func(word string, is bool) {
		if is {
			parts = append(parts, word)
		}
	}
	if len(c.CompressRatios) > 0 {
		add("CSA", has[mixerCSA])
		add("HCA", has[mixerHCA])
		add("compressed", has[mixerCompressed] || len(c.Layers) == 0)
		add("sliding window", has[mixerSliding])
		return strings.Join(parts, " + ")
	}
	add(c.heads(has), true)
	add("sliding window", has[mixerSliding])
	add("chunked", has[mixerChunked])
	add("linear attention", has[mixerLinear])
	add("Mamba", has[mixerMamba] || has[mixerHybrid])
	add("short convolution", has[mixerConv])
	return cmp.Or(strings.Join(table.Known(parts...), " + "), "unknown")
}

// heads names how the heads of attention share keys and values, "" where nothing attends or the config does not say.
func (c *Config) heads(has map[string]bool) string {
	switch {
	case has[mixerMLA] && c.IndexTopK > 0:
		return "sparse MLA (DSA)"
	case has[mixerMLA] || c.KVLoraRank > 0:
		return "MLA"
	case c.NumHeads == 0,
		len(c.Layers) > 0 && !has[mixerFull] && !has[mixerSliding] && !has[mixerChunked] && !has[mixerHybrid]:
		return ""
	case c.NumKVHeads == 0:
		return "attention" // KV heads not given: models differ in what that means
	case c.NumKVHeads == c.NumHeads:
		return "MHA"
	case c.NumKVHeads == 1:
		return "MQA"
	}
	return "GQA"
}

// Lines renders the summary as text, one line a topic, in a fixed order. Lines
// of what the model does not have are left out.
func (s ArchSummary) Lines() []string {
	var lines []string
	add := func(title string, parts ...string) {
		if kept := table.Known(parts...); len(kept) > 0 {
			lines = append(lines, fmt.Sprintf("%-15s%s", title+":", strings.Join(kept, ", ")))
		}
	}
	model := s.Model
	if s.ModelType != "" && s.ModelType != s.Model {
		model += " (" + s.ModelType + ")"
	}
	add("Model", model)
	layers := "unknown"
	if s.NumLayers > 0 {
		layers = strconv.Itoa(s.NumLayers)
	}
	if s.NumNextN > 0 {
		layers += " + " + strconv.Itoa(s.NumNextN) + " next-token-prediction"
	}
	add("Layers", layers)
	add("Hidden size", known("", s.HiddenSize))
	add("Heads", known("", s.NumHeads), known("KV heads ", s.NumKVHeads), known("head dim ", s.HeadDim))
	add("Attention", s.Attention, known("Q LoRA ", s.QLoraRank), known("O LoRA ", s.OLoraRank),
		known("KV LoRA ", s.KVLoraRank),
		known("QK nope dim ", s.QKNopeDim), known("QK RoPE dim ", s.QKRopeDim), known("V dim ", s.VHeadDim),
		known("window ", s.SlidingWindow), known("chunk ", s.ChunkSize))
	if x := s.Indexer; x != nil {
		in := ""
		if x.Layers > 0 {
			in = strconv.Itoa(x.Layers) + " layers"
		}
		add("Indexer", known("heads ", x.Heads), known("head dim ", x.HeadDim), known("top-k ", x.TopK), in)
	}
	add("Dense MLP", known("intermediate ", s.IntermediateSize))
	if m := s.MoE; m != nil {
		add("MoE", known("experts ", m.Experts), known("top-k ", m.TopK), known("shared ", m.Shared),
			known("intermediate ", m.IntermediateSize),
			known("shared intermediate ", m.SharedIntermediateSize),
			strconv.Itoa(m.Layers)+" of "+strconv.Itoa(s.NumLayers)+" layers")
	}
	if m := s.MHC; m != nil {
		add("MHC", known("streams ", m.Streams), known("Sinkhorn iterations ", m.SinkhornIters))
	}
	add("Layer types", counts(s.Types)...)
	add("Layer kinds", counts(s.Kinds)...)
	add("Hash layers", strings.Trim(strings.ReplaceAll(fmt.Sprint(s.HashLayers), " ", ", "), "[]"))
	return lines
}

// known renders a number, or nothing when it is not given.
func known(prefix string, n int) string {
	if n == 0 {
		return ""
	}
	return prefix + strconv.Itoa(n)
}

func counts(list []TypeCount) []string {
	out := make([]string, len(list))
	for i, t := range list {
		out[i] = fmt.Sprintf("%s %d", t.Type, t.Count)
	}
	return out
}
