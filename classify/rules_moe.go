package classify

// moeRules are expert routing, permutation and the fused expert kernels. A
// plain grouped GEMM that does not say "moe" is a gemm.
func moeRules() []Rule {
	moe := func(id, title, sub string, p Pattern) Rule {
		return Rule{ID: id, Title: title, Category: CategoryMoE, Subcategory: sub, When: p}
	}
	return []Rule{
		// Permutation before routing: finalizeMoeRouting gathers and adds up
		// the experts' outputs.
		moe("moe.finalize", "sum of the experts' outputs", "permute", Pattern{
			Function: words("*finalize_moe*", "*moe_sum*", "*moe_reduce*", "*moe_finalize*", "*finalize_matmul_scatter*", "*post_reorder*", "*moe_unpermute*", "*ep_gather*"),
		}),
		moe("moe.permute", "token sorting, permutation and finalisation for experts", "permute", Pattern{
			Function: words("*moe_align*", "*count_and_sort*", "*moe_sort*", "*moe_permute*", "*expert_map*", "*ep_scatter*", "*expand_input_rows*", "*expert_offset*", "*sort_expert*", "*shuffle_rows*", "*problem_sizes*", "*permute_tokens*", "*expert_first_token*", "*pre_reorder*", "*expert_prefix*", "*moe_permutation*", "*token_permut*", "*expand_moe*", "*MoeSorting*", "*fill_gateup*"),
			None:     words("*gemm*"),
		}),
		moe("moe.routing", "expert routing", "routing", Pattern{
			Function: words("*moe_fused_gate*", "*topk_gating*", "*grouped_topk*", "*topksoftmax*", "*topk_softmax*", "*topk_sigmoid*", "*routing*", "*moe_gate*", "*moe_router*", "*fused_router*", "_topk_forward", "*bitmatrix*", "*biased_topk*", "*expert_lookup*", "*noaux_tc*", "*expert_histogram*", "*hash_expert*", "deepseek_v3_topk*", "*expert_select*", "*expt_*"),
			None:     words("*gemm*"),
		}),
		moe("moe.gemm", "expert matrix products", "gemm", Pattern{
			Function: words("*moe_gemm*", "*moe_mxgemm*", "fused_moe_kernel*", "*moe_wna16*", "*fused_moe", "*fused_moe_*", "*fmoe*", "batched_triton_kernel", "*moe_mm*", "*moe_stage1*", "*moe_stage2*"),
		}),
		// marlin_moe_wna16::Marlin: the scope says experts, the function only
		// the method.
		moe("moe.gemm_scope", "expert matrix products", "gemm", Pattern{
			Scope: words("*marlin_moe*", "*moe_gemm*", "*fused_moe_gemm*"),
		}),
		moe("moe.kernel", "mixture of experts", "", Pattern{Function: words("*moe*", "*expert", "*experts", "*expert_*")}),
		// TensorRT-LLM's CUTLASS MoE runner keeps its helpers beside the
		// GEMMs; their names alone would be an activation and a stride table.
		moe("moe.trtllm_helpers", "TensorRT-LLM CUTLASS MoE helpers", "", Pattern{
			Scope: words("cutlass_kernels", "cutlass_kernels_oss"), Function: words("doActivation*", "doGatedActivation*", "computeStrides*", "expand*", "finalize*"),
		}),
		moe("moe.scope", "kernel of a mixture-of-experts library", "", Pattern{
			Scope: words("moe", "fused_moe*", "*_moe", "moePrepare*", "moe_*"), None: words("*gemm*"),
		}),
	}
}
