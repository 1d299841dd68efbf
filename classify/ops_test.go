package classify_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/testdata"
)

// TestOps: what names say of the operations they fuse, in the order of the model.
func TestOps(t *testing.T) {
	for name, want := range map[string]string{
		"triton_per_fused_add_native_layer_norm_4":             "add norm",
		"triton_per_fused_native_layer_norm_0":                 "norm",
		"triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_2":   "add norm",
		"triton_red_fused__to_copy_add_fused_add_rms_norm_2":   "add norm",
		"triton_red_fused__to_copy_embedding_mean_mul_rsqrt_0": "embed norm",
		"triton_red_fused_native_group_norm_silu_1":            "norm activation",
		"triton_tem_fused_addmm_relu_3":                        "product activation",
		"triton_poi_fused_mul_silu_1":                          "activation",
		"triton_poi_fused_add_0":                               "add",
		"triton_poi_fused__to_copy_1":                          "copy",
		"triton_poi_fused_add_cat_mul_neg_slice_7":             "rope",
		"triton_red_fused__to_copy_abs_clamp_div_max_mul_silu": "activation quantize",
		"void at::native::vectorized_elementwise_kernel<8, at::native::(anonymous namespace)::softplus_kernel(X)::{lambda()#1}>(int, X)": "scan_input",
		"triton_poi_fused_cat_3":                 "rope",
		"triton_poi_fused_cat_clone_transpose_9": "copy",
		"void ck_tile::kentry<1, ck_tile::Rmsnorm2dFwd<X<(ck_tile::Rmsnorm2dFusedAddEnum)1, (ck_tile::Rmsnorm2dFusedQuantEnum)0>>>(P)": "add norm",
		"void ck_tile::kentry<1, ck_tile::Rmsnorm2dFwd<X<(ck_tile::Rmsnorm2dFusedAddEnum)0, (ck_tile::Rmsnorm2dFusedQuantEnum)0>>>(P)": "norm",
		"triton_red_fused_argmax_0":                                                                                                          "sample",
		"__myl_MulMeaAddSqrDivMulMul_myl0_7":                                                                                                 "norm",
		"void vllm::fused_add_rms_norm_kernel<__nv_bfloat16, 8>(P)":                                                                          "add norm",
		"void vllm::rms_norm_kernel<__nv_bfloat16, 8>(P)":                                                                                    "norm",
		"void aiter::add_rmsnorm_quant_kernel<__hip_bfloat16, 256, 16, true>(P)":                                                             "add norm quantize",
		"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(X::AllReduceFusionPattern)1>":                    "collective add norm",
		"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(X::AllReduceFusionPattern)0>":                    "collective",
		"void flashinfer::trtllm_mnnvl_allreduce::rmsNormLamport<__nv_bfloat16, float4>(P)":                                                  "add norm",
		"void tensorrt_llm::kernels::ar_fusion::moe::moereduce_allreduce_fusion_kernel_oneshot_lamport<__nv_bfloat16>":                       "finalize collective add norm",
		"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)":                                                                  "gather",
		"void deep_ep::internode_ll::combine<true, 3, 10, 7168>(void*)":                                                                      "combine",
		"void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)":                                                                             "dispatch",
		"fused_qknorm_rope_kernel":                                                                                                           "head_norm rope",
		"_fused_qk_rope_reshape_and_cache_kernel":                                                                                            "rope cache_write",
		"_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu":                                                                                "experts activation",
		"_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1":                                                                                       "experts",
		"bmm_Bfloat16_E2m1E2m1_Fp32_t128x8x512u2_s5":                                                                                         "experts",
		"_batched_gemm_a16wfp4_kernel":                                                                                                       "head_product",
		"void reduce_1Block_kernel<float, 128, 7, P>(P)":                                                                                     "product_reduce",
		"void cublasLt::splitKreduce_kernel<32, 16, int>(P)":                                                                                 "product_reduce",
		"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x256x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4_execute_split_k_kernel__5x_cublas": "product_reduce",
		"Memcpy HtoD (Pinned -> Device)":                                                                                                     "transfer",
		"Memcpy DtoD (Device -> Device)":                                                                                                     "copy",
		"void fbgemm_gpu::permute_2D_data_kernel<false, long>(P)":                                                                            "copy",
		"void unary_gated_op_kernel<&(op_silu(float)), float>(float const*)":                                                                 "activation",
		"void k_bin_bcast<&op_add, float, float, float>(float const*)":                                                                       "add",
		"void cutlass::device_kernel<at::cuda::detail::enable_3x_kernel_for_sm10<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::GroupProblemShape<X>>>>(P)": "experts",
		"void at::cuda::detail::prepare_grouped_gemm_data<cutlass::bfloat16_t>(P)":                                                                               "prepare",
		"void ssm_conv_f32<128ul, 4ul>(float const*)":                                                                                                            "conv",
		"fused_post_conv_prep_kernel_gdn":                                                                                                                        "scan_input",
		"void topk_moe_cuda<128, false>(float const*)":                                                                                                           "router",
		"void r4d_gemm_moe_mxfp4a8_nt_b16_kernel<4>(P)":                                                                                                          "experts",
		"mfma_moe1_silu_mul_afp4_wfp4_bf16_t32x128x256_pm1_async_v33":                                                                                            "experts activation",
		"mfma_moe2_afp4_wfp4_bf16_cshuffle_t32x128x256_vscale_fix3_fp4opt_v1":                                                                                    "experts",
		"void aiter::mxfp4_moe::gemm1::kernel<655360, 385, 7168, 1024, 16, true>(P)":                                                                             "experts",
		"_ZN5aiter45mla_a8w8_qh32_qseqlen4_gqaratio32_lse_cprr_psE":                                                                                              "attention",
		"void opus_moe_stage2_reduce_token_slot_route_output_kernel_gfx950<3584, 448, 2>(P)":                                                                     "finalize",
		"void vllm::deepseek_v4_fused_ops::fusedDeepseekV4QNormRopeKVRopeQuantInsertKernel<X>(P)":                                                                "head_norm rope cache_write",
		"void aiter::mxfp4_moe::moe_sort_quant::sort_quant_kernel_impl<385, 9, 16, 7168, 128, 1>(P)":                                                             "permute",
		"nobody_knows": "",
	} {
		if got := words(classify.Default().Facts(name).Ops); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func words(list []classify.Role) string {
	out := make([]string, len(list))
	for i, r := range list {
		out[i] = r.String()
	}
	return strings.Join(out, " ")
}

// opCategories are the categories that a kernel may have whose first operation is of a role. A role without a row
// fails the test.
var opCategories = map[classify.Role]string{
	classify.RoleOther: "other", classify.RoleBackward: "*", classify.RoleNorm: "norm communication",
	classify.RoleHeadNorm: "norm kv_cache", classify.RoleAttention: "attention",
	classify.RoleScan: "hybrid_linear", classify.RoleSoftmax: "softmax", classify.RoleProduct: "gemm communication",
	classify.RoleRouter: "moe", classify.RolePermute: "moe",
	classify.RoleExperts: "moe gemm", classify.RoleFinalize: "moe communication", classify.RoleMoE: "moe",
	classify.RoleRope:       "rope kv_cache elementwise reduce_topk norm quantize memory",
	classify.RoleCacheWrite: "kv_cache attention", classify.RoleCollective: "communication",
	classify.RoleEmbed: "memory norm", classify.RoleSample: "sampling_io reduce_topk",
	classify.RoleCopy:        "moe memory kv_cache elementwise hybrid_linear",
	classify.RoleElementwise: "elementwise reduce_topk softmax", classify.RoleActivation: "activation moe quantize",
	classify.RoleQuantize: "quantize attention", classify.RoleAdd: "elementwise norm communication",
	classify.RoleGather: "communication", classify.RoleDispatch: "communication",
	classify.RoleCombine: "communication", classify.RoleConv: "hybrid_linear", classify.RoleScanInput: "hybrid_linear",
	classify.RoleIndexer:     "attention kv_cache",
	classify.RoleIndexerTopK: "attention reduce_topk", classify.RoleMixIn: "elementwise gemm norm",
	classify.RoleMixOut: "elementwise", classify.RoleHeadProduct: "gemm",
	classify.RoleProductReduce: "gemm", classify.RoleAttentionReduce: "attention",
	classify.RolePrepare: "sampling_io attention hybrid_linear", classify.RoleTransfer: "memory",
	classify.RoleRows: "memory", classify.RoleTopK: "reduce_topk", classify.RoleMultiply: "elementwise",
	classify.RolePower: "elementwise", classify.RoleMean: "reduce_topk",
	classify.RoleRsqrt: "elementwise", classify.RoleNegate: "elementwise", classify.RoleConcat: "memory",
	classify.RoleAddScalar: "elementwise",
}

// TestOpsAgreeWithCategories: the operations of every name that is known, which is what operators are found by, agree
// with its category.
func TestOpsAgreeWithCategories(t *testing.T) {
	for _, r := range classify.Roles() {
		if opCategories[r] == "" {
			t.Errorf("no category is listed for role %q", r)
		}
	}
	names := corpus(t)
	for path, column := range map[string]int{testdata.Shared(t, "labels/kernel-names.tsv"): 0,
		testdata.Shared(t, "labels/kernel-categories.tsv"): 3, "testdata/heldout.tsv": 2, "testdata/public.tsv": 2,
		"testdata/late.tsv": 2} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(strings.TrimRight(string(data), "\n"), "\n") {
			if f := strings.Split(line, "\t"); i > 0 && !strings.HasPrefix(line, "#") && len(f) > column {
				names = append(names, f[column])
			}
		}
	}
	bad := 0
	for _, n := range names {
		f := classify.Default().Facts(n)
		if len(f.Ops) == 0 || f.Op() != f.Ops[0] {
			t.Fatalf("%s has no operation", n)
		}
		if c := strings.Fields(opCategories[f.Op()]); c[0] != "*" && !slices.Contains(c, string(f.Category)) {
			bad++
			t.Errorf("%s (%s) is %s, its operations are %q: %.120s", f.Short, f.Rule, f.Category, words(f.Ops), n)
		}
	}
	t.Logf("%d names, %d contradict their category", len(names), bad)
}
