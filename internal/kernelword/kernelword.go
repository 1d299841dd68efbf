package kernelword

// The categories of the default rule set. They are the ones of the triage
// report; kv_cache is split from memory because a cache write is part of the
// model, while a copy is often a sign of a missing fusion.
const (
	// CategoryCommunication is data exchange between GPUs: collectives,
	// expert dispatch and combine, point to point, barriers.
	CategoryCommunication = "communication"
	// CategoryMemory is pure data movement: memcpy, memset, copies, gathers,
	// scatters, concatenation, transposes.
	CategoryMemory = "memory"
	// CategoryKVCache is writing to (or rearranging) the key/value cache,
	// alone or fused with RoPE or quantisation.
	CategoryKVCache = "kv_cache"
	// CategoryHybridLinear is linear attention and state-space work: Mamba,
	// gated delta rule, KDA, lightning attention, short convolutions.
	CategoryHybridLinear = "hybrid_linear"
	// CategoryAttention is softmax attention of any kind, its split-K combine,
	// its scheduling metadata and sparse-attention indexers.
	CategoryAttention = "attention"
	// CategoryMoE is mixture-of-experts work: routing, token permutation,
	// expert matrix products fused with it, finalisation.
	CategoryMoE = "moe"
	// CategoryGEMM is dense or grouped matrix multiplication, matrix-vector
	// products, convolutions, and their split-K reductions.
	CategoryGEMM = "gemm"
	// CategoryNorm is normalisation (RMS, layer, batch, group), also when
	// fused with a residual addition or quantisation.
	CategoryNorm = "norm"
	// CategoryRope is rotary position embedding.
	CategoryRope = "rope"
	// CategorySoftmax is softmax outside attention and routing.
	CategorySoftmax = "softmax"
	// CategoryActivation is a nonlinearity: SiLU, GELU, SwiGLU, ReLU.
	CategoryActivation = "activation"
	// CategoryQuantize is conversion to or from a scaled low-precision format.
	CategoryQuantize = "quantize"
	// CategoryReduceTopK is reductions, scans, sorts and top-k selection.
	CategoryReduceTopK = "reduce_topk"
	// CategorySamplingIO is token sampling and the preparation of a step's
	// inputs: positions, slots, page tables, masks, speculation trees.
	CategorySamplingIO = "sampling_io"
	// CategoryElementwise is pointwise arithmetic.
	CategoryElementwise = "elementwise"
	// CategoryOther is everything no rule recognised.
	CategoryOther = "other"
)

// The roles.
const (
	RoleOther       = ""
	RoleNorm        = "norm"        // RMS, layer or group norm of the residual stream
	RoleHeadNorm    = "head_norm"   // norm of queries, keys or a compressed state, inside the mixer
	RoleMixer       = "mixer"       // attention core, state-space scan, linear attention: what a layer has at least one of
	RoleSoftmax     = "softmax"     // softmax: the core of an unfused attention, where nothing else is
	RoleProduct     = "product"     // matrix product
	RoleRouter      = "router"      // choice of the experts
	RolePermute     = "permute"     // sorting and permutation of tokens for the experts
	RoleExperts     = "experts"     // products of the experts
	RoleFinalize    = "finalize"    // sum of the experts' outputs
	RoleMoE         = "moe"         // other work of experts
	RoleRope        = "rope"        // rotary embedding
	RoleCacheWrite  = "cache_write" // write to the key/value cache, also with a rotary embedding
	RoleCollective  = "collective"  // exchange between GPUs, without a norm
	RoleEmbed       = "embed"       // embedding lookup
	RoleSample      = "sample"      // token sampling
	RoleCopy        = "copy"        // memcpy, memset
	RoleElementwise = "elementwise" // pointwise arithmetic
	RoleActivation  = "activation"  // gated or plain, between the two products of a feed-forward part
	RoleQuantize    = "quantize"    // scaling to or from a narrow type
	RoleBackward    = "backward"    // gradients and weight updates: a training run
)

// Kinds of exchange between GPUs.
const (
	NotCollective   = ""
	AllReduce       = "all_reduce" // also fused with what follows it
	AllGather       = "all_gather"
	ReduceScatter   = "reduce_scatter"
	AllToAll        = "all_to_all" // expert dispatch and combine, and what they exchange beforehand
	Broadcast       = "broadcast"
	SendRecv        = "send_recv" // point to point: the two ends need not meet
	OtherCollective = "other"     // barriers, reductions to one rank, steps of an exchange whose kind the name hides
)

// FamilyNCCL is NCCL, RCCL, MSCCL++ and NVSHMEM: what exchanges data between GPUs
// and does nothing else.
const FamilyNCCL = "nccl"

// The kinds of work of a category: what exchanges between GPUs could hide
// behind, and what can be fused away.
const (
	WorkCompute   = "compute"
	WorkExchange  = "exchange" // between GPUs
	WorkMemory    = "memory"   // moves data
	WorkPointwise = "pointwise"
)

// works says what kernels of a category do.
var works = map[string]string{
	CategoryCommunication: WorkExchange,
	CategoryMemory:        WorkMemory,
	CategoryKVCache:       WorkMemory,
	CategoryHybridLinear:  WorkCompute,
	CategoryAttention:     WorkCompute,
	CategoryMoE:           WorkCompute,
	CategoryGEMM:          WorkCompute,
	CategoryNorm:          WorkCompute,
	CategoryRope:          WorkCompute,
	CategorySoftmax:       WorkCompute,
	CategoryActivation:    WorkPointwise,
	CategoryQuantize:      WorkPointwise,
	CategoryReduceTopK:    WorkCompute,
	CategorySamplingIO:    WorkPointwise,
	CategoryElementwise:   WorkPointwise,
	CategoryOther:         "",
}

// Work is what kernels of a category do, "" for [CategoryOther] and for one that a user's rule
// names. ok says that the category is one of the default rule set.
func Work(category string) (work string, ok bool) {
	work, ok = works[category]
	return work, ok
}

// Roles lists all roles, [RoleOther] included.
func Roles() []string {
	return []string{
		RoleOther, RoleNorm, RoleHeadNorm, RoleMixer, RoleSoftmax, RoleProduct, RoleRouter, RolePermute, RoleExperts, RoleFinalize, RoleMoE,
		RoleRope, RoleCacheWrite, RoleCollective, RoleEmbed, RoleSample, RoleCopy, RoleElementwise, RoleActivation, RoleQuantize, RoleBackward,
	}
}

// Collectives lists all kinds of exchange, [NotCollective] included.
func Collectives() []string {
	return []string{NotCollective, AllReduce, AllGather, ReduceScatter, AllToAll, Broadcast, SendRecv, OtherCollective}
}
