package classify

import (
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/wordmatch"
)

// NOTE. Category and rule come first: operations only refine what the rule that
// matched said. ruleOps has the rules whose kernels compute something else than
// the role of their category; opWords has what words add to it; the compilers
// that spell operations (torch.compile) are read in order.

func ops(r ...Role) []Role { return r }

// ruleOps are the operations of a rule's kernels where they are not its role. An
// ID without a rule fails a test.
var ruleOps = map[string][]Role{
	"attention.combine": ops(RoleAttentionReduce), "attention.reduce": ops(RoleAttentionReduce),
	"attention.reduce_scope": ops(RoleAttentionReduce),
	"attention.metadata":     ops(RolePrepare), "attention.indexer": ops(RoleIndexer),
	"attention.compress": ops(RoleCacheWrite),
	"weak.attention":     ops(RoleAttention), "weak.moe": ops(RoleMoE),
	"comm.allreduce_gemm": ops(RoleProduct, RoleCollective), "comm.reduce_scatter": ops(RoleGather),
	"comm.allgather":    ops(RoleGather),
	"elementwise.hyper": ops(RoleMixIn), "elementwise.optimizer": ops(RoleBackward),
	"gemm.normed": ops(RoleMixIn), "gemm.router": ops(RoleProduct), "gemm.splitk": ops(RoleProductReduce),
	"gemm.repack": ops(RoleQuantize),
	"hybrid.conv": ops(RoleConv), "hybrid.metadata": ops(RolePrepare), "hybrid.l2norm": ops(RoleScanInput),
	"kvcache.rope_store": ops(RoleRope, RoleCacheWrite), "kvcache.rope_assign": ops(RoleRope, RoleCacheWrite),
	"kvcache.move": ops(RoleCopy), "kvcache.move_kv": ops(RoleCopy), "kvcache.gather": ops(RoleCopy),
	"kvcache.buffer": ops(RoleCopy),
	"norm.rope":      ops(RoleHeadNorm, RoleRope),
	"reduce.topk":    ops(RoleTopK), "reduce.topk_scope": ops(RoleTopK), "reduce.argmax": ops(RoleSample),
	"sampling.draft": ops(RoleSample), "sampling.metadata": ops(RolePrepare), "sampling.prepare": ops(RolePrepare),
	"sampling.expand": ops(RolePrepare), "sampling.bincount": ops(RolePrepare),
	"sampling.speculative": ops(RolePrepare), "weak.sampling": ops(RolePrepare),
	"memory.gather": ops(RoleRows), "memory.scatter": ops(RoleRows),
	"softmax.loss":   ops(RoleElementwise),
	"myelin.softmax": ops(RoleSoftmax), "myelin.topk": ops(RoleTopK),
}

// categoryOps are the operations of the categories whose role is [RoleOther].
var categoryOps = map[Category]Role{CategoryMemory: RoleCopy, CategoryReduceTopK: RoleElementwise,
	CategorySamplingIO: RolePrepare}

// opWords says what words of a name make of its operations, by the first of them
// that the rule gave: the first row that fits replaces it. None must not be there.
var opWords = []struct {
	is   Role
	any  wordmatch.Patterns
	none wordmatch.Patterns
	ops  []Role
}{
	{RoleAttention, match("*stage2*", "*_reduce*"), match("*stage1*", "*fused*"), ops(RoleAttentionReduce)},
	// what cuDNN's attention of few queries left in parts
	{RoleElementwise, match("lean_reduction*"), nil, ops(RoleAttentionReduce)},
	{RoleAttention, match("*sage_quant*", "*attn_quant*"), nil, ops(RoleQuantize)},
	{RoleIndexer, match("*topk_transform*", "*indexer_topk*"), nil, ops(RoleIndexerTopK)},
	{RoleIndexer, match("*convert_req_index*"), nil, ops(RolePrepare)},
	{RoleTopK, match("*topkPerRow*", "*lightning_topk*"), nil, ops(RoleIndexerTopK)},
	{RoleCacheWrite, match("*plan_compress*", "*build*", "*commit*"), match("*store*", "*write*"), ops(RolePrepare)},
	{RoleCacheWrite, match("*indexer*", "*index_k*", "*store_index*"), nil, ops(RoleIndexer)},
	{RoleCacheWrite, match("*normrope*", "*qknorm*", "*q_norm*", "*kv_norm*"),
		match("*rope*", "*rotary*"), ops(RoleHeadNorm, RoleCacheWrite)},
	{RoleCopy, match("*indexer*"), nil, ops(RoleIndexer)},
	{RoleHeadNorm, match("*cache*", "*store*", "*insert*", "*_write*"),
		match("*noncache*", "*cos_sin_cache*", "*rope*"), ops(RoleHeadNorm, RoleCacheWrite)},
	{RoleScan, match("*gating*", "kda_gate*", "*gdn_gate*", "*post_conv*"), match("*cumsum*", "*delta_rule*", "*update*"),
		ops(RoleScanInput)},
	{RoleScan, match("*qkvzba*"), nil, ops(RoleCopy)},
	{RoleScan, match("*fused_conv*"), nil, ops(RoleConv, RoleScan)},
	{RoleScan, match("*conv1d*", "*mambaconv*", "conv"), nil, ops(RoleConv)},
	{RoleMixIn, match("*_post*", "*expand*"), match("*pre_*"), ops(RoleMixOut)},
	{RoleProduct, match("*reduce_split*", "*splitkreduce*", "*gemm_reduce*", "*postgsu*",
		"*execute_split_k_kernel*"), match("*gemm_reduce_scatter*"), ops(RoleProductReduce)},
	{RoleProduct, match("*batched_gemm*", "bmm", "bmm_kernel*", "*_bmm"), match("*bwd*"), ops(RoleHeadProduct)},
	{RoleProduct, match("mhc*", "*hc_prenorm*"), nil, ops(RoleMixIn)},
	{RoleRouter, match("*memset*"), nil, ops(RoleCopy)}, {RoleMoE, match("*memset*"), nil, ops(RoleCopy)},
	{RoleMoE, match("*finalize*", "*unpermute*", "*combine*"), nil, ops(RoleFinalize)},
	{RoleMoE, match("*gemm*", "*gemv*", "*matmul*"), nil, ops(RoleExperts)},
	{RoleMoE, match("*sort*"), nil, ops(RolePermute)},
	{RoleMoE, match("*topk*"), match("*reduce*", "*topk_ids*", "*quant*"), ops(RoleRouter)},
	{RoleMoE, match("*activation*", "*silu*", "*swiglu*", "*gelu*"), nil, ops(RoleActivation)},
	{RoleExperts, match("*prepare*"), nil, ops(RolePrepare)},
	{RoleExperts, match("*dispatch_index*", "*aux_loss*"), nil, ops(RoleMoE)},
	{RoleExperts, match("*swiglu*", "*silu*", "*gelu*", "*relu*"), nil, ops(RoleExperts, RoleActivation)},
	{RoleNorm, match("*mhc_pre*", "*hc_pre*"), nil, ops(RoleMixIn, RoleNorm)},
	{RoleNorm, match("*rope*", "*rotary*"), nil, ops(RoleHeadNorm, RoleRope)},
	{RoleNorm, match("*gated*", "*norm_gate*"), nil, ops(RoleNorm, RoleMultiply)},
	{RoleNorm, match("add", "*_add*", "*_add", "*fusedadd*", "addrms*", "addnorm*", "addlayer*", "*residual*",
		"*resadd*"), match("addmm", "*bias*", "myl*"), ops(RoleAdd, RoleNorm)},
	{RoleRope, match("*rope_norm*"), nil, ops(RoleRope)},
	{RoleRope, match("*qknorm*", "*normrope*", "*rms*"), nil, ops(RoleHeadNorm, RoleRope)},
	{RoleActivation, match("*quant*", "*to_fp8*", "*to_fp4*"), nil, ops(RoleActivation, RoleQuantize)},
	{RoleCollective, match("*combine*"), nil, ops(RoleCombine)},
}

// opSuffix are operations that words add at the end.
var opSuffix = []struct {
	after []Role
	any   wordmatch.Patterns
	none  wordmatch.Patterns
	op    Role
}{
	{ops(RoleRope), match("*cache*", "*store*", "*insert*", "*append*", "*_write*", "*assign_qkv*"),
		match("*noncache*", "*nocache*", "*cos_sin*", "*cached*", "*sincos*"), RoleCacheWrite},
	{ops(RoleNorm, RoleAdd), match("*quant*", "*fp8*", "*fp4*", "*mx4*"), match("*dequant*"), RoleQuantize},
}

// Op is the first of the operations, [RoleOther] where there are none.
func (f *Facts) Op() Role {
	if len(f.Ops) == 0 {
		return RoleOther
	}
	return f.Ops[0]
}

func match(w ...string) wordmatch.Patterns { return wordmatch.CompileAll(w) }

// operations reads what a kernel computes.
func operations(n *Name, r verdict, c Collective) []Role {
	first := role(n, r, c)
	switch {
	// copies of lists of tensors are no step of an optimizer
	case first == RoleBackward && r.category != CategoryMemory:
		return ops(RoleBackward)
	case r.rule == "":
		return ops(RoleOther)
	case c != NotCollective && ruleOps[r.rule] == nil:
		return exchangeOps(n, r, c)
	case n.Family == familyInductor:
		return inductorOps(n, r)
	case n.Family == familyMemcpy && transferWords.In(n.fn):
		return ops(RoleTransfer)
	}
	list := ruleOps[r.rule]
	if list == nil {
		list = ops(plainRole(n, r))
	}
	text := textOf(n)
	for i := range opWords {
		w := &opWords[i]
		if w.is == list[0] && text.has(w.any) && !text.has(w.none) {
			list = w.ops
			break
		}
	}
	if list[0] == RoleNorm && fusedEnum(n, "FusedAddEnum") {
		list = ops(RoleAdd, RoleNorm)
	}
	for i := range opSuffix {
		w := &opSuffix[i]
		last := list[len(list)-1]
		if (slices.Contains(w.after, list[0]) || slices.Contains(w.after, last)) && last != w.op && text.has(w.any) &&
			!text.has(w.none) {
			list = append(list[:len(list):len(list)], w.op)
		}
	}
	return list
}

// fusedEnum reports whether an argument of CK's norms switches something on:
// (ck_tile::Rmsnorm2dFusedAddEnum)1, 21Rmsnorm2dFusedAddEnumE1E where it is mangled.
func fusedEnum(n *Name, enum string) bool {
	_, rest, ok := strings.Cut(n.Demangled, enum)
	return ok && len(rest) > 1 && (rest[0] == ')' || rest[0] == 'E') && rest[1] > '0' && rest[1] <= '9'
}

// scanGates are operations that hardly anything but the gates of a scan needs.
var scanGates = match("softplus*")

// transferWords are CUPTI's and roctracer's for copies between host and GPU.
var transferWords = match("*htod*", "*dtoh*", "*hosttodevice*", "*devicetohost*")

// plainRole is the role of a rule, or of its category, for one operation.
func plainRole(n *Name, r verdict) Role {
	x, ok := ruleRoles[r.rule]
	if !ok {
		x = r.category.role()
	}
	switch {
	case x == RoleElementwise || r.category == CategoryMemory && x == RoleOther || r.category == CategoryReduceTopK &&
		x == RoleOther:
		if p := primitive(n); p != RoleOther {
			return p
		}
	case x == RoleActivation && textOf(n).has(scanGates):
		return RoleScanInput
	case x == RoleProduct && grouped(n, r) && r.subcategory != subcategoryConvolution:
		return RoleExperts
	}
	if x == RoleOther || x == RoleElementwise && r.category == CategoryMemory {
		return categoryOps[r.category]
	}
	return x
}

// grouped says whether a product may be one of experts.
func grouped(n *Name, r verdict) bool {
	switch r.category {
	case CategoryMoE:
		return ruleRoles[r.rule] == RoleExperts
	case CategoryGEMM:
		return r.subcategory == subcategoryGrouped || n.Family == familyTRTLLMGen && strings.HasPrefix(n.Function, "bmm_")
	}
	return false
}

// wordText is the word text of what a kernel runs, with its pairs of letters.
type wordText struct {
	text  string
	pairs uint64
}

func textOf(n *Name) wordText {
	text := n.fn
	if n.op != "" {
		text = n.op
	}
	return wordText{text, wordmatch.PairsOf(text)}
}

func (t wordText) has(p wordmatch.Patterns) bool { return p.Among(t.text, t.pairs) }

// primitives are the operations of PyTorch's own loops by the functor they run.
var primitives = []struct {
	words wordmatch.Patterns
	role  Role
}{
	{match("rsqrt*"), RoleRsqrt}, {match("pow*"), RolePower}, {match("MeanOps"), RoleMean},
	{match("neg_kernel*", "neg"), RoleNegate},
	{match("CUDAFunctorOnSelf_add"), RoleAddScalar}, {match("CUDAFunctor_add", "op_add"), RoleAdd},
	{match("MulFunctor", "op_mul"), RoleMultiply},
	{match("reduce_1Block*"), RoleProductReduce}, // of cuBLAS's product of two vectors
	{match("FillFunctor", "*copy_kernel*", "direct_copy*"), RoleCopy}, {match("CatArray*"), RoleConcat},
}

func primitive(n *Name) Role {
	text := textOf(n)
	for i := range primitives {
		if text.has(primitives[i].words) {
			return primitives[i].role
		}
	}
	return RoleOther
}

// exchangeOps are those of an exchange between GPUs and of what is fused with it.
func exchangeOps(n *Name, r verdict, c Collective) []Role {
	switch {
	case normalises(n) && c == OtherCollective:
		return ops(RoleAdd, RoleNorm) // it takes the result of an exchange over
	case normalises(n) && reduceFusionWords.In(n.fn):
		return ops(RoleFinalize, RoleCollective, RoleAdd, RoleNorm)
	case normalises(n):
		return ops(RoleCollective, RoleAdd, RoleNorm)
	case c == AllGather, c == ReduceScatter:
		return ops(RoleGather)
	case expertExchange.In(n.fn) || c == AllToAll || n.Family == familyDeepEP || expertScopes.In(n.scope):
		if combineWords.In(n.fn) {
			return ops(RoleCombine)
		}
		return ops(RoleDispatch)
	case c == SendRecv:
		return ops(RoleDispatch)
	}
	return ops(RoleCollective)
}

var (
	combineWords   = match("*combine*")
	expertExchange = match("*dispatch*", "*combine*")
)

// NOTE. torch.compile lists what it fused in alphabetical order, so the order of
// a model is put back here: embedding, addition, norm, activation.

var (
	inductorAdd     = match("add")
	inductorRotates = match("neg", "sub", "cos", "sin", "rotary*")
	inductorJoins   = match("cat", "stack", "split_with_sizes", "cos", "sin")
	inductorAct     = match("silu*", "gelu*", "relu*", "tanh*", "sigmoid*")
	inductorClears  = match("zeros*", "fill*", "clone", "to_copy", "copy*", "empty*")
	inductorTimes   = match("sub", "div", "rsub", "where", "exp", "pow", "neg", "sum", "mean")
	inductorCat     = match("cat")
	inductorMoves   = match("clone", "transpose*", "permute*", "slice*", "view", "embedding*", "index*")
	inductorMul     = match("mul", "sum", "mean")
	inductorProduct = match("addmm", "mm", "bmm")
	inductorQuant   = match("abs", "amax", "clamp*")
	// Norms whose name does not hold the addition of a small number.
	inductorWhole = match("native_layer_norm*", "layer_norm*", "rms_norm*", "native_group_norm*", "group_norm*",
		"*batch_norm*")
)

// inductorOps reads a kernel that torch.compile wrote.
func inductorOps(n *Name, r verdict) []Role {
	text := wordText{n.fn, wordmatch.PairsOf(n.fn)}
	rotates := text.has(inductorRotates) && text.has(inductorJoins)
	adds := text.has(inductorAdd)
	switch r.category {
	case CategoryNorm:
		var list []Role
		switch {
		case text.has(inductorEmbedding):
			list = append(list, RoleEmbed)
		case rotates:
			return ops(RoleHeadNorm, RoleRope)
		case text.has(inductorProduct) && (r.rule == ruleNormStats || text.has(inductorJoins)) &&
			!text.has(inductorWhole):
			return ops(RoleHeadNorm) // of what a product just made, as queries and keys are
		case adds:
			list = append(list, RoleAdd)
		}
		list = append(list, RoleNorm)
		if text.has(inductorAct) && text.has(inductorWhole) {
			list = append(list, RoleActivation)
		}
		if text.has(inductorQuant) {
			list = append(list, RoleQuantize)
		}
		return list
	case CategoryGEMM:
		if text.has(inductorAct) {
			return ops(RoleProduct, RoleActivation)
		}
		return ops(RoleProduct)
	case CategoryQuantize:
		switch {
		case text.has(inductorAct):
			return ops(RoleActivation, RoleQuantize)
		case rotates:
			return ops(RoleRope, RoleQuantize)
		}
		return ops(RoleQuantize)
	case CategoryMoE:
		return ops(RoleMoE)
	case CategoryElementwise, CategoryReduceTopK, CategoryMemory:
		switch {
		case r.rule == ruleArgMax:
			return ops(RoleSample)
		case r.rule == ruleTopK:
			return ops(RoleTopK)
		case r.rule == ruleEmbedding && text.has(inductorEmbedding):
			return ops(RoleEmbed)
		case rotates, text.has(inductorCat) && !text.has(inductorMoves):
			return ops(RoleRope) // the products that a rotation joins are inside its concatenation
		case adds && !text.has(inductorTimes):
			return ops(RoleAdd)
		case r.category == CategoryMemory, text.has(inductorClears) && !adds && !text.has(inductorMul):
			return ops(RoleCopy)
		}
		return ops(RoleElementwise)
	}
	return ops(r.category.role())
}

var (
	firstExperts  = match("*stage1*", "*gemm1*", "moe1", "*swiglu*", "*silu*")
	secondExperts = match("*stage2*", "*gemm2*", "moe2")
)

// expertStage reads which of two products of experts a name says.
func expertStage(n *Name) int {
	switch {
	case firstExperts.In(n.fn) || firstExperts.In(n.op):
		return 1
	case secondExperts.In(n.fn) || secondExperts.In(n.op):
		return 2
	}
	return 0
}

var (
	gatedWords = match("*and_mul*", "*act_mul*", "*silu_mul*", "*gelu_mul*", "*glu", "*glu_*", "*swiglu*", "*gated*",
		"*gate_*", "mul_silu*")
	inductorGates = match("silu*", "sigmoid*", "gelu*", "relu*", "glu")
)

// isGated reports an activation whose name says that it multiplies what a gate
// leaves. GELU written with a hyperbolic tangent multiplies, too, and says nothing.
func isGated(n *Name) bool {
	if n.Family == familyInductor {
		return inductorGates.In(n.fn) && inductorMultiplies.In(n.fn)
	}
	return gatedWords.In(n.fn) || gatedWords.In(n.op)
}

var inductorMultiplies = match("mul", "glu")

// latentWords are of kernels on a compressed cache: 576 and 512 are the widths of
// its keys and values in every model that has one.
var latentWords = match("*mla*", "*qk576*", "*d576*")

// Rules of compiled kernels whose category alone does not say what they do.
const (
	ruleNormStats = "inductor.norm_stats"
	ruleArgMax    = "inductor.argmax"
	ruleTopK      = "inductor.topk"
	ruleEmbedding = "inductor.embedding"
)

// isLatent reports attention on a compressed cache, and writes to one.
func isLatent(n *Name, r verdict) bool {
	if r.category != CategoryAttention && r.category != CategoryKVCache {
		return false
	}
	return r.subcategory == subcategoryLatent || n.Family == familyFlashMLA || latentWords.In(n.fn) ||
		latentWords.In(n.op) || latentWords.In(n.scope) ||
		strings.Contains(n.Function, "d576")
}
