package idle

import (
	"fmt"
	"time"
)

// Kernels of PyTorch and cuBLAS, by names as the traces show them.
const (
	gemm128  = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas"
	align1tn = "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_tn_align1>(cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_tn_align1::Params)"
	align1nn = "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_nn_align1>(cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_nn_align1::Params)"
	softmax  = "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float, c10::BFloat16, at::native::(anonymous namespace)::SoftMaxForwardEpilogue>(c10::BFloat16*, c10::BFloat16 const*, int)"
	norm     = "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float, c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, c10::BFloat16*)"
	plus     = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)"
	scale    = "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul> >(int, at::native::AUnaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul>)"
	gelu     = "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}::operator()() const::{lambda()#4}::operator()() const::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >(int, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}::operator()() const::{lambda()#4}::operator()() const::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul>)"
	strided  = "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#12}::operator()() const::{lambda(c10::BFloat16)#1}>(at::TensorIteratorBase&, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#12}::operator()() const::{lambda(c10::BFloat16)#1} const&)::{lambda(int)#1}>(int)"
)

// flash is the rate of flash_fwd_kernel on an H100 in operations a microsecond: 360 TFLOP/s. Source: SDPA_fwd.csv of
// Wan2.1-T2V-1.3B in AMD-AGI/TraceLens, tests/traces/h100.
const flash = 360e6

// fused is the time of attention in one kernel, in µs: heads of all sequences, rows, width of a head.
func fused(heads, rows, width int, rate float64) float64 {
	return 4 * float64(heads) * float64(rows) * float64(rows) * float64(width) / rate
}

// saved is a number of microseconds, so often in a step.
func saved(us float64, times int) time.Duration {
	return time.Duration(us * float64(times) * float64(time.Microsecond))
}

// AttentionRuns returns runs whose attention is bmm, softmax, bmm, where one kernel could do it all.
func AttentionRuns() []OperatorRun {
	return []OperatorRun{video(8), video(4), detector(1), detector(2)}
}

// frames are those of a video that TimeSformer was measured with.
const frames = 8

// video is the spatial attention of facebook/timesformer-base-finetuned-k400 on an H100, with its GELU and norms.
// Source of names, shapes and times: ops_unique_args.csv of that model in AMD-AGI/TraceLens, tests/traces/h100, with 8
// frames; those of fewer are in proportion.
func video(batch int) OperatorRun {
	const heads, rows, width, hidden, inner = 12, 3137, 64, 768, 3072
	all := rows * batch
	times := float64(batch) / frames
	scores, q, wide := []int{batch, heads, rows, rows}, []int{batch, heads, rows, width}, []int{1, all, hidden}
	copied := func(us float64) operator { return operatorCall(us, "aten::copy_", strided, q, q, nil) }
	sum := operatorCall(37.2, "aten::add", plus, wide, wide, nil)
	layerNorm := operatorCall(59.7, "aten::native_layer_norm", norm, wide, nil, []int{hidden}, []int{hidden}, nil)
	const before, scaled, weights, after, layers = 1901.6, 1291.3, 5724.1, 1699.0, 12
	layer := []operator{layerNorm, linear(125.1, gemm128, all, hidden, 3*hidden), copied(59.1), copied(153.8),
		copied(59.1),
		operatorCall(before, "aten::bmm", align1nn, []int{batch * heads, rows, width}, []int{batch * heads, width, rows}),
		operatorCall(scaled, "aten::mul", scale, scores, nil),
		operatorCall(weights, "aten::_softmax", softmax, scores, nil, nil),
		operatorCall(after, "aten::bmm", align1nn, []int{batch * heads, rows, rows}, []int{batch * heads, rows, width}),
		copied(59.1), linear(45.9, gemm128, all, hidden, hidden), sum, layerNorm,
		linear(164.0, gemm128, all, hidden, inner), operatorCall(127.9, "aten::gelu", gelu, []int{1, all, inner}, nil),
		linear(157.6, gemm128, all, inner, hidden), sum}
	for i := range layer {
		layer[i].us *= times
	}
	return OperatorRun{Name: fmt.Sprintf("TimeSformer, %d frames", batch), gpu: h100, layers: layers, layer: layer,
		PerStep: saved(times*(before+scaled+weights+after)-fused(batch*heads, rows, width, flash), layers)}
}

// detector is the image encoder of google/owlv2-large-patch14-ensemble on an H100, its QuickGELU in one kernel.
// Source: ops_unique_args.csv of that model in AMD-AGI/TraceLens, tests/traces/h100, with one image; times of more are
// in proportion. The residual sum is that of TimeSformer, by its bytes.
func detector(images int) OperatorRun {
	const heads, width, hidden, inner, layers, rows = 16, 64, 1024, 4096, 24, 5185
	all := images * rows
	q, wide := []int{images, heads, rows, width}, []int{images, rows, hidden}
	copied := operatorCall(14.0, "aten::copy_", strided, q, q, nil)
	layerNorm := operatorCall(14.8, "aten::native_layer_norm", norm, wide, nil, []int{hidden}, []int{hidden}, nil)
	sum := operatorCall(10.2, "aten::add", plus, wide, wide, nil)
	project := linear(20.9, gemm128, all, hidden, hidden)
	const before, weights, after = 1083.5, 2186.9, 827.6
	layer := []operator{layerNorm, project, copied, project, copied, project, copied,
		operatorCall(before, "aten::bmm", align1tn, []int{images * heads, rows, width}, []int{images * heads, width, rows}),
		operatorCall(weights, "aten::_softmax", softmax, []int{images * heads, rows, rows}, nil, nil),
		operatorCall(after, "aten::bmm", align1nn, []int{images * heads, rows, rows}, []int{images * heads, rows, width}),
		copied, project, sum, layerNorm, linear(57.4, gemm128, all, hidden, inner),
		operatorCall(30.7, "aten::gelu", gelu, []int{images, rows, inner}, nil),
		linear(64.7, gemm128, all, inner, hidden), sum}
	for i := range layer {
		layer[i].us *= float64(images)
	}
	return OperatorRun{Name: "OWLv2, " + []string{"", "one image", "two images"}[images], gpu: h100, layers: layers,
		layer:   layer,
		PerStep: saved(float64(images)*(before+weights+after)-fused(images*heads, rows, width, flash), layers)}
}
