package classify

// kvCacheRules are writes to the key/value cache, alone or fused with RoPE and
// quantisation.
func kvCacheRules() []Rule {
	return []Rule{
		{ID: "kvcache.rope_store", Title: "RoPE fused with the cache write", Category: CategoryKVCache, Subcategory: "rope_store", When: Pattern{
			Function: words("*rope*cache*", "*rope_store*", "*rope_reshape_and_cache*", "*rope_cat_and_cache*", "*rope_and_cache*", "*rope_set_kv*", "*rope_update_kv_cache*", "*rope_quantize_append*", "*rope_kv_cache*", "*rope_cache*", "*rope_append*", "*mrope_3d_cache*"),
		}},
		{ID: "kvcache.store", Title: "cache write", Category: CategoryKVCache, Subcategory: "store", When: Pattern{
			Function: words("*reshape_and_cache*", "store_kvcache*", "store_kv_cache*", "*store_cache*", "*set_kv_buffer*", "*set_mla_kv*", "*concat_and_cache*", "*store_flashmla_cache*", "*store_indexer_cache*", "*store_index_k*", "*index_k_cache*", "*append_paged*kv*", "append_paged*", "*write_kv_cache*", "*kv_cache_update*", "*update_kv_cache*", "*updateKVCache*", "*copy_kv_cache*", "*kv_insert*", "*cp_gather_cache*", "*indexer_k_quant_and_cache*", "*cache_kernel_scaled*", "*fp8_kv_kernel*", "*kv_cache_write*", "*save_kv*", "*kvcache_store*", "*fused_qnorm_rope_kv*", "*fill_kv_cache*", "*mla_kv_pack*", "*store_kv*", "*set_k_and_s*", "*save_kv_cache*", "*append_kv*"),
		}},
		{ID: "kvcache.move", Title: "cache block movement", Category: CategoryKVCache, Subcategory: "move", When: Pattern{
			Function: words("copy_blocks*", "swap_blocks*", "*gather_cache*", "*transfer_kv*", "*kv_transfer*", "*copy_all_layer_kv*", "*kv_cache_copy*", "*copy_kv*", "*move_kv*", "*gather_kv*", "*kv_cache_block*", "*load_kv*", "*convert_kv*", "copy_cache*", "transfer_kernel_impl*"),
		}},
		{ID: "kvcache.any", Title: "other kernel on the cache", Category: CategoryKVCache, When: Pattern{
			Function: words("*kvcache*"),
			None:     words("*attention*", "*attn*", "*fmha*", "*prefill*", "*decode*", "*mha*", "*mla*", "*norm*"),
		}},
	}
}

// attentionRules are softmax attention and what only exists for it.
func attentionRules() []Rule {
	at := func(id, title, sub string, p Pattern) Rule {
		return Rule{ID: id, Title: title, Category: CategoryAttention, Subcategory: sub, When: p, Refine: attentionKind}
	}
	return []Rule{
		at("attention.indexer", "sparse-attention indexer", "indexer", Pattern{
			Function: words("*mqa_logits*", "*indexer*", "*fast_topk_transform*", "*topk_transform*", "*lightning_indexer*"),
			None:     words("*cache*"),
		}),
		at("attention.metadata", "attention scheduling metadata", "metadata", Pattern{
			Function: words("*mla_metadata*", "*num_kv_splits*", "*prepare_varlen_num_blocks*", "*flashinfer_kv_indices*", "*kv_indices*", "*decode_metadata*", "*attn_metadata*", "*attention_metadata*", "*mqa_logits_metadata*"),
		}),
		at("attention.combine", "merge of partial attention results", "combine", Pattern{
			Function: words("*mla_combine*", "*merge_state*", "*merge_attn*", "flash_fwd_splitkv_combine*", "*attn_combine*", "reduce_segments", "*FlashAttnFwdCombine*", "*splitkv_combine*", "*attention_reduce*", "*fmha_reduction*", "*fmhaReduction*", "*paged_attention*reduce*", "*VariableLengthMergeStates*", "*PersistentVariableLengthMergeStates*", "*VariableLengthAttentionSum*", "kn_mla_reduce*", "*mla_reduce*", "*attn_reduce*", "*correct_attn*"),
		}),
		at("attention.flash_scope", "FlashAttention libraries", "", Pattern{Family: []Family{FamilyFlash, FamilyFlashMLA}, None: words("*gemm*", "*metadata*")}),
		at("attention.kernel", "attention", "", Pattern{
			Function: words("*attention*", "*attn*", "*fmha*", "*flash_fwd*", "*flash_bwd*", "*flashattn*", "*flashmla*", "*mmha*", "kernel_mha*", "*xqa*", "*mha_fwd*", "*mha_bwd*", "mha", "*mla_decode*", "*mla_prefill*", "*mla_fwd*", "mla_*", "*_mla", "*BatchDecode*", "*BatchPrefill*", "*SinglePrefill*", "*SingleDecode*", "*PersistentKernel*Attention*", "*cascade*", "*flash_decod*", "*flashdecod*", "*splitkv_mla*", "*sparse_mla*", "*sdpa*", "*masked_multihead*", "*multi_head*", "*unified_attention*", "*fwd_grouped_kernel_stage*", "_fwd_kernel", "_fwd_kernel_stage*", "_fwd_kernel_*stage*", "_fwd_kernel_ep*", "*paged_mqa*", "_attn*", "*context_fwd*", "*mla_kernel*", "*decode_kernel_v2*"),

			None: words("*norm*", "*rope*", "*gate*", "*quant*"),
		}),
		at("attention.fused_any", "attention, loosely named", "", Pattern{
			Function: words("*paged_attention*", "*flash_attention*", "*flash_attn*", "*fmha*", "*mla_decode*", "*mla_prefill*", "*BatchDecode*", "*BatchPrefill*"),
		}),
	}
}

var attentionKinds = []struct {
	kind     string
	patterns []wordPattern
}{
	{"mla", compilePatterns(words("*mla*"))},
	{"decode", compilePatterns(words("*decode*", "*decoding*", "*splitkv*", "*forgen*", "paged_attention*", "*mmha*", "*xqa*", "*stage1*"))},
	{"prefill", compilePatterns(words("*prefill*", "*context*", "*forctx*", "*varlen*", "*extend*", "flash_fwd_kernel", "*ragged*"))},
	{"backward", compilePatterns(words("*bwd*", "*backward*"))},
}

// attentionKind tells decode, prefill, MLA and backward apart.
func attentionKind(n *Name) string {
	for _, k := range attentionKinds {
		if anyIn(k.patterns, n.fn) || anyIn(k.patterns, n.op) {
			return k.kind
		}
	}
	return ""
}

// hybridRules are linear attention and state-space layers.
func hybridRules() []Rule {
	return []Rule{
		{ID: "hybrid.conv", Title: "short causal convolution", Category: CategoryHybridLinear, Subcategory: "conv", When: Pattern{Function: words("*causal_conv1d*", "*short_conv*")}},
		{ID: "hybrid.ssm", Title: "state-space scan", Category: CategoryHybridLinear, Subcategory: "ssm", When: Pattern{
			Function: words("*selective_scan*", "*selective_state*", "*mamba*", "ssd_*", "*ssm*", "*chunk_scan*", "*chunk_state*", "*state_passing*", "*chunk_cumsum*", "*bmm_chunk*"),
		}},
		{ID: "hybrid.delta", Title: "gated delta rule, KDA", Category: CategoryHybridLinear, Subcategory: "delta_rule", When: Pattern{
			Function: words("*delta_rule*", "*gdn*", "*kda*", "*scaled_dot_kkt*", "*solve_tril*", "*recompute_w_u*", "*chunk_local_cumsum*", "chunk_fwd_kernel*", "chunk_*fwd*", "*gated_delta*", "*merge_16x16*", "*prepare_wy*", "*qkvzba*", "*fused_recurrent*", "chunk_gla*", "*chunk_o*", "chunk_fwd_o*", "*chunk_delta_h*", "chunk_local*"),
		}},
		{ID: "hybrid.linear", Title: "linear attention", Category: CategoryHybridLinear, When: Pattern{
			Function: words("*linear_attn*", "*linear_attention*", "*lightning_attn*", "*lightning_attention*", "*rwkv*", "*wkv*", "*retention*", "*_fwd_diag_kernel*", "*_fwd_kv_parallel*", "*_fwd_kv_reduce*", "*_fwd_none_diag*", "*hybrid_linear*", "l2norm_fwd*", "*lightning*decode*"),
		}},
	}
}
