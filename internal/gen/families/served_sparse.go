package families

import "github.com/llmstrata/strata/internal/opname"

// sparseConfig is that of sparse latent attention; with a period n, n-1 of n layers use the tokens of the indexer
// before them.
func sparseConfig(period string) string {
	return `{"model_type":"deepseek_v32","hidden_size":7168,"num_hidden_layers":61,"num_attention_heads":128,"num_key_value_heads":128,"kv_lora_rank":512,"q_lora_rank":1536,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,
		"index_topk":2048,"index_n_heads":64,"index_head_dim":128,"index_topk_freq":` + period + `,"intermediate_size":18432,"moe_intermediate_size":2048,"n_routed_experts":256,"n_shared_experts":1,"num_experts_per_tok":8,"first_k_dense_replace":3,
		"vocab_size":129280,"hidden_act":"silu","torch_dtype":"bfloat16"}`
}

const sparseMLA = "sm90::fwd::sparse_attn_fwd_kernel<flashmla>"

// sparseFeed is the feed-forward half of both servers' fp8 models.
func sparseFeed(i int) string {
	if i < 3 {
		return join(fp8(opname.GateUpProj, "4608u,7168u"), does(opname.Activation, fAct),
			fp8(opname.DownProj, "7168u,2304u"))
	}
	shared := join(fp8(opname.SharedGateUp, "512u,7168u"), does(opname.SharedActivation, fAct),
		fp8(opname.SharedDown, "7168u,256u"))
	return sglExperts(shared, "router_gemm_kernel_float_output<__nv_bfloat16,128,8,16,256,7168>", true)
}

// sparseServed: sglang python/sglang/srt/layers/attention/nsa/nsa_indexer.py between the queries' product and the
// absorbed one.
func sparseServed() Served {
	indexer := join(fp8(opname.Indexer, "8192u,1536u"), fp8(opname.Indexer, "128u,7168u"),
		does(opname.Indexer, "at::native::vectorized_layer_norm_kernel<c10::BFloat16,float>", fRope,
			"fast_hadamard_transform_kernel<fast_hadamard_transform_kernel_traits<32,7,c10::BFloat16>>",
			"fast_hadamard_transform_kernel<fast_hadamard_transform_kernel_traits<32,7,c10::BFloat16>>"),
		does(opname.Indexer+"|"+opname.IndexerTopK, "act_quant_kernel_", "act_quant_kernel_",
			"fused_store_indexer_cache<128>"), does(opname.Indexer, tile("64x8_weights")),
		does(opname.Indexer+"|"+opname.IndexerTopK, mulElem),
		does(opname.Indexer, "deep_gemm::sm90_fp8_paged_mqa_logits<1u,64u,128u,64u>"),
		does(opname.IndexerTopK, "topk_transform_decode_kernel"))
	return serve("DeepSeek-V3.2, SGLang, TP 8", sparseConfig("1"), join(gather, sReduce), 61, head(fAddNorm),
		func(i int, _ bool) string {
			mix := join(fp8(opname.QKVAProj, "2112u,7168u"), does(opname.QANorm, fNorm), does(opname.KVANorm, fNorm),
				fp8(opname.QBProj, "3072u,1536u"), indexer, does(opname.KAbsorb, bmm), does(opname.Rope, fRope),
				does(opname.KVWrite, "set_mla_kv_buffer_kernel"), does(opname.Attention, sparseMLA),
				does(opname.VAbsorb, bmm), fp8(opname.OProj, "7168u,2048u"))
			return join(enter(i, fNorm, fAddNorm), mix, does(opname.AttnAllReduce, sReduce),
				does(opname.PostNorm, fAddNorm), sparseFeed(i), does(opname.MLPAllReduce, sReduce))
		})
}

// sparseShared: vllm vllm/models/deepseek_v32/attention.py, where three of four layers have no indexer: norms, rotary
// embedding and cache write are one kernel, and the indexer's products are on both sides of the queries'.
func sparseShared() Served {
	return serve("DeepSeek-V3.2 with shared top-k, vLLM, TP 8", sparseConfig("4"), join(gather, vReduce), 61,
		head(vAddNorm), func(i int, _ bool) string {
			key, query, top := "", "", ""
			if max(i-1, 0)%4 == 0 {
				key, query = does(opname.Indexer, tile("64x8_weights")), does(opname.Indexer, vQuant, tile("64x8_wqb"))
				top = join(does(opname.Indexer, "deep_gemm::sm90_fp8_paged_mqa_logits<1u,64u,128u,64u>"),
					does(opname.IndexerTopK, "vllm::topKPerRowDecode<1024,true>"))
			}
			mix := join(does(opname.QKVAProj, vQuant, tile("64x8_qkva")), key,
				does(opname.QANorm+"|"+opname.KVANorm+"|"+opname.Rope+"|"+opname.KVWrite, "_fused_norm_rope_kernel"),
				does(opname.QBProj, vQuant, tile("64x8_qb")),
				does(opname.KAbsorb, bmm), query, does(noOperator+opname.Rope+"|"+opname.Indexer, "_fused_q_kernel"),
				top,
				does(opname.Attention, sparseMLA), does(opname.VAbsorb, bmm),
				does(opname.OProj, vQuant, tile("64x8_o")))
			return join(enter(i, vNorm, vAddNorm), mix, does(opname.AttnAllReduce, vReduce),
				does(opname.PostNorm, vAddNorm), sparseFeed(i), does(opname.MLPAllReduce, vReduce))
		})
}

// llama4Served: vllm vllm/model_executor/models/llama4.py: the shared expert is between the router and the
// routing; full layers have neither a rotary embedding nor norms of queries and keys.
func llama4Served() Served {
	const config = `{"model_type":"llama4_text","hidden_size":5120,"num_hidden_layers":48,"num_attention_heads":40,"num_key_value_heads":8,"head_dim":128,"intermediate_size":8192,"intermediate_size_mlp":16384,"num_local_experts":16,"num_experts_per_tok":1,
		"interleave_moe_layer_step":1,"use_qk_norm":true,"attention_chunk_size":8192,"no_rope_layer_interval":4,"vocab_size":202048,"hidden_act":"silu","torch_dtype":"bfloat16"}`
	const lTwo = "triton_per_fused_mean_mul_pow_rsqrt_1"
	return serve("Llama-4-Scout, vLLM, TP 8", config, join(gather, vReduce), 48, head(vAddNorm),
		func(i int, prefill bool) string {
			query := join(does(opname.Rope, vRope), does(opname.QKNorm, lTwo, lTwo))
			if (i+1)%4 == 0 {
				query = does(noOperator+opname.Attention+"|"+opname.QKVProj+"|"+opname.QKNorm,
					"triton_poi_fused_log_floor_mul_0", mulElem)
			}
			experts := join(does(opname.Router, tile("64x8_64x16_1x8")),
				does(opname.SharedGateUp, tile("64x8_shared1")),
				does(opname.SharedActivation, vAct), does(opname.SharedDown, tile("64x8_shared2")),
				does(opname.Routing,
					"at::native::reduce_kernel<512,1,at::native::ReduceOp<c10::BFloat16,at::native::MaxOps<c10::BFloat16>>>"),
				does(noOperator+opname.Routing, sigmoid), does(opname.Routing, vAlign),
				does(opname.ExpertsGateUp, expert), does(opname.ExpertsActivation, vAct),
				does(opname.ExpertsDown, expert), does(opname.ExpertsCombine, vMoESum), does(opname.ResidualAdd, addElem))
			return join(enter(i, vNorm, vAddNorm), does(opname.QKVProj, tile("64x8_64x16_4x1")), query,
				does(opname.KVWrite, vCache), does(opname.Attention, fa3, either(prefill, "", fa3Join)),
				does(opname.OProj, tile("64x8_64x16_2x1")),
				does(opname.AttnAllReduce, vReduce), does(opname.PostNorm, vAddNorm), experts,
				does(opname.MLPAllReduce, vReduce))
		})
}
