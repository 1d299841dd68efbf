package classify_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/classify"
)

func TestLabel(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"void rotary_embedding_kernel<c10::BFloat16, true>(long const*)", "rotary_embedding_kernel"},
		{"_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16TnPFT_RKS3_EXadL_Z4siluIS2_ES3_S5_EEEEvPS3_PS4_i",
			"act_and_mul_kernel"},
		{"void ck_tile::kentry<2, ck_tile::MoeSortingKernel<int> >(int)", "MoeSortingKernel"},
		{"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)", "CUDAFunctor_add"},
		{"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>, unsigned int, float, 4, 4> >(int)", "reduce_kernel[MeanOps]"},
		{"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x256x32_MI16x16x1_SN_LDSB1",
			"Cijk_Alik_Bljk_BBS_MT128x256x32"},
		{"kernel_cutlass_kernel_flashinfernormkernelsrmsnormRMSNormKernel_object_at__tensorptrbf16_0",
			"RMSNormKernel"},
		{"kernel_cutlass_kernel_object_at__tensorptrbf16_0", "kernel_cutlass_kernel"}, // no class
		{"_gemm_a8w8_kernel_BLOCK_SIZE_M_16_BLOCK_SIZE_N_32", "_gemm_a8w8_kernel"},
		{"_fwd_kernel_stage2", "_fwd_kernel_stage2"},
		{"chunk_abc_fwd_kernel_K", "chunk_abc_fwd_kernel_K"}, // there is one of V, too
		{"void cudnn::bn_fw_inf_1C11_kernel_NCHW<float, float, true, 1>(float)", "bn_fw_inf_1C11_kernel_NCHW"},
		{"nvjet_sm103_tst_32x64_64x16_4x1_v_bz_splitK_TNN", "nvjet_sm103_tst_32x64_64x16_4x1_v_bz_splitK_TNN"},
		{"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64"},
		{"Memcpy DtoD (Device -> Device)", "Memcpy DtoD (Device -> Device)"},
	} {
		n := classify.Parse(c.name)
		if got := n.Label(); got != c.want {
			t.Errorf("label of %s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestLongNames holds the length from which a generated name is cut: one letter more or less decides.
func TestLongNames(t *testing.T) {
	const head = "gemm_64x64_"
	short, long := head+strings.Repeat("a", 55-len(head)), head+strings.Repeat("a", 56-len(head))
	for _, c := range []struct{ name, want string }{{short, short}, {long, "gemm_64x64"}} {
		n := classify.Parse(c.name)
		if got := n.Label(); got != c.want {
			t.Errorf("label of %d letters = %q, want %q", len(c.name), got, c.want)
		}
	}
}

func TestLabelsTellNamesApart(t *testing.T) {
	for _, c := range []struct{ names, want []string }{
		{[]string{"void vllm::rms_norm<float>(int)", "void sgl::rms_norm<float>(int)",
			"void vllm::rms_norm<float>(int)"},
			[]string{"vllm::rms_norm", "sgl::rms_norm", "vllm::rms_norm"}},
		{[]string{"void aiter::norm<bf16, 64, 8, false>(int)", "void aiter::norm<bf16, 256, 16, true>(int)", "other"},
			[]string{"norm<64>", "norm<256>", "other"}},
		{[]string{"void f<1, 2>(int)", "void f<1, 3>(int)", "void f<4, 2>(int)"},
			[]string{"f<1, 2>", "f<1, 3>", "f<4, 2>"}},
		{[]string{"Cijk_Alik_Bljk_BBS_BH_MT16x16x32_SN_K1", "Cijk_Alik_Bljk_BBS_BH_MT16x16x32_SN_K2"},
			[]string{"Cijk_Alik_Bljk_BBS_MT16x16x32<K1>", "Cijk_Alik_Bljk_BBS_MT16x16x32<K2>"}},
		// They differ in the order of the words only.
		{[]string{"void f<a, b>(int)", "void f<b, a>(int)"}, []string{"f #1", "f #2"}},
	} {
		if diff := cmp.Diff(c.want, classify.Labels(c.names, nil)); diff != "" {
			t.Errorf("labels of %q (-want +got):\n%s", c.names, diff)
		}
		back := slices.Clone(c.names)
		slices.Reverse(back)
		got := classify.Labels(back, nil)
		slices.Reverse(got)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("labels of %q depend on the order (-want +got):\n%s", c.names, diff)
		}
	}
}
