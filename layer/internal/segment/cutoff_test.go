package segment

import "testing"

// TestCutOff: a pass that begins, or ends, within a layer is cut there, one with an embedding and a head of its own
// is not; an end that is not asked for does not count.
func TestCutOff(t *testing.T) {
	layers := 8
	pass := func(front, behind bool) *Sequence {
		s := &Sequence{}
		if front {
			s.add(1, embed)
		}
		for range layers {
			for k, r := range []Role{norm, product, mixer, product, norm, product, activation, product} {
				s.add(int32(10+k), r)
			}
		}
		if behind {
			s.add(30, product)
			s.add(31, sample)
			return s
		}
		return s.Slice(0, s.Len()-3)
	}
	for _, c := range []struct {
		name          string
		front, behind bool
		start, end    bool
		want          bool
	}{
		{"whole", true, true, true, true, false},
		{"cut in front", false, true, true, false, true},
		{"cut in front, not asked for", false, true, false, true, false},
		{"cut behind", true, false, false, true, true},
		{"cut behind, not asked for", true, false, true, false, false},
	} {
		n := layers
		if !c.behind {
			n-- // the last one is no whole layer
		}
		if got := CutOff(pass(c.front, c.behind), n, c.start, c.end); got != c.want {
			t.Errorf("%s: cut off %v, want %v", c.name, got, c.want)
		}
	}
}
