package operator

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRunsOfLayersAreFolded: of a run of equal layers two periods stay at each end, of any period up to eight; shorter runs stay whole.
func TestRunsOfLayersAreFolded(t *testing.T) {
	repeat := func(n int, period ...int32) (out []int32) {
		for range n {
			out = append(out, period...)
		}
		return out
	}
	eight := []int32{1, 2, 3, 4, 5, 6, 7, 8}
	for _, tt := range []struct {
		keys []int32
		want int // layers that stay; all: not folded
	}{
		{repeat(4, 1), 4}, {repeat(5, 1), 4}, {repeat(60, 1), 4}, {slices.Concat([]int32{9}, repeat(6, 1), []int32{8}), 6}, {slices.Concat([]int32{9, 9}, repeat(6, 1, 2), []int32{1}), 11},
		{repeat(5, eight...), 32}, {repeat(5, append(eight, 9)...), 45}, {slices.Concat(repeat(10, 1), repeat(10, 2)), 8}, {nil, 0},
	} {
		stand, kept := standIns(tt.keys), 0
		for i, s := range stand {
			if int(s) == i {
				kept++
			} else if tt.keys[s] != tt.keys[i] || int(stand[s]) != int(s) {
				t.Errorf("%v: layer %d has the operators of %d", tt.keys, i, s)
			}
		}
		if stand == nil {
			kept = len(tt.keys)
		}
		if kept != tt.want {
			t.Errorf("%v: %d layers stay, want %d", tt.keys, kept, tt.want)
		}
	}
}

// TestSecondPeriodStandsIn: the layers of the second period of a run have the answers of all between the outer ones; the first ones have other neighbours.
func TestSecondPeriodStandsIn(t *testing.T) {
	for _, c := range []struct{ keys, want []int32 }{
		{[]int32{1, 1, 1, 1, 1, 1}, []int32{0, 1, 1, 1, 4, 5}},
		{[]int32{7, 1, 1, 1, 1, 1, 7}, []int32{0, 1, 2, 2, 4, 5, 6}},
		{[]int32{1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2}, []int32{0, 1, 2, 3, 2, 3, 2, 3, 8, 9, 10, 11}},
	} {
		if got := standIns(c.keys); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.keys, got, c.want)
		}
	}
}

// TestFoldedPassesAnswerForAll: a folded pass has the answers of the whole one, layer by layer, the edges included; a layer that differs
// in one kernel is not folded, and neither is one whose kernels do not stand together.
func TestFoldedPassesAnswerForAll(t *testing.T) {
	names := []string{"rms_norm_kernel", "gemm_qkv", "rotary_kernel", "reshape_and_cache", "flash_fwd", "gemm_o", "rms_norm_kernel", "gemm_up", "silu_and_mul", "gemm_down"}
	add := "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>" // at the beginning of a layer it ends the one before
	make := func(odd int, split, early bool) Pass {
		p := Pass{Layers: 20}
		put := func(name string, id, layer int32) {
			p.Kernels = append(p.Kernels, Kernel{Name: name, ID: id, Path: -1, Layer: layer})
		}
		put("embedding_kernel", 90, -1)
		for l := range 20 {
			put(add, 80, int32(l))
			for i, n := range names {
				if l == odd && i == 3 {
					continue
				}
				put(n, int32(i)+1, int32(l))
			}
		}
		put("rms_norm_kernel", 1, -1)
		put("gemm_head", 91, -1)
		if split {
			p.Kernels[60].Layer = 2
		}
		if early { // the labels begin one kernel late
			p.Kernels[1].Layer = -1
		}
		return p
	}
	for _, tt := range []struct {
		odd    int
		split  bool
		early  bool
		layers int // of the folded pass; 20: none
	}{{-1, false, false, 4}, {11, false, false, 9}, {-1, true, false, 20}, {-1, false, true, 5}} {
		p := make(tt.odd, tt.split, tt.early)
		f, layers := foldPass(&p, nil), 20
		if f != nil {
			layers = f.pass.Layers
		}
		if layers != tt.layers {
			t.Errorf("odd layer %d, split %v: %d layers are aligned, want %d", tt.odd, tt.split, layers, tt.layers)
		}
		finder := NewFinder(nil, Defaults())
		if diff := cmp.Diff(finder.find(p, nil), finder.Find(p)); diff != "" {
			t.Errorf("odd layer %d, split %v (-whole +folded):\n%s", tt.odd, tt.split, fmt.Sprint(diff))
		}
	}
}
