package families

import "strings"

// hybridFamilies are models whose layers mix tokens in more than one way.
var hybridFamilies = []func() Family{kimiLinear, nemotronH, jamba, qwen3Next, granite4, miniMaxText, mamba2Pure, bamba}

// mamba2 is the state-space mixer of vLLM: chunks for context, one step for generation.
func mamba2(prefill bool) string {
	core := either(prefill, join(conv, "_chunk_cumsum_fwd_kernel", "_chunk_state_fwd_kernel",
		"_state_passing_fwd_kernel", "_bmm_chunk_fwd_kernel", "_chunk_scan_fwd_kernel"),
		join(convStep, "_selective_scan_update_kernel"))
	return join(tile("128x8_64x12_2x1"), core, gatedN, tile("64x8_64x16_2x1_out"))
}

// Kimi Delta Attention in three of four layers, latent attention without a rotary embedding in the fourth; the first
// layer is dense.
func kimiLinear() Family {
	return family("Kimi-Linear-48B-A3B, vLLM", func(prefill bool) Order {
		full := map[int]bool{3: true, 7: true, 11: true, 15: true, 19: true, 23: true, 26: true}
		gemm := tile("64x8_64x16_4x1")
		c := either(prefill, conv, convStep)
		core := either(prefill, join("chunk_local_cumsum_vector_kernel",
			"chunk_kda_scaled_dot_kkt_fwd_kernel_intra_sub_inter",
			"chunk_kda_scaled_dot_kkt_fwd_kernel_intra_sub_intra", "merge_16x16_to_64x64_inverse_kernel",
			"recompute_w_u_fwd_kernel", "chunk_gated_delta_rule_fwd_kernel_h_blockdim64", "chunk_gla_fwd_kernel_o"),
			"fused_recurrent_gated_delta_rule_fwd_kernel")
		delta := join(gemm, gemm, gemm, c, c, c, tile("64x8_fa"), tile("64x8_fb"), "kda_gate_fwd_kernel",
			tile("64x8_b"), tile("64x8_fa"), tile("64x8_fb"), "l2norm_fwd_kernel2", "l2norm_fwd_kernel2", core, gatedN,
			tile("64x8_64x16_2x1"))
		mla := join(gemm, tile("64x8_kva"), vNorm, tile("64x8_kvb"),
			"vllm::concat_and_cache_mla_kernel<__nv_bfloat16,__nv_bfloat16>",
			either(prefill, fa3, join("flash_fwd_splitkv_mla_kernel", "flash_fwd_splitkv_mla_combine_kernel")),
			tile("64x8_64x16_2x1"))
		experts := join(tile("64x8_64x16_1x8"), "vllm::moe::grouped_topk_fused_kernel<float,float,int>", vAlign, expert,
			vAct, expert, vMoESum, tile("64x8_shared1"), vAct, tile("64x8_shared2"), addElem)
		return order(gather, 27, func(i int) string {
			return join(first(i, vNorm, vAddNorm), either(full[i], mla, delta), vAddNorm,
				either(i == 0, vMLP(), experts))
		}, head(vAddNorm))
	})
}

// Each layer is one norm and one thing: state space (M), feed-forward (-), attention (*).
func nemotronH() Family {
	pattern := strings.Repeat("M-M-M-M*-", 6) + "M-M-M-M-"
	return family("Nemotron-Nano-12B-v2, vLLM", func(prefill bool) Order {
		return order(gather, len(pattern), func(i int) string {
			part := join(tile("128x8_64x12_4x1"), "triton_poi_fused_pow_relu_0", tile("64x8_64x16_1x4"))
			switch pattern[i] {
			case 'M':
				part = mamba2(prefill)
			case '*':
				part = join(tile("64x8_64x16_4x1"), vCache, fa3, either(prefill, "", fa3Join), tile("64x8_64x16_2x1"))
			}
			return join(first(i, vNorm, vAddNorm), part)
		}, head(vAddNorm))
	})
}

// Attention in one of eight layers, experts in every second one, norms inside the state-space mixer.
func jamba() Family {
	return family("Jamba-1.5-Mini, vLLM", func(prefill bool) Order {
		core := either(prefill, "selective_scan_fwd_kernel<Selective_Scan_fwd_kernel_traits<128,16,1,true,true,true,true,c10::BFloat16>>", "_selective_scan_update_kernel")
		mix := join(tile("128x8_64x12_2x1"), either(prefill,
			"causal_conv1d_fwd_kernel<Causal_conv1d_fwd_kernel_traits<128,4,true,c10::BFloat16>>", convStep),
			tile("64x8_x"), vNorm, vNorm, vNorm, tile("64x8_dt"), core, tile("64x8_64x16_2x1_out"))
		return order(gather, 32, func(i int) string {
			attention := join(tile("64x8_64x16_4x1"), vCache, fa3, either(prefill, "", fa3Join), tile("64x8_64x16_2x1"))
			return join(first(i, vNorm, vAddNorm), either(i%8 == 4, attention, mix), vAddNorm,
				either(i%2 == 1, vExperts(), vMLP()))
		}, head(vAddNorm))
	})
}

func qwen3Next() Family {
	return family("Qwen3-Next-80B-A3B, SGLang", func(prefill bool) Order {
		core := either(prefill, join(conv, "fused_gdn_gating_kernel", "l2norm_fwd_kernel", "l2norm_fwd_kernel",
			"chunk_local_cumsum_scalar_kernel", "chunk_scaled_dot_kkt_fwd_kernel",
			"merge_16x16_to_64x64_inverse_kernel",
			"recompute_w_u_fwd_kernel", "chunk_gated_delta_rule_fwd_kernel_h_blockdim64", "chunk_fwd_kernel_o"),
			join(convStep, "fused_sigmoid_gating_delta_rule_update_kernel"))
		linear := join(tile("64x8_64x16_qkvz"), tile("64x8_ba"), "fused_qkvzba_split_reshape_cat_kernel", core,
			"_layer_norm_fwd_1pass_kernel", tile("64x8_64x16_2x1"))
		full := join(tile("64x8_64x16_4x1"), fGemma, fGemma, fRope, sStore,
			either(prefill, fPrefill, join(fDecode, fMerge)),
			"at::native::vectorized_elementwise_kernel<4,at::native::sigmoid_kernel_cuda,std::array<char*,2ul>>",
			mulElem, tile("64x8_64x16_2x1"))
		experts := join(tile("64x8_64x16_1x8"), "topkGatingSoftmax<float,8,512,4,16>",
			"moe_align_block_size_kernel<int>", expert, fAct, expert, "moe_sum_reduce_warp_per_token_vec_kernel<8>",
			tile("64x8_shared1"), fAct, tile("64x8_shared2"), tile("64x8_gate"),
			"at::native::vectorized_elementwise_kernel<4,at::native::sigmoid_kernel_cuda,std::array<char*,2ul>>",
			mulElem, addElem)
		gemma := strings.Replace(fAddNorm, "Fused", "GemmaFused", 1)
		return order(gather, 48, func(i int) string {
			return join(first(i, fGemma, gemma), either(i%4 == 3, full, linear), gemma, experts)
		}, head(gemma))
	})
}

func granite4() Family {
	return family("Granite-4.0-H-Small, vLLM", func(prefill bool) Order {
		return order(join(gather, mulElem), 40, func(i int) string {
			attention := join(tile("64x8_64x16_4x1"), vCache, fa3, either(prefill, "", fa3Join), tile("64x8_64x16_2x1"))
			return join(vNorm, either(i%10 == 5, attention, mamba2(prefill)), mulElem, addElem, vNorm, vExperts(),
				tile("64x8_shared1"), vAct, tile("64x8_shared2"), addElem, mulElem, addElem)
		}, head(vNorm))
	})
}

// Lightning attention in seven of eight layers, softmax attention in the eighth.
func miniMaxText() Family {
	return family("MiniMax-Text-01, vLLM, TP 8", func(prefill bool) Order {
		linear := join(tile("64x8_64x16_qkvz"), "at::native::vectorized_elementwise_kernel<4,at::native::silu_kernel,std::array<char*,2ul>>",
			either(prefill, "_fwd_diag_kernel _fwd_kv_parallel _fwd_kv_reduce _fwd_none_diag_kernel",
				"_linear_attn_decode_kernel"), vNorm, tile("64x8_g"),
			"at::native::vectorized_elementwise_kernel<4,at::native::sigmoid_kernel_cuda,std::array<char*,2ul>>",
			mulElem, tile("64x8_64x16_2x1"))
		return order(join(gather, vReduce), 80, func(i int) string {
			return join(vNorm, either(i%8 == 7, vAttention(prefill), linear), vReduce, mulElem, addElem, vNorm,
				vExperts(), vReduce, mulElem, addElem)
		}, head(vNorm))
	})
}

func mamba2Pure() Family {
	return family("Mamba2-2.7B, vLLM", func(prefill bool) Order {
		return order(gather, 64, func(i int) string { return join(first(i, vNorm, vAddNorm), mamba2(prefill)) },
			head(vAddNorm))
	})
}

func bamba() Family {
	return family("Bamba-9B, vLLM", func(prefill bool) Order {
		return order(gather, 32, func(i int) string {
			return join(first(i, vNorm, vAddNorm), either(i == 9 || i == 18 || i == 27, vAttention(prefill),
				mamba2(prefill)), vAddNorm, vMLP())
		}, head(vAddNorm))
	})
}
