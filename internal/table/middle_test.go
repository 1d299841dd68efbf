package table

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestBaseNameIsNeverCut: whatever the width, the base name of a kernel is whole: in one line where it fits with what
// shows that something is missing, else over several.
func TestBaseNameIsNeverCut(t *testing.T) {
	c := Code("Kernel")
	for name, base := range map[string]string{
		"void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false, false, cutlass::bfloat16_t>, true>(Flash_fwd_params)": "flash_fwd_splitkv_kernel",
		"void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float>, std::array<char*, 3> >(int)":             "vectorized_elementwise_kernel",
		"triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_7":                                                            "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_7",
		"void (anonymous namespace)::elementwise_kernel_with_index<int, at::native::arange_cuda_out>(int, char**)":      "elementwise_kernel_with_index",
		"void at::native::<unnamed>::vectorized_layer_norm_kernel<float, (anonymous namespace)::Traits<4>>(int, float)": "vectorized_layer_norm_kernel",
		"cutlass::device_kernel": "device_kernel",
		"/opt/venv/lib/python3.12/site-packages/vllm/model_executor/layers/fused_moe/layer.py(417): forward_cuda": "layer.py",
	} {
		for width := 8; width < 130; width++ {
			lines := c.lines(name, width)
			for _, l := range lines {
				if n := utf8.RuneCountInString(l); n > width {
					t.Errorf("%d: %q has %d characters", width, l, n)
				}
			}
			if !strings.Contains(strings.Join(lines, ""), base) || len(base)+2*len(ellipsis) <= width && len(lines) > 1 {
				t.Errorf("%d: %q lacks %s", width, lines, base)
			}
		}
	}
}
