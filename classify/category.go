package classify

// Category is the coarse kind of work a kernel does. [Categories] lists those of
// the default rules, and docs/categories.md says what is counted under each. The
// set is open: a user's rule may name any category, so callers must be ready for
// others and every text is a valid Category.
type Category string

// The categories of the default rules.
const (
	// CategoryCommunication is data exchange between GPUs: collectives,
	// expert dispatch and combine, point to point, barriers.
	CategoryCommunication Category = "communication"
	// CategoryMemory is pure data movement: memcpy, memset, copies, gathers,
	// scatters, concatenation, transposes.
	CategoryMemory Category = "memory"
	// CategoryKVCache is writing to (or rearranging) the key/value cache, alone or
	// fused with RoPE or quantisation. It is not memory: a cache write is part of
	// the model, while a copy is often a sign of a missing fusion.
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

// Work is what kernels of a category do to the hardware: what exchanges between
// GPUs could overlap with, and what can be fused away.
type Work uint8

// The kinds of work.
const (
	WorkUnknown Work = iota
	WorkCompute
	WorkExchange  // between GPUs
	WorkMemory    // moves data
	WorkPointwise // reads and writes each element once
	numWorks
)

var workWords = [numWorks]string{WorkUnknown: "", WorkCompute: "compute", WorkExchange: "exchange",
	WorkMemory: "memory", WorkPointwise: "pointwise"}

// String returns the word of w, "" for unknown.
func (w Work) String() string { return wordOf(workWords[:], int(w)) }

// categories has one row a category of the default rules, in report order.
var categories = []struct {
	category Category
	// role of its kernels where ruleRoles has no other for the rule that matched.
	role Role
	work Work
}{
	{CategoryCommunication, RoleCollective, WorkExchange},
	{CategoryMemory, RoleOther, WorkMemory},
	{CategoryKVCache, RoleCacheWrite, WorkMemory},
	{CategoryHybridLinear, RoleScan, WorkCompute},
	{CategoryAttention, RoleAttention, WorkCompute},
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
	{CategoryOther, RoleOther, WorkUnknown},
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

// role is the role of the category's kernels.
func (c Category) role() Role {
	if i, ok := placeOf[c]; ok {
		return categories[i].role
	}
	return RoleOther
}

// Work is what kernels of the category do, [WorkUnknown] for [CategoryOther] and
// for a category that a user's rule names.
func (c Category) Work() Work {
	if i, ok := placeOf[c]; ok {
		return categories[i].work
	}
	return WorkUnknown
}
