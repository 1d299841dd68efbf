package gen

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
