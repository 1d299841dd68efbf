package classify_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
)

// TestFacts: roles and exchanges from the name alone. The names are those of
// public kernels, arguments shortened.
func TestFacts(t *testing.T) {
	for _, c := range []struct {
		name       string
		role       classify.Role
		collective classify.Collective
	}{
		// torch.compile names what it fused; the products beside it are views.
		{"triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_2", classify.RoleNorm, classify.NotCollective},
		{"triton_red_fused__to_copy_add_copy__fused_add_rms_norm_moe_forward_shared_3", classify.RoleNorm,
			classify.NotCollective},
		{"triton_poi_fused_mul_silu_slice_1", classify.RoleActivation, classify.NotCollective},
		{"triton_red_fused__to_copy_add_embedding_mean_mul_pow_rsqrt_0", classify.RoleEmbed, classify.NotCollective},
		// The first argument of FlashInfer's and TensorRT-LLM's fused all-reduce
		// says what is fused, 0 being nothing.
		{"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(flashinfer::trtllm_allreduce_fusion::AllReduceFusionPattern)0, __nv_bfloat16, 8, false, true>(P)", classify.RoleCollective, classify.AllReduce},
		{"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(flashinfer::trtllm_allreduce_fusion::AllReduceFusionPattern)1, __nv_bfloat16, 8, false, true>(P)", classify.RoleNorm, classify.AllReduce},
		{"void tensorrt_llm::kernels::ar_fusion::allreduce_fusion_kernel_twoshot_sync<(tensorrt_llm::kernels::ar_fusion::AllReduceFusionPattern)3, __half, 4, true>(P)", classify.RoleNorm, classify.AllReduce},
		{"void flashinfer::trtllm_mnnvl_allreduce::oneshotAllreduceFusionKernel<8, __nv_bfloat16, false, float4>(__nv_bfloat16*)", classify.RoleCollective, classify.AllReduce},
		{"void flashinfer::trtllm_mnnvl_allreduce::oneshotAllreduceFusionKernel<8, __nv_bfloat16, true, float4>(__nv_bfloat16*)", classify.RoleNorm, classify.AllReduce},
		{"void tensorrt_llm::kernels::ar_fusion::moe::moereduce_allreduce_fusion_kernel_oneshot_lamport<__nv_bfloat16, 8>(P)",
			classify.RoleNorm, classify.AllReduce},
		{"void aiter::allreduce_fusion_kernel_1stage<__hip_bfloat16, 8, 512>(P)", classify.RoleNorm,
			classify.AllReduce},
		// Two kernels make one all-reduce: the second takes the result over.
		{"void aiter::reduce_scatter_cross_device_store<__hip_bfloat16, 8>(aiter::RankData*, int)",
			classify.RoleCollective, classify.ReduceScatter},
		{"void aiter::local_device_load_rmsnorm<__hip_bfloat16, 8>(aiter::RankSignals)", classify.RoleNorm,
			classify.NotCollective},
		{"void flashinfer::trtllm_mnnvl_allreduce::rmsNormLamport<__nv_bfloat16, float4>(__nv_bfloat16*)",
			classify.RoleNorm, classify.OtherCollective},
		{"void sglang::cross_device_reduce_1stage<__nv_bfloat16, 8>(RankData*)", classify.RoleCollective,
			classify.AllReduce},
		{"multimem_one_shot_reduce_kernel", classify.RoleCollective, classify.AllReduce},
		{"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", classify.RoleCollective,
			classify.AllGather},
		{"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", classify.RoleCollective, classify.SendRecv},
		{"ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)", classify.RoleCollective,
			classify.Broadcast},
		{"ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", classify.RoleCollective,
			classify.OtherCollective},
		{"void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)", classify.RoleCollective, classify.AllToAll},
		{"void deep_ep::internode_ll::combine<true, 3, 10, 7168>(void*)", classify.RoleCollective, classify.AllToAll},
		{"dpsk::ep::internode_ll::dispatch<true, 3, 10, 7168>(void*)", classify.RoleCollective, classify.AllToAll},
		// Libraries beside DeepEP in one namespace exchange nothing.
		{"void dpsk::grouped_gemm::transpose<128>(float*)", classify.RoleOther, classify.NotCollective},
		// Writing the cache is no attention, nor is a softmax of its own.
		{"void sglang::set_mla_kv_buffer_kernel<128, 128>(P)", classify.RoleCacheWrite, classify.NotCollective},
		{"void vllm::concat_and_cache_mla_kernel<__nv_bfloat16>(P)", classify.RoleCacheWrite, classify.NotCollective},
		{"void softmax_warp_forward<float, float, float, 10, false>(float*)", classify.RoleSoftmax,
			classify.NotCollective},
		{"void flash::flash_fwd_splitkv_kernel<T>(P)", classify.RoleAttention, classify.NotCollective},
		{"fused_qknorm_rope_kernel", classify.RoleRope, classify.NotCollective},
		{"void moe::topk_softmax<8>(float*)", classify.RoleRouter, classify.NotCollective},
		{"fused_moe_kernel", classify.RoleExperts, classify.NotCollective},
		{"void tensorrt_llm::kernels::cutlass_kernels::finalizeMoeRoutingKernel<float>(P)", classify.RoleFinalize,
			classify.NotCollective},
		{"moe_align_block_size_kernel", classify.RolePermute, classify.NotCollective},
		{"void at::native::(anonymous namespace)::vectorized_gather_kernel<16, long>(char*)", classify.RoleEmbed,
			classify.NotCollective},
		{"fast_hadamard_transform_kernel", classify.RoleQuantize, classify.NotCollective},
		{"void flash::flash_bwd_dq_dk_dv_loop_kernel<T>(P)", classify.RoleBackward, classify.NotCollective},
	} {
		f := classify.Default().Facts(c.name)
		if f.Role != c.role || f.Collective != c.collective {
			t.Errorf("%.120s: role %q, collective %q (%s by %s), want %q, %q", c.name, f.Role, f.Collective, f.Category,
				f.Rule, c.role, c.collective)
		}
	}
}

// TestFactsOfSizes: tiles and types vary, the base does not.
func TestFactsOfSizes(t *testing.T) {
	a := classify.Default().Facts("nvjet_tst_128x64_64x6_2x1_v_bz_TNT")
	b := classify.Default().Facts("nvjet_tst_64x8_64x16_4x1_v_bz_TNT")
	if a.Base != b.Base || a.Tile != "128x64" || b.Tile != "64x8" || a.DType != classify.DTypeBF16 {
		t.Errorf("got %+v and %+v, want one base, tiles 128x64 and 64x8, bf16", a, b)
	}
}

// TestFactsOfExperts: a product of several groups is one of experts.
func TestFactsOfExperts(t *testing.T) {
	for name, want := range map[string]bool{
		"bmm_Bfloat16_E2m1E2m1_Fp32_t128x8x512u2_s5": true, "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1": true,
		"fused_moe_kernel": true, "nvjet_tst_64x8": false, "moe_align_block_size_kernel": false,
	} {
		if got := slices.Contains(classify.Default().Facts(name).Ops, classify.RoleExperts); got != want {
			t.Errorf("%s: experts %v, want %v", name, got, want)
		}
	}
}

// TestUsersRulesDoNotCut: a user's rule renames the category and nothing else.
func TestUsersRulesDoNotCut(t *testing.T) {
	const name = "void vllm::rms_norm_kernel<__nv_bfloat16, 8>(P)"
	want := classify.Default().Facts(name)
	got := classify.Default().With(classify.Substring("mine", "Mine", true, "norm")).Facts(name)
	if got.Category != classify.Category("mine") || got.Rule != "mine" {
		t.Errorf("category %q by rule %q, want the user's", got.Category, got.Rule)
	}
	if got.Role != want.Role || got.Base != want.Base || got.Collective != want.Collective {
		t.Errorf("got %+v, want role, base and collective of %+v", got, want)
	}
}

// TestCommunicationHasAKind: category and kind of exchange are one answer.
func TestCommunicationHasAKind(t *testing.T) {
	for _, n := range corpus(t) {
		f := classify.Default().Facts(n)
		if (f.Category == classify.CategoryCommunication) != (f.Collective != classify.NotCollective) {
			t.Errorf("%.120s: category %s, collective %q", n, f.Category, f.Collective)
		}
	}
}

// BenchmarkFacts is the cost of all facts of a name.
// TestUngated: only a name that lists all that a kernel does shows that an activation multiplies no second input.
func TestUngated(t *testing.T) {
	for name, want := range map[string]bool{
		"triton_poi_fused_addmm_gelu_view_24":                true,
		"triton_poi_fused__unsafe_view_addmm_cat_clone_gelu": true,
		"triton_poi_fused_mul_silu_slice_1":                  false,
		"triton_poi_fused_glu_2":                             false,
		"void at::native::vectorized_elementwise_kernel<4, at::native::glu_kernel(at::TensorIteratorBase&)::{lambda()#1}, std::array<char*, 3ul> >(int)": false,
		"triton_poi_fused_add_mul_pow_tanh_3":              false, // GELU, or a gate beside it
		"triton_red_fused__to_copy_add_mean_mul_pow_rsqrt": false,
		"void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#1}, std::array<char*, 2ul> >(int)": true,
		"void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel<c10::BFloat16>, true>(c10::BFloat16*)":                                                                        false,
		"gelu_kernel": false,
	} {
		f := classify.Default().Facts(name)
		if got := f.Ungated(); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func BenchmarkFacts(b *testing.B) {
	data, err := os.ReadFile("testdata/kernels.txt")
	if err != nil {
		b.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	for b.Loop() {
		for _, l := range lines {
			if _, name, ok := strings.Cut(l, " "); ok && l[0] != '#' {
				classify.Default().Facts(name)
			}
		}
	}
}

// TestOperandAndElement: names of products that have both operand types, and of kernels that move elements of a size.
func TestOperandAndElement(t *testing.T) {
	for name, want := range map[string]struct {
		operand string
		element int
	}{
		"_matmul_ogs_NNT_bf16xbf16xmxfp4_128x128x128x1_swiglu":       {"bf16", 0},
		"gemm_e4m3xe4m3_128x128":                                     {"fp8", 0},
		"bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x8x512":                  {"", 0}, // the first is the result
		"void at::native::CatArrayBatchedCopy<OpaqueType<2u>, 4>(P)": {"", 2},
		"void index_kernel<OpaqueType<16> >(P)":                      {"", 16},
		"void index_kernel<OpaqueType<77> >(P)":                      {"", 0},
	} {
		if f := classify.Default().Facts(name); f.Operand != want.operand || f.Element != want.element {
			t.Errorf("%s: %q, %d bytes, want %+v", name, f.Operand, f.Element, want)
		}
	}
}

// Copies and fills of the GPU's runtime are known as such, whether they are kernels or not; others are not.
func TestKernelsOfTheRuntime(t *testing.T) {
	for name, want := range map[string]bool{"__amd_rocclr_copyBuffer": true, "__amd_rocclr_fillBufferAligned": true,
		"Memcpy DtoD (Device -> Device)": true, "Memset (Device)": true,
		"void at::native::direct_copy_kernel_cuda<4>(float*)": false, "FillFunctor": false} {
		if f := classify.Default().Facts(name); f.OfRuntime() != want {
			t.Errorf("%s: %t, want %t (%s)", name, f.OfRuntime(), want, f.Library)
		}
	}
}
