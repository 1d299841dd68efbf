package layer_test

import (
	"slices"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/xplane"
)

// TestConvolutionsAreNoProjections: five convolutions that repeat are layers of no decoder; the order of the kernels
// names no operator of one.
func TestConvolutionsAreNoProjections(t *testing.T) {
	path := testdata.Shared(t, "traces/other/jax-conv-mi300.xplane.pb")
	if path == "" {
		return
	}
	tr, err := trace.Open(t.Context(), path, trace.Options{Formats: []trace.Format{xplane.Format()}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := layer.Analyze(t.Context(), tr, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for e := range tr.Events(event.LaneGPU) {
		if op, _, _ := a.Of(e.ID()).Operator(); op != opname.Other {
			t.Errorf("%s at %v is %s", e.Name(), e.Start(), op)
		}
		n++
	}
	if n == 0 {
		t.Error("no kernels")
	}
}

// Kernels that PyTorch runs for single operations.
const (
	torchCopy   = "void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_copy_kernel_cuda(P)>(P)"
	torchPower  = "void at::native::vectorized_elementwise_kernel<4, at::native::pow_tensor_scalar_kernel_impl<float, float>(P)>(P)"
	torchMean   = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>>>(P)"
	torchMore   = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctorOnSelf_add<float>>(P)"
	torchRsqrt  = "void at::native::vectorized_elementwise_kernel<4, at::native::rsqrt_kernel_cuda(P)>(P)"
	torchTimes  = "void at::native::vectorized_elementwise_kernel<8, at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, at::native::binary_internal::MulFunctor<float>>>(P)"
	torchSum    = "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>>(P)"
	torchSiLU   = "void at::native::vectorized_elementwise_kernel<8, at::native::silu_kernel(P)>(P)"
	torchPlus   = "void at::native::vectorized_elementwise_kernel<8, at::native::softplus_kernel(P)>(P)"
	depthwise   = "void at::native::conv_depthwise2d_forward_kernel<5, c10::BFloat16, int>(P)"
	batchNorm   = "void at::native::batch_norm_transform_input_kernel<c10::BFloat16, c10::BFloat16, float, true, int>(P)"
	scanOnHalfs = "void at::native::tensor_kernel_scan_innermost_dim<float, std::plus<float>>(P)"
)

// TestWhatDecodes: blocks of convolutions between norms of channels have no operators; layers whose norm and scan are
// written as single operations have.
func TestWhatDecodes(t *testing.T) {
	norm := []string{torchCopy, torchPower, torchMean, torchMore, torchRsqrt, torchTimes, torchCopy, torchTimes}
	scan := slices.Concat(norm, []string{qkv, depthwise, torchSiLU, torchPlus, torchTimes, torchTimes, scanOnHalfs,
		torchTimes, torchSum, torchSiLU, torchTimes}, norm, []string{downProj, torchSum})
	block := []string{qkv, batchNorm, torchSiLU, depthwise, batchNorm, torchSiLU, torchMean, outProj, torchSiLU, upProj,
		torchTimes, outProj, batchNorm, torchSum}
	for _, c := range []struct {
		name  string
		layer []string
		named bool
	}{{"convolutions", block, false}, {"a scan", scan, true}} {
		r := newTorchRun()
		for range 3 {
			r.run(1000, lookUp)
			for range 6 {
				r.run(1000, c.layer...)
			}
			r.run(1000, argMax)
			r.rest(1_000_000)
		}
		d, named := analyze(t, built.Trace(r.b), layer.Options{NumLayers: 6}), 0
		for k := range d.Kernels() {
			if op, _, _ := k.Operator(); op != opname.Other {
				named++
			}
		}
		if d.NumLayers == 0 || named > 0 != c.named {
			t.Errorf("%s: %d layers, %d kernels have an operator", c.name, d.NumLayers, named)
		}
	}
}
