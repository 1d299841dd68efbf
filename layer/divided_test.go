package layer_test

import (
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestDivided: layers with a sum after both halves are divided over GPUs, those with one at most are not said to be.
func TestDivided(t *testing.T) {
	const norm, product, attention = "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(P)",
		"nvjet_tst_64x8_64x16_4x1_v_bz_TNT", "void flash::flash_fwd_splitkv_kernel<T>(P)"
	const sum = "void sglang::cross_device_reduce_1stage<__nv_bfloat16, 8>(RankData*)"
	for _, c := range []struct {
		name  string
		extra int // layers of eight whose feed-forward part is summed too
		want  bool
	}{
		{"two sums a layer", 8, true}, {"three in two layers", 4, true}, {"fewer", 3, false},
		{"one sum a layer", 0, false},
	} {
		b := trace.NewBuilder(trace.Options{})
		at := int64(1000)
		kernel := func(name string) {
			at += 20
			b.Add(trace.EventData{Kind: event.Kernel, Name: name, Start: at, Duration: 10, Stream: 7})
		}
		kernel("void at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16, long>(P)")
		for l := range 8 {
			for _, n := range []string{norm, product, attention, product, sum, norm, product, product} {
				kernel(n)
			}
			if l < c.extra {
				kernel(sum)
			}
		}
		kernel("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4>>(P)")
		a, err := layer.Analyze(t.Context(), built.Trace(b), layer.Options{NumLayers: 8})
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Divided(); got != c.want {
			t.Errorf("%s: divided %t, want %t", c.name, got, c.want)
		}
	}
}
