package classify

// hybridRules are linear attention and state-space layers: the kernels of
// mamba_ssm, flash-linear-attention (fla) and lightning attention, by the names
// the servers kept.
func hybridRules() []Rule {
	h := func(id, title, sub string, p Pattern) Rule {
		return Rule{ID: id, Title: title, Category: CategoryHybridLinear, Subcategory: sub, When: p}
	}
	return []Rule{
		h("hybrid.conv", "short causal convolution", "conv", Pattern{
			Function: words("*causal_conv*", "*short_conv*", "*conv1d_update*"),
		}),
		h("hybrid.ssm", "state-space scan", "ssm", Pattern{
			Function: words("*selective_scan*", "*selective_state*", "ssd", "ssd_*", "*_ssd", "ssm", "*_ssm_*", "*chunk_scan*", "*chunk_state*", "*state_passing*", "*chunk_cumsum*", "*bmm_chunk*"),
		}),
		h("hybrid.mamba", "Mamba state handling", "ssm", Pattern{Name: words("*mamba*"), None: words("*norm*", "*gemm*")}),
		h("hybrid.delta", "gated delta rule, KDA, GLA", "delta_rule", Pattern{
			Function: words("*delta_rule*", "*deltanet*", "gdn*", "*_gdn*", "kda*", "*_kda*", "*scaled_dot_kkt*", "*solve_tril*", "*recompute_w_u*", "*chunk_local_cumsum*", "chunk_fwd_*", "chunk_bwd_*", "*gated_delta*", "merge_16x16*", "merge_32x32*", "*prepare_wy*", "*qkvzba*", "*fused_recurrent*", "recurrent", "*chunk_gla*", "*chunk_o", "*chunk_delta*", "chunk_transform*", "*chunk_global_cumsum*"),
		}),
		h("hybrid.l2norm", "norm of queries and keys in linear attention", "", Pattern{Function: words("l2norm_fwd*")}),
		h("hybrid.linear", "linear attention", "", Pattern{
			Function: words("*linear_attn*", "*linear_attention*", "*lightning_attn*", "*lightning_attention*", "*rwkv*", "*wkv6*", "*wkv7*", "*_retention*", "*fwd_diag_kernel*", "*fwd_kv_parallel*", "*fwd_kv_reduce*", "*fwd_none_diag*", "*hybrid_linear*"),
		}),
	}
}
