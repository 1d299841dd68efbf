package families

import "strings"

// Unseen returns the orders of kinds of models that no number of the segmentation was read from: nothing is fitted to
// them, they show what comes out of what nobody looked at. What is before the layers in a pass, a vision
// tower for instance, is its prologue.
func Unseen() []Family {
	return []Family{llamaCpp(), gpt2Eager(), rwkv7(), zamba2(), olmo2(), phiFlash(), qwenVision(), whisper(), eagle(),
		fluxLike(), moeEveryFourth(), tensorRTEngine(), turboMind(), crossLayer(), nextToken(), retNet()}
}

// llama.cpp: quantised products convert their input first, additions and multiplications are kernels of their own.
func llamaCpp() Family {
	return family("Llama-3.1-8B Q4, llama.cpp", func(prefill bool) Order {
		mul := either(prefill, "quantize_mmq_q8_1<(mmq_q8_1_ds_layout)0> mul_mat_q<(ggml_type)12,128,false>",
			"quantize_q8_1 mul_mat_vec_q<(ggml_type)12,1,false,false>")
		norm := "rms_norm_f32<1024,true,false>"
		rope := "rope_norm<true,false,float>"
		add := "k_bin_bcast<&(op_add),float,float,float>"
		return order("k_get_rows<32,4,&(dequantize_q4_0)>", 32, func(int) string {
			return join(norm, mul, rope, mul, rope, mul, "k_set_rows<float,__half>", "k_set_rows<float,__half>",
				either(prefill, "flash_attn_ext_f16<128,128,32,1,false>",
					"flash_attn_ext_vec<128,1,(ggml_type)1,(ggml_type)1,false>"),
				either(prefill, "", "flash_attn_combine_results<128>"), mul, add, norm, mul, mul,
				"unary_gated_op_kernel<&(op_silu),float>", mul, add)
		}, join(norm, mul))
	})
}

// GPT-2 of transformers, eager: attention is written out.
func gpt2Eager() Family {
	return family("GPT-2, transformers, eager attention", func(bool) Order {
		f := func(op string) string {
			return "at::native::vectorized_elementwise_kernel<4,at::native::" + op + ",std::array<char*,2ul>>"
		}
		norm, gemm := "at::native::vectorized_layer_norm_kernel<float,float>", "ampere_sgemm_128x64_nn"
		return order(join(gather, gather, addElem), 24, func(int) string {
			return join(norm, gemm, "at::native::CatArrayBatchedCopy<at::native::OpaqueType<4u>,unsigned,4,64,64>",
				"at::native::CatArrayBatchedCopy<at::native::OpaqueType<4u>,unsigned,4,64,64>",
				"cublasLt::gemv_bmm_qk", f("div_true_kernel_cuda"), f("where_kernel_impl"),
				"softmax_warp_forward<float,float,float,9,false,false>", "cublasLt::gemv_bmm_pv", copyEl, gemm, addElem,
				norm, gemm, f("pow_tensor_scalar_kernel_impl"), mulElem, addElem, f("tanh_kernel_cuda"), addElem,
				mulElem, gemm, addElem)
		}, join(norm, "ampere_sgemm_32x32_tn", argmax))
	})
}

// Time mixing and channel mixing, by names that say nothing.
func rwkv7() Family {
	return family("RWKV-7, fla", func(prefill bool) Order {
		norm := "at::native::vectorized_layer_norm_kernel<c10::BFloat16,float>"
		core := either(prefill, "chunk_rwkv7_fwd_kernel_A chunk_rwkv7_fwd_kernel_h chunk_rwkv7_fwd_kernel_o",
			"fused_recurrent_rwkv7_fwd_kernel")
		g := tile("64x8_64x16_4x1")
		return order(join(gather, norm), 32, func(int) string {
			return join(norm, "fused_addcmul_fwd_kernel", g, g, g, tile("64x8_lora1"),
				"at::native::vectorized_elementwise_kernel<4,at::native::tanh_kernel_cuda,std::array<char*,2ul>>",
				tile("64x8_lora2"), "l2norm_fwd_kernel", core,
				"group_norm_fwd_kernel", "gate_output_correction_fwd_kernel", tile("64x8_64x16_2x1"), addElem, norm,
				"token_shift_fwd_kernel", tile("128x8_64x12_4x1"), "sqrelu_fwd_kernel", tile("64x8_64x16_1x4"), addElem)
		}, join(norm, tile("256x8_64x8_4x1"), argmax))
	})
}

// State space alone, with one attention block before every sixth.
func zamba2() Family {
	return family("Zamba2-7B, vLLM", func(prefill bool) Order {
		return order(gather, 81, func(i int) string {
			shared := ""
			if i%6 == 5 {
				shared = join("at::native::CatArrayBatchedCopy<at::native::OpaqueType<2u>,unsigned,2,64,64>", vNorm,
					vAttention(prefill), vNorm, tile("128x8_64x12_4x1"),
					"vllm::act_and_mul_kernel<c10::BFloat16,&(vllm::gelu_kernel),true>", tile("64x8_64x16_1x4"),
					tile("64x8_shared"), addElem)
			}
			return join(shared, vNorm, mamba2(prefill), addElem)
		}, head(vNorm))
	})
}

// Norms are after both halves only.
func olmo2() Family {
	return family("OLMo-2-13B, vLLM", func(prefill bool) Order {
		return order(gather, 40, func(int) string {
			return join(tile("64x8_64x16_4x1"), vNorm, vNorm, vRope, vCache, fa3, either(prefill, "", fa3Join),
				tile("64x8_64x16_2x1"), vNorm, addElem, vMLP(), vNorm, addElem)
		}, head(vNorm))
	})
}

// State space, sliding attention and shared caches in turns.
func phiFlash() Family {
	return family("Phi-4-mini-flash, vLLM", func(prefill bool) Order {
		norm := "at::native::vectorized_layer_norm_kernel<c10::BFloat16,float>"
		return order(gather, 32, func(i int) string {
			mix := mamba2(prefill)
			switch {
			case i%2 == 1 && i < 18:
				mix = vAttention(prefill)
			case i%2 == 1:
				mix = join(tile("64x8_q"), fa3, tile("64x8_64x16_2x1"))
			case i >= 18:
				mix = join(tile("64x8_gmu"), "triton_poi_fused_mul_silu_0", tile("64x8_64x16_2x1_out"))
			}
			return join(norm, mix, addElem, norm, vMLP(), addElem)
		}, head(norm))
	})
}

// A vision tower of 32 blocks before the language model.
func qwenVision() Family {
	return family("Qwen2.5-VL-7B, SGLang", func(prefill bool) Order {
		tower := ""
		if prefill {
			block := join(fNorm, tile("64x8_vqkv"), fRope, fa3, tile("64x8_vproj"), addElem, fNorm, tile("128x8_vup"),
				"at::native::vectorized_elementwise_kernel<4,at::native::silu_kernel,std::array<char*,2ul>>", mulElem,
				tile("64x8_vdown"), addElem)
			tower = join("implicit_convolve_sgemm<float,float,1024,5,5,3,3,3,1,false,false,true>",
				strings.Repeat(block+" ", 32), fNorm, tile("64x8_m1"),
				"at::native::vectorized_elementwise_kernel<4,at::native::GeluCUDAKernelImpl,std::array<char*,2ul>>",
				tile("64x8_m2"))
		}
		return order(join(tower, gather), 28, func(i int) string {
			return join(first(i, fNorm, fAddNorm), fAttention(prefill), fAddNorm, fMLP())
		}, head(fAddNorm))
	})
}

// A decoder with attention to itself and to the encoder, whose blocks are before it in a prefill.
func whisper() Family {
	return family("Whisper-large, vLLM", func(prefill bool) Order {
		norm := "at::native::vectorized_layer_norm_kernel<c10::BFloat16,float>"
		mlp := join(tile("128x8_64x12_4x1"), "at::native::vectorized_elementwise_kernel<4,at::native::GeluCUDAKernelImpl,std::array<char*,2ul>>", tile("64x8_64x16_1x4"))
		encoder := ""
		if prefill {
			encoder = join("implicit_convolve_sgemm<float,float,1024,5,5,3,3,3,1,false,false,true>",
				strings.Repeat(join(norm, tile("64x8_64x16_4x1"), fa3, tile("64x8_64x16_2x1"), addElem, norm, mlp,
					addElem)+" ", 32), norm)
		}
		return order(join(encoder, gather, gather, addElem), 32, func(int) string {
			return join(norm, tile("64x8_64x16_4x1"), vCache, fa3, tile("64x8_64x16_2x1"), addElem, norm,
				tile("64x8_q"), either(prefill, join(tile("64x8_kv"), vCache), ""), fa3, tile("64x8_64x16_2x1"),
				addElem, norm, mlp, addElem)
		}, head(norm))
	})
}

// Three runs of a draft layer after each pass of the target.
func eagle() Family {
	return family("Llama-3.1-8B with EAGLE, SGLang", func(prefill bool) Order {
		layerOf := func(i int) string {
			return join(first(i, fNorm, fAddNorm), fAttention(prefill), fAddNorm, fMLP())
		}
		draft := join(tile("64x8_fc"), layerOf(1), fAddNorm, tile("256x8_64x8_4x1"),
			"at::native::sbtopk::gatherTopK<float,unsigned,2,false>")
		return order(gather, 32, layerOf, join(head(fAddNorm), "verify_tree_greedy", draft, draft, draft))
	})
}

// A denoiser of two kinds of blocks, one after the other.
func fluxLike() Family {
	return family("Flux-like denoiser, diffusers", func(bool) Order {
		norm := "at::native::vectorized_layer_norm_kernel<c10::BFloat16,float>"
		mod := join(norm, mulElem, addElem)
		gelu := "at::native::vectorized_elementwise_kernel<4,at::native::GeluCUDAKernelImpl,std::array<char*,2ul>>"
		cat := "at::native::CatArrayBatchedCopy<at::native::OpaqueType<2u>,unsigned,4,64,64>"
		g := tile("64x8_64x16_4x1")
		return order(join(g, tile("64x8_in"), tile("64x8_t")), 57, func(i int) string {
			if i < 19 {
				return join(tile("64x8_mod"), mod, tile("64x8_mod"), mod, g, g, g, vNorm, vNorm, g, g, g, vNorm, vNorm,
					cat, cat, cat, mulElem, mulElem, fa3, tile("64x8_64x16_2x1"), mulElem, addElem, mod,
					tile("128x8_up"), gelu, tile("64x8_down"), mulElem, addElem,
					tile("64x8_64x16_2x1"), mulElem, addElem, mod, tile("128x8_up"), gelu, tile("64x8_down"), mulElem,
					addElem)
			}
			return join(tile("64x8_mod"), mod, tile("128x8_up"), gelu, g, g, g, vNorm, vNorm, mulElem, mulElem, fa3,
				cat, tile("64x8_down"), mulElem, addElem)
		}, join(mod, tile("64x8_out"), copyEl, copyEl))
	})
}

// Experts in one layer of four.
func moeEveryFourth() Family {
	return family("experts in every fourth layer, vLLM", func(prefill bool) Order {
		return order(gather, 36, func(i int) string {
			return join(first(i, vNorm, vAddNorm), vAttention(prefill), vAddNorm, either(i%4 == 3, vExperts(), vMLP()))
		}, head(vAddNorm))
	})
}

// An engine of TensorRT: names say what was fused.
func tensorRTEngine() Family {
	return family("Qwen2-7B, TensorRT engine", func(prefill bool) Order {
		return order("__myl_Gath_0x1", 28, func(int) string {
			return join("__myl_CastMulMeanAddSqrtDivMulCastMul_0x2",
				"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas", "__myl_ResTraMulAddCat_0x3",
				either(prefill, "_gemm_mha_v2_0x4", "kernel_mha"),
				"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x128x64_cublas",
				"__myl_AddCastMulMeanAddSqrtDivMulCastMul_0x5",
				"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas", "__myl_SiluMul_0x6",
				"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x256x64_cublas", "__myl_Add_0x7")
		}, join("__myl_CastMulMeanAddSqrtDivMulCastMul_0x2",
			"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize256x128x64_cublas", "__myl_Cast_0x8"))
	})
}

func turboMind() Family {
	return family("InternLM2-7B, LMDeploy", func(prefill bool) Order {
		gemm := "turbomind::gemm::gemm_kernel<turbomind::gemm::GemmUniversal<__nv_bfloat16>>"
		norm := "turbomind::BiasResidualRMSNormKernel<__nv_bfloat16,float,8,512>"
		return order("turbomind::embeddingLookupPosEncoding<__nv_bfloat16>", 32, func(i int) string {
			return join(first(i, "turbomind::RMSNormKernel<__nv_bfloat16,float,8,512>", norm), gemm,
				"turbomind::ProcessKV_v2<8,8,__nv_bfloat16>",
				either(prefill, "turbomind::attention_kernel<turbomind::AttentionUniversal<Sm80,128>>",
					"turbomind::decoding_kernel<turbomind::AttentionUniversal<Sm80,1>> turbomind::attention::reduce<128,8>"), gemm, norm, gemm, "turbomind::activation_kernel<turbomind::Silu>", gemm)
		}, join(norm, gemm, "turbomind::topk_sampling<float>"))
	})
}

// Every second layer attends to the keys and values of the one before it.
func crossLayer() Family {
	return family("keys shared by pairs of layers, SGLang", func(prefill bool) Order {
		return order(join(gather, sReduce), 64, func(i int) string {
			own := join(tile("64x8_64x16_4x1"), fRope, sStore)
			if i%2 == 1 {
				own = join(tile("64x8_q"), fRope)
			}
			return join(first(i, fNorm, fAddNorm), own, either(prefill, fPrefill, join(fDecode, fMerge)),
				tile("64x8_64x16_2x1"), sReduce, fAddNorm, tile("64x8_64x16_1x8"), "topkGatingSoftmax<float,8,16,4,16>",
				"moe_align_block_size_kernel<int>", expert, fAct, expert,
				"moe_sum_reduce_warp_per_token_vec_kernel<8>", tile("64x8_shared1"), fAct, tile("64x8_shared2"),
				addElem, sReduce)
		}, head(fAddNorm))
	})
}

// One layer that guesses the next token is after the head of the model.
func nextToken() Family {
	return family("latent attention with a next-token layer, vLLM", func(prefill bool) Order {
		layerOf := func(i int) string {
			return join(first(i, vNorm, vAddNorm), tile("64x8_qa"), tile("64x8_kva"), vNorm, vNorm, tile("64x8_qb"),
				vRope, "vllm::concat_and_cache_mla_kernel<__nv_bfloat16,__nv_bfloat16>",
				either(prefill, fa3, "flash_fwd_splitkv_mla_kernel flash_fwd_splitkv_mla_combine_kernel"),
				tile("64x8_64x16_2x1"), vReduce, vAddNorm,
				either(i < 1, vMLP(), join(vExperts(), tile("64x8_shared1"), vAct, tile("64x8_shared2"), addElem)),
				vReduce)
		}
		next := join(gather, vNorm, vNorm, "at::native::CatArrayBatchedCopy<at::native::OpaqueType<2u>,unsigned,2,64,64>",
			tile("64x8_eh"), layerOf(5), vAddNorm, tile("256x8_64x8_4x1"), argmax)
		return order(join(gather, vReduce), 47, layerOf, join(head(vAddNorm), next))
	})
}

// Retention in place of attention, with a gate and a norm of groups.
func retNet() Family {
	return family("RetNet, fla", func(prefill bool) Order {
		core := either(prefill, "chunk_fwd_kernel_h chunk_simple_gla_fwd_kernel_o",
			"fused_recurrent_retention_fwd_kernel")
		g := tile("64x8_64x16_4x1")
		return order(gather, 24, func(int) string {
			return join("layer_norm_fwd_kernel", g, g, g, g, "rotary_embedding_kernel", core,
				"layer_norm_swish_gate_fwd_kernel", tile("64x8_64x16_2x1"), addElem, "layer_norm_fwd_kernel",
				tile("128x8_64x12_4x1"), "swiglu_fwd_kernel", tile("64x8_64x16_1x4"), addElem)
		}, head("layer_norm_fwd_kernel"))
	})
}
