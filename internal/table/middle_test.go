package table

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestBaseNameIsNeverCut: whatever the width, the base name of a kernel is whole where it fits with what shows that
// something is missing.
func TestBaseNameIsNeverCut(t *testing.T) {
	c := Code("Kernel")
	for name, base := range map[string]string{
		"void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false, false, cutlass::bfloat16_t>, true>(Flash_fwd_params)": "flash_fwd_splitkv_kernel",
		"void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float>, std::array<char*, 3> >(int)":             "vectorized_elementwise_kernel",
		"triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_7": "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_7",
		"cutlass::device_kernel":                             "device_kernel",
		"/opt/venv/lib/python3.12/site-packages/vllm/model_executor/layers/fused_moe/layer.py(417): forward_cuda": "layer.py",
	} {
		for width := 8; width < 130; width++ {
			got := c.cut(name, width)
			if n := utf8.RuneCountInString(got); n > width {
				t.Errorf("%d: %q has %d characters", width, got, n)
			}
			if len(base)+2*len(ellipsis) <= width && !strings.Contains(got, base) {
				t.Errorf("%d: %q lacks %s", width, got, base)
			}
		}
	}
}
