package opname

// Of a diffusion transformer.
const Modulation = "modulation"

// Before the layers.
const (
	Embed   = "embed"
	Prepare = "prepare"
)

// The attention side of a layer.
const (
	InputNorm     = "input_norm"
	QKVProj       = "qkv_proj"
	QProj         = "q_proj"
	KProj         = "k_proj"
	VProj         = "v_proj"
	QKNorm        = "qk_norm"
	Rope          = "rope"
	KVWrite       = "kv_write"
	Attention     = "attention"
	OProj         = "o_proj"
	AttnAllReduce = "attn_all_reduce"
)

// Multi-head latent attention.
const (
	QKVAProj = "qkv_a_proj"
	QAProj   = "q_a_proj"
	KVAProj  = "kv_a_proj"
	QANorm   = "q_a_norm"
	KVANorm  = "kv_a_norm"
	QBProj   = "q_b_proj"
	KVBProj  = "kv_b_proj"
	KAbsorb  = "k_absorb"
	VAbsorb  = "v_absorb"
)

// Sparse attention.
const (
	Indexer     = "indexer"
	IndexerTopK = "indexer_topk"
)

// Linear attention and state spaces.
const (
	InProj          = "in_proj"
	Conv1D          = "conv1d"
	LinearAttention = "linear_attention"
	GateNorm        = "gate_norm"
	OutProj         = "out_proj"
)

// The feed-forward side of a layer.
const (
	PostNorm     = "post_norm"
	GateUpProj   = "gate_up_proj"
	GateProj     = "gate_proj"
	UpProj       = "up_proj"
	Activation   = "activation"
	DownProj     = "down_proj"
	MLPAllReduce = "mlp_all_reduce"
)

// Mixture of experts.
const (
	Router            = "router"
	Routing           = "routing"
	Dispatch          = "dispatch"
	ExpertsGateUp     = "experts_gate_up"
	ExpertsActivation = "experts_activation"
	ExpertsDown       = "experts_down"
	ExpertsCombine    = "experts_combine"
	SharedGateUp      = "shared_gate_up"
	SharedActivation  = "shared_activation"
	SharedDown        = "shared_down"
)

// Hyper-connections, what is between the parts of a layer, what follows the
// layers, and what is none of the model's.
const (
	HCPre        = "hc_pre"
	HCPost       = "hc_post"
	ResidualAdd  = "residual_add"
	FinalNorm    = "final_norm"
	LMHead       = "lm_head"
	LogitsGather = "logits_gather"
	Sampling     = "sampling"
	Other        = "other"
)

// All lists the names in the order in which a model runs them: the order of
// tables.
var All = [...]string{
	Prepare, Embed,
	Modulation, HCPre, ResidualAdd, InputNorm, QKVProj, QProj, KProj, VProj,
	QKVAProj, QAProj, KVAProj, QANorm, KVANorm, QBProj, KVBProj,
	QKNorm, Rope, KVWrite, Indexer, IndexerTopK, KAbsorb, Attention, VAbsorb,
	InProj, Conv1D, LinearAttention, GateNorm, OutProj,
	OProj, AttnAllReduce, HCPost,
	PostNorm, GateUpProj, GateProj, UpProj, Activation, DownProj,
	Router, Routing, Dispatch, ExpertsGateUp, ExpertsActivation, ExpertsDown, ExpertsCombine,
	SharedGateUp, SharedActivation, SharedDown, MLPAllReduce,
	FinalNorm, LMHead, LogitsGather, Sampling, Other,
}
