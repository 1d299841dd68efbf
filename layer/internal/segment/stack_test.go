package segment

import "testing"

// TestLayersOfAnotherStack: layers behind which two kernels compute elements as no later layer does are of another
// stack; one such kernel, or others than these, may be of a first layer that differs.
func TestLayersOfAnotherStack(t *testing.T) {
	for _, c := range []struct {
		name   string
		before int // layers
		behind []Role
		want   int // layers in all
	}{
		{"nothing between", 2, nil, 22}, {"two kernels", 2, []Role{elementwise, elementwise}, 20},
		{"behind one layer", 1, []Role{elementwise, elementwise}, 20}, {"one kernel", 2, []Role{elementwise}, 22},
		{"products", 2, []Role{product, product}, 22}, {"more than lead", 6, []Role{elementwise, elementwise}, 26},
	} {
		s := &Sequence{}
		s.add(50, embed)
		for l := range c.before + 20 {
			if l == c.before {
				for k, r := range c.behind {
					s.add(int32(60+k), r)
				}
			}
			for k, r := range []Role{norm, product, mixer, product, norm, product, activation, product} {
				s.add(int32(k), r)
			}
		}
		s.add(51, norm)
		if got := Number(s); got != c.want {
			t.Errorf("%s: %d layers, want %d", c.name, got, c.want)
		}
	}
}
