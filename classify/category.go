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

// Work is the coarse kind of work of a category: what exchanges between GPUs
// could hide behind, and what can be fused away. "" is not known.
type Work string

// The kinds of work.
const (
	WorkCompute   Work = "compute"
	WorkExchange  Work = "exchange" // between GPUs
	WorkMemory    Work = "memory"   // moves data
	WorkPointwise Work = "pointwise"
)

// categories are those of the default rule set in report order: what a category
// needs is said here. role is that of its kernels to a layer, where ruleRoles has
// no other for the rule that matched.
var categories = []struct {
	category Category
	role     Role
	work     Work
}{
	{CategoryCommunication, RoleCollective, WorkExchange},
	{CategoryMemory, RoleOther, WorkMemory},
	{CategoryKVCache, RoleCacheWrite, WorkMemory},
	{CategoryHybridLinear, RoleMixer, WorkCompute},
	{CategoryAttention, RoleMixer, WorkCompute},
	{CategoryMoE, RoleMoE, WorkCompute},
	{CategoryGEMM, RoleProduct, WorkCompute},
	{CategoryNorm, RoleNorm, WorkCompute},
	{CategoryRope, RoleRope, WorkCompute},
	{CategorySoftmax, RoleSoftmax, WorkCompute},
	{CategoryActivation, RoleActivation, WorkPointwise},
	{CategoryQuantize, RoleQuantize, WorkPointwise},
	{CategoryReduceTopK, RoleOther, WorkCompute},
	{CategorySamplingIO, RoleOther, WorkPointwise},
	{CategoryElementwise, RoleElementwise, WorkPointwise},
	{CategoryOther, RoleOther, ""},
}

// Categories lists the categories of the default rule set in report order.
func Categories() []Category {
	list := make([]Category, len(categories))
	for i := range categories {
		list[i] = categories[i].category
	}
	return list
}

// placeOf is a category's place in categories.
var placeOf = func() map[Category]int {
	m := make(map[Category]int, len(categories))
	for i := range categories {
		m[categories[i].category] = i
	}
	return m
}()

// Work is what kernels of the category do, "" for one that a user's rule names.
func (c Category) Work() Work {
	if i, ok := placeOf[c]; ok {
		return categories[i].work
	}
	return ""
}

// role is the role of the category's kernels.
func (c Category) role() Role {
	if i, ok := placeOf[c]; ok {
		return categories[i].role
	}
	return RoleOther
}
