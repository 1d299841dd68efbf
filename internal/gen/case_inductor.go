package gen

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
	rope := step{name: "triton_poi_fused_add_cat_index_select_mul_split_sub_unsqueeze_1", category: "rope|elementwise", dur: 2700}
	silu := step{name: "triton_poi_fused_mul_silu_slice_3", category: "activation|elementwise", dur: 2900}
	return Case{
		Name: "inductor-norms", About: "Inductor's norms behind all-reduces, no annotations",
		Layers: 16, Passes: decodes(9), Framework: "vllm", TP: 4,
		head: []step{{name: "triton_poi_fused_bitwise_and_embedding_ge_lt_masked_fill_0", category: "memory|elementwise|other", dur: 2800}, small},
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
