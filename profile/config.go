package profile

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/llmstrata/strata/internal/framework"
)

// Config is a model's config.json under one set of names, whatever the vendor
// called its fields and wherever it nested them (text_config). Sizes the file
// does not give are 0 unless a field says otherwise.
type Config struct {
	// Path is the file it was read from, empty for a reader.
	Path string `json:"path,omitempty"`
	// ModelType is the outer model_type, TextModelType that of the nested text
	// model, if any: "llama4" and "llama4_text".
	ModelType     string   `json:"model_type"`
	TextModelType string   `json:"text_model_type,omitempty"`
	Architectures []string `json:"architectures,omitempty"`
	// NameOrPath is the model's own name for itself (_name_or_path), often a
	// hub id or a local directory, often empty.
	NameOrPath string `json:"name_or_path,omitempty"`

	// NumLayers is the number of decoder layers of the language model, without
	// next-token-prediction layers. 0: not given.
	NumLayers int `json:"num_layers"`
	// NumNextN is the number of next-token-prediction (MTP) layers after them.
	NumNextN int `json:"num_nextn,omitempty"`

	HiddenSize int `json:"hidden_size,omitempty"` // width of the residual stream
	VocabSize  int `json:"vocab_size,omitempty"`  // tokens in the vocabulary
	NumHeads   int `json:"num_heads,omitempty"`   // query heads
	// key/value heads; 0 when not given, whatever the default of the model
	NumKVHeads int `json:"num_kv_heads,omitempty"`
	// HeadDim is the size of one attention head; when not given, it is
	// qk_nope + qk_rope for multi-head latent attention, else hidden size / heads.
	HeadDim      int `json:"head_dim,omitempty"`
	QLoraRank    int `json:"q_lora_rank,omitempty"`      // rank of the query projection
	OLoraRank    int `json:"o_lora_rank,omitempty"`      // rank of the output projection (DeepSeek-V4)
	OGroups      int `json:"o_groups,omitempty"`         // groups of the output projection (DeepSeek-V4)
	KVLoraRank   int `json:"kv_lora_rank,omitempty"`     // rank of the compressed KV cache; positive means MLA
	QKNopeDim    int `json:"qk_nope_head_dim,omitempty"` // head dim without position
	QKRopeDim    int `json:"qk_rope_head_dim,omitempty"` // head dim with rotary position
	VHeadDim     int `json:"v_head_dim,omitempty"`       // head dim of values
	IndexHeads   int `json:"index_n_heads,omitempty"`    // heads of the indexer of sparse attention
	IndexHeadDim int `json:"index_head_dim,omitempty"`   // head dim of the indexer
	IndexTopK    int `json:"index_topk,omitempty"`       // tokens or blocks the indexer selects
	// SlidingWindow in tokens; 0: none or switched off.
	SlidingWindow int `json:"sliding_window,omitempty"`
	// ChunkSize of chunked attention in tokens (Llama-4).
	ChunkSize int `json:"attention_chunk_size,omitempty"`

	// IntermediateSize is the width of a dense MLP.
	IntermediateSize int `json:"intermediate_size,omitempty"`
	// NumExperts counts routed experts; 0: a dense model.
	NumExperts      int `json:"num_experts,omitempty"`
	ExpertsPerToken int `json:"experts_per_token,omitempty"` // top-k of the router
	SharedExperts   int `json:"shared_experts,omitempty"`    // experts every token goes through
	// MoEIntermediateSize is the width of one routed expert,
	// SharedIntermediateSize that of the shared expert where it differs.
	MoEIntermediateSize    int `json:"moe_intermediate_size,omitempty"`
	SharedIntermediateSize int `json:"shared_intermediate_size,omitempty"`
	// MoELatentSize is the width in which routed experts work where it is not the
	// hidden size (Nemotron-3): a product leads into it and another one out.
	MoELatentSize int `json:"moe_latent_size,omitempty"`

	// HCMult is the number of residual streams of hyper-connections (MHC).
	HCMult          int `json:"hc_mult,omitempty"`
	HCSinkhornIters int `json:"hc_sinkhorn_iters,omitempty"` // Sinkhorn iterations of their mixing matrix

	// CompressRatios are the tokens per entry of a layer's KV cache, 0 where the
	// layer sees a sliding window alone. There is one for each decoder layer;
	// those of the next-token-prediction layers, which follow in the file, are
	// NextNRatios. nil when the model has none. With NumLayers 0 it is the full
	// list.
	CompressRatios []int `json:"compress_ratios,omitempty"`
	NextNRatios    []int `json:"nextn_compress_ratios,omitempty"`
	NumHashLayers  int   `json:"num_hash_layers,omitempty"` // layers whose experts come from a token-id table
	// set by the caller: they are the last layers, not the first ones as in DeepSeek-V4's code
	HashLast bool `json:"-"`

	// DType is the type of activations and plain weights ("bf16"), ExpertDType that
	// of experts where the config gives one of their own ("fp4"); "" when not given.
	DType       string `json:"dtype,omitempty"`
	ExpertDType string `json:"expert_dtype,omitempty"`
	// Activation is the feed-forward function by its Hugging Face name ("silu").
	Activation string `json:"activation,omitempty"`
	// TiedEmbeddings: the output projection is the embedding table. AttentionBias:
	// attention's projections have one. GatedAttention: each query head has a gate.
	TiedEmbeddings bool `json:"tied_embeddings,omitempty"`
	AttentionBias  bool `json:"attention_bias,omitempty"`
	GatedAttention bool `json:"gated_attention,omitempty"`
	// QKNorm says whether queries and keys are normalised; nil when the config does
	// not say, as Qwen3's, whose code does it always.
	QKNorm *bool `json:"qk_norm,omitempty"`
	// Recurrent are the sizes of linear attention or state-space layers, nil when
	// the config gives none.
	Recurrent *Recurrent `json:"recurrent,omitempty"`
	// Quantization is how the checkpoint stores weights, nil: as DType.
	Quantization *Quantization `json:"quantization,omitempty"`

	// Layers says per decoder layer what it is made of; NumLayers entries.
	Layers []LayerInfo `json:"layers,omitempty"`
}

// LoadConfig reads a config.json, or the config.json in a model's directory. The
// error names file and field.
func LoadConfig(path string) (*Config, error) {
	if isDir(path) {
		path = filepath.Join(path, framework.ConfigFile)
	}
	f, err := openRegular("config", path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c, err := ParseConfig(f)
	if err != nil {
		return nil, located(err, path)
	}
	c.Path = path
	return c, nil
}

// ParseConfig reads a config.json. Fields it does not know are ignored; a field
// it knows with a wrong type or an impossible value is an error that names it; a document
// with none of the fields of a model is refused.
func ParseConfig(r io.Reader) (*Config, error) {
	data, err := readDocument("config", r)
	if err != nil {
		return nil, err
	}
	top, err := parseDocument("config", data)
	if err != nil {
		return nil, err
	}
	f := newFields(top)
	c := &Config{}
	c.identify(f)
	c.sizes(f)
	c.ratios(f)
	if err := top.Err(); err != nil {
		return nil, err
	}
	if !f.known {
		return nil, &documentError{Doc: "config", Err: fmt.Errorf("%w: no layer count, size or head count under any known "+
			"name", errNotConfig)}
	}
	c.layers(f)
	c.details(f)
	if err := top.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

// fields looks names up in the objects that may hold them, innermost text model
// first.
type fields struct {
	objects []object
	known   bool // a field that makes the document a model config was seen
}

// textObjects are the names under which multimodal configs nest the language
// model, and TensorRT-LLM's engine config the model's (pretrained_config).
var textObjects = []string{"text_config", "llm_config", "language_config", "text_model_config", "thinker_config",
	"language_model_config", "pretrained_config"}

// maxTextNesting: thinker_config.text_config is the deepest known.
const maxTextNesting = 3

func newFields(top object) *fields {
	f := &fields{objects: []object{top}}
	for range maxTextNesting {
		v := value{}
		for _, name := range textObjects {
			// a string is the path of another config, not one
			if v = f.objects[0].Field(name); v.Given() && v.Kind() != stringKind {
				f.objects = append([]object{v.Object()}, f.objects...)
				break
			}
		}
		if !v.Given() || v.Kind() == stringKind {
			break
		}
	}
	return f
}

// find returns the value that is given under one of the names.
// The text model beats what surrounds it; within one object an earlier name beats
// a later one.
func (f *fields) find(names ...string) value {
	for _, o := range f.objects {
		for _, n := range names {
			if v := o.Field(n); v.Given() {
				return v
			}
		}
	}
	return value{}
}

// of is find for a value that other models give in another form: it is empty if it is not of a kind.
func (f *fields) of(kind valueKind, names ...string) value {
	if v := f.find(names...); v.Kind() == kind {
		return v
	}
	return value{}
}

// maxSize bounds sizes (hidden, vocabulary, window). 2^40 is far above any and
// keeps products of two in an int64.
const maxSize = 1 << 40

// number reads an integer field under one of its names.
func (f *fields) number(dst *int, hi int64, names ...string) {
	if v := f.find(names...); v.Given() {
		*dst, f.known = v.Integer(0, hi), true
	}
}

// widest reads an integer field that some models give per layer as a list
// (Hunyuan's num_experts, Gemma-3n's intermediate_size): the largest is kept.
func (f *fields) widest(dst *int, names ...string) {
	v := f.find(names...)
	if v.Kind() != listKind {
		f.number(dst, maxSize, names...)
		return
	}
	f.known = true
	for _, n := range v.Ints(0, maxSize) {
		*dst = max(*dst, n)
	}
}

func (c *Config) identify(f *fields) {
	top := f.objects[len(f.objects)-1]
	c.ModelType = top.Field("model_type").Text()
	if len(f.objects) > 1 {
		c.TextModelType = f.objects[0].Field("model_type").Text()
	}
	c.Architectures = f.find("architectures").Strings()
	c.NameOrPath = top.Field("_name_or_path").Text()
}

// sizes reads every scalar. Names in order of preference: Hugging Face's first,
// then DeepSeek's inference/config.json, then older models'.
func (c *Config) sizes(f *fields) {
	if v := f.find("num_hidden_layers", "n_layers", "num_layers", "n_layer"); v.Given() {
		c.NumLayers, f.known = v.Integer(1, MaxLayers), true
	}
	f.number(&c.NumNextN, MaxLayers, "num_nextn_predict_layers", "n_mtp_layers", "mtp_num_hidden_layers",
		"num_mtp_layers", "num_mtp_modules")
	f.number(&c.NumHashLayers, MaxLayers, "num_hash_layers", "n_hash_layers")
	f.number(&c.VocabSize, maxSize, "vocab_size", "padded_vocab_size")
	f.number(&c.HeadDim, maxSize, "head_dim", "attention_head_dim", "kv_channels")
	f.number(&c.QLoraRank, maxSize, "q_lora_rank")
	f.number(&c.OLoraRank, maxSize, "o_lora_rank")
	f.number(&c.OGroups, maxSize, "o_groups")
	f.number(&c.KVLoraRank, maxSize, "kv_lora_rank")
	f.number(&c.QKNopeDim, maxSize, "qk_nope_head_dim")
	f.number(&c.QKRopeDim, maxSize, "qk_rope_head_dim", "rope_head_dim")
	f.number(&c.VHeadDim, maxSize, "v_head_dim")
	f.number(&c.IndexHeads, maxSize, "index_n_heads")
	f.number(&c.IndexHeadDim, maxSize, "index_head_dim")
	f.number(&c.IndexTopK, maxSize, "index_topk")
	f.number(&c.ChunkSize, maxSize, "attention_chunk_size")
	f.number(&c.SharedIntermediateSize, maxSize, "shared_expert_intermediate_size",
		"moe_shared_expert_intermediate_size", "shared_intermediate_size")
	f.number(&c.MoELatentSize, maxSize, "moe_latent_size")
	f.number(&c.HCMult, maxSize, "hc_mult")
	f.number(&c.HCSinkhornIters, maxSize, "hc_sinkhorn_iters")
	f.widest(&c.HiddenSize, "hidden_size", "dim", "d_model", "n_embd")
	f.widest(&c.NumHeads, "num_attention_heads", "n_heads", "n_head")
	f.widest(&c.NumKVHeads, "num_key_value_heads", "n_kv_heads", "num_kv_heads", "multi_query_group_num")
	f.widest(&c.IntermediateSize, "intermediate_size", "inter_dim", "ffn_hidden_size", "n_inner")
	f.widest(&c.NumExperts, "n_routed_experts", "num_experts", "num_local_experts", "num_routed_experts",
		"moe_num_experts")
	f.widest(&c.ExpertsPerToken, "num_experts_per_tok", "experts_per_token", "num_experts_per_token",
		"n_activated_experts", "moe_topk", "moe_k", "top_k_experts")
	f.widest(&c.SharedExperts, "n_shared_experts", "num_shared_experts", "num_shared_expert",
		"moe_num_shared_experts")
	f.widest(&c.MoEIntermediateSize, "moe_intermediate_size", "moe_inter_dim", "expert_ffn_hidden_size",
		"moe_ffn_hidden_size")
	c.window(f)
	c.derive(f)
}

// window reads the sliding window. -1 and use_sliding_window=false mean none.
func (c *Config) window(f *fields) {
	if uses := f.find("use_sliding_window"); uses.Given() && !uses.Flag() {
		return
	}
	v := f.find("sliding_window", "window_size", "sliding_window_size")
	if v.Kind() == listKind {
		return // one per layer or [left, right]: no single window to state
	}
	c.SlidingWindow = max(v.Integer(-1, maxSize), 0)
}

// derive fills what follows from other fields.
func (c *Config) derive(f *fields) {
	if c.HeadDim == 0 {
		switch {
		case c.KVLoraRank > 0 && c.QKNopeDim > 0:
			c.HeadDim = c.QKNopeDim + c.QKRopeDim
		case c.NumHeads > 0 && c.HiddenSize%c.NumHeads == 0:
			c.HeadDim = c.HiddenSize / c.NumHeads
		}
	}
	if c.NumExperts > 0 && c.MoEIntermediateSize == 0 {
		// Mixtral, gpt-oss, MiniMax and Llama-4 call the expert's width
		// intermediate_size; Llama-4's dense layers have their own.
		c.MoEIntermediateSize, c.IntermediateSize = c.IntermediateSize, 0
		f.number(&c.IntermediateSize, maxSize, "intermediate_size_mlp")
	}
	if c.SharedExperts == 0 && c.NumExperts > 0 && c.SharedIntermediateSize > 0 {
		c.SharedExperts = 1 // Qwen's models have one and give only its width
	}
}

// displayName is the best name the config has for its model: the model's own, else its
// first architecture, else its model_type, else the name of its file or, for a
// config.json, of its directory, else "unknown model".
func (c *Config) displayName() string {
	switch {
	case c.NameOrPath != "":
		return strings.TrimRight(c.NameOrPath, "/")
	case len(c.Architectures) > 0 && c.Architectures[0] != "":
		return c.Architectures[0]
	case c.ModelType != "":
		return c.ModelType
	}
	path := c.Path
	if filepath.Base(path) == framework.ConfigFile {
		path = filepath.Dir(path)
	}
	name := strings.TrimSuffix(filepath.Base(path), ".json")
	if strings.Trim(name, `./\`) != "" {
		return name
	}
	return "unknown model"
}
