package classify

func normRules() []Rule {
	return []Rule{
		{ID: "norm.word", Title: "normalisation by name", Category: CategoryNorm, When: Pattern{
			Function: words("*norm", "*norm_*", "*rmsnorm*", "*layernorm*", "*rms_norm*", "*layer_norm*", "*groupnorm*", "*group_norm*", "*batchnorm*", "*batch_norm*", "bn_fw*", "bn_bw*", "bn_*", "*qknorm*", "*qk_norm*", "*norm_kernel*", "*rms_normalize*", "*rms_*", "*adaln*", "*norm*"),
			None:     words("*normal_decode*", "distribution*", "*lpnorm*"),
		}},
		{ID: "norm.inductor", Title: "normalisation written by torch.compile", Category: CategoryNorm, When: Pattern{
			Family: []Family{FamilyInductor}, Function: words("rsqrt"),
		}},
	}
}

func ropeRules() []Rule {
	return []Rule{
		{ID: "rope.word", Title: "rotary position embedding", Category: CategoryRope, When: Pattern{Function: words("*rotary*", "*rope*", "*mrope*")}},
	}
}

func softmaxRules() []Rule {
	return []Rule{
		{ID: "softmax.word", Title: "softmax", Category: CategorySoftmax, When: Pattern{Function: words("*softmax*", "*soft_max*")}},
	}
}

func activationRules() []Rule {
	return []Rule{
		{ID: "activation.word", Title: "activation", Category: CategoryActivation, When: Pattern{
			Function: words("*silu*", "*gelu*", "*swiglu*", "*geglu*", "*relu*", "*act_and_mul*", "*actandmul*", "*sigmoid*", "*tanh*", "*activation*", "*hardswish*", "*mish*", "*softplus*", "*elu_kernel*", "threshold*", "act_mul*"),
		}},
	}
}

func quantizeRules() []Rule {
	return []Rule{
		{ID: "quantize.word", Title: "quantisation", Category: CategoryQuantize, When: Pattern{
			Function: words("*quant*", "*dequant*", "*cvt_fp16_to_fp4*", "*hadamard*", "*scaled_fp8*", "*fp8*", "*fp4*", "*hfp8*"),
		}},
	}
}

func reduceRules() []Rule {
	return []Rule{
		{ID: "reduce.topk", Title: "top-k and sorting", Category: CategoryReduceTopK, Subcategory: "topk", When: Pattern{Function: words("*topk*", "*sort*", "*radix*", "gatherTopK", "*argmax*", "*argmin*")}},
		{ID: "reduce.scan", Title: "prefix sums and selection", Category: CategoryReduceTopK, Subcategory: "scan", When: Pattern{Function: words("*scan*", "*cumsum*", "*select_sweep*", "*compact*", "*histogram*", "*unique*", "*run_length*")}},
		{ID: "reduce.kernel", Title: "reduction", Category: CategoryReduceTopK, Subcategory: "reduce", When: Pattern{Function: words("reduce*", "*reduce", "*reduction*", "*reduce_kernel*", "*DeviceReduce*", "mean", "sum", "*_sum")}},
		{ID: "reduce.cub", Title: "cub, thrust, rocprim algorithm", Category: CategoryReduceTopK, When: Pattern{Family: []Family{FamilyCUB}, Function: words("*reduce*", "*scan*", "*sort*", "*histogram*", "trampoline_kernel")}},
	}
}

func samplingRules() []Rule {
	return []Rule{
		{ID: "sampling.word", Title: "token sampling", Category: CategorySamplingIO, Subcategory: "sampling", When: Pattern{
			Function: words("*sampling*", "*sample*", "*top_p*", "*topp*", "*min_p*", "*penalt*", "*logits*", "*multinomial*", "*rejection*", "*speculative*", "*eagle*", "*spec_*", "*draft*", "*verify*", "*tree_mask*", "*build_tree*", "*gumbel*", "*temperature*"),
		}},
		{ID: "sampling.prepare", Title: "input preparation", Category: CategorySamplingIO, Subcategory: "prepare", When: Pattern{
			Function: words("*token_ids*", "*position*", "*alloc_*", "*slot_mapping*", "*page_table*", "*block_table*", "*req_to_token*", "*prepare_input*", "*seq_lens*", "*cu_seqlens*", "*metadata*", "*future*", "*input_batch*", "*last_loc*"),
		}},
	}
}

func elementwiseRules() []Rule {
	return []Rule{
		{ID: "elementwise.pytorch", Title: "PyTorch elementwise", Category: CategoryElementwise, When: Pattern{
			Function: words("*elementwise*", "multi_tensor_apply*", "*functor*", "arange*", "*distribution*", "*tensor_apply*", "*point_wise*", "*pointwise*"),
		}},
		{ID: "elementwise.inductor", Title: "torch.compile pointwise", Category: CategoryElementwise, When: Pattern{Family: []Family{FamilyInductor}}},
		{ID: "elementwise.word", Title: "pointwise arithmetic by name", Category: CategoryElementwise, When: Pattern{
			Function: words("add", "mul", "sub", "div", "scale", "*_add", "*_mul", "fill", "clamp*", "*residual*", "*vector_add*", "where", "*mask*", "op_tensor*", "*add_kernel*", "*mul_kernel*"),
		}},
	}
}
