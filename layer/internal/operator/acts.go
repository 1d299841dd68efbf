package operator

import "strings"

// An act is what a kernel does as its name says it, before its place tells which
// operator that serves. One kernel may do several, in order.
type act uint8

const (
	actUnknown act = iota
	actProduct
	actExperts // a product of experts
	actAttention
	actNorm
	actQKNorm
	actAdd
	actRope
	actCache
	actActivation
	actRoute
	actDispatch
	actCombine
	actCollective
	actGather // an all-gather: of logits, of sequence-parallel activations
	actEmbed
	actSample
	actConv
	actScan
	actIndex
	actIndexTopK
	actHCPre
	actHCPost
	actAbsorb // a product per head
	actPointwise
	actPrepare
	// What serves a neighbour and has no step of its own:
	actCopy
	actQuant
	actReduceProduct
	actReduceAttention
	actScanInput // gates and norms of what a scan reads
	numActs
)

// aux reports an act that serves another operator.
func (a act) aux() bool { return a >= actCopy }

// heavy reports an act that is never invented and hardly ever left out.
func (a act) heavy() bool {
	switch a {
	case actProduct, actExperts, actAttention, actCollective, actScan, actAbsorb:
		return true
	}
	return false
}

// pattern is one rule: names with one of any and none of not.
type pattern struct {
	any, not []string
	acts     []act
}

// patterns are words of kernel authors, lower case, first match wins. They say
// what kernels do, not which model or server they belong to.
var patterns = []pattern{
	{any: []string{"splitkreduce", "splitk_reduce", "postgsu", "gemm_reduce", "reduce_splitk"}, acts: []act{actReduceProduct}},
	{any: []string{"reduce_segments", "flashattnfwdcombine", "mla_combine", "splitkv_combine", "paged_attention_ll4mi_reduce", "paged_attention_v2_reduce",
		"merge_attn_states", "mergestate", "mla_reduce", "attn_reduce", "fmha_reduction", "fmhareduction", "decode_stage2", "_fwd_kernel_stage2", "variablelengthmergestates", "persistentvariablelengthmergestates"}, acts: []act{actReduceAttention}},
	{any: []string{"memcpy", "memset", "copybuffer", "fillbuffer"}, acts: []act{actCopy}},
	{any: []string{"get_mla_metadata", "mla_metadata"}, acts: []act{actPrepare}},
	{any: []string{"quant_mla"}, not: []string{"gemm"}, acts: []act{actQuant}},
	{any: []string{"mhc_post", "hc_post"}, acts: []act{actHCPost}},
	{any: []string{"mhc_pre", "hc_pre", "hc_head", "sinkhorn", "mhc_fused"}, acts: []act{actHCPre}},
	{any: []string{"topk_transform", "indexer_topk", "fast_topk", "lightning_topk", "topkperrow"}, acts: []act{actIndexTopK}},
	{any: []string{"mqa_logits", "hadamard", "indexer", "lightning_index"}, acts: []act{actIndex}},
	{any: []string{"compress_norm_rope", "decode_compress", "prefill_compress", "save_partial_states", "compressor"}, acts: []act{actCache}},
	{any: []string{"allreduce", "all_reduce", "twoshot", "oneshot", "one_shot", "two_shot", "cross_device_reduce", "multimem", "ar_fusion", "ar_norm"}, not: []string{"norm"}, acts: []act{actCollective}},
	{any: []string{"allreduce", "all_reduce", "ar_fusion", "ar_norm"}, acts: []act{actCollective, actAdd, actNorm}},
	{any: []string{"deep_ep", "internode", "intranode", "alltoall", "all_to_all", "sendrecv"}, not: []string{"combine"}, acts: []act{actDispatch}},
	{any: []string{"deep_ep", "internode", "intranode", "alltoall", "all_to_all"}, acts: []act{actCombine}},
	{any: []string{"allgather", "all_gather", "reducescatter", "reduce_scatter"}, acts: []act{actGather}},
	{any: []string{"nccldevkernel_generic", "rccl", "nccl"}, acts: []act{actCollective}},
	{any: []string{"qknorm_rope", "qk_norm_rope", "norm_rope", "normrope"}, not: []string{"cache", "store", "insert"}, acts: []act{actQKNorm, actRope}},
	{any: []string{"qknorm_rope", "qk_norm_rope", "norm_rope", "normrope", "qnorm_rope"}, acts: []act{actQKNorm, actRope, actCache}},
	{any: []string{"rope_store", "rope_reshape", "rope_quantize_append", "rope_cache", "rotary_embedding_and_cache", "rope_and_cache", "rope_concat_and_cache", "fused_rope_kv"}, acts: []act{actRope, actCache}},
	{any: []string{"rotary", "rope", "inv_rope"}, acts: []act{actRope}},
	{any: []string{"qknorm", "qk_norm", "qk_rmsnorm"}, acts: []act{actQKNorm}},
	{any: []string{"reshape_and_cache", "store_kvcache", "store_kv", "set_mla_kv", "concat_and_cache", "kv_cache_store", "store_flashmla_cache", "append_paged", "appendpaged",
		"write_kv", "cache_kernel", "copy_to_paged", "kvcache_insert", "k_cache_insert", "store_cache", "kv_buffer"}, not: []string{"attention", "load"}, acts: []act{actCache}},
	{any: []string{"router_gemm", "router_kernel"}, acts: []act{actProduct}},
	{any: []string{"concat_mla", "qkvzba_split"}, acts: []act{actCopy}},
	{any: []string{"conv1d", "conv_1d", "short_conv"}, acts: []act{actConv}},
	{any: []string{"gated_rmsnorm", "rmsnorm_gated", "rms_norm_gated", "layer_norm_fwd", "norm_gate"}, acts: []act{actNorm}},
	{any: []string{"l2norm", "kda_gate", "gdn_gating"}, acts: []act{actScanInput}},
	{any: []string{"selective_scan", "selective_state", "chunk_scan", "chunk_state", "state_passing", "chunk_cumsum", "bmm_chunk", "ssd_", "gated_delta", "delta_rule", "wkv", "linear_attn", "linear_attention",
		"lightning_attn", "fused_recurrent", "mamba", "gdn_", "kda_fwd", "chunk_kda", "chunk_local_cumsum", "recompute_w_u", "solve_tril", "merge_16x16", "chunk_fwd_kernel", "chunk_gla", "scaled_dot_kkt"}, acts: []act{actScan}},
	{any: []string{"finalize", "moe_sum", "moe_combine", "unpermute", "token_combine", "moe_reduce"}, acts: []act{actCombine}},
	{any: []string{"matmul_ogs", "moe_gemm", "fused_moe_kernel", "moe_stage", "grouped_gemm", "group_gemm", "groupproblemshape", "m_grouped", "grouped", "ck_moe", "fmoe", "moe_mxgemm", "marlin_moe", "moe_wna16", "grouped_mm", "bmm_e", "bmm_bfloat16", "bmm_mx", "fused_experts", "expert_gemm"},
		not: []string{"topk", "_fwd_grouped_kernel", "align", "sort", "attn", "attention", "groupnorm", "group_norm", "quant_kernel"}, acts: []act{actExperts}},
	{any: []string{"moe", "expert", "router", "routing", "topkgating", "topk_softmax", "topksoftmax", "topk_sigmoid", "grouped_topk", "bitmatrix", "permute_tokens", "_topk_forward", "biased_topk", "sbtopk", "gathertopk"}, acts: []act{actRoute}},
	{any: []string{"rmsnorm", "rms_norm", "layernorm", "layer_norm", "addnorm", "add_norm", "norm_kernel", "normkernel", "rmsnormalize", "rms_normalize", "fused_norm", "norm_fwd"}, not: []string{"softmax"}, acts: []act{actAdd, actNorm}},
	{any: []string{"argmax", "sampling", "sampler", "multinomial", "penalt", "topksampl", "toppsampl", "token_bitmask", "gumbel"}, acts: []act{actSample}},
	{any: []string{"flash_fwd", "flash_attn", "flashattn", "flash::", "fmha", "attention", "flashmla", "splitkv", "split_kv", "_attn_", "attn_fwd", "mha_", "sdpa", "mla_", "batchprefill", "batchdecode",
		"singleprefill", "singledecode", "ragged_attn", "_fwd_grouped_kernel", "_fwd_kernel_stage", "attn_kernel", "softmax_warp", "cunn_softmax", "softmaxforward", "xqa"},
		not: []string{"metadata", "topk", "reshape_and_cache", "cross_entropy"}, acts: []act{actAttention}},
	{any: []string{"embedding", "indexselect", "index_select", "vectorized_gather", "embed_tokens"}, acts: []act{actEmbed}},
	{any: []string{"per_token", "group_quant", "scaled_fp8_quant", "quantize", "dynamic_quant", "cvt_fp16_to_fp4", "fp8_quant", "quant_kernel", "quant_fp8", "mxfp4_quant", "fp4_quant"}, not: []string{"gemm", "act_and_mul", "silu", "dequant"}, acts: []act{actQuant}},
	{any: []string{"act_and_mul", "silu", "gelu", "swiglu", "relu", "activation"}, not: []string{"gemm", "matmul"}, acts: []act{actActivation}},
	{any: []string{"batched_gemm", "bmm"}, acts: []act{actAbsorb}},
	{any: []string{"gemm", "cijk_", "nvjet", "cutlass_80", "cutlass_75", "xmma", "matmul", "wgmma", "_mm_", "splitk", "wvsplit", "addmm", "gemv", "linear_kernel", "mma_kernel", "marlin"}, acts: []act{actProduct}},
}

// softmaxes are words of PyTorch's softmax kernels on NVIDIA's and AMD's GPUs.
var softmaxes = []string{"softmax_warp", "cunn_softmax", "softmaxforward"}

// byCategory is what a category says of a kernel whose words say nothing.
var byCategory = map[string]act{
	"communication": actCollective, "kv_cache": actCache, "hybrid_linear": actScan, "attention": actAttention, "moe": actRoute, "gemm": actProduct,
	"norm": actNorm, "rope": actRope, "activation": actActivation, "quantize": actQuant, "memory": actCopy, "sampling_io": actPrepare,
	"elementwise": actPointwise, "reduce_topk": actPointwise, "softmax": actPointwise,
}

// tag is the single operation of a generic kernel (PyTorch's element-wise and
// reduction kernels): what decomposed operators are recognised by.
type tag uint8

const (
	tagNone tag = iota
	tagCopy
	tagPow
	tagMean
	tagScalarAdd
	tagAdd
	tagRsqrt
	tagMul
	tagNeg
	tagCat
)

// generic are the words of such kernels, in order of preference.
var generic = []struct {
	word string
	tag  tag
}{
	{"rsqrt", tagRsqrt}, {"pow_tensor", tagPow}, {"meanops", tagMean}, {"neg_kernel", tagNeg}, {"catarray", tagCat},
	{"cudafunctoronself_add", tagScalarAdd}, {"cudafunctor_add", tagAdd}, {"mulfunctor", tagMul}, {"copy_kernel", tagCopy}, {"direct_copy", tagCopy}, {"fillfunctor", tagCopy},
}

// reading is what a name says.
type reading struct {
	acts []act
	tag  tag
	// second: the name says that it is the later of two products of experts.
	first, second bool
	// softmax: the kernel is that of PyTorch's softmax alone.
	softmax bool
}

// read reads a kernel's name and category.
func read(name, category string) reading {
	l := strings.ToLower(name)
	if strings.Contains(l, "elementwise_kernel") || strings.Contains(l, "native::reduce_kernel<") || strings.Contains(l, "catarray") {
		if r, ok := readGeneric(l); ok {
			return r
		}
	}
	if strings.HasPrefix(l, "triton_") && strings.Contains(l, "fused") {
		return readInductor(l)
	}
	r := reading{acts: []act{byCategory[category]}}
	for i := range patterns {
		p := &patterns[i]
		if hasAny(l, p.any) && !hasAny(l, p.not) {
			r.acts = p.acts
			break
		}
	}
	r.softmax = r.acts[0] == actAttention && hasAny(l, softmaxes)
	if r.acts[0] == actExperts {
		r.first = hasAny(l, []string{"stage1", "gemm1", "swiglu", "silu"})
		r.second = hasAny(l, []string{"stage2", "gemm2"})
		if hasAny(l, []string{"swiglu", "silu", "gelu"}) {
			r.acts = []act{actExperts, actActivation}
		}
	}
	return r
}

// readGeneric reads a kernel of PyTorch's own loops.
func readGeneric(l string) (reading, bool) {
	for _, g := range generic {
		if !strings.Contains(l, g.word) {
			continue
		}
		r := reading{tag: g.tag, acts: []act{actPointwise}}
		switch g.tag {
		case tagCopy, tagCat:
			r.acts = []act{actCopy}
		case tagAdd:
			r.acts = []act{actAdd}
		}
		return r, true
	}
	for _, w := range []string{"silu", "gelu", "relu", "argmax"} {
		if strings.Contains(l, w) {
			return reading{}, false // the ordinary rules know them
		}
	}
	return reading{acts: []act{actPointwise}}, true
}

// readInductor reads a fused kernel of torch.compile, whose name lists the ATen
// operations it holds.
func readInductor(l string) reading {
	has := func(words ...string) bool { return hasAny(l, words) }
	one := func(a ...act) reading { return reading{acts: a} }
	switch {
	case has("rsqrt"):
		return one(actAdd, actNorm)
	case has("silu", "gelu", "relu"):
		return one(actActivation)
	case has("moe_forward", "topk"):
		return one(actRoute)
	case has("embedding"):
		return one(actEmbed)
	case has("argmax"):
		return one(actSample)
	case has("cat_", "_neg", "_cos", "_sin", "rotary"):
		return one(actRope)
	case strings.HasPrefix(l, "triton_poi_fused__to_copy_") && !has("mul", "add"), strings.HasPrefix(l, "triton_poi_fused_clone"), strings.HasPrefix(l, "triton_poi_fused_zeros"), strings.HasPrefix(l, "triton_poi_fused_fill"):
		return one(actCopy)
	case has("fused_add_"):
		return one(actAdd)
	}
	return one(actPointwise)
}

func hasAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
