package classify_test

import (
	"testing"

	"github.com/llmstrata/strata/classify"
)

func TestSlowProducts(t *testing.T) {
	for name, want := range map[string][2]int{
		"void cutlass::Kernel2<cutlass_75_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align1>(x)": {1, 75},
		"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x6_tn_align8>(x)":  {8, 80},
		"volta_h884gemm_128x64_ldg8_nn":                          {0, 70},
		"turing_fp16_s1688gemm_fp16_64x64_sliced1x2_ldg8_f2f_tn": {0, 0},
		"turing_h1688gemm_128x64_ldg8_nn":                        {0, 75},
		"nvjet_tst_64x8_64x16_4x1_v_bz_TNT":                      {0, 0},
		"void align_tokens_kernel<16>(x)":                        {0, 0},
	} {
		if a, b := classify.Align(name), classify.BuiltFor(name); a != want[0] || b != want[1] {
			t.Errorf("%s: alignment %d, for %d, want %v", name, a, b, want)
		}
	}
}
