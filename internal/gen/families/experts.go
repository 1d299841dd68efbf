package families

// expertFamilies are models with experts.
var expertFamilies = []func() Family{mixtralVLLM, mixtralEager, qwen3Experts, deepSeekV3, deepSeekV2Lite, kimiK2,
	deepSeekTensorRT, glm45, gptOSS, llama4Maverick, llama4Scout, miniMaxM2, ernieAlternating}

// vExperts is vLLM's Triton path: router, top-k, sorting, two grouped products.
func vExperts() string {
	return join(tile("64x8_64x16_1x8"), vTopK, vAlign, expert, vAct, expert, vMoESum)
}

func mixtralVLLM() Family {
	return family("Mixtral-8x7B, vLLM, TP 2", func(prefill bool) Order {
		return order(join(gather, vReduce), 32, func(i int) string {
			return join(first(i, vNorm, vAddNorm), vAttention(prefill), vReduce, vAddNorm, vExperts(), vReduce)
		}, head(vAddNorm))
	})
}

// transformers loops over the experts that tokens chose: how many differs from layer to layer.
func mixtralEager() Family {
	return family("Mixtral-8x7B, transformers, eager", func(prefill bool) Order {
		one := join("at::native::index_elementwise_kernel<128,4,at::native::gpu_index_kernel>", tile("128x8_64x12_4x1"),
			"at::native::vectorized_elementwise_kernel<4,at::native::silu_kernel,std::array<char*,2ul>>",
			tile("128x8_64x12_4x1"), mulElem, tile("64x8_64x16_1x4"), mulElem,
			"at::native::indexFuncLargeIndex<c10::BFloat16,long,unsigned,2,2,-2,true,at::native::ReduceAdd>")
		return order(gather, 32, func(i int) string {
			l := join(hfNorm(), hfAttention(), addElem, hfNorm(), tile("64x8_64x16_1x8"),
				"softmax_warp_forward<float,float,float,3,false,false>",
				"at::native::sbtopk::gatherTopK<float,unsigned,2,false>",
				"at::native::scatter_gather_elementwise_kernel<128,8>")
			experts := 2
			if prefill {
				experts = 6 + (i*5)%3
			}
			for range experts {
				l = join(l, one)
			}
			return join(l, addElem)
		}, join(hfNorm(), tile("256x8_64x8_4x1"), argmax))
	})
}

func qwen3Experts() Family {
	return family("Qwen3-235B-A22B, SGLang, TP 8", func(prefill bool) Order {
		return order(join(gather, sReduce), 94, func(i int) string {
			return join(first(i, fNorm, fAddNorm), fAttention(prefill, "fused_qknorm_warp<128l,true,__nv_bfloat16>"),
				sReduce, fAddNorm, tile("64x8_64x16_1x8"),
				"topkGatingSoftmax<float,8,128,4,16>", "moe_align_block_size_kernel<int>",
				"count_and_sort_expert_tokens_kernel<int>",
				expert, fAct, expert, "moe_sum_reduce_warp_per_token_vec_kernel<8>", sReduce)
		}, head(fAddNorm))
	})
}

// latent is multi-head latent attention of SGLang with fp8 weights: norms of the compressed query and key are inside.
func latent(prefill bool) string {
	core := either(prefill, join("concat_mla_k_kernel", fa3),
		join("flash_fwd_splitkv_mla_kernel<Flash_fwd_kernel_traits_mla<576,64,64,8>>",
			"flash_fwd_splitkv_mla_combine_kernel<float,int,512>"))
	return join(sQuant, deepGemm, fNorm, fNorm, sQuant,
		"deep_gemm::sm90_fp8_gemm_1d2d_impl<1536u,3072u,1u,64u,128u,128u>", either(prefill, "", tile("64x8_64x16_bmm")),
		fRope, "set_mla_kv_buffer_kernel", core,
		either(prefill, "", tile("64x16_64x8_bmm")), sQuant,
		"deep_gemm::sm90_fp8_gemm_1d2d_impl<2048u,7168u,1u,64u,128u,128u>")
}

func fp8MLP() string {
	return join(sQuant, "deep_gemm::sm90_fp8_gemm_1d2d_impl<7168u,4608u,1u,64u,128u,128u>", fAct, sQuant,
		"deep_gemm::sm90_fp8_gemm_1d2d_impl<2304u,7168u,1u,64u,128u,128u>")
}

func fp8Experts() string {
	return join("router_gemm_kernel_float_output<__nv_bfloat16,128,8,16,256,7168>",
		"moe_fused_gate_kernel<float,8,32,256>", sQuant, "moe_align_block_size_kernel<int>",
		"count_and_sort_expert_tokens_kernel<int>",
		expert, fAct, sQuant, expert, "moe_sum_reduce_warp_per_token_vec_kernel<8>", sQuant,
		"deep_gemm::sm90_fp8_gemm_1d2d_impl<7168u,512u,1u,64u,128u,128u>", fAct, sQuant,
		"deep_gemm::sm90_fp8_gemm_1d2d_impl<256u,7168u,1u,64u,128u,128u>", addElem)
}

// leading is a stack of n layers with latent attention whose first k are dense.
func leading(name string, n, k int) Family {
	return family(name, func(prefill bool) Order {
		return order(join(gather, sReduce), n, func(i int) string {
			return join(first(i, fNorm, fAddNorm), latent(prefill), sReduce, fAddNorm,
				either(i < k, fp8MLP(), fp8Experts()), sReduce)
		}, head(fAddNorm))
	})
}

func deepSeekV3() Family     { return leading("DeepSeek-V3, SGLang, TP 8", 61, 3) }
func deepSeekV2Lite() Family { return leading("DeepSeek-V2-Lite, SGLang", 27, 1) }
func kimiK2() Family         { return leading("Kimi-K2, SGLang, TP 8", 61, 1) }

// TensorRT-LLM fuses the all-reduce with the norm after it, which begins the next layer; the shared expert runs
// before the routed ones.
func deepSeekTensorRT() Family {
	return family("DeepSeek-R1 FP4, TensorRT-LLM, TP 8", func(prefill bool) Order {
		fused := "tensorrt_llm::kernels::ar_fusion::allreduce_fusion_kernel_oneshot_lamport<(tensorrt_llm::kernels::ar_fusion::AllReduceFusionPattern)1,__nv_bfloat16,8,true>"
		gemm := func(s string) string { return "nvjet_ootst_" + s + "_v_bz_Avec16UE4M3_Bvec16UE4M3_TNT" }
		core := either(prefill, "fmhaSm100fKernel_QkvBfloat16OBfloat16H192HV128SeparateQkvCausalVarSeqQ128Kv128PersistentContext",
			join("fmhaSm100fKernel_QkvE4m3OBfloat16HQk576HV512HVPerCta256PagedKvDenseStaticTokenSparseP1MultiCtasKvVarSeqQ16Kv128StaticSwapsAbForGen", "tensorrt_llm::kernels::fmhaReductionKernel<512,true>"))
		return order(gather, 61, func(i int) string {
			l := join(first(i, fNorm, fused), gemm("64x8_64x16_4x1"), fNorm, fNorm, gemm("64x8_64x16_q"),
				"tensorrt_llm::kernels::mla::applyMLARopeAndAssignQKVKernelGeneration<__nv_bfloat16,256,576>",
				core, gemm("64x16_64x8_bmm"), "tensorrt_llm::kernels::quantize_with_block_size<(tensorrt_llm::BlockScaleQuantizationType)0,__nv_bfloat16,16,false>", gemm("64x8_64x16_2x1"), fused)
			if i < 3 {
				return join(l, gemm("128x8_64x12_4x1"), "triton_silu_mul", gemm("64x8_64x16_1x4"))
			}
			return join(l, "tensorrt_llm::kernels::dsv3MinLatencyKernels::router_gemm_kernel_float_output<__nv_bfloat16,128,8,4,256,7168>", gemm("64x8_shared1"), "triton_silu_mul", gemm("64x8_shared2"),
				"moe::dev::routing::routingDeepSeek::routingMainKernel<moe::dev::routing::routingDeepSeek::KernelParams<float,__nv_bfloat16,256>>", "moe::dev::routing::routingDeepSeek::routingIndicesClusterKernel<float>",
				"bmm_E2m1_E2m1E2m1_Fp32_t128x8x512u2_s6_et128x8_m128x8x64_cga1x1x1_16dp256b_rM_TN_transOut_schPd2x1x2x3_swiGlu_dynB_sm100f",
				"bmm_Bfloat16_E2m1E2m1_Fp32_t128x8x512u2_s6_et128x8_m128x8x64_cga1x1x1_16dp256b_rM_TN_transOut_dynB_sm100f",
				"moe::dev::finalize::finalizeKernel<moe::dev::finalize::KernelParams<__nv_bfloat16>>")
		}, join(fused, tile("256x8_64x8_4x1"), copyEl, argmax))
	})
}

func glm45() Family {
	return family("GLM-4.5-Air, vLLM, TP 4", func(prefill bool) Order {
		return order(join(gather, vReduce), 46, func(i int) string {
			ffn := join(tile("64x8_64x16_1x8"), "vllm::moe::grouped_topk_fused_small_expert_count_kernel<float,float,int>",
				vAlign, expert, vAct, expert, vMoESum, tile("64x8_shared1"), vAct, tile("64x8_shared2"), addElem)
			return join(first(i, vNorm, vAddNorm), vAttention(prefill), vReduce, vAddNorm, either(i < 1, vMLP(), ffn),
				vReduce)
		}, head(vAddNorm))
	})
}

// Sliding and full layers in turns; Triton kernels for routing and experts.
func gptOSS() Family {
	return family("gpt-oss-120b, vLLM", func(prefill bool) Order {
		return order(gather, 36, func(i int) string {
			core := either(i%2 == 0, "kernel_unified_attention_2d", "kernel_unified_attention_3d")
			return join(first(i, vNorm, vAddNorm), tile("64x8_64x16_4x1"), vRope, "reshape_and_cache_kernel_flash",
				core, either(i%2 == 0, "", "reduce_segments"), tile("64x8_64x16_2x1"),
				vAddNorm, tile("64x8_64x16_1x8"), "_topk_forward", "_bitmatrix_metadata_memset",
				"_combined_routing_compute", "_combined_routing_fused",
				"_matmul_ogs_NNT_bf16xbf16xmxfp4_16x256x128_swiglu",
				"_matmul_ogs_NNT_bf16xbf16xmxfp4_16x256x128", "_reduce_grouped")
		}, head(vAddNorm))
	})
}

// llama4 has experts in every step-th layer, and in one layer of four full attention without a rotary embedding,
// whose queries are scaled by their position.
func llama4(name string, step int) Family {
	return family(name, func(prefill bool) Order {
		return order(join(gather, vReduce), 48, func(i int) string {
			full := (i+1)%4 == 0
			query := either(full, join("triton_poi_fused_log_floor_mul_0", mulElem),
				join(vRope, "triton_per_fused_mean_mul_pow_rsqrt_1"))
			experts := join(tile("64x8_64x16_1x8"), vTopK,
				"at::native::vectorized_elementwise_kernel<4,at::native::sigmoid_kernel_cuda,std::array<char*,2ul>>",
				vAlign, expert, vAct, expert, vMoESum,
				tile("64x8_shared1"), vAct, tile("64x8_shared2"), addElem)
			return join(first(i, vNorm, vAddNorm), tile("64x8_64x16_4x1"), query, vCache, fa3,
				either(prefill, "", fa3Join), tile("64x8_64x16_2x1"), vReduce,
				vAddNorm, either(i%step == step-1, experts, vMLP()), vReduce)
		}, head(vAddNorm))
	})
}

func llama4Maverick() Family { return llama4("Llama-4-Maverick, vLLM, TP 8", 2) }
func llama4Scout() Family    { return llama4("Llama-4-Scout, vLLM, TP 8", 1) }

func miniMaxM2() Family {
	return family("MiniMax-M2, vLLM, TP 4", func(prefill bool) Order {
		return order(join(gather, vReduce), 62, func(i int) string {
			qk := join("triton_red_fused__to_copy_mean_pow_0", vReduce, "triton_poi_fused__to_copy_mul_rsqrt_1")
			return join(first(i, vNorm, vAddNorm), tile("64x8_64x16_4x1"), qk, vRope, vCache, fa3,
				either(prefill, "", fa3Join), tile("64x8_64x16_2x1"), vReduce, vAddNorm, vExperts(), vReduce)
		}, head(vAddNorm))
	})
}

func ernieAlternating() Family {
	return family("ERNIE-like: dense and expert layers in turns, vLLM", func(prefill bool) Order {
		return order(gather, 28, func(i int) string {
			return join(first(i, vNorm, vAddNorm), vAttention(prefill), vAddNorm, either(i%2 == 0, vMLP(), vExperts()))
		}, head(vAddNorm))
	})
}
