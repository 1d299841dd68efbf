package layer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// famKernel is one kernel of a model written by hand: its name, the operators that are right, and the shapes of the
// op that launches it.
type famKernel struct {
	name, want string // want: several joined by a space, "" for none that is certain
	op, dims   string
}

// famModel is a model of equal layers.
type famModel struct {
	before, layer, after []famKernel
	layers, passes       int
}

// famProduct is a product with recorded shapes: m rows, k inputs, n outputs.
func famProduct(want string, m, k, n int) famKernel {
	return famKernel{fmt.Sprintf("nvjet_tst_%dx64_64x6_2x1_v_bz_TNT", 64+8*((k/64+n/64)%16)), want, "aten::addmm",
		fmt.Sprintf("[[%d],[%d,%d],[%d,%d],[],[]]", n, m, k, k, n)}
}

func (m famModel) build() (*trace.Trace, []famKernel) {
	b := trace.NewBuilder(trace.Options{})
	at, corr := int64(1000), uint64(1)
	var all []famKernel
	put := func(list []famKernel) {
		for _, k := range list {
			corr++
			if k.op != "" {
				b.Add(trace.EventData{Kind: event.Op, Name: k.op, Shape: k.dims, Start: at - 2, Duration: 9, Thread: 1,
					Device: trace.None, Stream: trace.None})
			}
			b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: at, Duration: 5, Thread: 1,
				Correlation: corr, Device: trace.None, Stream: trace.None})
			at += 20
			b.Add(trace.EventData{Kind: event.Kernel, Name: k.name, Start: at, Duration: 10, Correlation: corr,
				Stream: 7})
			all = append(all, k)
		}
	}
	for range max(1, m.passes) {
		put(m.before)
		for range m.layers {
			put(m.layer)
		}
		put(m.after)
		at += 5000
	}
	return built.Trace(b), all
}

// famCheck analyses a model and reports kernels of layers whose operator is not one that is right.
func famCheck(t *testing.T, m famModel, opts layer.Options) []layer.Kernel {
	t.Helper()
	tr, all := m.build()
	d := analyze(t, tr, opts)
	if len(d.Passes) != max(1, m.passes) || d.NumLayers != m.layers {
		t.Fatalf("%d passes of %d layers, want %d of %d", len(d.Passes), d.NumLayers, max(1, m.passes), m.layers)
	}
	var kernels []layer.Kernel
	for k := range d.Kernels() {
		kernels = append(kernels, k)
	}
	slices.SortFunc(kernels, func(a, b layer.Kernel) int { return int(a.Event().Start() - b.Event().Start()) })
	seen := map[string]bool{}
	for i, k := range kernels {
		op, part, conf := k.Operator()
		want := strings.Fields(all[i].want)
		line := fmt.Sprintf("%.60s: %s (%s, %.2f), want %q", all[i].name, op, part, conf, all[i].want)
		switch {
		case seen[line], len(want) > 0 && slices.Contains(want, string(op)):
		case len(want) == 0 && (op == opname.Other || conf < 0.9):
		default:
			seen[line] = true
			t.Errorf("layer %d: %s", k.Place().Layer, line)
		}
	}
	return kernels
}

// TestInductorGPT2: GPT-2 compiled by Inductor, whose LayerNorms are triton_per_fused_add_native_layer_norm_N: each
// is a norm with the addition of the residual stream, and no other kernel is one.
func TestInductorGPT2(t *testing.T) {
	flash := famKernel{name: "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>(Flash_fwd_params)", want: "attention"}
	gemm := func(tile, want string) famKernel {
		return famKernel{name: "nvjet_tst_" + tile + "_64x6_2x1_v_bz_TNT", want: want}
	}
	m := famModel{
		before: []famKernel{{name: "triton_poi_fused_add_embedding_0", want: "embed"},
			{name: "triton_per_fused_native_layer_norm_1", want: "input_norm final_norm"}},
		layers: 12, passes: 4,
		layer: []famKernel{
			gemm("192x128", "qkv_proj"), flash, gemm("64x64", "o_proj"),
			{name: "triton_per_fused_add_native_layer_norm_2", want: "residual_add+post_norm"},
			gemm("256x128", "gate_up_proj|up_proj"), {name: "triton_poi_fused_add_mul_pow_tanh_3", want: "activation"},
			gemm("64x128", "down_proj"),
			{name: "triton_per_fused_add_native_layer_norm_4", want: "residual_add+input_norm residual_add+final_norm"},
		},
		after: []famKernel{gemm("128x256", "lm_head")},
	}
	for _, k := range famCheck(t, m, layer.Options{NumLayers: 12}) {
		f := k.Facts()
		op, _, _ := k.Operator()
		if norm := strings.Contains(string(op), "norm"); norm != (f.Category == classify.CategoryNorm) {
			t.Errorf("%s is %s, its category is %s", f.Short, op, f.Category)
		}
	}
}

// Kernels of PyTorch that models written op by op run.
var (
	famLayerNorm = famKernel{name: "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, false>(P)"}
	famSilu      = famKernel{name: "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::silu_kernel(at::TensorIteratorBase&)::{lambda()#1}>(P)"}
	famGelu      = famKernel{name: "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#1}>(P)"}
	famMul       = famKernel{name: "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, at::native::binary_internal::MulFunctor<float> > >(P)"}
	famAdd       = famKernel{name: "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(P)"}
	famCat       = famKernel{name: "void at::native::(anonymous namespace)::CatArrayBatchedCopy_contig<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 3, 128, 1>(P)"}
	famFlash     = famKernel{name: "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>(Flash_fwd_params)"}
)

func (k famKernel) is(want string) famKernel { k.want = want; return k }

// TestTwoStreamDenoiser: the denoiser of Stable Diffusion 3.5 as diffusers runs it, op by op and with shapes: both
// streams have a modulation of six sizes, three equal products each, one attention, and a feed-forward part without a
// gate. There is no head and no sampling.
func TestTwoStreamDenoiser(t *testing.T) {
	const h, image, text = 2432, 4096, 333
	stream := func(m int) []famKernel {
		return []famKernel{famSilu.is("modulation"), famProduct("modulation", 2, h, 6*h), famLayerNorm.is("input_norm"),
			famMul.is("modulation"), famAdd.is("modulation")}
	}
	qkv := func(m int) []famKernel {
		return []famKernel{famProduct("q_proj q_proj|k_proj|v_proj", m, h, h),
			famProduct("k_proj|v_proj q_proj|k_proj|v_proj", m, h, h),
			famProduct("k_proj|v_proj q_proj|k_proj|v_proj", m, h, h)}
	}
	ffn := func(m int) []famKernel {
		return []famKernel{famMul.is("modulation"), famAdd.is("residual_add"), famLayerNorm.is("post_norm"),
			famMul.is("modulation"), famAdd.is("modulation"), famProduct("up_proj", m, h, 4*h),
			famGelu.is("activation"), famProduct("down_proj", m, 4*h, h), famMul.is("modulation"),
			famAdd.is("residual_add")}
	}
	m := famModel{
		before: []famKernel{famProduct("", 2, 256, h), famSilu, famProduct("", 2, h, h), famProduct("", text, 4096, h)},
		layers: 38, passes: 4,
		layer: slices.Concat(stream(image), stream(text), qkv(image), qkv(text),
			[]famKernel{famCat, famCat, famCat, famFlash.is("attention"), famProduct("o_proj", image, h, h),
				famProduct("o_proj", text, h, h)}, ffn(image), ffn(text)),
		after: []famKernel{famSilu.is("modulation"), famProduct("modulation", 2, h, 2*h), famLayerNorm.is("final_norm"),
			famMul.is("modulation"), famAdd.is("modulation"), famProduct("other", image, h, 64)},
	}
	famCheck(t, m, layer.Options{NumLayers: 38})
}

// TestImageEncoder: a vision transformer ends with a norm and a classifier, which is no head with a vocabulary; it
// has no gate.
func TestImageEncoder(t *testing.T) {
	const h, rows = 1024, 577
	m := famModel{
		before: []famKernel{{name: "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x64x64_warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn", want: "embed"}, famCat, famAdd},
		layers: 24, passes: 3,
		layer: []famKernel{famLayerNorm.is("input_norm"), famProduct("qkv_proj", rows, h, 3*h),
			famFlash.is("attention"), famProduct("o_proj", rows, h, h), famAdd.is("residual_add"),
			famLayerNorm.is("post_norm"), famProduct("up_proj", rows, h, 4*h), famGelu.is("activation"),
			famProduct("down_proj", rows, 4*h, h), famAdd.is("residual_add")},
		after: []famKernel{famLayerNorm.is("final_norm"), famProduct("other", 1, h, 1000)},
	}
	famCheck(t, m, layer.Options{NumLayers: 24})
}

// TestDenoiserWithCrossAttention: a denoiser with one stream that reads a text in a second attention, and a
// feed-forward part whose first product makes gate and values at once.
func TestDenoiserWithCrossAttention(t *testing.T) {
	const h, rows, text = 1152, 4096, 300
	m := famModel{
		before: []famKernel{famProduct("other", 2, 256, h), famProduct("other", text, 4096, h)},
		layers: 28, passes: 4,
		layer: []famKernel{famSilu.is("modulation"), famProduct("modulation", 2, h, 6*h), famLayerNorm.is("input_norm"),
			famMul.is("modulation"), famAdd.is("modulation"),
			famProduct("q_proj", rows, h, h), famProduct("k_proj|v_proj", rows, h, h),
			famProduct("k_proj|v_proj", rows, h, h), famFlash.is("attention"), famProduct("o_proj", rows, h, h),
			famMul.is("modulation"), famAdd.is("residual_add"),
			famLayerNorm.is("post_norm"), famMul.is("modulation"), famAdd.is("modulation"),
			famProduct("gate_up_proj", rows, h, 8*h), famGelu.is("activation"), famMul.is("modulation activation"),
			famProduct("down_proj", rows, 4*h, h), famMul.is("modulation"), famAdd.is("residual_add")},
		// What follows the last layer may be read as the next pass's.
		after: []famKernel{famSilu.is("modulation activation"), famProduct("modulation other", 2, h, 2*h),
			famLayerNorm.is("final_norm other"), famMul.is("modulation other"), famAdd.is("modulation other"),
			famProduct("other", rows, h, 32)},
	}
	famCheck(t, m, layer.Options{NumLayers: 28})
}

// TestLanguageModelKeepsItsGate: two equal products of one input whose activation is multiplied are a gate, in a
// model of language with shapes.
func TestLanguageModelKeepsItsGate(t *testing.T) {
	const h, rows = 2048, 512
	m := famModel{
		before: []famKernel{{name: "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, unsigned int, 2, 2, -2, true>(P)", want: "embed"}},
		layers: 16, passes: 3,
		layer: []famKernel{{name: "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(P)",
			want: "input_norm residual_add+input_norm"}, famProduct("q_proj", rows, h, h),
			famProduct("k_proj|v_proj", rows, h, 512),
			famProduct("k_proj|v_proj", rows, h, 512), famFlash.is("attention"), famProduct("o_proj", rows, h, h),
			{name: "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(P)", want: "residual_add+post_norm"},
			famProduct("gate_proj", rows, h, 5632), famSilu.is("activation"), famProduct("up_proj", rows, h, 5632),
			famMul, famProduct("down_proj", rows, 5632, h)},
		after: []famKernel{{name: "void vllm::rms_norm_kernel<c10::BFloat16, 8>(P)",
			want: "final_norm residual_add+final_norm"}, famProduct("lm_head", 1, h, 32000)},
	}
	famCheck(t, m, layer.Options{NumLayers: 16})
}

// TestAttentionWrittenOut: attention of single operations has the right operators: two products per head and a softmax
// between them; none is a product of the layer.
func TestAttentionWrittenOut(t *testing.T) {
	const h, rows = 1024, 384
	softmax := famKernel{name: "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 9, false, false>(P)", want: "attention"}
	bmm := famKernel{name: "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_32x5_nn_align8>(P)",
		want: "attention", op: "aten::bmm", dims: "[[16,384,64],[16,64,384]]"}
	m := famModel{
		before: []famKernel{{name: "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, unsigned int, 2, 2, -2, true>(P)", want: "embed"}, famLayerNorm.is("input_norm")},
		layers: 12, passes: 3,
		layer: []famKernel{famProduct("q_proj", rows, h, h), famProduct("k_proj|v_proj", rows, h, h),
			famProduct("k_proj|v_proj", rows, h, h), bmm, famMul.is("attention"), famAdd.is("attention"), softmax, bmm,
			famProduct("o_proj", rows, h, h), famAdd.is("residual_add"), famLayerNorm.is("post_norm"),
			famProduct("up_proj", rows, h, 4*h), famGelu.is("activation"), famProduct("down_proj", rows, 4*h, h),
			famAdd.is("residual_add"), famLayerNorm.is("input_norm final_norm")},
	}
	parts := map[layer.Part]int{}
	for _, k := range famCheck(t, m, layer.Options{NumLayers: 12}) {
		if op, part, _ := k.Operator(); op == opname.Attention && part != layer.PartCopy {
			parts[part]++
		}
	}
	if n := 12 * 3; parts[layer.PartScores] != n || parts[layer.PartSoftmax] != n || parts[layer.PartValues] != n ||
		parts[layer.PartMain] != 0 {
		t.Errorf("kernels of attention by part: %v, want %d scores, softmax and values", parts, n)
	}
}

// TestWordsOfParts: every part has a word of its own and is read back from it.
func TestWordsOfParts(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range layer.Parts() {
		text, _ := p.MarshalText()
		back := layer.Part(99)
		if err := back.UnmarshalText(text); err != nil || back != p || len(text) == 0 || seen[p.String()] {
			t.Errorf("%q reads as %v, %v", text, back, err)
		}
		seen[p.String()] = true
	}
	if p := layer.PartQuant; p.UnmarshalText([]byte("no such word")) == nil || p != layer.PartQuant {
		t.Error("a word of no part is read")
	}
}
