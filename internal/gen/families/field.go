package families

import (
	"fmt"
	"strings"
)

// Beside marks a kernel that a server runs on a second stream, beside the kernel before it: a prefix of its name.
const Beside = "beside:"

// Field returns what engineers run that the other lists lack: parts of a model on one of several GPUs in a row,
// adapters in some layers, context chunks beside generation, shared experts on a stream of their own, weights that
// are fetched layer by layer, drafts between the passes. Nothing is fitted to them.
func Field() []Family {
	return []Family{pipelineMiddle(), pipelineLast(), adaptersInSome(), chunkedPrefill(), sharedBeside(),
		fetchedWeights(), draftBetween(), qwen3Eager(), timeSeries(), t5Eager(), albert(), mambaOnly(), whisperEager(),
		draftBehind(), towerInFront()}
}

// stageLayer is a layer of a dense model with its residual stream handed from GPU to GPU.
func stageLayer(prefill bool) string {
	return join(vAddNorm, vAttention(prefill), vReduce, vAddNorm, vMLP(), vReduce)
}

// A middle rank of a pipeline gets hidden states and residual, and hands both on.
func pipelineMiddle() Family {
	const transfer = "ncclDevKernel_SendRecv"
	return family("Llama-3.1-405B, vLLM, TP 8, second of four pipeline ranks", func(prefill bool) Order {
		return order(join(transfer, transfer), 32, func(int) string { return stageLayer(prefill) },
			join(transfer, transfer))
	})
}

// The last rank has the head and no embedding; its number of layers is odd.
func pipelineLast() Family {
	return family("DeepSeek-V3, vLLM, last of eight pipeline ranks", func(prefill bool) Order {
		return order(join("ncclDevKernel_SendRecv", "ncclDevKernel_SendRecv"), 5, func(int) string {
			return join(vAddNorm, tile("64x8_qa"), vNorm, vNorm, tile("64x8_qb"), vRope,
				"vllm::concat_and_cache_mla_kernel<__nv_bfloat16,__nv_bfloat16>",
				either(prefill, fa3, "flash_fwd_splitkv_mla_kernel flash_fwd_splitkv_mla_combine_kernel"),
				tile("64x8_64x16_2x1"), vReduce, vAddNorm, vExperts(), tile("64x8_shared1"), vAct, tile("64x8_shared2"),
				addElem, vReduce)
		}, head(vAddNorm))
	})
}

// Adapters after the projections of every second layer of the upper half.
func adaptersInSome() Family {
	return family("Llama-3.1-8B, vLLM, adapters in some layers", func(prefill bool) Order {
		return order(gather, 32, func(i int) string {
			lora := ""
			if i >= 16 && i%2 == 0 {
				lora = "_lora_shrink_kernel _lora_expand_kernel"
			}
			return join(first(i, vNorm, vAddNorm), tile("64x8_64x16_4x1"), lora, vRope, vCache, fa3,
				either(prefill, "", fa3Join), tile("64x8_64x16_2x1"), lora,
				vAddNorm, tile("128x8_64x12_4x1"), lora, vAct, tile("64x8_64x16_1x4"), lora)
		}, head(vAddNorm))
	})
}

// FlashInfer runs chunks of context and the generation of other requests one after the other in each layer of a
// mixed pass.
func chunkedPrefill() Family {
	return family("Qwen2.5-72B, SGLang, TP 4, chunks beside generation", func(prefill bool) Order {
		core := join(fDecode, fMerge)
		if prefill {
			core = join(fPrefill, fPrefill, fMerge, core)
		}
		return order(join(gather, sReduce), 80, func(i int) string {
			return join(first(i, fNorm, fAddNorm), tile("64x8_64x16_4x1"), fRope, sStore, core, tile("64x8_64x16_2x1"),
				sReduce, fAddNorm, fMLP(), sReduce)
		}, head(fAddNorm))
	})
}

// The shared expert runs on a second stream beside the routed ones; weights are 4 bits wide.
func sharedBeside() Family {
	return family("DeepSeek-R1 FP4, SGLang, TP 8, shared expert on a second stream", func(prefill bool) Order {
		quant := "flashinfer::nvfp4_quantize_kernel<__nv_bfloat16>"
		gemm := func(s string) string { return "nvjet_ootst_" + s + "_v_bz_Avec16UE4M3_Bvec16UE4M3_TNT" }
		return order(join(gather, sReduce), 61, func(i int) string {
			mlp := join(quant, gemm("128x8_64x12_4x1"), fAct, quant, gemm("64x8_64x16_1x4"))
			if i >= 3 {
				mlp = join("router_gemm_kernel_float_output<__nv_bfloat16,128,8,16,256,7168>", Beside+quant,
					"moe_fused_gate_kernel<float,8,32,256>", Beside+gemm("64x8_shared1"), quant, Beside+fAct,
					"bmm_E2m1_E2m1E2m1_Fp32_t128x8x512u2_s6_swiGlu_dynB_sm100f", Beside+quant,
					"bmm_Bfloat16_E2m1E2m1_Fp32_t128x8x512u2_s6_dynB_sm100f", Beside+gemm("64x8_shared2"),
					"moe::dev::finalize::finalizeKernel<moe::dev::finalize::KernelParams<__nv_bfloat16>>", addElem)
			}
			return join(first(i, fNorm, fAddNorm), quant, gemm("64x8_qkva"), fNorm, fNorm, gemm("64x8_qb"), fRope,
				"set_mla_kv_buffer_kernel", "fmhaSm100fKernel_QkvE4m3OBfloat16",
				either(prefill, "", "fmhaReductionKernel"), gemm("64x8_o"), sReduce, fAddNorm, mlp, sReduce)
		}, head(fAddNorm))
	})
}

// Weights are fetched from the host for each layer, on a stream of their own, while the layer before it runs.
func fetchedWeights() Family {
	return family("Llama-3.1-70B, weights fetched layer by layer", func(prefill bool) Order {
		const fetch = Beside + "Memcpy_HtoD_(Pinned_->_Device)"
		return order(gather, 80, func(int) string {
			return join(vNorm, fetch, fetch, vAttention(prefill), fetch, addElem, vNorm, fetch, fetch, vMLP(), fetch,
				addElem)
		}, head(vNorm))
	})
}

// A draft of one layer runs four times before each verifying pass.
func draftBetween() Family {
	return family("Llama-3.3-70B with EAGLE-3 in front of each pass, vLLM, TP 4", func(prefill bool) Order {
		draft := ""
		for k := range 4 {
			draft = join(draft, gather, vNorm, vNorm,
				"at::native::CatArrayBatchedCopy<at::native::OpaqueType<2u>,unsigned,2,64,64>", tile("64x8_dqkv"), vRope,
				vCache, fa3, tile("64x8_do"), vAddNorm, tile("128x8_dup"), vAct, tile("64x8_ddown"),
				fmt.Sprintf("nvjet_tst_256x8_64x8_%dx1_v_bz_draft", 1+k%2), argmax)
		}
		return order(join(draft, gather, vReduce), 80, func(i int) string {
			return join(first(i, vNorm, vAddNorm), vAttention(prefill), vReduce, vAddNorm, vMLP(), vReduce)
		}, join(vAddNorm, tile("256x8_64x8_4x1"), "rejection_greedy_sample_kernel"))
	})
}

// An encoder and a decoder of transformers, norms and attention written out; the encoder runs in a prefill only.
func t5Eager() Family {
	return family("T5-large, transformers, eager", func(prefill bool) Order {
		f := func(op string) string {
			return "at::native::vectorized_elementwise_kernel<4,at::native::" + op + ",std::array<char*,2ul>>"
		}
		g := tile("64x8_64x16_4x1")
		norm := hfNorm()
		attend := func(kv string) string {
			return join(norm, g, kv, tile("64x8_qk"), addElem, "softmax_warp_forward<float,float,float,9,false,false>",
				tile("64x8_pv"), copyEl, tile("64x8_o"), addElem)
		}
		mlp := join(norm, tile("128x8_up"), f("GeluCUDAKernelImpl"), tile("128x8_up"), mulElem, tile("64x8_down"),
			addElem)
		encoder := ""
		if prefill {
			encoder = join(gather, strings.Repeat(join(attend(join(g, g)), mlp)+" ", 24), norm)
		}
		return order(join(encoder, gather), 24, func(int) string {
			return join(attend(join(g, g)),
				attend(either(prefill, join(g, g), "")), mlp)
		}, join(norm, tile("256x8_64x8_4x1"), argmax))
	})
}

// Norms of queries and keys are written out, too.
func qwen3Eager() Family {
	return family("Qwen3-4B, transformers, eager", func(bool) Order {
		neg := "at::native::vectorized_elementwise_kernel<4,at::native::neg_kernel_cuda,std::array<char*,2ul>>"
		cat := "at::native::CatArrayBatchedCopy<at::native::OpaqueType<2u>,unsigned,4,64,64>"
		rope := join(mulElem, neg, cat, mulElem, addElem)
		return order(gather, 36, func(int) string {
			return join(hfNorm(), tile("64x8_64x16_4x1"), hfNorm(), tile("64x8_64x16_1x2"), hfNorm(),
				tile("64x8_64x16_1x2"), rope, rope, cat, cat,
				"pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128,128,32,4,false,false,cutlass::bfloat16_t>>",
				tile("64x8_64x16_2x1"), addElem, hfNorm(), hfMLP(), addElem)
		}, join(hfNorm(), tile("256x8_64x8_4x1"), argmax))
	})
}

// A small model with few layers and no embedding: patches of numbers are projected.
func timeSeries() Family {
	return family("a forecaster of patches, 6 layers, eager", func(bool) Order {
		norm := "at::native::vectorized_layer_norm_kernel<float,float>"
		g := "ampere_sgemm_64x64_tn"
		return order(join(copyEl, g, addElem), 6, func(int) string {
			return join(norm, g, g, g, "fmha_cutlassF_f32_aligned_64x64_rf_sm80", g, addElem, norm,
				"ampere_sgemm_128x64_tn", "at::native::vectorized_elementwise_kernel<4,at::native::GeluCUDAKernelImpl,std::array<char*,2ul>>", "ampere_sgemm_128x64_tn", addElem)
		}, join(norm, g, copyEl))
	})
}

// ALBERT runs the weights of one layer twelve times: the kernels of a BERT after a product that widens the embedding.
func albert() Family {
	return family("ALBERT-base, transformers", func(bool) Order {
		g := func(s string) string { return "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize" + s + "_cublas" }
		norm, gelu := "at::native::vectorized_layer_norm_kernel<float,float>",
			"at::native::vectorized_elementwise_kernel<4,at::native::GeluCUDAKernelImpl,std::array<char*,2ul>>"
		return order(join(gather, gather, addElem, gather, addElem, norm, g("32x32x64")), 12, func(int) string {
			return join(g("64x64x64"), g("64x64x64"), g("64x64x64"), "fmha_cutlassF_f32_aligned_64x64_rf_sm80",
				g("64x64x64"), addElem, norm, g("128x128x32"), gelu, g("128x64x32"), addElem, norm)
		}, join(g("32x32x32"), "at::native::vectorized_elementwise_kernel<4,at::native::tanh_kernel_cuda,std::array<char*,2ul>>"))
	})
}

// Layers of a scan alone, without a feed-forward part.
func mambaOnly() Family {
	return family("Falcon-Mamba-7B, vLLM", func(prefill bool) Order {
		scan := either(prefill, "causal_conv1d_fwd_kernel selective_scan_fwd_kernel",
			"causal_conv1d_update_kernel _selective_scan_update_kernel")
		return order(gather, 64, func(i int) string {
			conv, core, _ := strings.Cut(scan, " ")
			return join(first(i, vNorm, vAddNorm), tile("64x8_in"), conv, tile("64x8_x"), vNorm, vNorm, vNorm,
				tile("64x8_dt"), core, tile("64x8_out"))
		}, head(vAddNorm))
	})
}

// An audio encoder after two convolutions and a decoder that attends twice; the encoder runs in a prefill only.
func whisperEager() Family {
	return family("Whisper-large-v3, transformers", func(prefill bool) Order {
		norm, flash := "at::native::vectorized_layer_norm_kernel<float,float>",
			"pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64,128,128,4,false,false,cutlass::half_t>>"
		gelu, g := "at::native::vectorized_elementwise_kernel<4,at::native::GeluCUDAKernelImpl,std::array<char*,2ul>>",
			tile("64x8_64x16_4x1")
		attend, mlp := join(norm, g, g, g, flash, tile("64x8_o"), addElem),
			join(norm, tile("128x8_up"), gelu, tile("64x8_down"), addElem)
		encoder := ""
		if prefill {
			encoder = join("sm90_xmma_fprop_implicit_gemm_f16f16", gelu, "sm90_xmma_fprop_implicit_gemm_f16f16", gelu,
				addElem, strings.Repeat(join(attend, mlp)+" ", 32), norm)
		}
		cross := join(norm, g, either(prefill, join(g, g), ""), flash, tile("64x8_o"), addElem)
		return order(join(encoder, gather, gather, addElem), 32, func(int) string { return join(attend, cross, mlp) },
			join(norm, tile("256x8_64x8_4x1"), argmax))
	})
}

// A next-token layer of the model's own kind runs after its sampling.
func draftBehind() Family {
	return family("GLM-4.5 with its next-token layer, SGLang, TP 8", func(prefill bool) Order {
		layer := func(i int) string {
			return join(first(i, fNorm, fAddNorm), fAttention(prefill), sReduce, fAddNorm,
				either(i < 3, fMLP(), vExperts()), sReduce)
		}
		return order(join(gather, sReduce), 92, layer,
			join(head(fAddNorm), gather, fNorm, fNorm,
				"at::native::CatArrayBatchedCopy<at::native::OpaqueType<2u>,unsigned,2,64,64>", tile("64x8_eh"), layer(92),
				fAddNorm, tile("256x8_64x8_4x1"), argmax))
	})
}

// A tower of other kernels before a language model of more layers, in prefills.
func towerInFront() Family {
	return family("Gemma-3-like with a SigLIP tower, vLLM", func(prefill bool) Order {
		norm, gelu := "at::native::vectorized_layer_norm_kernel<c10::BFloat16,float>",
			"at::native::vectorized_elementwise_kernel<8,at::native::GeluCUDAKernelImpl,std::array<char*,2ul>>"
		tower := ""
		if prefill {
			tower = join("sm90_xmma_fprop_implicit_gemm_bf16", addElem,
				strings.Repeat(join(norm, tile("64x8_vqkv"), fa3, tile("64x8_vo"), addElem, norm, tile("128x8_vup"),
					gelu, tile("64x8_vdown"), addElem)+" ", 27), norm, "at::native::avg_pool2d", vNorm,
				tile("64x8_vproj"))
		}
		return order(join(tower, gather, mulElem), 48, func(i int) string {
			return join(first(i, vNorm, vAddNorm), vAttention(prefill), vNorm, vAddNorm, vMLP(), vNorm)
		}, head(vAddNorm))
	})
}
