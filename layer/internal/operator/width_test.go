package operator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/layer/internal/operator"
)

// TestWidthOfGrids: grids that real traces show, with the widths of their products; what does not run a block for
// each tile, or rows that are not known, says nothing.
func TestWidthOfGrids(t *testing.T) {
	const reduce = "void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float>"
	for _, tt := range []struct {
		name        string
		grid, block [3]int64
		rows        int64
		n           int // 0: nothing is known
	}{
		{"nvjet_sm103_tst_64x16_64x16_4x1_v_bz_TNT", [3]int64{96, 1, 1}, [3]int64{256, 1, 1}, 16, 6144},
		{"nvjet_sm103_tst_32x64_64x16_4x1_v_bz_TNN", [3]int64{128, 1, 1}, [3]int64{256, 1, 1}, 16, 4096},
		{"nvjet_sm103_tst_256x16_64x6_4x1_v_bz_TNT", [3]int64{112, 1, 1}, [3]int64{256, 1, 1}, 16, 28672},
		{"nvjet_sm103_tst_128x16_64x12_2x1_2cta_v_bz_TNT", [3]int64{1002, 1, 1}, [3]int64{256, 1, 1}, 16, 128256},
		{"nvjet_sm103_tst_384x16_64x4_4x1_v_bz_TNT", [3]int64{396, 1, 1}, [3]int64{256, 1, 1}, 16, 151936},
		{"nvjet_sm103_tst_64x16_64x16_4x1_v_bz_TNT", [3]int64{192, 1, 1}, [3]int64{256, 1, 1}, 17, 6144},
		{reduce, [3]int64{128, 1, 1}, [3]int64{32, 16, 1}, 0, 4096},
		{reduce, [3]int64{64, 1, 1}, [3]int64{32, 16, 1}, 0, 2048},
		{reduce, [3]int64{4, 1, 1}, [3]int64{32, 16, 1}, 0, 128},
		{"nvjet_sm103_tst_64x16_64x16_4x1_v_bz_TNT", [3]int64{97, 1, 1}, [3]int64{256, 1, 1}, 17, 0},
		{"nvjet_sm103_tst_64x16_64x16_4x1_v_bz_TNT", [3]int64{96, 1, 1}, [3]int64{256, 1, 1}, 0, 0},
		{"nvjet_sm103_tst_64x16_64x16_2x1_2cta_v_bz_splitK_TNT", [3]int64{128, 1, 1}, [3]int64{256, 1, 1}, 16, 0},
		{"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1", [3]int64{30, 4, 1},
			[3]int64{384, 1, 1}, 16, 0},
		{"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x64>", [3]int64{8, 3, 5},
			[3]int64{128, 1, 1}, 16, 0},
		{"Cijk_Alik_Bljk_BBS_BH_MT256x192x64", [3]int64{491520, 1, 1}, [3]int64{256, 1, 1}, 15360, 0},
		{"nvjet_sm103_tst_0x16_64x16_4x1_v_bz_TNT", [3]int64{96, 1, 1}, [3]int64{256, 1, 1}, 16, 0},
		{"nvjet_sm103_tst_64x16_64x16_4x1_v_bz_TNT", [3]int64{}, [3]int64{}, 16, 0},
	} {
		w := operator.WidthOf(classify.Default().Facts(tt.name).Blocks, tt.grid, tt.block, tt.rows)
		if ok := tt.n > w.Over && tt.n <= w.Upto; ok != (tt.n > 0) || tt.n == 0 && w.Upto > w.Over {
			t.Errorf("%.60s, %v blocks, %d rows: width %+v, want %d", tt.name, tt.grid, tt.rows, w, tt.n)
		}
	}
}

// sized is a plan with widths; tensor parallelism divides those with a star, and kernels with the widths of
// their grids; products all have one name, and what stands between them none that is known.
func sized(layers int, steps, names string) (*operator.Layout, []operator.Kernel) {
	l := plan(layers, "")
	for f := range strings.FieldsSeq(steps) {
		op, width, _ := strings.Cut(f, ":")
		s := operator.Step{Op: op}
		s.Divided = strings.HasSuffix(width, "*")
		fmt.Sscan(strings.TrimSuffix(width, "*"), &s.Width)
		l.Kinds[0] = append(l.Kinds[0], s)
	}
	var out []operator.Kernel
	for layer := range layers {
		for f := range strings.FieldsSeq(names) {
			name, width, _ := strings.Cut(f, ":")
			k := operator.Kernel{Name: name, Layer: int32(layer)}
			if width != "" {
				fmt.Sscan(width, &k.Width.Upto)
				k.Width.Over = k.Width.Upto - 64
			}
			out = append(out, k)
		}
	}
	return l, out
}

// TestOnlyTheGridTells: one product of each layer is missing, as where attention holds it, and all others have one
// name: their order fits two ways, and the widths of the grids say which. Widths that the plan does not have, or
// none, decide nothing.
func TestOnlyTheGridTells(t *testing.T) {
	const steps = "qkv_proj:6144* attention o_proj:4096 gate_up_proj:28672* down_proj:4096"
	blind := map[string]bool{} // answers without widths
	for _, tt := range []struct {
		name, kernels, want, evidence string
	}{
		{"o_proj is missing", "gemm:6144 k1 gemm:28672 gemm:4096", "qkv_proj gate_up_proj down_proj", "grid grid plan"},
		{"down_proj is missing", "gemm:6144 k1 gemm:4096 gemm:28672", "qkv_proj o_proj gate_up_proj", "grid plan grid"},
		{"four ranks, o_proj is missing", "gemm:1536 k1 gemm:7168 gemm:4096", "qkv_proj gate_up_proj down_proj",
			"grid grid plan"},
		{"four ranks, down_proj is missing", "gemm:1536 k1 gemm:4096 gemm:7168", "qkv_proj o_proj gate_up_proj",
			"grid plan grid"},
	} {
		for _, how := range []string{"sized", "no widths", "widths of no model"} {
			layout, ks := sized(12, steps, tt.kernels)
			switch how {
			case "no widths":
				ks = set(ks, func(_ int, k *operator.Kernel) { k.Width = operator.Width{} })
			case "widths of no model":
				ks = set(ks, func(_ int, k *operator.Kernel) { k.Width.Upto += 100; k.Width.Over += 100 })
			}
			var ops, evidence []string
			found := operator.NewFinder(layout, operator.Defaults()).Find(operator.Pass{Kernels: ks, Layers: 12})
			for i := 24; i < 28; i++ { // a layer in the middle
				if ks[i].Name == "gemm" {
					ops = append(ops, found[i].Operator)
					evidence = append(evidence, map[operator.Evidence]string{operator.ByGrid: "grid",
						operator.Plan: "plan"}[found[i].Evidence])
				}
			}
			got, why := strings.Join(ops, " "), strings.Join(evidence, " ")
			switch {
			case how == "sized" && (got != tt.want || why != tt.evidence):
				t.Errorf("%s: %s by %s, want %s by %s", tt.name, got, why, tt.want, tt.evidence)
			case how != "sized" && strings.Contains(why, "grid"):
				t.Errorf("%s, %s: told by %s", tt.name, how, why)
			case how != "sized":
				blind[got] = true
			}
		}
	}
	if len(blind) != 1 {
		t.Errorf("without widths that the plan has the answers are %v, want the same for all: the order is", blind)
	}
}

// TestWidthsOfOneLayer: one width that the plan has is enough to tell, and a width that two products of the layer
// have tells of neither.
func TestWidthsOfOneLayer(t *testing.T) {
	for _, tt := range []struct{ steps, kernels, want string }{
		{"qkv_proj:6144* attention", "gemm:6144 k1", "qkv_proj by grid"},
		{"qkv_proj:6144* attention", "gemm:1536 k1", "qkv_proj by grid"},
		{"qkv_proj:6144* attention", "gemm:6208 k1", "qkv_proj by plan"},
		{"o_proj:4096 down_proj:4096", "gemm:4096 gemm:4096", "o_proj by plan, down_proj by plan"},
		{"o_proj:4096 down_proj:8192", "gemm:4096 gemm:8192", "o_proj by grid, down_proj by grid"},
	} {
		layout, ks := sized(1, tt.steps, tt.kernels)
		var got []string
		for i, f := range operator.NewFinder(layout, operator.Defaults()).Find(operator.Pass{Kernels: ks, Layers: 1}) {
			if ks[i].Name == "gemm" {
				got = append(got, f.Operator+" by "+map[operator.Evidence]string{operator.ByGrid: "grid",
					operator.Plan: "plan"}[f.Evidence])
			}
		}
		if s := strings.Join(got, ", "); s != tt.want {
			t.Errorf("%s as %s: %s, want %s", tt.kernels, tt.steps, s, tt.want)
		}
	}
}
