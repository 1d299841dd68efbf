package segment

import "testing"

// TestLikeTheWholePass: each layer counts by its kernels, by the kind of layer that it is most like; those that the
// window cuts do not, unless there is no other.
func TestLikeTheWholePass(t *testing.T) {
	of := &Sequence{}
	for _, b := range []int32{1, 2, 3, 4, 1, 2, 5, 6} {
		of.add(b, 0)
	}
	whole := &Cut{Starts: []int{0, 4, 8}}
	for _, c := range []struct {
		name   string
		base   []int32
		starts []int
		first  bool
		last   bool
		want   float64
	}{
		{"both kinds", []int32{1, 2, 5, 6, 1, 2, 3, 4}, []int{0, 4, 8}, false, false, 1},
		{"half of one is another", []int32{1, 2, 3, 4, 1, 2, 7, 8}, []int{0, 4, 8}, false, false, 0.75},
		{"cut ones do not count", []int32{9, 9, 1, 2, 3, 4, 8, 8}, []int{0, 2, 6, 8}, true, true, 1},
		{"only cut ones", []int32{3, 4, 7, 8}, []int{0, 2, 4}, true, true, (2.0 / 3) / 2},
		{"a longer one counts more", []int32{1, 2, 3, 4, 7, 8, 7, 8, 7, 8, 7, 8}, []int{0, 4, 12}, false, false,
			1.0 / 3},
	} {
		s := &Sequence{}
		for _, b := range c.base {
			s.add(b, 0)
		}
		f := &Fitted{Cut: &Cut{Starts: c.starts}, CutFirst: c.first, CutLast: c.last}
		if got := f.LikeReference(s, of, whole); got < c.want-1e-9 || got > c.want+1e-9 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestMixersOutsideAlone: where no unit holds a mixer that is known, none counts as one of an unknown name; what
// is outside of the units counts as one more.
func TestMixersOutsideAlone(t *testing.T) {
	s := &Sequence{}
	s.add(20, mixer)
	s.add(21, mixer)
	pos := []int{}
	for range 4 {
		pos = append(pos, s.Len())
		for k, r := range []Role{norm, product, activation, product} {
			s.add(int32(k), r)
		}
	}
	pos = append(pos, s.Len())
	s.add(22, other)
	if got, ok := mixerShare(s, pos); !ok || got != 1.0/5 {
		t.Errorf("%v of four units and what is outside have a mixer, known %v; want a fifth", got, ok)
	}
}
