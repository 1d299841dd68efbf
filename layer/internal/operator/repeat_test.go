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

// TestFoldedPassesAnswerForAll: a folded pass has the answers of the whole one, layer by layer, the edges included; a layer that differs
// in one kernel is not folded, and neither is one whose kernels do not stand together.
func TestFoldedPassesAnswerForAll(t *testing.T) {
	names := []string{"rms_norm_kernel", "gemm_qkv", "rotary_kernel", "reshape_and_cache", "flash_fwd", "gemm_o", "rms_norm_kernel", "gemm_up", "silu_and_mul", "gemm_down"}
	make := func(odd int, split bool) Pass {
		p := Pass{Layers: 20}
		add := func(name string, id, layer int32) {
			p.Kernels = append(p.Kernels, Kernel{Name: name, ID: id, Path: -1, Layer: layer})
		}
		add("embedding_kernel", 90, -1)
		for l := range 20 {
			for i, n := range names {
				if l == odd && i == 3 {
					continue
				}
				add(n, int32(i)+1, int32(l))
			}
		}
		add("rms_norm_kernel", 1, -1)
		add("gemm_head", 91, -1)
		if split {
			p.Kernels[60].Layer = 2
		}
		return p
	}
	for _, tt := range []struct {
		odd    int
		split  bool
		layers int // of the folded pass; 20: none
	}{{-1, false, 4}, {11, false, 9}, {-1, true, 20}} {
		p := make(tt.odd, tt.split)
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
