package classify

func normRules() []Rule {
	n := func(id, title, sub string, p Pattern) Rule {
		return Rule{ID: id, Title: title, Category: CategoryNorm, Subcategory: sub, When: p}
	}
	return []Rule{
		// NormTwoOps and friends are vector norms of PyTorch's reduce_kernel
		// (gradient clipping): a reduction, not a layer.
		// What begins with the rotation is one, in whatever mode: rope_norm, rope_neox.
		{ID: "rope.first", Title: "rotary position embedding", Category: CategoryRope,
			When: Pattern{Prefix: words("rope_", "rotary_")}},
		n("norm.rope", "norm of queries and keys with a rotary embedding", "", Pattern{
			All: words("*norm*", "*rope*"), None: words("*renorm*"),
		}),
		n("norm.head", "norm of queries and keys", "", Pattern{
			Function: words("*qknorm*", "q_norm*", "k_norm*", "kv_norm*", "*qk_rms*"),
			None:     words("*renorm*"),
		}),
		n("norm.batch", "cuDNN and PyTorch batch norm", "batch", Pattern{
			Function: words("bn", "bn_fw*", "bn_bw*", "*_bn_*", "*batchnorm*"),
		}),
		n("norm.word", "normalisation by name", "", Pattern{
			Function: words("*norm", "*norm_fwd*", "*norm_bwd*", "*norm_kernel*", "*rmsnorm*", "*layernorm*",
				"*layer_norm*", "*rms_norm*", "*groupnorm*", "*group_norm*", "*batchnorm*", "*batch_norm*", "*qknorm*",
				"*qk_norm*", "*rms_normalize*", "fused_rms*", "*_rms_*", "adaln*", "*_norm_*", "norm_*", "*GroupNorm*"),
			None: words("*renorm*", "NormTwoOps", "NormOneOps", "NormOps", "NormInfOps", "*normal", "*normal_*",
				"*normalize_weight*", "*lpnorm*"),
		}),
		n("norm.short", "normalisation by its abbreviation", "", Pattern{
			Function: words("ln", "rms", "gn", "dyt"), None: words("*gemm*", "*moe*"),
		}),
		n("norm.scope", "kernel of a normalisation library", "", Pattern{
			Scope: words("*layer_norm*", "*layernorm*", "*rms_norm*", "*rmsnorm*", "norm", "norm_*", "normalization"),
			None:  words("*gemm*", "*softmax*", "*copy*", "*transpose*"),
		}),
		// Parts of PyTorch's layer and group norm (layer_norm_kernel.cu).
		n("norm.parts", "statistics and gradients of a norm", "parts", Pattern{
			Function: words("*GammaBeta*", "*RowwiseMoments*", "*ComputeInternalGradients*", "*FusedParams*",
				"*compute_gn*", "welford_*", "cuComputeGradInput"),
			None: words("*WelfordOps*"),
		}),
	}
}

func ropeRules() []Rule {
	return []Rule{
		{ID: "rope.word", Title: "rotary position embedding", Category: CategoryRope,
			When: Pattern{Function: words("*rotary*", "*rope", "*rope_*", "*ropeq*", "rope*", "*mrope*"),
				None: words("*positions")}},
		// AITER's rotary kernels are named after the layout only:
		// kn_entry_2c_sbhd_cached_indirect_inplace<RotateStyle…>.
		{ID: "rope.aiter", Title: "AITER rotary embedding", Category: CategoryRope,
			When: Pattern{Prefix: words("kn_entry_1c_", "kn_entry_2c_", "kn_entry_1c2d_")}},
	}
}

func softmaxRules() []Rule {
	return []Rule{
		{ID: "softmax.word", Title: "softmax", Category: CategorySoftmax,
			When: Pattern{Function: words("*softmax*", "*soft_max*"), None: words("*cross_entropy*")}},
		{ID: "softmax.loss", Title: "cross entropy", Category: CategorySoftmax, Subcategory: "loss",
			When: Pattern{Function: words("*cross_entropy*", "*nll_loss*", "ce", "*NLLCriterion*", "*kldiv*",
				"*kl_div*", "jsd", "*_loss"), None: words("*copy*")}},
	}
}

func activationRules() []Rule {
	return []Rule{
		{ID: "activation.word", Title: "activation", Category: CategoryActivation, When: Pattern{
			Function: words("*silu*", "*gelu*", "*swiglu*", "*geglu*", "*relu*", "*act_and_mul*", "*act_mul*",
				"*sigmoid*", "*tanh*", "*activation*", "*hardswish*", "mish*", "*softplus*", "elu", "threshold_kernel*",
				"*swish*", "*gated_act*", "*logistic*", "*xielu*", "miopen_neuron*"),
			None: words("*topk*", "scale_activation*"),
		}},
	}
}

func quantizeRules() []Rule {
	q := func(id, title, sub string, p Pattern) Rule {
		return Rule{ID: id, Title: title, Category: CategoryQuantize, Subcategory: sub, When: p}
	}
	return []Rule{
		q("quantize.word", "quantisation", "", Pattern{
			Function: words("*quant", "*quant_*", "*quants", "*quantize*", "*quantise*", "*quantization*", "*dequant*",
				"*downcast*", "*bitrowwise*", "*decompress*", "reconstruct*", "*to_fp4*", "*to_fp8*", "*scaled_fp8*",
				"*cast_fp8*", "*cast_mxfp8*", "*cast_nvfp4*", "*hfp8*", "*fp8_to*", "*fp8_cast*", "*fp8rowwise*",
				"*absmax*", "*fp4_cast*", "*mxfp4_quant*", "*_fp8_qparam*", "*qparam*", "*_quantkernel*",
				"*downcast_to_mxfp*", "*upcast_from_mxfp*", "*float_to_fp*", "*per_token_cast*", "*per_block_cast*",
				"scale_activation*"),
		}),
		q("quantize.hadamard", "Hadamard rotation before quantisation", "hadamard",
			Pattern{Function: words("*hadamard*", "fht", "had", "had_*")}),
		// Scale factors have lay-outs of their own: transposing and packing
		// them is part of quantising (deep_gemm's ue8m0 packing).
		q("quantize.scales", "scale factors", "scales", Pattern{
			Function: words("scale_1x128*", "scale_128x128*", "*block_scale*", "*transform_scale*",
				"*scale_interleave*", "*ue8m0*", "*swizzle_scale*", "*scale_factor*", "*transform_sf*", "*pack_sf*",
				"*sf_layout*"),
		}),
		q("quantize.swizzle", "scale factors", "scales",
			Pattern{All: words("*swizzle*"), Function: words("scal*", "sf", "*_scale*")}),
		q("quantize.weights", "weight layout for a quantised product", "repack", Pattern{
			All: words("weight*"), Function: words("*rearrange*", "*reorder*", "*shuffle*", "*interleave*", "*repack*"),
		}),
		q("quantize.deep_gemm", "scale layout of DeepGEMM", "scales", Pattern{
			Family: []string{familyDeepGEMM}, Function: words("transpose*", "pack*"),
		}),
	}
}

func reduceRules() []Rule {
	r := func(id, title, sub string, p Pattern) Rule {
		return Rule{ID: id, Title: title, Category: CategoryReduceTopK, Subcategory: sub, When: p}
	}
	return []Rule{
		r("reduce.argmax", "arg-max", "topk", Pattern{Function: words("*argmax*", "*argmin*")}),
		r("reduce.topk", "top-k and sorting", "topk",
			Pattern{Function: words("*topk*", "*sort*", "*radix*", "*kth_value*", "*select_k*")}),
		r("reduce.topk_scope", "step of a top-k", "topk", Pattern{Scope: words("*topk")}),
		r("reduce.scan", "prefix sums and selection", "scan",
			Pattern{Function: words("scan", "*_scan*", "*DeviceScan*", "*wrapped_scan*", "*cumsum*", "*select_sweep*",
				"*DeviceCompact*", "*histogram*", "*unique*", "*run_length*", "*prefix_sum*", "*exclusive_sum*",
				"*bincount*", "*partition_kernel*", "*flag_heads*", "*nonzero*", "*searchsorted*",
				"*DevicePartition*")}),
		r("reduce.wrapper", "PyTorch reduction", "reduce", Pattern{Wrapper: words("reduce_kernel")}),
		r("reduce.kernel", "reduction", "reduce", Pattern{Function: words("reduce*", "*_reduce*", "*DeviceReduce*",
			"*reduction*", "mean", "sum", "*_sum", "NormTwoOps")}),
		r("reduce.pool", "pooling", "pool", Pattern{Function: words("*max_pool*", "*avg_pool*", "*pooling*",
			"*MaxPool*", "*AvgPool*", "*average_pool*")}),
		r("reduce.cub", "cub, thrust, rocprim algorithm", "",
			Pattern{Family: []string{familyCUB}, Function: words("*reduce*", "*scan*", "*sort*", "*histogram*",
				"trampoline_kernel", "*select*")}),
	}
}

func elementwiseRules() []Rule {
	e := func(id, title, sub string, p Pattern) Rule {
		return Rule{ID: id, Title: title, Category: CategoryElementwise, Subcategory: sub, When: p}
	}
	return []Rule{
		e("elementwise.optimizer", "optimizer step", "optimizer",
			Pattern{Function: words("adam*", "*_adam*", "*adagrad*", "sgd*", "*optimizer*", "lamb", "multi_tensor*")}),
		e("elementwise.wrapper", "PyTorch elementwise", "",
			Pattern{Wrapper: words("*elementwise*", "multi_tensor_apply*", "*grid_stride*")}),
		e("elementwise.hyper", "hyper-connections", "hyper_connection", Pattern{
			// mHC mixes residual streams; its matrix product says gemm and is
			// caught above.
			Function: words("mhc*", "hc_*", "*hyper_connection*", "*sinkhorn*"),
		}),
		e("elementwise.word", "pointwise arithmetic by name", "", Pattern{
			Function: words("*elementwise*", "*pointwise*", "*point_wise*", "add", "mul", "sub", "div", "scale", "scal",
				"axpy", "*_add", "*_mul", "fill", "fill_*", "*_fill*", "clamp*", "*residual*", "*vector_add*", "where*",
				"mask", "*_mask*", "op_tensor*", "*add_kernel*", "*mul_kernel*", "arange*", "triu_tril*", "*dropout*",
				"cos", "sin", "exp", "*functor", "addcmul*", "*bias_add*", "*add_bias*", "*scale_shift*", "*vec_add*",
				"clip", "*clipping*", "*distance*", "op1d*", "op2d*", "op3d*", "op4d*", "op5d*", "broadcast*",
				"*bcast*", "cast*", "*_cast", "*convert*", "*_gate", "*gating*", "linspace*"),
		}),
		e("elementwise.thrust", "cub or thrust transform", "",
			Pattern{Family: []string{familyCUB}, Function: words("*transform*", "*for_each*", "*fill*",
				"*static_kernel*", "*parallel_for*")}),
	}
}

// memoryOps are the activities that are memory operations by kind. They come
// first: their names are the profiler's, not a programmer's.
func memoryOps() []Rule {
	return []Rule{
		{ID: "memory.memcpy", Title: "memcpy activity", Category: CategoryMemory, Subcategory: "memcpy",
			When: Pattern{Family: []string{familyMemcpy}}},
		{ID: "memory.memset", Title: "memset activity", Category: CategoryMemory, Subcategory: "memset",
			When: Pattern{Family: []string{familyMemset}}},
		// Joins the position-free and rotary halves of MLA's keys or queries;
		// it must not be taken for attention by its "mla".
		{ID: "memory.concat_mla", Title: "concatenation of MLA halves", Category: CategoryMemory, Subcategory: "concat",
			When: Pattern{
				Function: words("concat_mla*"),
			}},
	}
}

// memoryRules are kernels that only move data. They come after every rule
// that knows what the data is.
func memoryRules() []Rule {
	m := func(id, title, sub string, p Pattern) Rule {
		return Rule{ID: id, Title: title, Category: CategoryMemory, Subcategory: sub, When: p}
	}
	return []Rule{
		m("memory.concat", "concatenation, split, stack", "concat", Pattern{
			Function: words("CatArray*", "cat", "*_cat", "concat*", "*concat", "chunk_cat*", "split_with_sizes*",
				"stack", "*concat_kernel*"),
		}),
		m("memory.scatter", "scatter, indexed write", "scatter", Pattern{
			Function: words("*scatter*", "index_put*", "*set_rows*", "index_copy*", "index_fill*", "index_add*",
				"indexFunc*", "indexing_backward*", "index_put*"),
		}),
		m("memory.embedding", "embedding lookup", "gather", Pattern{
			Function: words("*embedding*", "*indexSelect*", "vectorized_gather*", "*embed_tokens*", "embs", "*_embs"),
		}),
		// Embedding lookups and their gradients are gathers and scatters of
		// rows; fbgemm's split_embedding_* are both.
		m("memory.gather", "gather, embedding lookup", "gather", Pattern{
			Function: words("*gather*", "*get_rows*", "index_select*", "index_kernel*", "index", "take", "lookup*",
				"*_lookup"),
		}),
		m("memory.copy", "copy or cast", "copy", Pattern{
			Function: words("direct_copy*", "*copy_kernel*", "copy", "*_copy", "*memcpy*", "cpy", "cpy_*", "ucopy*",
				"*d2dcpy*", "copy_*", "*copyfunctor*", "*copy_device*"),
		}),
		m("memory.transpose", "transpose, permute, layout change", "transpose", Pattern{
			Function: words("*transpose*", "trans", "*permute*", "*nchwToNhwc*", "*nhwcToNchw*", "*2col", "*im2col*",
				"*2_col", "*col2im*", "*nchwToFoldedNhwc*", "*relayout*", "tensorTransform*", "*unshuffle*",
				"*pixel_shuffle*", "roll", "roll_cuda*", "flip*", "*merge_layout*"),
		}),
		m("memory.pad", "padding, packing, upsampling", "pad", Pattern{
			None: words("*bcast*"),
			Function: words("pad", "*_pad", "*_padding*", "pack", "unpack", "packed", "*reflection_pad*",
				"*replication_pad*", "*upsample*", "*upscale*", "*grid_sampler*", "pad_sequence*", "unpad*",
				"scalePackedTensor*", "repeat_interleave*", "*broadcast_kernel*"),
		}),
		m("memory.fill", "buffer fill", "fill", Pattern{
			Function: words("memset*", "zero", "zeros", "zero_*", "*_zero", "*zero_buffer*", "*fillBuffer*",
				"*clear_buffer*", "*zero_fill*", "*fill_zero*", "setOutputZero*", "memZero*"),
		}),
	}
}

// samplingFirst are the sampling kernels whose other words would mislead: a
// top-k/top-p kernel is no expert routing, a temperature softmax no attention
// score, "renorm" no norm.
func samplingFirst() []Rule {
	return []Rule{
		sampling("sampling.draft", "sampling for speculative decoding", "speculative",
			Pattern{All: words("*speculative*", "*sampling*")}),
		sampling("sampling.scope", "sampling library", "sampling", Pattern{
			Scope: words("sampling", "samplingTopK*", "samplingTopP*", "speculative_decoding", "mtp", "eagle*"),
			None:  words("*gemm*", "*attention*"),
		}),
		sampling("sampling.probs", "probabilities and logits", "sampling", Pattern{
			Function: words("*sampling*", "*top_k_top_p*", "*topktopp*", "*top_p*", "*topp_*", "*min_p_*",
				"*renorm_prob*", "*mask_logits*", "*token_bitmask*", "*grammar*", "*topk_log_softmax*", "*softcap*",
				"*temperature*", "*penalt*", "*multinomial*", "*gumbel*", "*ban_bad_words*", "*ban_repeat*",
				"*logit_bias*", "*addBiasSoftMax*", "*logprob*", "*log_probs*", "*topk_topp*", "*topk_stage*",
				"*bad_words*", "*min_tokens*"),
			None: words("*moe*", "*attention*", "*routing*"),
		}),
		sampling("sampling.speculative", "speculative decoding", "speculative", Pattern{
			Function: words("*rejection*", "*rejected*", "*speculative*", "*eagle*", "*draft*", "verify*", "*_verify*",
				"*verified*", "*build_tree*", "*tree_mask*", "*spec_info*", "*recovered_tokens*", "*accepted*",
				"*acceptDraft*", "*accept_draft*", "*ngram*", "*medusa*", "*beam*"),
			None: words("*attention*", "*attn*", "*kvcache*", "*fmha*", "*mla*", "*gemm*", "*conv*", "*norm*",
				"*kv_indices*"),
		}),
		// vLLM's rejection sampler expands per-request values to tokens with a
		// kernel of just this name.
		sampling("sampling.expand", "expansion to draft tokens", "speculative", Pattern{Exact: words("expand_kernel")}),
		// Penalties count the tokens of a request.
		sampling("sampling.bincount", "counts of tokens", "sampling",
			Pattern{Family: []string{familyTriton}, Function: words("*bincount*")}),
		// Sampling draws -log(u) or uniform numbers with PyTorch's generators.
		sampling("sampling.random", "random numbers", "random", Pattern{
			Function: words("exponential_kernel*", "uniform_kernel*", "uniform_and_transform*", "random_*",
				"normal_kernel*", "normal_and_transform*", "bernoulli*", "curand*", "*philox*", "*murmur*",
				"sample_multinomial*"),
			None: words("*dropout*"),
		}),
		sampling("sampling.metadata", "step metadata", "prepare", Pattern{
			Function: words("normal_decode_set_metadata*", "*req_to_token*", "*slot_mapping*", "*_cache_loc*",
				"*cache_locs*", "*last_loc*", "*metadata_copy*", "*page_table*", "*block_table*", "*lora_a_ptr*",
				"assign_*", "advance_step*"),
			None: words("*attention*", "*mla*"),
		}),
	}
}

// samplingRules are the preparation of a step's inputs and what is left of
// sampling.
func samplingRules() []Rule {
	return []Rule{
		sampling("sampling.word", "token sampling", "sampling", Pattern{
			Function: words("*sample", "*sample_*", "*sampled*", "*sampler*", "*logits*"),
			None:     words("*upsample*", "*downsample*", "*grid_sampler*"),
		}),
		sampling("sampling.prepare", "input preparation", "prepare", Pattern{
			Function: words("*token_ids*", "*output_ids*", "*criterion*", "*stop_words*", "*evict*", "*page_size*",
				"*indices*", "lens", "*_lens", "*position", "*positions", "*position_*", "alloc_*", "*prepare_input*",
				"prepare_*", "*seq_lens*", "*seqlens*", "*cu_seqlens*", "*metadata*", "*future*", "*input_batch*",
				"*input_ids*", "post_update*", "*_batch_info*", "*block_ids*", "*kv_lens*", "*seqlen*",
				"*update_state*", "*request_states*", "*idx_mapping*", "*cumlen*", "*finished*"),
		}),
	}
}

func sampling(id, title, sub string, p Pattern) Rule {
	return Rule{ID: id, Title: title, Category: CategorySamplingIO, Subcategory: sub, When: p}
}

// weakRules are asked last. Their words say little, and are right only because
// every rule that knows more has passed: "decode" alone is attention in a server,
// "w4a16" alone the product it is written for.
func weakRules() []Rule {
	w := func(id, title string, c Category, p Pattern, kind ...func(*Name) string) Rule {
		r := Rule{ID: id, Title: title, Category: c, When: p}
		if len(kind) > 0 {
			r.Refine = kind[0]
		}
		return r
	}
	return []Rule{
		w("weak.communication", "exchange of tokens between GPUs", CategoryCommunication,
			Pattern{Function: words("publish*", "*_publish*", "peer", "peers", "ipc", "ipc_*", "*sync_latency*")},
			collectiveKind),
		w("weak.moe", "work for experts", CategoryMoE,
			Pattern{Function: words("dispatch*", "combine*", "expt*", "*unpermute*", "*dedup*")}),
		w("weak.attention", "a phase of attention, or what it scores", CategoryAttention, Pattern{
			Function: words("*prefill*", "decode", "decode_*", "*decoding*", "*_qk_*", "qk", "qkv", "*swa*",
				"sparse_fwd*", "*transform_q", "*transform_q_*"),
			None: words("*token*", "*conv*"),
		}, attentionKind),
		w("weak.gemm", "product named after its operand types or its layer", CategoryGEMM, Pattern{
			Function: words("*w4a16*", "*w8a16*", "*w8a8*", "*w4a8*", "*a8w8*", "*a16w16*", "*a4w4*", "*skinny*",
				"*multiplication*", "dense", "dense_*", "linear", "proj", "fc", "ffn", "mlp"),
			None: words("*dense_output*"),
		}),
		w("weak.memory", "moving parts of tensors", CategoryMemory,
			Pattern{Function: words("split", "split_*", "merge", "slice*", "reshape*", "shuffle*", "reorder*",
				"rearrange*", "move*", "load*", "store*", "write*", "insert*")}),
		w("weak.sampling", "step preparation", CategorySamplingIO,
			Pattern{Function: words("*_ids", "*_ids_*", "*request*", "*_req_*", "*schedul*", "update_input*",
				"*_by_flag*", "length", "lengths", "*commit*", "*inject*", "ranks")}),
		w("weak.elementwise", "pointwise arithmetic", CategoryElementwise,
			Pattern{Function: words("add*", "mul*", "sub_*", "div_*", "scale*", "*_scale", "gate*", "*bias*",
				"copysign*", "sqrt*", "rsqrt*", "abs*", "neg*", "round*", "pow*", "logical*", "bitwise*", "compare*",
				"isnan*", "isinf*", "float_to*", "half_to*", "*to_half", "*to_float", "*to_bf16")}),
	}
}
