package layer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// A torchRun is what PyTorch runs without a server: no annotation and no module frame says where a pass begins.
type torchRun struct {
	b       *trace.Builder
	at      int64 // the GPU is done
	corr    uint64
	eager   bool   // each kernel is launched by a call of its own, and the GPU waits for it
	op, dim string // around the launches, with the sizes of its inputs
	grid    string // of the launches
}

func newTorchRun() *torchRun { return &torchRun{b: trace.NewBuilder(trace.Options{}), at: 1_000_000} }

func (r *torchRun) call(name string, start int64) {
	r.corr++
	r.b.Add(trace.EventData{Kind: event.Runtime, Name: name, Start: start, Duration: 3, Thread: 1, Correlation: r.corr,
		Device: trace.None, Stream: trace.None})
}

// graph launches a graph; the kernels to come are its.
func (r *torchRun) graph() {
	r.eager = false
	r.at += 4000
	r.call("cudaGraphLaunch", r.at-3000)
}

// rest lets the GPU wait for the host.
func (r *torchRun) rest(ns int64) { r.at += ns }

// run runs kernels, by names in one string; the GPU waits gap before each.
func (r *torchRun) run(gap int64, names ...string) {
	for _, n := range names {
		r.at += gap
		if r.eager {
			if r.op != "" {
				r.b.Add(trace.EventData{Kind: event.Op, Name: r.op, Start: r.at - 20, Duration: 15, Thread: 1,
					Shape: r.dim, Device: trace.None, Stream: trace.None})
			}
			r.call("cudaLaunchKernel", r.at-15)
		}
		r.b.Add(trace.EventData{Kind: event.Kernel, Name: n, Start: r.at, Duration: 3000, Correlation: r.corr,
			Stream: 7, Shape: r.grid})
		r.at += 3000
	}
}

// sdpa runs attention of so many requests, queries and keys, as its recorded inputs show.
func (r *torchRun) sdpa(gap int64, requests, queries, keys int, name string) {
	r.op = "aten::_scaled_dot_product_flash_attention"
	r.dim = fmt.Sprintf("[[%d, 8, %d, 64], [%d, 8, %d, 64], [%d, 8, %d, 64]]", requests, queries, requests, keys,
		requests, keys)
	r.run(gap, name)
	r.op = ""
}

const (
	lookUp   = "void at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16, long>(P)"
	rmsNorm  = "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(P)"
	qkv      = "nvjet_tst_64x8_64x16_4x1_v_bz_TNT"
	clear    = "Memset (Device)"
	flash    = "void flash::flash_fwd_kernel<T>(P)"
	outProj  = "nvjet_tst_64x8_64x16_2x1_v_bz_TNT"
	upProj   = "nvjet_tst_128x8_64x12_4x1_v_bz_TNT"
	silu     = "void vllm::act_and_mul_kernel<c10::BFloat16>(P)"
	downProj = "nvjet_tst_64x8_64x16_4x1_v_bz_splitK_TNT"
	argMax   = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4>>(P)"
)

// language runs a pass of a language model of n layers. In each the GPU waits longer at one place, for as long as slow.
func (r *torchRun) language(n int, gap, slow int64, attend func(gap int64)) {
	r.run(gap, lookUp)
	for range n {
		r.run(gap, rmsNorm, qkv)
		r.run(slow, clear)
		attend(gap)
		r.run(gap, outProj, rmsNorm, upProj, silu, downProj)
	}
	r.run(gap, rmsNorm, outProj, argMax)
}

func (r *torchRun) found(t *testing.T) *layer.Device {
	t.Helper()
	return analyze(t, built.Trace(r.b), layer.Options{})
}

// ofPasses says the layers and the stage of each pass.
func ofPasses(d *layer.Device) string {
	var out []string
	for p := range d.Passes {
		s := fmt.Sprint(d.Passes[p].NumLayers)
		if st := d.Passes[p].Stage; st != layer.StageUnknown {
			s += " " + string(st)
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

// TestEagerPassBesideReplays: what PyTorch launches one by one waits for the host at each kernel, longest at the same
// place of each layer. Beside replays, in which the GPU hardly waits, these waits are no ends of passes.
func TestEagerPassBesideReplays(t *testing.T) {
	for n, replays := range map[int]int{5: 8, 12: 24, 24: 24} {
		r := newTorchRun()
		r.eager = true
		r.language(n, 20_000, 60_000, func(gap int64) { r.sdpa(gap, 4, 256, 1024, flash) })
		r.rest(700_000)
		for range replays {
			r.graph()
			r.language(n, 500, 500, func(gap int64) { r.run(gap, "void flash::flash_fwd_splitkv_kernel<T>(P)") })
		}
		if got, want := ofPasses(r.found(t)), strings.Repeat(fmt.Sprintf(", %d", n), 1+replays)[2:]; got != want {
			t.Errorf("%d layers: found %s", n, got)
		}
	}
}

// TestWaitsOfLayers: where the host waits once in each layer of a prefill, as for the sizes of what experts compute, a
// layer is no pass: nothing is sampled after it, and nothing looked up before the next one. Runs of a draft of one
// layer are passes.
func TestWaitsOfLayers(t *testing.T) {
	decode := func(r *torchRun, n int) {
		r.language(n, 20_000, 20_000, func(gap int64) { r.run(gap, "void flash::flash_fwd_splitkv_kernel<T>(P)") })
		r.rest(700_000)
	}
	for _, n := range []int{5, 9, 24} {
		r := newTorchRun()
		r.eager = true
		r.language(n, 20_000, 500_000, func(gap int64) { r.run(gap, flash) })
		r.rest(700_000)
		for range 6 {
			decode(r, n)
		}
		if got, want := ofPasses(r.found(t)), strings.Repeat(fmt.Sprintf(", %d", n), 7)[2:]; got != want {
			t.Errorf("%d layers: found %s", n, got)
		}
	}
	r := newTorchRun()
	r.eager = true
	for range 5 {
		for range 3 {
			decode(r, 1)
		}
		decode(r, 9)
	}
	if got := len(r.found(t).Passes); got != 20 {
		t.Errorf("three runs of a draft before each of 5 passes: %d passes", got)
	}
}

// TestEncoderOfADecoder: an encoder that runs once, first in the window, and runs the kernels of its decoder has layers
// of its own, fewer or more: its layers mix once.
func TestEncoderOfADecoder(t *testing.T) {
	for _, layers := range [][2]int{{5, 7}, {7, 5}, {4, 9}} {
		r := newTorchRun()
		r.eager = true
		attend := func(input string) { r.run(20_000, rmsNorm, input, flash, outProj) }
		feed := func() { r.run(20_000, rmsNorm, upProj, silu, downProj) }
		r.run(20_000, lookUp)
		for range layers[0] {
			attend(qkv)
			feed()
		}
		r.run(20_000, rmsNorm)
		want := []string{fmt.Sprint(layers[0])}
		for range 6 {
			r.rest(700_000)
			r.run(20_000, lookUp)
			for range layers[1] {
				attend(qkv)
				attend(outProj)
				feed()
			}
			r.run(20_000, rmsNorm, outProj, argMax)
			want = append(want, fmt.Sprint(layers[1]))
		}
		if got := ofPasses(r.found(t)); got != strings.Join(want, ", ") {
			t.Errorf("%d layers, then %d: found %s", layers[0], layers[1], got)
		}
	}
}

// TestReplayIsOnePass: where the GPU waits in a replay at one place of each layer, as for a copy engine, it waits for
// no host: the replay is one pass.
func TestReplayIsOnePass(t *testing.T) {
	for _, n := range []int{5, 12, 24} {
		r := newTorchRun()
		for range 3 {
			r.graph()
			r.language(n, 500, 9000, func(gap int64) { r.run(gap, flash) })
		}
		for range 8 {
			r.graph()
			r.language(n, 500, 500, func(gap int64) { r.run(gap, "void flash::flash_fwd_splitkv_kernel<T>(P)") })
		}
		d := r.found(t)
		if len(d.Passes) != 11 {
			t.Errorf("%d layers: %d passes, want 11 replays: %s", n, len(d.Passes), ofPasses(d))
		}
	}
}

// TestCompiledPassLooksUpAgain: torch.compile looks the embedding up again in the first layers, where it adds it to
// what they computed. These are no passes of their own, and no draft.
func TestCompiledPassLooksUpAgain(t *testing.T) {
	const (
		first = "triton_red_fused__to_copy_add_embedding_mean_mul_pow_rsqrt_0"
		again = "triton_red_fused__to_copy__unsafe_view_add_embedding_mean_mul_pow_rsqrt_3"
		norm  = "triton_red_fused__to_copy__unsafe_view_add_mean_mul_pow_rsqrt_7"
		act   = "triton_poi_fused__unsafe_view_mul_silu_5"
		rope  = "triton_poi_fused__to_copy_add_cat_mul_neg_slice_2"
	)
	for _, eager := range []bool{true, false} {
		const n = 16
		r := newTorchRun()
		r.eager = eager
		for range 9 {
			if !eager {
				r.graph()
			}
			r.run(8000, first)
			for l := range n {
				for half := range 2 {
					switch {
					case l == 0 && half == 1, l == 1 && half == 0:
						r.run(2000, again)
					case l > 0 || half == 1:
						r.run(2000, norm)
					}
					if half == 0 {
						r.run(2000, qkv, rope, rope, clear, clear, flash, outProj)
					} else {
						r.run(2000, upProj, act, downProj)
					}
				}
			}
			r.run(2000, norm, qkv, argMax)
			r.rest(400_000)
		}
		d := r.found(t)
		if len(d.Passes) != 9 {
			t.Fatalf("eager %v: %d passes, want 9: %s", eager, len(d.Passes), ofPasses(d))
		}
		for p := range d.Passes {
			if fp := &d.Passes[p]; fp.Stage == layer.StageDraft || fp.NumLayers != n && fp.Confidence > .8 {
				t.Errorf("eager %v: pass %d is %s, of %d layers at %.2f", eager, p, fp.Stage, fp.NumLayers,
					fp.Confidence)
			}
		}
	}
}

// TestDenoisingLoop: a denoiser runs its blocks, a head and a tail in each step, and noise is drawn before the first:
// two levels of repeats; the outer one is the pass.
func TestDenoisingLoop(t *testing.T) {
	for _, steps := range []int{3, 6, 20} {
		for _, blocks := range []int{5, 14, 28} {
			r := newTorchRun()
			r.eager = true
			r.run(9000, "void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, 4, at::native::templates::cuda::normal_and_transform>(P)")
			for range steps {
				r.run(9000, "cos_kernel_cuda", "sin_kernel_cuda", "CatArrayBatchedCopy", outProj, silu, outProj)
				for range blocks {
					r.run(9000, silu, downProj, "vectorized_layer_norm_kernel", "MulFunctor", qkv)
					r.run(9000, flash, outProj, "CUDAFunctor_add", "vectorized_layer_norm_kernel", upProj, silu, downProj)
				}
				r.run(9000, "vectorized_layer_norm_kernel", outProj, "CUDAFunctor_add", "MulFunctor", "CatArrayBatchedCopy")
			}
			d := r.found(t)
			want := strings.Repeat(fmt.Sprintf(", %d", blocks), steps)[2:]
			if got := ofPasses(d); got != want {
				t.Errorf("%d steps of %d blocks: found %s", steps, blocks, got)
			}
		}
	}
}

// TestTwoModelsWithEqualLayers: a second language model runs more of the layers that the first one runs. Its passes
// are no remains of the first one's, with records missing, where they recur.
func TestTwoModelsWithEqualLayers(t *testing.T) {
	r := newTorchRun()
	r.eager = true
	for _, n := range []int{14, 24, 14} {
		for step := range 4 {
			queries, keys := 1, 150+step
			if step == 0 {
				queries = 150
			}
			name := "void flash::flash_fwd_splitkv_kernel<T>(P)"
			if step == 0 {
				name = flash
			}
			r.language(n, 20_000, 20_000, func(gap int64) { r.sdpa(gap, 1, queries, keys, name) })
			r.rest(500_000)
		}
	}
	d := r.found(t)
	var want []string
	for _, n := range []string{"14", "24", "14"} {
		want = append(want, n+" prefill", n+" decode", n+" decode", n+" decode")
	}
	if got := ofPasses(d); got != strings.Join(want, ", ") {
		t.Errorf("found %s", got)
	}
	if d.Passes[1].Batch != 1 || d.Passes[0].Tokens != 150 {
		t.Errorf("batch %d, %d tokens", d.Passes[1].Batch, d.Passes[0].Tokens)
	}
}

// TestStagesOfAttention: one query for each request is a decode, of many a prompt, where the model decodes; what may be
// guesses that are verified, or an encoder's, is not reported.
func TestStagesOfAttention(t *testing.T) {
	for _, c := range []struct {
		name  string
		sizes [][3]int // requests, queries, keys of each pass
		want  string
	}{
		{"a prompt and steps", [][3]int{{4, 256, 256}, {4, 1, 257}, {4, 1, 258}}, "6 prefill, 6 decode, 6 decode"},
		{"a cache of fixed size", [][3]int{{4, 256, 1024}, {4, 1, 1024}}, "6 prefill, 6 decode"},
		{"few queries beside a cache may be guesses", [][3]int{{1, 16, 300}, {1, 1, 301}}, "6, 6 decode"},
		{"more are not", [][3]int{{1, 17, 300}, {1, 1, 301}}, "6 prefill, 6 decode"},
		{"a short prompt", [][3]int{{1, 4, 4}, {1, 1, 5}}, "6 prefill, 6 decode"},
		{"an encoder", [][3]int{{2, 200, 200}, {2, 200, 200}}, "6, 6"},
	} {
		r := newTorchRun()
		r.eager = true
		for _, s := range c.sizes {
			r.language(6, 20_000, 20_000, func(gap int64) { r.sdpa(gap, s[0], s[1], s[2], flash) })
			r.rest(500_000)
		}
		if got := ofPasses(r.found(t)); got != c.want {
			t.Errorf("%s: found %s, want %s", c.name, got, c.want)
		}
	}
}

// TestStagesOfMasks: recorded inputs of attention say which tokens see which. Prompts of a language model see those
// before them, and so do those of a pass that the window cuts, of which no inputs are recorded but which launches the
// same; what sees all is an encoder; a tensor that is added to the scores leaves it open.
func TestStagesOfMasks(t *testing.T) {
	const tokens = 256
	call := func(mask, causal string) func(r *torchRun) {
		return func(r *torchRun) {
			r.b.Add(trace.EventData{Kind: event.Op, Name: "aten::scaled_dot_product_attention", Start: r.at + 19_000,
				Duration: 1200, Thread: 1, Shape: fmt.Sprintf("[[4, 8, %d, 64], [4, 8, %[1]d, 64], [4, 8, %[1]d, 64], %[2]s, [], [], []]", tokens, mask),
				Values: `["", "", "", "", "0.", "` + causal + `", "0.125"]`, Device: trace.None, Stream: trace.None})
			r.sdpa(20_000, 4, tokens, tokens, flash)
		}
	}
	for _, c := range []struct {
		name, mask, causal string
		samples            bool
		stage              layer.Stage
		role               layer.Role
	}{
		{"prompts", "[]", "True", true, layer.StagePrefill, layer.RoleLanguage},
		{"a language model without its head", "[]", "True", false, layer.StagePrefill, layer.RoleLanguage},
		{"an encoder whose positions rotate", "[]", "False", false, layer.StageUnknown, layer.RoleEncoder},
		{"a tensor hides tokens", "[4, 1, 256, 256]", "False", true, layer.StageUnknown, layer.RoleLanguage},
	} {
		r := newTorchRun()
		r.eager, r.grid = true, "[64,1,1]/[128,1,1]"
		attend := call(c.mask, c.causal)
		for pass := range 3 {
			if pass > 0 {
				r.rest(2_000_000)
			}
			first := 0
			if cut := c.role == layer.RoleLanguage && pass == 0; cut {
				first = 3
			} else {
				r.run(20_000, lookUp)
			}
			for n := first; n < 6; n++ {
				r.run(20_000, rmsNorm, qkv, "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(P)")
				if first == 0 {
					attend(r)
				} else {
					r.run(20_000, flash)
				}
				r.run(20_000, outProj, rmsNorm, upProj, silu, downProj)
			}
			r.run(20_000, rmsNorm)
			if c.samples {
				r.run(20_000, outProj, argMax)
			}
		}
		d := r.found(t)
		for p := range d.Passes {
			if fp := &d.Passes[p]; fp.Stage != c.stage || c.stage == layer.StagePrefill && (fp.Batch != 4 || fp.Tokens != 4*tokens) {
				t.Errorf("%s: pass %d is %s, %d requests, %d tokens", c.name, p, fp.Stage, fp.Batch, fp.Tokens)
			}
		}
		if len(d.Passes) != 3 || d.Models[0].Role != c.role {
			t.Errorf("%s: %d passes of a %s, want 3 of a %s", c.name, len(d.Passes), d.Models[0].Role, c.role)
		}
	}
}
