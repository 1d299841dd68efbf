package tokengrid_test

import (
	"testing"

	"github.com/llmstrata/strata/internal/tokengrid"
)

// Names of real kernels, and what their grids say.
const (
	norm     = "void vllm::rms_norm_kernel<c10::BFloat16, 8, 2>(c10::BFloat16*, c10::BFloat16 const*, long, c10::BFloat16 const*, float, int, int)"
	addNorm  = "std::enable_if<(8>0)&&_typeConvert<c10::BFloat16>::exists, void>::type vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long, c10::BFloat16*, c10::BFloat16 const*, float, int, int)"
	rope     = "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*, c10::BFloat16*, c10::BFloat16*, c10::BFloat16 const*, int, long, long, long, int, int, int)"
	write    = "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, (vllm::Fp8KVCacheDataType)0>(__nv_bfloat16 const*)"
	aiter    = "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi8ELb1ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_diiiiiiib"
	qkNorm   = "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb1ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_diiiiiiib"
	finalize = "void tensorrt_llm::kernels::finalizeKernel<__nv_bfloat16, float>(Params)"
	flash    = "void flashinfer::norm::RMSNormKernel<8u, __nv_bfloat16>(__nv_bfloat16*)"
	actPlain = "void flashinfer::activation::act_and_mul_kernel<__nv_bfloat16, &(float silu<float>(float const&))>(__nv_bfloat16*, __nv_bfloat16 const*, int)"
	reduce   = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(at::native::ReduceOp<float>)"
)

func TestOf(t *testing.T) {
	for name, want := range map[string]int64{norm: 888, addNorm: 888, rope: 888, write: 888, aiter: 888, finalize: 16, qkNorm: 0, flash: 0, actPlain: 0, reduce: 0} {
		got := int64(0)
		if f, ok := tokengrid.Of(name); ok {
			got = f.Rows("888,16,1|256,1,1")
		}
		if got != want {
			t.Errorf("%.60s: %d rows, want %d", name, got, want)
		}
	}
}

func TestRowsOfOddLaunches(t *testing.T) {
	f, _ := tokengrid.Of(finalize) // counts along the second axis
	for launch, want := range map[string]int64{"": 0, "8": 0, "8,x,1": 0, "8,-3,1": 0, "8,16,1": 16, "8,16,1|32,1,1": 16} {
		if got := f.Rows(launch); got != want {
			t.Errorf("%q: %d rows, want %d", launch, got, want)
		}
	}
}

// One family is no evidence, two that agree are, and of two pairs that say different things none is.
func TestTally(t *testing.T) {
	type launch struct {
		name, grid string
	}
	for _, c := range []struct {
		what              string
		kernels           []launch
		run, any, written int64
	}{
		{"one family", []launch{{norm, "128,1,1"}, {addNorm, "128,1,1"}}, 0, 0, 0},
		{"two families", []launch{{norm, "128,1,1"}, {rope, "128,1,1"}}, 128, 128, 0},
		{"padded", []launch{{norm, "128,1,1"}, {rope, "128,1,1"}, {write, "117,1,1"}}, 128, 128, 117},
		{"a written one and a run one", []launch{{norm, "117,1,1"}, {write, "117,1,1"}}, 0, 117, 117},
		{"they differ", []launch{{norm, "128,1,1"}, {rope, "64,1,1"}}, 0, 0, 0},
		{"most of a family", []launch{{norm, "128,1,1"}, {norm, "128,1,1"}, {norm, "1,1,1"}, {rope, "128,1,1"}}, 128, 128, 0},
		{"two pairs", []launch{{norm, "128,1,1"}, {rope, "128,1,1"}, {finalize, "8,16,1"}, {write, "16,1,1"}}, 128, 0, 16},
		{"no grids", []launch{{norm, ""}, {rope, ""}}, 0, 0, 0},
	} {
		var tally tokengrid.Tally
		for _, k := range c.kernels {
			if f, ok := tokengrid.Of(k.name); ok {
				tally.Add(f, k.grid)
			}
		}
		if tally.Run() != c.run || tally.Any() != c.any || tally.Written() != c.written {
			t.Errorf("%s: run %d, any %d, written %d; want %d, %d, %d", c.what, tally.Run(), tally.Any(), tally.Written(), c.run, c.any, c.written)
		}
	}
}
