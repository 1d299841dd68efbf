package gen

import (
	"fmt"
)

// fusedAllReduce is a model on SGLang with TP 4 whose all-reduces do the norm that
// follows. The first template argument of the kernel says so: 1 is fused with the
// norm, 0 is a plain all-reduce, which follows the embedding. A fused one belongs
// to the layer whose norm it does.
func fusedAllReduce() Case {
	kernel := func(pattern int) step {
		return step{category: "communication", dur: 8200,
			name: fmt.Sprintf("void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(flashinfer::trtllm_allreduce_fusion::AllReduceFusionPattern)%d, __nv_bfloat16, 4, true, true>(flashinfer::trtllm_allreduce_fusion::AllReduceFusionParams<__nv_bfloat16>)",
				pattern)}
	}
	plain, fused := kernel(0), kernel(1)
	return Case{
		Name: "flashinfer-allreduce-norm", About: "all-reduces fused with the norm after them",
		Layers: 12, Passes: decodes(5), Framework: "sglang", TP: 4, Dialect: SGLang,
		head: []step{embedding, plain},
		layer: func(i int, _ Pass) []step {
			opens := fused
			if i == 0 {
				opens = rmsNorm
			}
			return join([]step{opens, qkv, ropeStep, decodeMHA, outProj}, ffn(fused, gateUp, siluMul, down))
		},
		tail: []step{fused, lmHead, gather, argMax},
	}
}

// deepEP is a mixture of experts whose tokens travel to the experts of other
// ranks: dispatch and combine take most of the time and are communication, though
// no kernel is NCCL's.
func deepEP() Case {
	dispatch := step{name: "void deep_ep::internode_ll::dispatch<true, false, 7168>(void*, void*, int*, long*, int*, int*, int*, int*, long*, void const*, long const*, int*, int*, int*, int, int, int, int, int, int, int, int, bool, int)", category: "communication", dur: 160_000}
	combine := step{name: "void deep_ep::internode_ll::combine<false, 7168, 9, 2>(void*, void*, int*, void*, void const*, long const*, float const*, int const*, long const*, int*, int, int*, int, int, int, int, int, int, int, int, int, bool)", category: "communication", dur: 190_000}
	experts := step{name: "void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 4096u, 7168u, 16u, 64u, 128u, 128u, 128u, 128u, 6u, 128u, 128u, 1u, true, 132u, (deep_gemm::GemmType)2>(float*, int*, unsigned int, unsigned int, unsigned int, CUtensorMap, CUtensorMap, CUtensorMap, CUtensorMap)", category: "moe|gemm", dur: 24_000}
	quant := step{name: "void per_token_group_quant_8bit_kernel<c10::BFloat16, c10::Float8_e4m3fn, true, true, unsigned int>(void const*, void*, unsigned int*, int, int, int, float, float, float, int, int)", category: "quantize", dur: 2500}
	mla := step{name: "void flash_fwd_splitkv_mla_kernel<Flash_fwd_kernel_traits_mla<576, 64, 64, 8, cutlass::bfloat16_t, 512>, true, SharedStorageMLA>(Flash_fwd_mla_params)", category: "attention", dur: 16_000}
	gate := step{name: "void moe_fused_gate_kernel<float, cutlass::Array<float, 32>, 32, 32, 1, 8, 32>(void*, void*, float*, int*, long, long, long, long, float)", category: "moe|reduce_topk", dur: 3400}
	router := step{name: "void router_gemm_kernel_float_output<__nv_bfloat16, 128, 8, 16, 256, 7168>(float*, __nv_bfloat16 const*, __nv_bfloat16 const*)", category: "gemm|moe", dur: 4200}
	return Case{
		Name: "deepep-moe", About: "expert dispatch and combine are communication",
		Layers: 10, Passes: decodes(4), Framework: "sglang", TP: 1, Dialect: SGLang,
		head: []step{embedding},
		layer: func(i int, _ Pass) []step {
			opens := addNorm
			if i == 0 {
				opens = rmsNorm
			}
			return join(
				[]step{opens, quant, qkv, rmsNorm, gateUp, ropeStep, mla, quant, outProj},
				ffn(addNorm, router, gate, dispatch, experts, siluMul, quant, experts, combine),
			)
		},
		tail: []step{addNorm, lmHead, argMax},
	}
}

// inductorNorms is a Llama on vLLM with TP 4: torch.compile writes the norms, so
// that no kernel is called norm, each follows an all-reduce, and nothing annotates
// the steps.
func inductorNorms() Case {
	small := step{name: "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 4>(vllm::RankData*, vllm::RankSignals, vllm::Signal*, __nv_bfloat16*, int, int)", category: "communication", dur: 7000}
	big := step{name: "void multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*, unsigned long, unsigned int**, unsigned long, unsigned long)", category: "communication", dur: 7000}
	reduce := func(p Pass) step {
		if p.Prefills > 0 {
			return big
		}
		return small
	}
	const norm = "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_"
	rope := step{name: "triton_poi_fused_add_cat_index_select_mul_split_sub_unsqueeze_1", category: "rope|elementwise",
		dur: 2700}
	silu := step{name: "triton_poi_fused_mul_silu_slice_3", category: "activation|elementwise", dur: 2900}
	return Case{
		Name: "inductor-norms", About: "Inductor's norms after all-reduces, no annotations",
		Layers: 16, Passes: decodes(9), Framework: "vllm", TP: 4,
		head: []step{{name: "triton_poi_fused_bitwise_and_embedding_ge_lt_masked_fill_0",
			category: "memory|elementwise|other", dur: 2800}, small},
		layer: func(i int, p Pass) []step {
			first := step{name: norm + "4", category: "norm", dur: 3100}
			if i == 0 {
				first.name = "triton_red_fused__to_copy_mean_mul_pow_rsqrt_0"
			}
			return join(
				[]step{first, qkv, rope, cacheFill, attention, outProj, reduce(p)},
				ffn(step{name: norm + "2", category: "norm", dur: 3100}, gateUp, silu, down, reduce(p)),
			)
		},
		tail: []step{{name: norm + "4", category: "norm", dur: 3100}, lmHead, gather, argMax},
	}
}
