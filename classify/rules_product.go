package classify

import (
	"strings"

	"github.com/llmstrata/strata/internal/wordmatch"
)

// gemmRules are matrix products of every library.
func gemmRules() []Rule {
	g := func(id, title, sub string, p Pattern) Rule {
		return Rule{ID: id, Title: title, Category: CategoryGEMM, Subcategory: sub, When: p, Refine: gemmKind}
	}
	return []Rule{
		// The flags in a Tensile name (…_SK0_…_MO40_…) look like words of
		// every kind; the family alone decides.
		g("gemm.family", "GEMM generators", "", Pattern{Family: []string{familyTensile, familyNvjet, familyTRTLLMGen}}),
		g("gemm.grouped_triton", "triton_kernels matmul_ogs", "grouped", Pattern{Function: words("*matmul_ogs*")}),
		g("gemm.router", "scores of the experts", "",
			Pattern{Function: words("*router_gemm*", "*gate_gemm*", "*router_matmul*")}),
		g("gemm.splitk", "split-K reduction", "split_k_reduce",
			Pattern{Function: words("*splitkreduce*", "*reduce_splitk", "*reduce_splitk_fp32*", "*splitk_clean*")}),
		// Lay-out changes and scale packing that only name the GEMM they
		// serve: gptq_marlin_repack, fp8_blockscale_gemm::scale_1x128.
		{ID: "gemm.repack", Title: "weight repacking for a quantised GEMM", Category: CategoryQuantize,
			Subcategory: "repack", When: Pattern{
				Function: words("*repack*", "*permute_cols*", "interleave*", "*make_sequential*"),
				None:     words("*scale*", "*_sf*"),
			}},
		g("gemm.conv", "convolution", subcategoryConvolution, Pattern{
			Function: words("*implicit_gemm*", "*implicit_convolve*", "fprop", "dgrad", "wgrad*", "*scudnn*",
				"*hcudnn*", "conv", "*_conv", "conv2d*", "conv3d*", "convolution*", "*_convolution", "*winograd*",
				"*conv_depthwise*", "*convolve*", "*computeOffsets*", "*computeBOffsets*", "*WgradBOffsets*",
				"*WgradSplitKOffsets*", "*fprop", "*AsmConv*", "*grouped_direct*", "*_conv2d*", "igemm_*",
				"*dgrad_engine*", "*wgrad_alg*", "*reduce_wgrad*"),
			None: words("*norm*", "relu_fprop", "sigmoid_fprop", "relu_bprop", "sigmoid_bprop"),
		}),
		g("gemm.normed", "product of what it normalises", "", Pattern{Function: words("*norm_gemm*")}),
		// ThunderKittens passes the work to its pipelines as a template argument.
		g("gemm.pipeline", "matrix product in a ThunderKittens pipeline", "",
			Pattern{Scope: words("kittens", "prototype"), Args: words("*matmul*", "*gemm*")}),
		g("gemm.word", "matrix product by name", "", Pattern{
			Function: words("*gemm*", "*gemv*", "*matmul*", "*mul_mat*", "mmq*", "mmvq*", "mmvf*", "vec_dot*", "mm",
				"bmm", "addmm", "*_mm", "*mm_kernel*", "*scaled_mm*", "marlin*", "*_marlin", "*machete*", "*wvsplitk*",
				"dot_kernel", "*LLMM1*", "*lora_shrink*", "*lora_expand*", "*lora_a*", "*lora_b*", "*sgmv*", "*bgmv*",
				"*splitk", "*flatmm*", "*exllama*", "*weight_only*", "*dense_fp8*", "*fp8_linear*", "*w8a8_block*",
				"*kgemm*", "*linear_kernel*", "*tinygemm*", "*dotprod*", "trsm*", "trmm*", "syrk*", "*spmm*",
				"*sddmm*"),
			None: words("quantize", "*norm*", "*absmax*", "*silu_mul*", "*silu_and_mul*", "*act_and_mul*"),
		}),
		// A function that names its GEMM only by scope: deep_gemm::…,
		// machete::…, gptq::…, but not the helpers that live beside it.
		g("gemm.scope", "kernel of a GEMM library", "", Pattern{
			Scope: words("machete", "marlin*", "gptq*", "awq", "fpA_intB_gemv", "weight_only", "*_gemm", "gemm",
				"epilogue"),
			None: words("*quant*", "*scale*", "*transpose*", "*reorder*", "*pack*", "*shuffle*", "*norm*", "*prepare*",
				"*fill*", "*copy*", "*transform*", "*norm*"),
		}),
		g("gemm.cublas", "cuBLAS", "", Pattern{Family: []string{familyCuBLAS},
			None: words("*copy*", "*scal*", "*transpose*")}),
		// The second step of cuBLAS's dot product.
		g("gemm.dot_reduce", "cuBLAS dot product", "gemv",
			Pattern{Exact: words("reduce_1Block_kernel"), Substring: words("cublas")}),
		g("gemm.cudnn", "cuDNN engine", "conv", Pattern{Prefix: words("cudnn_generated_", "cudnn_infer_",
			"cudnn_train_")}),
	}
}

var gemmKinds = []struct {
	kind     string
	patterns wordmatch.Patterns
}{
	{"grouped", wordmatch.CompileAll(words("*grouped*", "*matmul_ogs*", "group_gemm*"))},
	{"gemv", wordmatch.CompileAll(words("*gemv*", "dot_kernel", "*wvsplitk*", "*LLMM1*"))},
	{"lora", wordmatch.CompileAll(words("*lora*", "*sgmv*", "*bgmv*"))},
	{"conv", wordmatch.CompileAll(words("fprop", "dgrad", "wgrad"))},
}

var groupedArgs = wordmatch.CompileAll(words("*GroupProblemShape*", "*GroupedGemm*", "*MoeFCGemm*"))

// gemmKind separates grouped products, matrix-vector products and LoRA's small
// products.
func gemmKind(n *Name) string {
	for _, k := range gemmKinds {
		if k.patterns.In(n.fn) || k.patterns.In(n.op) {
			return k.kind
		}
	}
	switch n.Family {
	case familyDeepGEMM:
		// enum GemmType: 0 is a plain product, 1 and above are grouped.
		if _, value, _ := strings.Cut(n.Demangled, "GemmType)"); value != "" && !strings.HasPrefix(value, "0") {
			return "grouped"
		}
	case familyCUTLASS:
		if groupedArgs.In(n.argWords()) {
			return "grouped"
		}
	}
	return ""
}

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
			Function: words("*finalize_moe*", "*moe_sum*", "*moe_reduce*", "*moe_finalize*",
				"*finalize_matmul_scatter*", "*post_reorder*", "*moe_unpermute*", "*ep_gather*"),
		}),
		moe("moe.permute", "token sorting, permutation and finalisation for experts", "permute", Pattern{
			Function: words("*moe_align*", "*count_and_sort*", "*moe_sort*", "*moe_permute*", "*expert_map*",
				"*ep_scatter*", "*expand_input_rows*", "*expert_offset*", "*sort_expert*", "*shuffle_rows*",
				"*problem_sizes*", "*permute_tokens*", "*expert_first_token*", "*pre_reorder*", "*expert_prefix*",
				"*moe_permutation*", "*token_permut*", "*src2dst*", "*seg_indptr*", "mm_ids", "mm_ids_*",
				"*expand_moe*", "*MoeSorting*", "*fill_gateup*", "*row_id_map*", "masked_m"),
			None: words("*gemm*"),
		}),
		moe("moe.routing", "expert routing", "routing", Pattern{
			Function: words("*moe_fused_gate*", "*topk_gating*", "*grouped_topk*", "*topk_id", "*topk_ids*",
				"*topk_weights*", "*remap_topk*", "*topk_route*", "*topk_with_score*", "route", "route_*", "*_route_*",
				"routes", "router", "*topksoftmax*", "*topk_softmax*", "*topk_sigmoid*", "*routing*", "*moe_gate*",
				"*moe_softmax*", "*moe_router*", "*fused_router*", "_topk_forward", "*bitmatrix*", "*biased_topk*",
				"*expert_lookup*", "*noaux_tc*", "*expert_histogram*", "*hash_expert*", "deepseek_v3_topk*",
				"*expert_select*", "*expt_*"),
			None: words("*gemm*"),
		}),
		moe("moe.routing_words", "softmax and choice of experts", "routing",
			Pattern{All: words("*softmax*", "*topk*")}),
		moe("moe.gemm", "expert matrix products", "gemm", Pattern{
			Function: words("*moe_gemm*", "*moe_mxgemm*", "fused_moe_kernel*", "*moe_wna16*", "*fused_moe",
				"*fused_moe_*", "*moe_fused*", "*fmoe*", "batched_triton_kernel", "*moe_mm*", "*moe_stage1*",
				"*moe_stage2*"),
		}),
		// marlin_moe_wna16::Marlin: the scope says experts, the function only
		// the method.
		moe("moe.gemm_scope", "expert matrix products", "gemm", Pattern{
			Scope: words("*marlin_moe*", "*moe_gemm*", "*fused_moe_gemm*"),
		}),
		moe("moe.kernel", "mixture of experts", "", Pattern{Function: words("*moe*", "*deepep*", "*expert", "*experts",
			"*expert_*")}),
		// TensorRT-LLM's CUTLASS MoE runner keeps its helpers beside the
		// GEMMs; their names alone would be an activation and a stride table.
		moe("moe.trtllm_helpers", "TensorRT-LLM CUTLASS MoE helpers", "", Pattern{
			Scope: words("cutlass_kernels", "cutlass_kernels_oss"), None: words("*gemm*", "fpA*", "*gemv*"),
		}),
		moe("moe.scope_routing", "expert routing", "routing",
			Pattern{Scope: words("moe", "*_moe"), Function: words("*topk*", "*softmax*")}),
		moe("moe.scope", "kernel of a mixture-of-experts library", "", Pattern{
			Scope: words("moe", "*router*", "fused_moe*", "*_moe", "moePrepare*", "moe_*"), None: words("*gemm*"),
		}),
	}
}

// subcategoryConvolution is what convolutions are among the products.
const subcategoryConvolution = "conv"
