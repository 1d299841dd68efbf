package triage_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

// Training kernels, as profiles name them; after | the op that launches them.
const (
	kLookup    = "void split_embedding_codegen_forward_unweighted_kernel<c10::Half, c10::Half, float, false, long, 2ul, 32ul>(x)"
	kRowUpdate = "void split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_cta_per_row_1<c10::Half, float, c10::Half, 2ul>(x)|torch::autograd::CppNode<SplitLookupFunction_rowwise_adagrad_Op>"
	kPermute   = "void permute_pooled_embs_kernel<float>(x)|fbgemm::permute_pooled_embs_auto_grad"
	kScatter   = "void at::native::_scatter_gather_elementwise_kernel<128, 4, at::native::_cuda_scatter_gather_internal_kernel<true, float>::operator()<at::native::TensorAssign>(x)::{lambda(int)#1}>(int)|aten::scatter_"
	kSelect    = "void at::native::(anonymous namespace)::indexSelectLargeIndex<float, long, unsigned int, 2, 2, -2, true>(x)|aten::index_select"
	kPut       = "void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<at::native::index_put_kernel_impl<at::native::OpaqueType<4> >(at::TensorIterator&)::{lambda()#1}>(x)::{lambda(int)#1}>(int)|aten::index_put_"
	kAdam      = "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>, float, float, float, " +
		"float, float, float, adamMode_t, float>(long, int volatile*, TensorListMetadata<4>, AdamFunctor<float>)"
	kSGD       = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListMetadata<2>, at::native::(anonymous namespace)::BinaryOpListAlphaFunctor<float, 2, 2, 0>, std::plus<float>, float>(x)|Optimizer.step#SGD.step"
	kGammaBeta = "void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernel<float, float>(x)|aten::native_layer_norm_backward"
	kNormGrad  = "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel<float, float>(x)|aten::native_layer_norm_backward"
	kSoftGrad  = "void (anonymous namespace)::softmax_warp_backward<float, float, float, 10, true, false>(x)|aten::_log_softmax_backward_data"
	kGrad      = "void at::native::vectorized_elementwise_kernel<4, at::native::sigmoid_backward_kernel_cuda(at::TensorIteratorBase&)::{lambda()#1}, std::array<char*, 3ul> >(int)|aten::sigmoid_backward"
)

// TestTrainingKernelsEndARun: what looks rows up by an index, permutes them, updates weights or sums gradients up is
// no part of a run of pointwise kernels, and ends it.
func TestTrainingKernelsEndARun(t *testing.T) {
	for _, border := range []string{kLookup, kRowUpdate, kPermute, kScatter, kSelect, kPut, kAdam, kSGD,
		kGammaBeta, kNormGrad, kSoftGrad, kTopK} {
		r, err := triage.Analyze(t.Context(), input(t, layersWithOps("A100", kProduct, kMul, kNeg, border, kTanh, kAdd,
			kProduct, kGrad), "x"), triage.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var rows []triage.FuseRow
		for _, f := range r.Stages[0].Fuse {
			if f.Kind == triage.Split {
				rows = append(rows, f)
			}
		}
		name, _, _ := strings.Cut(border, "(x)")
		if len(rows) != 1 || rows[0].Pattern != pointwise || rows[0].Occurrences != 2*24 || rows[0].RelatedUS != 4*24*5 {
			t.Errorf("%.70s: %+v, want two runs of two kernels in each of 24 layers", name, rows)
			continue
		}
		for _, e := range rows[0].Evidence {
			if strings.HasPrefix(e.Kernel, name) {
				t.Errorf("%s is part of a run", e.Label)
			}
		}
	}
}

// trainingTruth says of real training traces, from reading their kernels in order, one run of pointwise kernels that a
// compiler makes one of, and the kernels that are part of none: they look up, permute or update rows, or are one kernel
// for all weights already.
var trainingTruth = []struct {
	trace string
	run   []string // parts of names, in order
	never []string
	most  float64 // ms that the pointwise kernels between products, reductions and exchanges take together, rounded up
}{
	{"train-pair-rank-0", []string{"CUDAFunctor", "CUDAFunctor", "direct_copy_kernel_cuda",
		"vectorized_elementwise_kernel",
		"log2_kernel_cuda", "MulFunctor", "CUDAFunctor", "log2_kernel_cuda", "MulFunctor",
		"CUDAFunctor"}, rowsAndWeights, 30},
	{"train-pair-rank-1", []string{"vectorized_elementwise_kernel", "MulFunctor", "CUDAFunctor", "CUDAFunctor",
		"log2_kernel_cuda"}, rowsAndWeights, 30},
	{"train-graphs-5streams-a100", []string{"FillFunctor", "MulFunctor", "sigmoid_kernel_cuda", "CUDAFunctor",
		"MulFunctor", "MulFunctor", "FillFunctor", "Memcpy DtoD", "MulFunctor", "sigmoid_kernel_cuda", "CUDAFunctor",
		"MulFunctor"}, rowsAndWeights, 70},
	{"train-absolute-float-ts-v100.pt.trace", []string{"MulFunctor", "MulFunctor", "MulFunctor", "threshold_kernel",
		"bn_bw_1C11_singleread", "MulFunctor", "MulFunctor"}, rowsAndWeights, 165},
	{"train-gpu-user-annotation", []string{"CUDAFunctor", "mse_kernel_cuda", "MeanOps", "FillFunctor", "FillFunctor"},
		rowsAndWeights, 1},
}

var rowsAndWeights = []string{"split_embedding", "permute_pooled_embs", "linearize_index", "_scatter_gather",
	"index_put", "indexSelect", "multi_tensor_apply", "radixSort", "DeviceSegmented", "nccl", "sgemm", "tensorop",
	"GammaBetaBackward"}

// TestRunsOfTrainingAreTheTruth: see trainingTruth.
func TestRunsOfTrainingAreTheTruth(t *testing.T) {
	for _, tt := range trainingTruth {
		testdata.SharedGlob(t, "traces/torch/"+tt.trace+".json.gz") // a distilled copy has other kernels
		src := source(t, "traces/torch/"+tt.trace+".json.gz")
		r, err := triage.Analyze(t.Context(), input(t, src.Trace, src.Path), triage.Options{MinSharePct: -1})
		if err != nil {
			t.Fatal(err)
		}
		var took float64
		found := false
		for _, f := range r.Stages[0].Fuse {
			took += f.RelatedUS / 1000
			for _, e := range f.Evidence {
				if slices.ContainsFunc(tt.never, func(word string) bool { return strings.Contains(e.Kernel, word) }) {
					t.Errorf("%s: %s is part of %s", tt.trace, e.Kernel, f.Pattern)
				}
			}
			found = found || slices.EqualFunc(f.ExampleKernels, tt.run, func(i int, word string) bool {
				return strings.Contains(src.Trace.LaneAt(event.LaneGPU, i).Name(), word)
			})
		}
		if !found || took > tt.most || took < tt.most/3 && tt.most > 1 {
			t.Errorf("%s: run of %v found: %v; all take %.1f ms, want up to %.0f", tt.trace, tt.run, found, took, tt.most)
		}
	}
}
