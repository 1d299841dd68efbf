package families

import "strings"

// denseFamilies are models without experts.
var denseFamilies = []func() Family{llamaVLLM, llamaInductor, llamaFusedReduce, qwen3Dense, gemma3, commandR,
	phiMoEFree, llamaTensorRT, llamaQuantised, falconParallel, bertEncoder, llamaEager}

// vAttention is attention of vLLM with FlashAttention 3 between the projections.
func vAttention(prefill bool) string {
	return join(tile("64x8_64x16_4x1"), vRope, vCache, fa3, either(prefill, "", fa3Join), tile("64x8_64x16_2x1"))
}

func vMLP() string { return join(tile("128x8_64x12_4x1"), vAct, tile("64x8_64x16_1x4")) }

// fAttention is attention of SGLang with FlashInfer; norms of queries and keys are what follows their projection.
func fAttention(prefill bool, norms ...string) string {
	return join(tile("64x8_64x16_4x1"), join(norms...), fRope, sStore,
		either(prefill, fPrefill, join(fDecode, fMerge)), tile("64x8_64x16_2x1"))
}

func fMLP() string { return join(tile("128x8_64x12_4x1"), fAct, tile("64x8_64x16_1x4")) }

// first is a where i is 0, else b: the first norm adds no residual.
func first(i int, a, b string) string { return either(i == 0, a, b) }

func llamaVLLM() Family {
	return family("Llama-3.1-70B, vLLM, TP 8, eager", func(prefill bool) Order {
		reduce := either(prefill, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", vReduce)
		return order(join(gather, reduce), 80, func(i int) string {
			return join(first(i, vNorm, vAddNorm), vAttention(prefill), reduce, vAddNorm, vMLP(), reduce)
		}, head(vAddNorm))
	})
}

// Inductor fuses the residual addition, the norm and casts into one reduction, named after its operations; the first
// layer's has an embedding lookup in it.
func llamaInductor() Family {
	return family("Llama-3.1-70B, vLLM, TP 4, compiled", func(prefill bool) Order {
		reduce := either(prefill, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", vReduce)
		return order(join("triton_poi_fused_embedding_0", reduce), 80, func(i int) string {
			return join(first(i, "triton_red_fused__to_copy_mean_mul_pow_rsqrt_1",
				"triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_3"),
				tile("64x8_64x16_4x1"), "triton_poi_fused_cat_index_select_mul_sub_2", vCache, fa3,
				either(prefill, "", fa3Join), tile("64x8_64x16_2x1"), reduce,
				"triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_3", tile("128x8_64x12_4x1"),
				"triton_poi_fused_mul_silu_slice_4", tile("64x8_64x16_1x4"), reduce)
		}, head("triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_3"))
	})
}

// FlashInfer's all-reduce holds the residual addition and the norm after it.
func llamaFusedReduce() Family {
	return family("Llama-3.3-70B, SGLang, TP 8, all-reduce fused with norms", func(prefill bool) Order {
		return order(join(gather, sReduce), 80, func(i int) string {
			return join(first(i, fNorm, fFused), fAttention(prefill), fFused, fMLP())
		}, join(fFused, tile("256x8_64x8_4x1"), copyEl, argmax))
	})
}

func qwen3Dense() Family {
	return family("Qwen3-32B, SGLang", func(prefill bool) Order {
		return order(gather, 64, func(i int) string {
			return join(first(i, fNorm, fAddNorm), fAttention(prefill, fNorm, fNorm), fAddNorm, fMLP())
		}, head(fAddNorm))
	})
}

// Gemma has norms before and after both halves, and five sliding layers for one full one.
func gemma3() Family {
	return family("Gemma-3-27B, vLLM", func(prefill bool) Order {
		return order(join(gather, mulElem), 62, func(i int) string {
			window := either(i%6 == 5, fa3, "cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2,Local>>>>")
			return join(first(i, vNorm, vAddNorm), tile("64x8_64x16_4x1"), vNorm, vNorm, vRope, vCache, window,
				either(prefill, "", fa3Join), tile("64x8_64x16_2x1"), vNorm,
				vAddNorm, tile("128x8_64x12_4x1"), "vllm::act_and_mul_kernel<c10::BFloat16,&(vllm::gelu_tanh_kernel),true>",
				tile("64x8_64x16_1x4"), vNorm)
		}, head(vAddNorm))
	})
}

// Attention and feed-forward part are beside each other after one norm.
func commandR() Family {
	return family("Command R, vLLM", func(prefill bool) Order {
		return order(gather, 40, func(int) string {
			return join("at::native::vectorized_layer_norm_kernel<c10::BFloat16,float>", vAttention(prefill), vMLP(),
				addElem, addElem)
		}, head("at::native::vectorized_layer_norm_kernel<c10::BFloat16,float>"))
	})
}

func phiMoEFree() Family {
	return family("Phi-4, SGLang, MI300X", func(prefill bool) Order {
		norm := func(add bool) string {
			return "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi8ELb" + either(add, "1", "0") +
				"ELb0ELb1ELi1EEEvPT0_"
		}
		gemm := func(mt string) string {
			return "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_" + mt + "_MI16x16x1_SN_LDSB0"
		}
		attention := either(prefill, "_ZN7ck_tile6kentryILi2ENS_38FmhaBatchPrefillWithPagedKVCacheKernelEEvDpT0_",
			join("paged_attention_ll4mi_QKV_mfma16_kernel<__hip_bfloat16,16,128,256>",
				"paged_attention_ll4mi_reduce_kernel<__hip_bfloat16,128>"))
		return order(gather, 40, func(i int) string {
			return join(norm(i > 0), gemm("MT64x16x256"), "rotary_embedding_kernel<c10::BFloat16,true>", sStore,
				attention, gemm("MT32x16x512"),
				norm(true), gemm("MT128x16x256"), "_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16EEvPS3_",
				gemm("MT64x16x512"))
		}, join(norm(true), gemm("MT256x16x128"), copyEl, argmax))
	})
}

// TensorRT-LLM: fused multi-head attention with the rotary embedding inside.
func llamaTensorRT() Family {
	return family("Llama-3.1-8B, TensorRT-LLM", func(prefill bool) Order {
		attention := either(prefill, join("tensorrt_llm::kernels::applyBiasRopeUpdateKVCacheV2<__nv_bfloat16,128>",
			"fmha_v2_flash_attention_bf16_64_128_S_qkv_128_causal_sm90_kernel"),
			"kernel_mha")
		return order("tensorrt_llm::kernels::lookup_kernel<__nv_bfloat16,int>", 32, func(i int) string {
			return join(first(i, fNorm, fAddNorm), tile("64x8_64x16_4x1"), attention, tile("64x8_64x16_2x1"), fAddNorm,
				tile("128x8_64x12_4x1"), fAct, tile("64x8_64x16_1x4"))
		}, join(fAddNorm, tile("256x8_64x8_4x1"), "tensorrt_llm::kernels::topKStage1<float,256>",
			"tensorrt_llm::kernels::topKStage2Sampling<float,256>"))
	})
}

// A conversion to fp8 is before every product.
func llamaQuantised() Family {
	return family("Llama-3.1-8B FP8, vLLM", func(prefill bool) Order {
		gemm := "cutlass::device_kernel<vllm::cutlass_3x_gemm_fp8_sm90<cutlass::float_e4m3_t,cutlass::bfloat16_t>>"
		return order(gather, 32, func(i int) string {
			return join(first(i, vNorm, vAddNorm), vQuant, gemm, vRope, vCache, fa3, either(prefill, "", fa3Join),
				vQuant, gemm, vAddNorm, vQuant, gemm, vAct, vQuant, gemm)
		}, head(vAddNorm))
	})
}

func falconParallel() Family {
	return family("Falcon-H1, vLLM: attention and state space beside each other", func(prefill bool) Order {
		return order(join(gather, mulElem), 44, func(i int) string {
			return join(first(i, vNorm, vAddNorm), mamba2(prefill), mulElem, vAttention(prefill), mulElem, addElem,
				vAddNorm, vMLP(), mulElem)
		}, head(vAddNorm))
	})
}

// An encoder of transformers, all eager.
func bertEncoder() Family {
	return family("BERT-base, transformers", func(bool) Order {
		gemm := func(s string) string { return "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize" + s + "_cublas" }
		norm := "at::native::vectorized_layer_norm_kernel<float,float>"
		return order(join(gather, gather, addElem, gather, addElem, norm), 12, func(int) string {
			return join(gemm("64x64x64"), gemm("64x64x64"), gemm("64x64x64"), "fmha_cutlassF_f32_aligned_64x64_rf_sm80",
				gemm("64x64x64"), addElem, norm,
				gemm("128x128x32"), "at::native::vectorized_elementwise_kernel<4,at::native::GeluCUDAKernelImpl,std::array<char*,2ul>>", gemm("128x64x32"), addElem, norm)
		}, join(gemm("32x32x32"), "at::native::vectorized_elementwise_kernel<4,at::native::tanh_kernel_cuda,std::array<char*,2ul>>"))
	})
}

// transformers without any fusion: norms of single operations, and a cat for the cache.
func llamaEager() Family {
	return family("Llama-3.2-1B, transformers, eager", func(bool) Order {
		return order(gather, 16, func(int) string {
			return join(hfNorm(), hfAttention(), addElem, hfNorm(), hfMLP(),
				addElem)
		}, join(hfNorm(), tile("256x8_64x8_4x1"), argmax))
	})
}

// hfNorm is LlamaRMSNorm: to float, square, mean, add epsilon, rsqrt, multiply, back, multiply.
func hfNorm() string {
	f := func(op string) string {
		return "at::native::vectorized_elementwise_kernel<4,at::native::" + op + ",std::array<char*,2ul>>"
	}
	return join(copyEl, f("pow_tensor_scalar_kernel_impl"),
		"at::native::reduce_kernel<512,1,at::native::ReduceOp<float,at::native::MeanOps<float,float,float,float>,unsigned,float,4,4>>",
		f("CUDAFunctorOnSelf_add<float>"), f("rsqrt_kernel_cuda"), mulElem, copyEl, mulElem)
}

func hfAttention() string {
	neg := "at::native::vectorized_elementwise_kernel<4,at::native::neg_kernel_cuda,std::array<char*,2ul>>"
	cat := "at::native::CatArrayBatchedCopy<at::native::OpaqueType<2u>,unsigned,4,64,64>"
	rope := strings.Join([]string{mulElem, neg, cat, mulElem, addElem}, " ")
	return join(tile("64x8_64x16_4x1"), tile("64x8_64x16_1x2"), tile("64x8_64x16_1x2"), rope, rope, cat, cat,
		"pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128,128,32,4,false,false,cutlass::bfloat16_t>>",
		tile("64x8_64x16_2x1"))
}

func hfMLP() string {
	return join(tile("128x8_64x12_4x1"), "at::native::vectorized_elementwise_kernel<4,at::native::silu_kernel,std::array<char*,2ul>>", tile("128x8_64x12_4x1"), mulElem, tile("64x8_64x16_1x4"))
}
