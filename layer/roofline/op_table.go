package roofline

import "strings"

// opRow is what is known of some ops that count alike.
type opRow struct {
	names string // between spaces; one that ends in * is the beginning of names
	count formula
	kind  OpKind // OpOther: that of the formula's result
	// composite ops do their work by others: they count only where none of those is known.
	composite bool
	// embeds: input 0 is the table of a vocabulary.
	embeds bool
}

// attention is a row of an attention op.
func attention(names string, s sdpa) opRow { return opRow{names: names, count: s.formula} }

// absent is the place of an input that an op does not have.
const absent = -1

// opRows is the table of ops. Work is that of the least traffic: each tensor once. The order of arguments is that of
// PyTorch's native_functions.yaml, formulas are those of its flop_counter.py, and of the libraries that names begin
// with.
var opRows = []opRow{
	// Products.
	{names: "aten::mm", count: dot("MK KN", 0, 1)},
	{names: "aten::addmm aten::_addmm_activation", count: plus(dot("MK KN", 1, 2), 0, 3)},
	{names: "aten::bmm", count: dot("BMK BKN", 0, 1)},
	{names: "aten::baddbmm", count: plus(dot("BMK BKN", 1, 2), 0, 3)},
	{names: "aten::mv", count: dot("MK K", 0, 1)},
	{names: "aten::addmv", count: plus(dot("MK K", 1, 2), 0, 3)},
	{names: "aten::linear", count: plus(weight(0, 1, absent, absent), 2, absent), composite: true},
	{names: "aten::matmul", count: matmul, composite: true},
	{names: "aten::_scaled_mm trtllm::cublas_scaled_mm", count: scaledMM},
	{names: "aten::_grouped_mm aten::_scaled_grouped_mm primus_turbo::grouped_gemm primus_turbo::grouped_gemm_impl primus_turbo_cpp_extension::ck_grouped_gemm", count: grouped},
	{names: "aten::_weight_int8pack_mm", count: packed(2)},
	{names: "aten::_weight_int4pack_mm", count: packed(3)},
	{names: "bitsandbytes::int8_linear_matmul", count: weight(0, 1, absent, absent)},
	{names: "aiter::gemm_a4w4 aiter::_gemm_a4w4_asm aiter::gemm_afp4wfp4_ vllm::gemm_with_dynamic_quant",
		count: fp4("MA NH")},
	{names: "aiter::batched_gemm_a16wfp4_", count: fp4("BMA BNH")},
	{names: "aiter::gemm_a8w8* vllm::rocm_aiter_gemm_a8w8* vllm::_rocm_aiter_preshuffled_per_token_w8a8_gemm vllm::w8a8_block_fp8_matmul vllm::apply_w8a8_block_fp8_linear", count: scaled(weight(0, 1, 4, absent), 2, 3)},
	{names: "vllm::rocm_unquantized_gemm vllm::rocm_unquantized_gemm_impl",
		count: plus(weight(0, 1, absent, absent), 2, absent)},
	{names: "aiter::gemm_a16w16 aiter::gemm_a16w16_atomic_", count: plus(weight(0, 1, absent, 3), 2, absent)},
	{names: "aiter::_gemm_a16w16_asm", count: weight(0, 1, 2, absent)},
	{names: "_C::cutlass_scaled_mm", count: scaled(dot("MK KN MN", 1, 2, 0), 3, 4, 5)},
	// Attention.
	{names: "aten::scaled_dot_product_attention", count: sdpa{bias: 3, causal: 5}.formula,
		composite: true},
	attention("aten::_scaled_dot_product_flash_attention", sdpa{causal: 4, lse: true}),
	attention("aten::_scaled_dot_product_efficient_attention aten::_scaled_dot_product_cudnn_attention",
		sdpa{bias: 3, causal: 6}),
	attention("aten::_scaled_dot_product_fused_attention_overrideable", sdpa{bias: 3, causal: 5}),
	attention("aten::_scaled_dot_product_flash_attention_backward", sdpa{q: 1, causal: 11, backward: true}),
	attention("aten::_scaled_dot_product_efficient_attention_backward", sdpa{q: 1, causal: 11, backward: true}),
	attention("aten::_scaled_dot_product_cudnn_attention_backward", sdpa{q: 1, causal: 14, backward: true}),
	attention("aten::_flash_attention_forward", sdpa{order: tokensFirst, causal: 8, lse: true}),
	attention("aten::_efficient_attention_forward", sdpa{order: tokensFirst, causal: 9, bias: 3}),
	attention("aten::_flash_attention_backward", sdpa{q: 1, order: tokensFirst, causal: 11, backward: true}),
	attention("FlashAttnFunc flash_attn::_flash_attn_forward aiter::_flash_attn_forward aiter::mha_fwd aiter::fmha_v3_fwd",
		sdpa{order: tokensFirst, causal: 5, window: 6, bottom: true, lse: true}),
	attention("aiter::wrapper_fmha_v3_fwd", sdpa{q: 1, order: tokensFirst, causal: 6, bottom: true, lse: true}),
	attention("flash_attn::_flash_attn_backward", sdpa{q: 1, order: tokensFirst, causal: 11, window: 12, bottom: true,
		backward: true}),
	attention("aiter::_flash_attn_backward", sdpa{q: 1, order: tokensFirst, causal: 12, bottom: true, backward: true}),
	attention("aiter::mha_bwd aiter::fmha_v3_bwd", sdpa{q: 1, order: tokensFirst, causal: 8, bottom: true,
		backward: true}),
	{names: "flash_attn::_flash_attn_varlen_forward", count: varlen(0, 3, 5, 9, absent)},
	{names: "aiter::mha_varlen_fwd aiter::fmha_v3_varlen_fwd", count: varlen(0, 3, 5, 12, absent)},
	{names: "aiter::mha_batch_prefill", count: varlen(0, 3, 6, 12, 5)},
	{names: "vllm::unified_attention_with_output vllm::unified_attention sglang::unified_attention_with_output",
		count: served},
	{names: "_C::paged_attention_v1", count: paged(0, 1, 2, 6, 8)},
	{names: "_C::paged_attention_v2 _rocm_C::paged_attention", count: paged(0, 4, 5, 9, 11)},
	// Recurrences.
	{names: "DaoAILab::_causal_conv1d_fwd_cpp vllm::causal_conv1d_fwd vllm::causal_conv1d_update", count: shortConv},
	// Convolutions.
	{names: "aten::convolution aten::_convolution",
		count: conv{bias: 2, stride: 3, pad: 4, dilation: 5, transposed: 6, outPad: 7, groups: 8}.formula, composite: true},
	{names: "aten::conv1d aten::conv2d aten::conv3d",
		count: conv{bias: 2, stride: 3, pad: 4, dilation: 5, groups: 6}.formula, composite: true},
	{names: "aten::conv_transpose1d aten::conv_transpose2d aten::conv_transpose3d",
		count: conv{bias: 2, stride: 3, pad: 4, outPad: 5, groups: 6, dilation: 7,
			always: true}.formula, composite: true},
	{names: "aten::cudnn_convolution aten::cudnn_convolution_relu aten::mkldnn_convolution",
		count: conv{pad: 2, stride: 3, dilation: 4, groups: 5}.formula},
	{names: "aten::miopen_convolution aten::miopen_depthwise_convolution",
		count: conv{bias: 2, pad: 3, stride: 4, dilation: 5, groups: 6}.formula},
	{names: "aten::thnn_conv2d aten::_slow_conv2d_forward",
		count: conv{bias: 3, stride: 4, pad: 5}.formula},
	{names: "aten::convolution_backward", count: convBackward},
	// Mixtures of experts.
	{names: "vllm::rocm_aiter_fused_moe aiter::fused_moe_", count: fusedExperts(0, 1, 2, 3, absent)},
	{names: "vllm::fused_experts vllm::outplace_fused_experts vllm::inplace_fused_experts sglang::outplace_fused_experts sglang::inplace_fused_experts", count: fusedExperts(0, 1, 2, 3, absent)},
	{names: "aiter::fmoe_fp8_blockscale_g1u1 aiter::fmoe_g1u1", count: fusedExperts(1, 2, 3, absent, 8)},
	{names: "aiter::ck_moe_stage1 aiter::moe_cktile2stages_gemm1_ck", count: expertsStage(0, 1, 6, false)},
	{names: "aiter::ck_moe_stage2 aiter::moe_cktile2stages_gemm2_ck", count: expertsStage(0, 2, 6, true)},
	{names: "triton::fused_moe_kernel", count: routed(0, 1)},
	{names: "sglang_profiler::fused_moe_triton_kernels_invoke_fused_moe_kernel", count: invokedExperts},
	{names: "_moe_C::topk_softmax aiter::topk_softmax sgl_kernel::topk_softmax",
		count: moves(5, 3, []int{3}, []int{0, 1})},
	{names: "_moe_C::moe_sum aiter::moe_sum", count: summed},
	// Norms and softmax.
	{names: "aten::native_layer_norm aten::layer_norm", count: norm(5, 0, []int{2, 3}, 8)},
	{names: "aten::native_layer_norm_backward", count: moves(11, 0, []int{0, 1, 3, 4, 5}, []int{1, 5, 6})},
	{names: "aten::_fused_rms_norm aten::rms_norm", count: norm(4, 0, []int{2}, 4), composite: true},
	{names: "aten::_fused_rms_norm_backward", count: moves(9, 0, []int{0, 1, 3, 4}, []int{1, 4})},
	{names: "_C::rms_norm sgl_kernel::rmsnorm aiter::rmsnorm aiter::rmsnorm2d_fwd_ck", count: norm(4, 1, []int{2}, 0)},
	{names: "aiter::rms_norm vllm::rms_norm aiter::rmsnorm2d_fwd vllm::rocm_aiter_rms_norm",
		count: norm(4, 0, []int{1}, 0)},
	{names: "_C::fused_add_rms_norm sgl_kernel::fused_add_rmsnorm", count: addNorm(0, 1, 2)},
	{names: "aiter::add_rmsnorm aiter::rmsnorm2d_fwd_with_add_ck aiter::rmsnorm2d_fwd_with_add",
		count: addNorm(1, 2, 4)},
	{names: "vllm::rocm_aiter_rmsnorm2d_fwd_with_add", count: addNorm(0, 1, 2)},
	{names: "aten::native_batch_norm aten::cudnn_batch_norm aten::miopen_batch_norm aten::batch_norm aten::_batch_norm_impl_index", count: batchNorm},
	{names: "aten::native_batch_norm_backward aten::cudnn_batch_norm_backward aten::miopen_batch_norm_backward",
		count: moves(9, 0, []int{0, 1}, []int{0})},
	{names: "aten::group_norm", count: norm(7, 0, []int{2, 3}, 0), composite: true},
	{names: "aten::native_group_norm", count: norm(7, 0, []int{1, 2}, 0)},
	{names: "aten::native_group_norm_backward", count: moves(11, 0, []int{0, 1}, []int{1})},
	{names: "aten::_softmax aten::_log_softmax aten::_safe_softmax aten::softmax aten::log_softmax", count: each(5)},
	{names: "aten::_masked_softmax", count: elementwise(5, 0, 2)},
	{names: "aten::_softmax_backward_data aten::_log_softmax_backward_data", count: moves(4, 0, []int{0, 1}, []int{0})},
	// Activations, element-wise ops.
	{names: "aten::gelu", count: each(8)},
	{names: "aten::silu aten::relu aten::sigmoid aten::tanh aten::hardswish aten::hardsigmoid aten::hardtanh aten::leaky_relu aten::elu aten::mish aten::softplus aten::erf aten::exp aten::log aten::log1p aten::expm1 aten::sqrt aten::rsqrt aten::sin aten::cos aten::neg aten::abs aten::reciprocal aten::clamp aten::clamp_min aten::clamp_max aten::round aten::floor aten::ceil aten::trunc aten::bitwise_not aten::sign aten::sgn aten::square aten::nan_to_num aten::tril aten::triu aten::log2 aten::logit aten::relu6", count: each(1)},
	{names: "aten::logical_not aten::isnan aten::isinf aten::isfinite", count: elementwise(1, 1, 1)},
	{names: "aten::gelu_backward aten::silu_backward aten::threshold_backward aten::sigmoid_backward aten::tanh_backward aten::hardtanh_backward aten::leaky_relu_backward aten::hardswish_backward", count: moves(4, 0, []int{0, 1}, []int{0})},
	{names: "aten::add aten::sub aten::mul aten::div aten::maximum aten::minimum aten::fmod aten::remainder aten::pow aten::atan2 aten::rsub aten::true_divide aten::floor_divide aten::bitwise_and aten::bitwise_or aten::bitwise_xor aten::__and__ aten::__or__ aten::masked_fill aten::clamp_Tensor", count: elementwise(1, 0, 2)},
	{names: "aten::where aten::lerp", count: elementwise(1, 0, 3)},
	{names: "aten::addcmul aten::addcdiv", count: elementwise(3, 0, 3)},
	{names: "aten::eq aten::ne aten::lt aten::le aten::gt aten::ge aten::logical_and aten::logical_or aten::logical_xor",
		count: elementwise(1, 1, 2)},
	{names: "_C::silu_and_mul sgl_kernel::silu_and_mul aiter::silu_and_mul vllm::silu_and_mul", count: gated(5)},
	{names: "_C::gelu_and_mul _C::gelu_tanh_and_mul sgl_kernel::gelu_and_mul sgl_kernel::gelu_tanh_and_mul aiter::gelu_and_mul aiter::gelu_tanh_and_mul", count: gated(8)},
	{names: "LigerSiLUMulFunction", count: elementwise(5, 0, 2)},
	{names: "_C::rotary_embedding sgl_kernel::rotary_embedding vllm::rotary_embedding", count: rotary},
	{names: "_C_cache_ops::reshape_and_cache _C_cache_ops::reshape_and_cache_flash", count: cacheWrite},
	{names: "sgl_kernel::store_kv_cache sglang::store_cache", count: cacheWrite},
	// Copies, casts, fills.
	{names: "aten::copy_ aten::_copy_from aten::_copy_from_and_resize", count: moves(0, 0, []int{1}, []int{0}),
		kind: OpCopy},
	{names: "aten::_to_copy aten::to", count: cast, composite: true},
	{names: "aten::clone aten::contiguous aten::alias_copy", count: each(0), kind: OpCopy,
		composite: true},
	{names: "aten::fill_ aten::zero_ aten::fill", count: moves(0, 0, []int{0}, nil), kind: OpCopy},
	{names: "aten::normal_ aten::uniform_ aten::exponential_ aten::bernoulli_ aten::random_", count: moves(10, 0, []int{0}, nil)},
	{names: "aten::cat aten::stack aten::hstack aten::vstack", count: lists(0, 2), kind: OpCopy},
	{names: "aten::repeat aten::tile", count: repeated, composite: true},
	{names: "aten::flip aten::roll", count: each(0), kind: OpCopy},
	{names: "aten::im2col aten::col2im aten::pixel_shuffle aten::pixel_unshuffle aten::unfold_backward",
		count: each(0), kind: OpCopy},
	// Reductions and scans.
	{names: "aten::sum aten::mean aten::nansum aten::prod", count: reduced(1, 1, 0, true)},
	{names: "aten::amax aten::amin aten::any aten::all", count: reduced(1, 1, 0, false)},
	{names: "aten::max aten::min aten::argmax aten::argmin", count: reduced(1, 1, 8, false)},
	{names: "aten::norm aten::linalg_vector_norm", count: reduced(2, 2, 0, false)},
	{names: "aten::std aten::var aten::var_mean aten::std_mean", count: reduced(4, 1, 0, false)},
	{names: "aten::logsumexp", count: reduced(5, 1, 0, false)},
	{names: "aten::cumsum aten::cumprod aten::logcumsumexp aten::_cumsum", count: each(1)},
	{names: "aten::topk", count: topK},
	// Lookups.
	{names: "aten::embedding", count: lookup, composite: true, embeds: true},
	{names: "aten::_embedding_bag", count: lookup},
	{names: "aten::index_select", count: selected},
	{names: "aten::gather", count: gathered},
	{names: "aten::scatter aten::index_copy aten::index_fill aten::masked_scatter", count: scattered(2, 3, 0)},
	{names: "aten::scatter_add aten::scatter_reduce aten::index_add", count: scattered(2, 3, 1)},
	{names: "aten::index", count: masked},
	{names: "aten::index_put aten::_index_put_impl", count: put},
	{names: "aten::nonzero aten::masked_select aten::unique2 aten::_unique2", count: func(in *Inputs) (Work, bool) {
		n := in.Elements(0)
		return Work{Bytes: in.Bytes(0), MostBytes: in.Bytes(0) + 8*n*float64(max(len(in.Dim(0)), 1))}, n > 0 &&
			in.Size(0) > 0
	}},
	// Losses, dropout.
	{names: "aten::nll_loss_forward aten::nll_loss2d_forward", count: func(in *Inputs) (Work, bool) {
		n := in.Elements(1)
		return Work{FLOP: n, Bytes: n * (in.Size(0) + 8)}, n > 0 && in.Size(0) > 0
	}},
	{names: "aten::nll_loss_backward aten::nll_loss2d_backward", count: moves(0, 1, nil, []int{1})},
	{names: "aten::mse_loss aten::l1_loss aten::smooth_l1_loss aten::binary_cross_entropy aten::binary_cross_entropy_with_logits", count: moves(3, 0, []int{0, 1}, nil)},
	{names: "aten::mse_loss_backward aten::smooth_l1_loss_backward", count: moves(3, 1, []int{1, 2}, []int{1})},
	{names: "aten::native_dropout aten::_fused_dropout", count: func(in *Inputs) (Work, bool) {
		n := in.Elements(0)
		return Work{FLOP: 2 * n, Bytes: in.Bytes(0) + n*in.Size(0) + n}, n > 0 && in.Size(0) > 0
	}},
	{names: "aten::native_dropout_backward", count: moves(1, 0, []int{0, 1}, []int{0})},
	// Pools, resampling, transforms.
	{names: "aten::max_pool2d_with_indices aten::avg_pool2d aten::avg_pool3d aten::max_pool2d", count: pooled},
	{names: "aten::_adaptive_avg_pool2d aten::adaptive_avg_pool2d aten::adaptive_avg_pool1d", count: pooledTo},
	{names: "aten::upsample_nearest1d aten::upsample_nearest2d aten::upsample_nearest3d aten::_upsample_nearest_exact2d",
		count: resized(0, 1, 2)},
	{names: "aten::upsample_bilinear2d aten::upsample_linear1d aten::upsample_trilinear3d", count: resized(8, 1, 3)},
	{names: "aten::upsample_bicubic2d", count: resized(40, 1, 3)},
	// Quantisation.
	{names: "_C::static_scaled_fp8_quant _C::dynamic_scaled_fp8_quant _C::dynamic_per_token_scaled_fp8_quant _C::scaled_int8_quant aiter::dynamic_per_token_scaled_quant aiter::dynamic_per_tensor_quant aiter::dynamic_per_group_scaled_quant", count: quantised(0, 1, 2, 3)},
	{names: "vllm::triton_per_token_group_quant_fp8 sglang::per_token_group_quant_8bit",
		count: quantised(0, 0, absent, 3)},
	{names: "sgl_kernel::sgl_per_token_group_quant_8bit sgl_kernel::sgl_per_token_group_quant_fp8",
		count: quantised(1, 0, 2, 3)},
	{names: "aten::quantize_per_tensor aten::dequantize aten::fake_quantize_per_tensor_affine_cachemask",
		count: each(2)},
	// Optimisers.
	{names: "aten::_foreach_add aten::_foreach_mul aten::_foreach_div aten::_foreach_sub aten::_foreach_copy aten::_foreach_lerp", count: lists(1, 2)},
	{names: "aten::_foreach_sqrt aten::_foreach_neg aten::_foreach_exp", count: lists(1, 2)},
	{names: "aten::_foreach_addcmul aten::_foreach_addcdiv", count: lists(3, 4)},
	{names: "aten::_foreach_norm", count: lists(2, 1)},
	{names: "aten::_foreach_zero", count: lists(0, 1), kind: OpCopy},
	{names: "aten::_fused_adam aten::_fused_adamw", count: lists(12, 7)},
	{names: "aten::_fused_sgd", count: lists(4, 5)},
	// Compilers.
	{names: "triton_poi_fused_* triton_red_fused_* triton_per_fused_*", count: fusedTriton},
}

// opIndex finds rows by name.
type opIndex struct {
	exact    map[string]*opRow
	prefixes []prefixRow
	next     *opIndex // asked for what is not here
}

type prefixRow struct {
	prefix string
	row    *opRow
}

func indexOps(rows []opRow) *opIndex {
	x := &opIndex{exact: map[string]*opRow{}}
	for i := range rows {
		for name := range strings.FieldsSeq(rows[i].names) {
			if p, ok := strings.CutSuffix(name, "*"); ok {
				x.prefixes = append(x.prefixes, prefixRow{p, &rows[i]})
				continue
			}
			x.exact[name] = &rows[i]
		}
	}
	return x
}

// find returns the row of an op; one in place counts as the other.
func (x *opIndex) find(op string) *opRow {
	if r, ok := x.exact[op]; ok {
		return r
	}
	if r, ok := x.exact[strings.TrimSuffix(op, "_")]; ok && strings.HasPrefix(op, "aten::") {
		return r
	}
	for _, p := range x.prefixes {
		if strings.HasPrefix(op, p.prefix) {
			return p.row
		}
	}
	if x.next != nil {
		return x.next.find(op)
	}
	return nil
}
