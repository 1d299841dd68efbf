package classify

// Category is the coarse kind of work a kernel does. The set is open: a user's
// rule may name any category, so callers must be ready for values that are not
// among the constants below.
type Category string

// The categories of the default rule set. They are the ones of the triage
// report; kv_cache is split from memory because a cache write is part of the
// model, while a copy is often a sign of a missing fusion.
const (
	// CategoryCommunication is data exchange between GPUs: collectives,
	// expert dispatch and combine, point to point, barriers.
	CategoryCommunication Category = "communication"
	// CategoryMemory is pure data movement: memcpy, memset, copies, gathers,
	// scatters, concatenation, transposes.
	CategoryMemory Category = "memory"
	// CategoryKVCache is writing to (or rearranging) the key/value cache,
	// alone or fused with RoPE or quantisation.
	CategoryKVCache Category = "kv_cache"
	// CategoryHybridLinear is linear attention and state-space work: Mamba,
	// gated delta rule, KDA, lightning attention, short convolutions.
	CategoryHybridLinear Category = "hybrid_linear"
	// CategoryAttention is softmax attention of any kind, its split-K combine,
	// its scheduling metadata and sparse-attention indexers.
	CategoryAttention Category = "attention"
	// CategoryMoE is mixture-of-experts work: routing, token permutation,
	// expert matrix products fused with it, finalisation.
	CategoryMoE Category = "moe"
	// CategoryGEMM is dense or grouped matrix multiplication, matrix-vector
	// products, convolutions, and their split-K reductions.
	CategoryGEMM Category = "gemm"
	// CategoryNorm is normalisation (RMS, layer, batch, group), also when
	// fused with a residual addition or quantisation.
	CategoryNorm Category = "norm"
	// CategoryRope is rotary position embedding.
	CategoryRope Category = "rope"
	// CategorySoftmax is softmax outside attention and routing.
	CategorySoftmax Category = "softmax"
	// CategoryActivation is a nonlinearity: SiLU, GELU, SwiGLU, ReLU.
	CategoryActivation Category = "activation"
	// CategoryQuantize is conversion to or from a scaled low-precision format.
	CategoryQuantize Category = "quantize"
	// CategoryReduceTopK is reductions, scans, sorts and top-k selection.
	CategoryReduceTopK Category = "reduce_topk"
	// CategorySamplingIO is token sampling and the preparation of a step's
	// inputs: positions, slots, page tables, masks, speculation trees.
	CategorySamplingIO Category = "sampling_io"
	// CategoryElementwise is pointwise arithmetic.
	CategoryElementwise Category = "elementwise"
	// CategoryOther is everything no rule recognised.
	CategoryOther Category = "other"
)

// Categories lists the categories of the default rule set in report order.
func Categories() []Category {
	return []Category{
		CategoryCommunication, CategoryMemory, CategoryKVCache, CategoryHybridLinear,
		CategoryAttention, CategoryMoE, CategoryGEMM, CategoryNorm, CategoryRope,
		CategorySoftmax, CategoryActivation, CategoryQuantize, CategoryReduceTopK,
		CategorySamplingIO, CategoryElementwise, CategoryOther,
	}
}
