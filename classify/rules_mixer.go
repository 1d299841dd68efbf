package classify

import (
	"github.com/llmstrata/strata/internal/wordmatch"
)

// kvCacheRules are writes to the key/value cache, alone or fused with RoPE and
// quantisation.
func kvCacheRules() []Rule {
	kv := func(id, title, sub string, p Pattern) Rule {
		return Rule{ID: id, Title: title, Category: CategoryKVCache, Subcategory: sub, When: p}
	}
	return []Rule{
		// The write decides over the rotation: such a kernel's result
		// is the cache. cos_sin_cache is a table, not the cache.
		kv("kvcache.rope_store", "RoPE fused with the cache write", "rope_store", Pattern{
			All:  words("*rope*", "*cache*"),
			None: words("*cos_sin_cache*", "*cached*", "*cos_cache*", "*sin_cos_cache*", "*noncache*", "*nocache*"),
		}),
		kv("kvcache.rope_assign", "RoPE fused with the cache write", "rope_store", Pattern{
			Function: words("*rope_store*", "*rope_and_assign_qkv*", "*rope_quantize_append*", "*rope_append*",
				"*rope_set_kv*", "*rope_fp8_kv*", "*rope_kv_write*", "*rope_kv_insert*"),
		}),
		kv("kvcache.move", "cache block movement", "move", Pattern{
			Function: words("copy_blocks*", "swap_blocks*", "*transfer_kv*", "*kv_transfer*", "*copy_all_layer_kv*",
				"*kvcache_copy*", "*kvcache_block_copy*", "*copy_kv*", "*move_kv*", "*gather_kv*", "*load_kv*",
				"*kvcacheDraftTokenLocation*", "transfer_kernel*", "*gather_cache*", "*_dequant_cache*",
				"*page_migration*"),
		}),
		kv("kvcache.gather", "cache block gathering", "move", Pattern{All: words("*gather*", "cache")}),
		kv("kvcache.buffer", "reading or moving cached rows", "move",
			Pattern{Function: words("*get_mla_kv*", "*get_kv_buffer*", "kv_trans", "kv_trans_*")}),
		kv("kvcache.store", "cache write", "store", Pattern{
			Function: words("*reshape_and_cache*", "*store_kv*", "*store_cache*", "*set_kv*", "*set_mla_kv*",
				"*concat_and_cache*", "*store_index*", "*append_paged*", "*append_kv*", "*quant_and_cache*",
				"*write_kv*", "*update_kvcache*", "*kvcache_update*", "*kv_insert*", "*fp8_kv_kernel*",
				"*kvcache_write*", "*save_kv*", "*fill_kv*", "*mla_kv_pack*", "*set_k_and_s*", "*_and_cache*",
				"*insert_kv*", "*kv_store*", "*scatter_kv*", "*process_kv*", "*flatten_kv*", "*store_paged*"),
		}),
		kv("kvcache.store_words", "cache write", "store", Pattern{
			All:      words("*cache*"),
			Function: words("*store*", "*write*", "*append*", "*insert*", "*save*", "*update*", "*reshape*"),
			None:     words("*conv*", "*mamba*", "*ssm*", "*state*", "*embedding*", "*attention*", "*attn*", "*fmha*"),
		}),
		kv("kvcache.object", "kernel of the cache", "store", Pattern{
			Function: words("*_cache_kernel"),
			None: words("*attention*", "*attn*", "*fmha*", "*mha*", "*mqa*", "*conv*", "*rotary*", "*embedding*",
				"*state*", "*norm*", "*lookup*", "with"),
		}),
		kv("kvcache.any", "other kernel on the cache", "", Pattern{
			Function: words("*kvcache*", "kcache", "vcache"),
			None: words("*attention*", "*attn*", "*fmha*", "*prefill*", "*decode*", "*mha*", "*mla*", "*norm*",
				"*quant*", "*with_kvcache*"),
		}),
	}
}

// attentionRules are softmax attention and what only exists for it.
func attentionRules() []Rule {
	at := func(id, title, sub string, p Pattern) Rule {
		return Rule{ID: id, Title: title, Category: CategoryAttention, Subcategory: sub, When: p, Refine: attentionKind}
	}
	return []Rule{
		at("attention.metadata", "attention scheduling metadata", "metadata", Pattern{
			Function: words("*mla_metadata*", "*num_kv_splits*", "*prepare_varlen_num_blocks*", "*kv_indices*",
				"*attn_metadata*", "*attention_metadata*", "*fmha_metadata*", "*kv_indptr*", "*padding_offset*",
				"*packed_mask*"),
		}),
		// The indexer of sparse attention scores cached keys (mqa_logits) and
		// turns its top-k into a page table (topk_transform).
		at("attention.indexer", "sparse-attention indexer", "indexer", Pattern{
			Function: words("*mqa_logits*", "*indexer*", "*topk_transform*", "*clean_logits*", "*vertical_slash*",
				"*indexer_topk*", "*convert_req_index*", "*fp8_index", "*fp8_index_*"),
		}),
		// DeepSeek-V4's learned compression of keys and values (4 or 128 to 1).
		at("attention.compress", "KV compression", "compress", Pattern{
			Function: words("compress*", "*_compress*", "c4", "c128"),
			None:     words("*decompress*", "*uncompress*"),
		}),
		at("attention.combine", "merge of partial attention results", "combine", Pattern{
			Function: words("*mla_combine*", "*merge_state*", "*merge_attn*", "*splitkv_combine*", "*attn_combine*",
				"reduce_segments", "*FlashAttnFwdCombine*", "*attention_reduce*", "*fmha_reduction*",
				"*FmhaMlaReduction*", "*MergeStates*", "*VariableLengthAttentionSum*", "*mla_reduce*", "*merge_multi*",
				"*attn_reduce*", "*correct_attn*", "*flash_combine*", "*decode_reduce_kernel*", "*attention_combine*",
				"*softmax_reducev*", "lse", "*compute_lse*"),
		}),
		at("attention.reduce", "merge of partial attention results", "combine", Pattern{
			All: words("*attention*", "reduce"),
		}),
		at("attention.reduce_scope", "merge of partial attention results", "combine", Pattern{
			Scope:    words("attention", "attn", "fmha", "context_parallel"),
			Function: words("reduce*", "combine*", "merge*", "*correction*"),
		}),
		// Everything in these libraries is attention, whatever CUTLASS types
		// are in the template arguments.
		at("attention.flash_scope", "FlashAttention, FlashMLA, xFormers", "", Pattern{
			Family: []string{familyFlash, familyFlashMLA, familyXFormers}, None: words("*gemm*", "rotary*", "*norm*"),
		}),
		// A name that says norm or rope without saying attention's own verb is
		// preparation of attention, not attention: fused_qknorm_rope.
		at("attention.kernel", "attention", "", Pattern{
			Function: words("*attention*", "*attn*", "*fmha*", "*flash_fwd*", "*flash_bwd*", "*flashmla*", "*mmha*",
				"*mha", "*mha_*", "*xqa*", "nsa", "gqa", "gqa_*", "mqa_*", "sage", "*sage_attn*", "*qk_int8*",
				"*dot_do_o*", "*do_o_dot*", "*PrefillWith*", "*DecodeWith*", "*mla_decode*", "*mla_prefill*",
				"*mla_fwd*", "*BatchDecode*", "*BatchPrefill*", "*SinglePrefill*", "*SingleDecode*", "*cascade*",
				"*flash_decod*", "flash", "flash_varlen*", "*splitkv_mla*", "*sparse_mla*", "*sdpa*", "*multihead*",
				"*fwd_grouped_kernel_stage*", "*fwd_kernel_stage*", "*paged_mqa*", "*context_fwd*", "*page_attn*",
				"*block_sparse_attn*", "*att_m_fwd*", "*grouped_att*", "*paged_decode*", "*paged_prefill*",
				"*chunked_prefill*", "*MLAPage*", "*with_kvcache*", "*attend*", "att", "att1", "att2"),
			None: words("*norm*", "*gate", "*gated*", "*mask_convert*", "transpose*", "*residual*",
				"*advance_step*"),
		}),
		at("attention.mla", "multi-head latent attention", "mla", Pattern{
			Function: words("mla", "*_mla", "mla_*"),
			None:     words("*norm*", "*rope*", "*quant*", "*copy*", "*absorb*", "*cat*", "*pack*", "*gemm*"),
		}),
		// The forward kernels of SGLang's and lightllm's Triton attention are
		// named after the direction only, followed by what varies.
		at("attention.triton_fwd", "Triton attention by its traditional name", "", Pattern{
			Prefix: words("_fwd_kernel", "_fwd_grouped_kernel", "_bwd_kernel", "_bwd_preprocess", "_sparse_fwd_kernel"),
			None: words("*copy*", "*destindex*", "*norm*", "*quant*", "*silu*", "*gelu*", "*rotary*", "*token*",
				"*scatter*", "*gather*"),
		}),
		// Persistent FlashInfer kernels wrap the attention in a template.
		at("attention.persistent", "persistent FlashInfer attention", "", Pattern{
			Function: words("PersistentKernelTemplate"), Args: words("*attention*"),
		}),
		// AITER's assembly kernels: pa_bf16_pertokenFp8_gqa8_… is paged
		// attention, mla_a16w16_qh16_… multi-head latent attention.
		at("attention.aiter_asm", "AITER assembly attention", "", Pattern{
			Prefix: words("pa_", "PA_", "fmha_", "mla_a", "mla_dec", "mla_pfl", "mla_ps"),
		}),
	}
}

var attentionKinds = []struct {
	kind     string
	patterns wordmatch.Patterns
}{
	{"backward", wordmatch.CompileAll(words("*bwd*", "*backward*", "fmha_cutlassB*", "*dot_do_o*", "*do_o_dot*"))},
	{"mla", wordmatch.CompileAll(words("*mla*"))},
	{"decode", wordmatch.CompileAll(words("*decode*", "*decoding*", "*splitkv*", "*ForGen*", "paged_attention*",
		"*mmha*", "*xqa*", "*masked_multihead*", "*stage1*"))},
	{"prefill", wordmatch.CompileAll(words("*prefill*", "*context*", "*ForCtx*", "*varlen*", "*extend*",
		"flash_fwd_kernel", "*ragged*"))},
}

// attentionKind is backward, MLA, decode or prefill. Many kernels
// serve both phases (FlashAttention-3, unified attention): nothing is said.
func attentionKind(n *Name) string {
	for _, k := range attentionKinds {
		if k.patterns.In(n.fn) || k.patterns.In(n.op) {
			return k.kind
		}
	}
	if n.Family == familyFlashMLA {
		return "mla"
	}
	return ""
}

// hybridRules are linear attention and state-space layers: the kernels of
// mamba_ssm, flash-linear-attention (fla) and lightning attention, by the names
// the servers kept.
func hybridRules() []Rule {
	h := func(id, title, sub string, p Pattern) Rule {
		return Rule{ID: id, Title: title, Category: CategoryHybridLinear, Subcategory: sub, When: p}
	}
	return []Rule{
		h("hybrid.metadata", "chunk metadata", "", Pattern{Function: words("*chunk_metadata*", "*chunk_indices*",
			"*chunk_offsets*")}),
		h("hybrid.conv", "short causal convolution", "conv", Pattern{
			Function: words("*causal_conv*", "*short_conv*", "*conv1d_update*"),
		}),
		h("hybrid.ssm", "state-space scan", "ssm", Pattern{
			Function: words("*selective_scan*", "*selective_state*", "ssd", "ssd_*", "*_ssd", "ssm", "*_ssm_*",
				"*chunk_scan*", "*chunk_state*", "*state_passing*", "*chunk_cumsum*", "*bmm_chunk*"),
		}),
		h("hybrid.mamba", "Mamba state handling", "ssm",
			Pattern{Name: words("*mamba*"), None: words("*norm*", "*gemm*")}),
		h("hybrid.delta", "gated delta rule, KDA, GLA", "delta_rule", Pattern{
			Function: words("*delta_rule*", "*deltanet*", "gdn*", "*_gdn*", "kda*", "*_kda*", "*scaled_dot_kkt*",
				"*solve_tril*", "*recompute_w_u*", "*chunk_local_cumsum*", "chunk_fwd_*", "chunk_bwd_*",
				"*gated_delta*", "merge_16x16*", "merge_32x32*", "*prepare_wy*", "*qkvzba*", "*fused_recurrent*",
				"recurrent", "*chunk_gla*", "*chunk_o", "*chunk_delta*", "chunk_transform*", "*chunk_global_cumsum*",
				"wy", "wy_*", "dplr", "iplr", "comba", "gla", "gsa", "hgrn", "abc"),
		}),
		h("hybrid.scope", "kernel of a linear-attention library", "", Pattern{
			Scope: words("kda", "*_kda", "gdn", "*_gdn", "*gated_delta*", "*linear_attn*", "*lightning_attn*",
				"*mamba*"),
			None: words("*norm*", "*gemm*"),
		}),
		// flash-linear-attention works in chunks of the sequence: chunk_abc_fwd,
		// chunkwise_bwd.
		h("hybrid.chunk", "chunked linear attention", "delta_rule", Pattern{
			All: words("chunk*"), Function: words("fwd", "bwd", "*cumsum*"),
			None: words("*attn*", "*attention*", "*loss*", "*cross_entropy*", "*softmax*", "*cat*", "*copy*"),
		}),
		h("hybrid.parallel", "linear attention over the whole sequence", "", Pattern{
			Prefix: words("parallel_"), Function: words("fwd", "bwd"), None: words("*attn*", "*attention*", "nsa"),
		}),
		h("hybrid.l2norm", "norm of queries and keys in linear attention", "", Pattern{Function: words("l2norm_fwd*")}),
		h("hybrid.linear", "linear attention", "", Pattern{
			Function: words("*linear_attn*", "*linear_attention*", "*lightning_attn*", "*lightning_attention*",
				"*rwkv*", "*token_shift*", "k_update*", "la", "lru", "*wkv6*", "*wkv7*", "*_retention*",
				"*fwd_diag_kernel*", "*fwd_kv_parallel*", "*fwd_kv_reduce*", "*fwd_none_diag*", "*hybrid_linear*"),
		}),
	}
}
