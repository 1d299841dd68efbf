package classify_test

import (
	"testing"

	"github.com/llmstrata/strata/classify"
)

// TestTokenGrids: which kernels run one block a token, and the traps beside them.
func TestTokenGrids(t *testing.T) {
	for _, c := range []struct {
		name   string
		family string
		axis   int
	}{
		{"void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*)", "norm", 0},
		{"void vllm::rms_norm_kernel<c10::BFloat16>(c10::BFloat16*)", "", 0}, // of heads too
		{"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb1ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_dfiiiiiiii",
			"norm", 0},
		{"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi8ELb1ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_dfiiiiiiii",
			"norm", 0},
		// of heads
		{"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb0ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_dfiiiiiiii", "",
			0},
		// minHidden
		{"void aiter::add_rmsnorm_quant_kernel<__bf16, __bf16, 128, 8, true>(float*)", "norm", 0},
		{"void aiter::add_rmsnorm_quant_kernel<__bf16, __bf16, 64, 8, true>(float*)", "", 0},
		{"void rotary_embedding_kernel<c10::BFloat16, true>(long const*)", "rope", 0},
		{"void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, (vllm::Fp8KVCacheDataType)0>(__nv_bfloat16 const*)", "cache write", 0},
		{"void (anonymous namespace)::store_kvcache<2048l, 4, false, long>((anonymous namespace)::StoreKVCacheParams)",
			"cache write", 0},
		{"void (anonymous namespace)::fused_rope_store_kernel<true, 128l, true, __nv_bfloat16, long, 0, 0>(P)", "", 0},
		{"_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16TnPFT_RKS3_EXadL_Z4siluIS2_ES3_S5_EEEEvPS3_PS4_i",
			"activation", 0},
		{"void flashinfer::activation::act_and_mul_kernel<__nv_bfloat16, &(float silu<float>(float const&))>(__nv_bfloat16*)",
			"", 0},
		{"void moe::dev::finalize::finalizeKernel<moe::dev::finalize::KernelParams<cutlass::bfloat16_t>>(P)",
			"experts' sum", 1},
		{"void tensorrt_llm::kernels::cutlass_kernels::finalizeMoeRoutingKernel<float>(P)", "", 0},
		{"kernel_cutlass_kernel_flashinfernormkernelsfused_add_rmsnormFusedAddRMSNormKernel_object_at__tensorptrbf16",
			"", 0},
	} {
		got := classify.Default().Facts(c.name).Tokens
		if got.Family != c.family || got.Axis != c.axis {
			t.Errorf("%.100s: %+v, want family %q, axis %d", c.name, got, c.family, c.axis)
		}
	}
}

// TestOneQuery: attention that can only decode, and what also prefills or verifies.
func TestOneQuery(t *testing.T) {
	for name, want := range map[string]bool{
		"void paged_attention_ll4mi_QKV_mfma16_kernel<0, __hip_bfloat16, __hip_bfloat16, (vllm::Fp8KVCacheDataType)0, 16, 128, 256, true, 8>(P)": true,
		"void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0, 2u, 4u, 8u, 8u, 4u, 4u>(P)":                          true,
		"kernel_unified_attention_3d": true,
		"kernel_unified_attention_2d": false,
		"void flashinfer::BatchPrefillWithPagedKVCacheKernel<flashinfer::KernelTraits<(flashinfer::MaskMode)1>>(P)": false,
		"fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvCausalP64MultiCtasKvCgaVarSeqQ8Kv128StaticSwapsAbForGen":   false,
		"_fwd_kernel": false,
	} {
		f := classify.Default().Facts(name)
		if f.OneQuery != want {
			t.Errorf("%s: one query %t, want %t", name, f.OneQuery, want)
		}
		if f.Role != classify.RoleAttention {
			t.Errorf("%s: role %q, want a mixer", name, f.Role)
		}
	}
}
