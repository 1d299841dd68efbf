package classify

// fusedRules hold the names whose last word decides against what their other
// words would say.
func fusedRules() []Rule {
	return nil
}

// moeRules are expert routing, permutation and the fused expert kernels.
func moeRules() []Rule {
	moe := func(id, title, sub string, p Pattern) Rule {
		return Rule{ID: id, Title: title, Category: CategoryMoE, Subcategory: sub, When: p}
	}
	return []Rule{
		moe("moe.routing", "expert routing", "routing", Pattern{
			Function: words("*moe_fused_gate*", "*topk_gating*", "*grouped_topk*", "*topksoftmax*", "*topk_softmax*", "*topk_sigmoid*", "*routing*", "*moe_gate*", "*router*", "*topk_forward", "_topk_forward", "*bitmatrix*", "*biased_topk*", "*expert_lookup*", "*noaux_tc*", "*expert_histogram*", "*hash_expert*"),
			None:     words("*gemm*"),
		}),
		moe("moe.permute", "token sorting and permutation for experts", "permute", Pattern{
			Function: words("*moe_align*", "*count_and_sort*", "*moe_sort*", "*moe_permute*", "*moe_unpermute*", "*expert_map*", "*ep_scatter*", "*ep_gather*", "*expand_input_rows*", "*finalize_moe*", "*moe_sum*", "*moe_reduce*", "*moe_finalize*", "*expert_offset*", "*sort_expert*", "*shuffle_rows*", "*compute_expert*", "*problem_sizes*", "*arg_sort*expert*", "*deepep_*", "*permute_tokens*", "*expert_first_token*", "*_finalize_matmul_scatter*", "*pre_reorder*", "*post_reorder*", "*expert_token*", "*fill_gateup*", "*silu_and_mul_masked*"),
		}),
		moe("moe.kernel", "mixture of experts", "", Pattern{
			Function: words("*moe*", "*expert*", "*experts*"),
		}),
		moe("moe.scope", "kernel of a mixture-of-experts library", "", Pattern{
			Scope: words("moe", "fused_moe*", "*_moe", "moe_*"),
			None:  words("*gemm*"),
		}),
	}
}

// gemmRules are matrix products of every library.
func gemmRules() []Rule {
	g := func(id, title string, p Pattern) Rule {
		return Rule{ID: id, Title: title, Category: CategoryGEMM, When: p, Refine: gemmKind}
	}
	return []Rule{
		g("gemm.family", "GEMM generators and libraries", Pattern{Family: []Family{FamilyTensile, FamilyNvjet, FamilyTRTLLMGen}}),
		g("gemm.grouped_triton", "triton_kernels matmul_ogs", Pattern{Function: words("*matmul_ogs*")}),
		g("gemm.splitk", "split-K reduction", Pattern{Function: words("splitKreduce*", "*splitk_reduce*", "*split_k_reduce*")}),
		g("gemm.conv", "convolution as matrix product", Pattern{
			Function: words("*implicit_gemm*", "*implicit_convolve*", "*fprop*", "*dgrad*", "*wgrad*", "*scudnn*", "*hcudnn*", "conv2d*", "*winograd*", "*conv_depthwise*", "*convolve*", "conv_*", "*computeOffsets*", "*convolution*"),
		}),
		g("gemm.word", "matrix product by name", Pattern{
			Function: words("*gemm*", "*gemv*", "*matmul*", "*_mm", "mm", "bmm", "addmm", "*scaled_mm*", "*marlin*", "*machete*", "*wvsplitk*", "*dot_kernel*", "*cublas*", "*lora_shrink*", "*lora_expand*", "*sgmv*", "*bgmv*", "*splitk*", "*linear_kernel*", "*kgemm*", "*exllama*"),
			None:     words("*quantize*", "*norm*"),
		}),
		g("gemm.cutlass_class", "CUTLASS GEMM classes", Pattern{
			Family:   []Family{FamilyCUTLASS},
			Function: words("Gemm*", "*gemm*"),
		}),
		g("gemm.xmma", "cuBLAS xmma", Pattern{Family: []Family{FamilyCuBLAS}, Function: words("*xmma*", "*gemm*", "*gemv*")}),
	}
}

var gemmKinds = []struct {
	kind     string
	patterns []wordPattern
}{
	{"split_k_reduce", compilePatterns(words("*splitkreduce*"))},
	{"grouped", compilePatterns(words("*grouped*", "*matmul_ogs*", "*group_gemm*"))},
	{"gemv", compilePatterns(words("*gemv*"))},
}

// gemmKind tells grouped products and matrix-vector products apart.
func gemmKind(n *Name) string {
	for _, k := range gemmKinds {
		if anyIn(k.patterns, n.fn) || anyIn(k.patterns, n.op) {
			return k.kind
		}
	}
	return ""
}
