package operator

import (
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
)

// TestAttentionOfSingleOperations: the products around a softmax are the attention's, and what scales, masks and
// casts between them serves it. With anything else between softmax and product, as a router has, or without one of
// the two, they stay what they are.
func TestAttentionOfSingleOperations(t *testing.T) {
	const softmax = "void (anonymous namespace)::softmax_warp_forward<float, c10::BFloat16, float, 9, false, false>"
	kernels := map[string]string{
		"gemm": "Cijk_Alik_Bljk_BBS_MT128x64x128", "bmm": "some_bmm_kernel",
		"add":     "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>",
		"mul":     "void at::native::vectorized_elementwise_kernel<4, MulFunctor>",
		"cast":    "void at::native::vectorized_elementwise_kernel<4, at::native::direct_copy_kernel_cuda>",
		"softmax": softmax, "topk": "void at::native::sbtopk::gatherTopK<float>", "rope": "rotary_embedding_kernel",
		"flash": "flash_fwd_kernel", "norm": "fused_add_rms_norm_kernel",
	}
	for _, c := range []struct {
		row, want string // kernels, and what becomes of each: attention, serving it, or as it was
		side      int    // the kernel that runs on another stream, 0 none
	}{
		{"gemm gemm gemm bmm add cast softmax cast bmm cast gemm", "...AssAsA..", 0},
		{"gemm gemm gemm gemm softmax gemm gemm", "...AAA.", 0},
		{"gemm mul softmax topk gemm", ".....", 0}, // a router
		{"gemm softmax", "..", 0},
		{"gemm rope softmax bmm gemm", ".....", 0},
		{"gemm softmax bmm", "AAA", 0},
		{"gemm softmax gemm gemm softmax bmm", "AAAAAA", 0},
		{"gemm norm softmax bmm gemm", ".....", 0},
		{"gemm softmax norm bmm gemm", ".....", 0},
		{"gemm bmm flash bmm gemm", "..A..", 0}, // latent attention's products per head
		{"gemm bmm softmax bmm rope", ".AAA.", 0},
		{"gemm bmm rope softmax bmm", ".A.AA", 2}, // what runs beside it does not matter
		// all of one attention module, the projections of modules in it
		{"gemm/L bmm rope softmax norm bmm gemm/L", ".AsAsA.", 0},
		{"gemm/L bmm rope/L softmax bmm gemm/L", ".AsAA.", 0},
		{"gemm/L bmm rope/O softmax bmm gemm/L", "......", 0}, // of another
	} {
		words := strings.Fields(c.row)
		p, reads := Pass{Layers: 1}, make([]reading, len(words))
		for i, w := range words {
			name, in, _ := strings.Cut(w, "/")
			p.Kernels = append(p.Kernels, Kernel{Name: kernels[name]})
			if strings.Contains(c.row, "/") {
				p.Kernels[i].Modules = map[string][]string{"": {"T5Block_0", "T5Attention_0"},
					"L": {"T5Block_0", "T5Attention_0", "Linear_0"}, "O": {"T5Block_0", "T5LayerFF_0"}}[in]
			}
			f := classify.Default().Facts(kernels[name])
			reads[i] = read(&f)
		}
		if c.side > 0 {
			p.Kernels[c.side].Stream = 7
		}
		before := slices.Clone(reads)
		eagerAttention(&p, reads)
		var got strings.Builder
		for i := range reads {
			switch {
			case reads[i].acts[0] == classify.RoleAttention:
				got.WriteByte('A')
			case reads[i].acts[0] == classify.RoleCopy && c.want[i] == 's':
				got.WriteByte('s')
			case reads[i].acts[0] == before[i].acts[0]:
				got.WriteByte('.')
			default:
				got.WriteByte('?')
			}
		}
		if got.String() != c.want {
			t.Errorf("%s: %s, want %s", c.row, got.String(), c.want)
		}
		after := false // the last one was a softmax
		for i, w := range words {
			if got.String()[i] != 'A' || w == "flash" {
				continue
			}
			want := Scores
			switch {
			case w == "softmax":
				want, after = Softmax, true
			case after:
				want, after = Values, false
			}
			if reads[i].part != want {
				t.Errorf("%s: kernel %d computes part %v of attention, want %v", c.row, i, reads[i].part, want)
			}
		}
	}
}
