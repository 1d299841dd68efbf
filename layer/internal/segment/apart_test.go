package segment

import (
	"slices"
	"testing"
)

// twoStacks is a pass of two stacks of n and m layers of eight kernels with other kernels between them.
func twoStacks(n, m int, between ...Role) (s *Sequence, from, to int) {
	s = layersOf(n)
	s = s.Slice(0, s.Len()-1) // the final norm, and nothing sampled
	from = s.Len() - 1
	for k, r := range between {
		s.add(int32(40+k), r)
	}
	to = s.Len()
	behind := layersOf(m)
	for i := 1; i < behind.Len(); i++ {
		s.add(behind.ID[i], behind.Role[i])
	}
	return s, from, to
}

// TestApart: two stacks of layers are apart where kernels that no layer runs are between them. One such kernel may be
// of a layer; what mixes is a layer of another kind, and so is what runs what layers run beside a mixer of a name that
// nobody knows, or in its place. Fewer layers are no stack.
func TestApart(t *testing.T) {
	for _, c := range []struct {
		name    string
		n, m    int
		between []Role
		apart   bool
	}{
		{"an encoder and a decoder", 12, 8, []Role{product}, true},
		{"one kernel of another name", 12, 8, nil, false},
		{"the fewest layers", StackLayers, StackLayers, []Role{product}, true},
		{"fewer before", StackLayers - 1, 8, []Role{product}, false},
		{"fewer behind", 8, StackLayers - 1, []Role{product}, false},
		{"most kernels", 8, 8, make([]Role, 150), true},
		{"nearly all kernels", 8, 8, make([]Role, 250), false},
		{"what mixes", 8, 8, []Role{product, mixer, product}, false},
	} {
		s, from, to := twoStacks(c.n, c.m, c.between...)
		got := Apart(s)
		if !c.apart {
			if got != nil {
				t.Errorf("%s: %v, want no stacks", c.name, got)
			}
			continue
		}
		if len(got) != 2 || got[0].To > to || got[0].To < from || got[1].From < from || got[1].From > to ||
			got[0].N < c.n || got[1].N < c.m {
			t.Errorf("%s: %v, want %d and %d layers and a place in %d … %d", c.name, got, c.n, c.m, from, to)
		}
	}
}

// TestOneStack: layers with another one among them, a mixer of no known name in it, and with records missing, are one
// stack; so is any number of layers that follow each other.
func TestOneStack(t *testing.T) {
	whole := layersOf(16)
	for name, change := range map[string]func(s *Sequence) *Sequence{
		"equal layers": func(s *Sequence) *Sequence { return s },
		"a mixer of no known name": func(s *Sequence) *Sequence {
			for i := 1 + 8*8 + 1; i < 1+8*8+4; i++ {
				s.ID[i], s.Base[i], s.Role[i] = int32(60+i), int32(60+i), other
			}
			return s
		},
		"other kernels in the place of those between two mixers": func(s *Sequence) *Sequence {
			out := &Sequence{slices.Clone(s.ID[:60]), slices.Clone(s.Base[:60]), slices.Clone(s.Role[:60])}
			for k := range 3 {
				out.add(int32(80+k), other)
			}
			for i := 67; i < s.Len(); i++ {
				out.add(s.ID[i], s.Role[i])
			}
			return out
		},
		"records missing": func(s *Sequence) *Sequence {
			out := &Sequence{slices.Clone(s.ID[:60]), slices.Clone(s.Base[:60]), slices.Clone(s.Role[:60])}
			for i := 71; i < s.Len(); i++ {
				out.add(s.ID[i], s.Role[i])
			}
			return out
		},
	} {
		s := change(&Sequence{slices.Clone(whole.ID), slices.Clone(whole.Base), slices.Clone(whole.Role)})
		if got := Apart(s); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestPeriodsOfStacks: a distance between mixers that recurs is tried as a period unless a stack with it is hardly any
// of the pass. Here each distance recurs three times, and a longer pass has more of them: those that are tried are no
// more for it, so that the work grows as the pass does.
func TestPeriodsOfStacks(t *testing.T) {
	for n, want := range map[int][2]int{20_000: {50, 150}, 300_000: {50, 150}, 600_000: {0, 50}, 2_000_000: {0, 0}} {
		s := &Sequence{ID: make([]int32, n), Base: make([]int32, n), Role: make([]Role, n)}
		for at, k := 0, 0; at < n; k++ {
			s.Role[at] = mixer
			at += 1 + k/3
		}
		if got := len(periodsOf(s)); got < want[0] || got > want[1] {
			t.Errorf("%d kernels: %d periods, want %d … %d", n, got, want[0], want[1])
		}
	}
}
