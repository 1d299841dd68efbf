package layer_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/layer"
)

// TestRecordedModels: runs in the manner of models that were recorded with transformers and diffusers: norms of single
// operations behind both halves of layers, short convolutions beside attention in no period, steps of a denoiser after
// one draw of numbers, and two models in turn that run the same kernels in 14 and in 24 layers, whose host is slow.
func TestRecordedModels(t *testing.T) {
	const (
		gather = "at::native::vectorized_gather_kernel<16,long>"
		norm   = "at::native::vectorized_layer_norm_kernel<c10::BFloat16,float>"
		add    = "at::native::vectorized_elementwise_kernel<8,at::native::CUDAFunctor_add<c10::BFloat16>,std::array<char*,3ul>>"
		mul    = "at::native::elementwise_kernel<128,4,at::native::BinaryFunctor<c10::BFloat16,c10::BFloat16,c10::BFloat16,at::native::binary_internal::MulFunctor<float>>>"
		silu   = "at::native::vectorized_elementwise_kernel<8,at::native::silu_kernel,std::array<char*,2ul>>"
		gelu   = "at::native::vectorized_elementwise_kernel<4,at::native::GeluCUDAKernelImpl,std::array<char*,2ul>>"
		flash  = "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_cga1x1x1_kernel0_0"
		conv   = "at::native::conv_depthwise2d_forward_kernel_generic<c10::BFloat16,int>"
		draw   = "at::native::distribution_elementwise_grid_stride_kernel<float,4,normal>"
		cat    = "at::native::CatArrayBatchedCopy<at::native::OpaqueType<2u>,unsigned,4,64,64>"
		last   = "at::native::reduce_kernel<512,1,at::native::ReduceOp<c10::BFloat16,at::native::ArgMaxOps<float>>>"
	)
	words := func(w ...string) string { return strings.Join(w, " ") }
	g := func(shape string) string { return "nvjet_sm90_tst_" + shape + "_v_bz_TNT" }
	written := words("at::native::unrolled_elementwise_kernel<at::native::copy_device_to_device>",
		"at::native::vectorized_elementwise_kernel<4,at::native::pow_tensor_scalar_kernel_impl<float,float>>",
		"at::native::reduce_kernel<512,1,at::native::ReduceOp<float,at::native::MeanOps<float,float,float,float>>>",
		"at::native::vectorized_elementwise_kernel<4,at::native::CUDAFunctorOnSelf_add<float>,std::array<char*,2ul>>",
		"at::native::vectorized_elementwise_kernel<4,at::native::rsqrt_kernel_cuda,std::array<char*,2ul>>",
		"at::native::elementwise_kernel<128,2,at::native::BinaryFunctor<float,float,float,at::native::binary_internal::MulFunctor<float>>>")
	attend := words(g("8x64_q"), g("8x64_k"), g("8x64_k"), mul, cat, mul, cat, flash, g("8x64_o"))
	feed := words(g("64x8_up"), silu, g("64x8_up"), mul, g("64x8_down"))
	passes := func(n int, prologue string, layers []string, epilogue string) []act {
		return concat(slices.Repeat([][]act{laid(prologue, layers, epilogue)}, n)...)
	}
	var mixed []string
	for l := range 16 {
		mix := words(g("64x8_in"), mul, cat, conv, mul, g("8x64_out"))
		if slices.Contains([]int{2, 5, 8, 10, 12, 14}, l) {
			mix = attend
		}
		mixed = append(mixed, words(written, mix, add, written, feed, add))
	}
	plain := words(written, attend, add, written, feed, add)
	head := words(written, g("head"), last)
	few := laid(gather, rep(14, plain), head)
	many := func(pass int) []act { // with another tile in one place
		layers := rep(24, plain)
		layers[pass] = strings.Replace(plain, "64x8_down", "64x16_down", 1)
		return laid(gather, layers, head)
	}
	// evenly: the GPU idles as long between passes as within them
	evenly := func(acts []act, every, busy int64) []act {
		for i := range acts {
			acts[i].start, acts[i].dur = 1_000_000_000+int64(i)*every, busy
		}
		return acts
	}
	steps := slices.Repeat([][]act{laid(words(g("patches"), mul, cat, g("time"), silu, g("time")), rep(14, words(silu,
		g("modulate"), norm, mul, add, g("qkv"), flash, g("out"), mul, add, norm, mul, add, g("up"), gelu, g("down"), mul,
		add)), words(silu, g("modulate"), norm, mul, add, g("patch"), add, mul))}, 6)
	for _, c := range []struct {
		name string
		acts []act
		n    int
	}{
		{"norms behind both halves", passes(4, gather, rep(18, words(written, attend, written, add, written, feed,
			written, add)), head), 18},
		{"short convolutions beside attention", passes(4, gather, mixed, head), 16},
		{"steps of a denoiser", evenly(concat(append([][]act{laid(draw, nil, "")}, steps...)...), 5_000, 4_000), 14},
		{"two models in turn", evenly(concat(few, few, few, many(3), many(9), many(17), few, few), 45_000, 300), 24},
	} {
		an, err := layer.Analyze(t.Context(), traceOf(c.acts), layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d := &an.Devices[0]
		if share, _ := unseenShare(d, c.acts, c.n); share < 0.999 || d.NumLayers != c.n {
			t.Errorf("%s: %.1f%% right, %d layers, want 99.9%% and %d\n%v", c.name, 100*share, d.NumLayers, c.n, d.Evidence)
		}
	}
}
