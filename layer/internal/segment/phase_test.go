package segment

import "testing"

// TestDisplaced: where no norm is known, layers begin with the kernel that stands in the first one for what closes each repeat. Behind the
// embedding alone nothing stands for it.
func TestDisplaced(t *testing.T) {
	for front, want := range []bool{false, false, true, true} {
		if got := displaced(DefaultParams(), front); got != want {
			t.Errorf("behind %d kernels: layers begin one earlier: %v, want %v", front, got, want)
		}
	}
}

// TestMixesTwice: where a feed-forward part stands behind every second mixer and one norm between the two of a pair, they are one layer; a dense layer whose
// activation is fused away has two norms, and few layers show no pattern.
func TestMixesTwice(t *testing.T) {
	attention := []Role{norm, product, mixer, product}
	mlp := []Role{norm, product, activation, product}
	fused := []Role{norm, product, product}
	for _, c := range []struct {
		name   string
		layer  [][]Role
		layers int
		want   int
	}{
		{"decoder of an encoder", [][]Role{attention, attention, mlp}, 12, 12},
		{"few", [][]Role{attention, attention, mlp}, 4, 0},
		{"enough", [][]Role{attention, attention, mlp}, 5, 5},
		{"one mixer", [][]Role{attention, mlp}, 12, 0},
		{"dense layers with a fused activation in turns", [][]Role{attention, fused, attention, mlp}, 12, 0},
		{"mixers alone", [][]Role{attention}, 24, 0},
	} {
		s := &Sequence{}
		for range c.layers {
			for _, part := range c.layer {
				for _, r := range part {
					s.add(int32(r), r)
				}
			}
		}
		if got := DefaultParams().mixesTwice(s); got != c.want {
			t.Errorf("%s: %d layers that mix twice, want %d", c.name, got, c.want)
		}
	}
}
