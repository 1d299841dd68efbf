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

// famKernel is one kernel of a model written by hand: its name, the operators that are right, and the shapes of the op that launches it.
type famKernel struct {
	name, want string // want: several joined by a space, "" for none that is sure
	op, dims   string
}

// famModel is a model of equal layers.
type famModel struct {
	before, layer, after []famKernel
	layers, passes       int
}

// famProduct is a product with recorded shapes: m rows, k inputs, n outputs.
func famProduct(want string, m, k, n int) famKernel {
	return famKernel{fmt.Sprintf("nvjet_tst_%dx64_64x6_2x1_v_bz_TNT", 64+8*((k/64+n/64)%16)), want, "aten::addmm", fmt.Sprintf("[[%d],[%d,%d],[%d,%d],[],[]]", n, m, k, k, n)}
}

func (m famModel) build() (*trace.Trace, []famKernel) {
	b := trace.NewBuilder(trace.Options{})
	at, corr := int64(1000), uint64(1)
	var all []famKernel
	put := func(list []famKernel) {
		for _, k := range list {
			corr++
			if k.op != "" {
				b.Add(trace.EventData{Kind: event.Op, Name: k.op, Shape: k.dims, Start: at - 2, Duration: 9, Thread: 1, Device: trace.None, Stream: trace.None})
			}
			b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: at, Duration: 5, Thread: 1, Correlation: corr, Device: trace.None, Stream: trace.None})
			at += 20
			b.Add(trace.EventData{Kind: event.Kernel, Name: k.name, Start: at, Duration: 10, Correlation: corr, Stream: 7})
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

// TestInductorGPT2: GPT-2 compiled by Inductor, whose LayerNorms are triton_per_fused_add_native_layer_norm_N: each is a norm with the addition of the
// residual stream, and no other kernel is one.
func TestInductorGPT2(t *testing.T) {
	flash := famKernel{name: "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>(Flash_fwd_params)", want: "attention"}
	gemm := func(tile, want string) famKernel {
		return famKernel{name: "nvjet_tst_" + tile + "_64x6_2x1_v_bz_TNT", want: want}
	}
	m := famModel{
		before: []famKernel{{name: "triton_poi_fused_add_embedding_0", want: "embed"}, {name: "triton_per_fused_native_layer_norm_1", want: "input_norm final_norm"}},
		layers: 12, passes: 4,
		layer: []famKernel{
			gemm("192x128", "qkv_proj"), flash, gemm("64x64", "o_proj"),
			{name: "triton_per_fused_add_native_layer_norm_2", want: "residual_add+post_norm"},
			gemm("256x128", "gate_up_proj up_proj"), {name: "triton_poi_fused_add_mul_pow_tanh_3", want: "activation"}, gemm("64x128", "down_proj"),
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
