package classify

func normRules() []Rule {
	n := func(id, title, sub string, p Pattern) Rule {
		return Rule{ID: id, Title: title, Category: CategoryNorm, Subcategory: sub, When: p}
	}
	return []Rule{
		// NormTwoOps and friends are vector norms of PyTorch's reduce_kernel
		// (gradient clipping): a reduction, not a layer.
		n("norm.rope", "norm of queries and keys with a rotary embedding", "", Pattern{
			All: words("*norm*", "*rope*"), None: words("*renorm*"),
		}),
		n("norm.head", "norm of queries and keys", "", Pattern{
			Function: words("*qknorm*", "*qk_norm*", "*q_norm*", "*k_norm*", "*kv_norm*", "*qk_rms*"),
			None:     words("*renorm*"),
		}),
		n("norm.word", "normalisation by name", "", Pattern{
			Function: words("*norm", "*norm_fwd*", "*norm_bwd*", "*norm_kernel*", "*rmsnorm*", "*layernorm*", "*layer_norm*", "*rms_norm*", "*groupnorm*", "*group_norm*", "*batchnorm*", "*batch_norm*", "*qknorm*", "*qk_norm*", "*rms_normalize*", "fused_rms*", "*_rms_*", "adaln*", "*_norm_*", "norm_*", "*GroupNorm*"),
			None:     words("*renorm*", "NormTwoOps", "NormOneOps", "NormOps", "NormInfOps", "*normal", "*normal_*", "*normalize_weight*", "*lpnorm*"),
		}),
		n("norm.batch", "cuDNN and PyTorch batch norm", "batch", Pattern{
			Function: words("bn", "bn_fw*", "bn_bw*", "*_bn_*"),
		}),
		// Parts of PyTorch's layer and group norm (layer_norm_kernel.cu).
		n("norm.parts", "statistics and gradients of a norm", "parts", Pattern{
			Function: words("*GammaBetaBackward*", "*RowwiseMoments*", "*ComputeInternalGradients*", "*ComputeFusedParams*", "*compute_gn*"),
		}),
	}
}

func ropeRules() []Rule {
	return []Rule{
		{ID: "rope.word", Title: "rotary position embedding", Category: CategoryRope, When: Pattern{Function: words("*rotary*", "*rope", "*rope_*", "*ropeq*", "rope*", "*mrope*")}},
		// AITER's rotary kernels are named after the layout only:
		// kn_entry_2c_sbhd_cached_indirect_inplace<RotateStyle…>.
		{ID: "rope.aiter", Title: "AITER rotary embedding", Category: CategoryRope, When: Pattern{Prefix: words("kn_entry_1c_", "kn_entry_2c_", "kn_entry_1c2d_")}},
	}
}

func softmaxRules() []Rule {
	return []Rule{
		{ID: "softmax.word", Title: "softmax", Category: CategorySoftmax, When: Pattern{Function: words("*softmax*", "*soft_max*"), None: words("*cross_entropy*")}},
		{ID: "softmax.loss", Title: "cross entropy", Category: CategorySoftmax, Subcategory: "loss", When: Pattern{Function: words("*cross_entropy*", "*nll_loss*")}},
	}
}

func activationRules() []Rule {
	return []Rule{
		{ID: "activation.word", Title: "activation", Category: CategoryActivation, When: Pattern{
			Function: words("*silu*", "*gelu*", "*swiglu*", "*geglu*", "*relu*", "*act_and_mul*", "*act_mul*", "*sigmoid*", "*tanh*", "*activation*", "*hardswish*", "mish*", "*softplus*", "elu", "threshold_kernel*", "*swish*", "*gated_act*", "*logistic*", "*xielu*"),
			None:     words("*topk*"),
		}},
	}
}

func quantizeRules() []Rule {
	q := func(id, title, sub string, p Pattern) Rule {
		return Rule{ID: id, Title: title, Category: CategoryQuantize, Subcategory: sub, When: p}
	}
	return []Rule{
		q("quantize.word", "quantisation", "", Pattern{
			Function: words("*quant", "*quant_*", "*quants", "*quantize*", "*quantise*", "*dequant*", "*to_fp4*", "*to_fp8*", "*scaled_fp8*", "*cast_fp8*", "*cast_mxfp8*", "*cast_nvfp4*", "*hfp8*", "*fp8_to*", "*fp8_cast*", "*fp8rowwise*", "*absmax*", "*fp4_cast*", "*mxfp4_quant*", "*_fp8_qparam*", "*qparam*", "*_quantkernel*", "*downcast_to_mxfp*", "*upcast_from_mxfp*", "*float_to_fp*", "*per_token_cast*", "*per_block_cast*"),
		}),
		q("quantize.hadamard", "Hadamard rotation before quantisation", "hadamard", Pattern{Function: words("*hadamard*", "fht")}),
		// Scale factors have lay-outs of their own: transposing and packing
		// them is part of quantising (deep_gemm's ue8m0 packing).
		q("quantize.scales", "scale factors", "scales", Pattern{
			Function: words("scale_1x128*", "scale_128x128*", "*block_scale*", "*transform_scale*", "*scale_interleave*", "*ue8m0*", "*swizzle_scale*", "*scale_factor*", "*transform_sf*", "*pack_sf*", "*sf_layout*"),
		}),
		q("quantize.deep_gemm", "scale layout of DeepGEMM", "scales", Pattern{
			Family: []Family{FamilyDeepGEMM}, Function: words("transpose*", "pack*"),
		}),
	}
}

func reduceRules() []Rule {
	r := func(id, title, sub string, p Pattern) Rule {
		return Rule{ID: id, Title: title, Category: CategoryReduceTopK, Subcategory: sub, When: p}
	}
	return []Rule{
		r("reduce.argmax", "arg-max", "topk", Pattern{Function: words("*argmax*", "*argmin*")}),
		r("reduce.topk", "top-k and sorting", "topk", Pattern{Function: words("*topk*", "*sort*", "*radix*", "*kth_value*", "*select_k*")}),
		r("reduce.scan", "prefix sums and selection", "scan", Pattern{Function: words("scan", "*_scan*", "*DeviceScan*", "*wrapped_scan*", "*cumsum*", "*select_sweep*", "*DeviceCompact*", "*histogram*", "*unique*", "*run_length*", "*prefix_sum*", "*exclusive_sum*", "*bincount*", "*partition_kernel*", "*flag_heads*", "*nonzero*", "*searchsorted*", "*DevicePartition*")}),
		r("reduce.wrapper", "PyTorch reduction", "reduce", Pattern{Wrapper: words("reduce_kernel")}),
		r("reduce.kernel", "reduction", "reduce", Pattern{Function: words("reduce*", "*_reduce*", "*DeviceReduce*", "*reduction*", "mean", "sum", "*_sum", "NormTwoOps")}),
		r("reduce.pool", "pooling", "pool", Pattern{Function: words("*max_pool*", "*avg_pool*", "*pooling*", "*MaxPool*", "*AvgPool*")}),
		r("reduce.cub", "cub, thrust, rocprim algorithm", "", Pattern{Family: []Family{FamilyCUB}, Function: words("*reduce*", "*scan*", "*sort*", "*histogram*", "trampoline_kernel", "*select*")}),
	}
}

func elementwiseRules() []Rule {
	e := func(id, title, sub string, p Pattern) Rule {
		return Rule{ID: id, Title: title, Category: CategoryElementwise, Subcategory: sub, When: p}
	}
	return []Rule{
		e("elementwise.wrapper", "PyTorch elementwise", "", Pattern{Wrapper: words("*elementwise*", "multi_tensor_apply*", "*grid_stride*")}),
		e("elementwise.hyper", "hyper-connections", "hyper_connection", Pattern{
			// mHC mixes residual streams; its matrix product says gemm and is
			// caught above.
			Function: words("mhc*", "hc_*", "*hyper_connection*", "*sinkhorn*"),
		}),
		e("elementwise.optimizer", "optimizer step", "optimizer", Pattern{Function: words("*adam*", "*adagrad*", "sgd*", "*optimizer*", "lamb", "multi_tensor*")}),
		e("elementwise.word", "pointwise arithmetic by name", "", Pattern{
			Function: words("*elementwise*", "*pointwise*", "*point_wise*", "add", "mul", "sub", "div", "scale", "scal", "axpy", "*_add", "*_mul", "fill", "fill_*", "*_fill*", "clamp*", "*residual*", "*vector_add*", "where*", "mask", "*_mask*", "op_tensor*", "*add_kernel*", "*mul_kernel*", "arange*", "triu_tril*", "*dropout*", "cos", "sin", "exp", "*functor", "addcmul*", "*bias_add*", "*add_bias*", "*scale_shift*", "*vec_add*", "broadcast*", "cast*", "*_cast", "*convert*", "*_gate", "*gating*", "linspace*"),
		}),
		e("elementwise.thrust", "cub or thrust transform", "", Pattern{Family: []Family{FamilyCUB}, Function: words("*transform*", "*for_each*", "*fill*", "*static_kernel*", "*parallel_for*")}),
	}
}
