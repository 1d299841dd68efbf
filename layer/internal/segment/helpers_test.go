package segment

import "github.com/llmstrata/strata/internal/gen/families"

var allFamilies = families.All()

// stack is n units of equal kernels, base names 1, 2 …; every kernel's role is other.
func stack(n, period int) *Sequence {
	s := &Sequence{}
	for range n {
		for k := range period {
			s.add(int32(k), 0)
		}
	}
	return s
}

func (s *Sequence) add(id int32, r Role) {
	s.ID, s.Base, s.Role = append(s.ID, id), append(s.Base, id), append(s.Role, r)
}

// layersOf is a pass of n layers with a norm and a mixer each.
func layersOf(n int) *Sequence {
	s := &Sequence{}
	s.add(20, embed)
	for range n {
		for k, r := range []Role{norm, 0, mixer, 0, norm, 0, activation, 0} {
			s.add(int32(k), r)
		}
	}
	s.add(21, norm)
	s.add(22, sample)
	return s
}

// sampled has so many mixers before the sampling and after it.
func sampled(before, behind int) *Sequence {
	s := &Sequence{}
	for k := range before + behind {
		s.add(0, norm)
		s.add(1, mixer)
		s.add(2, activation)
		if k == before-1 {
			s.add(3, sample)
		}
	}
	return s
}

// unlike makes a layer one of other kernels, without a mixer.
func unlike(s *Sequence, c *Cut, l int) {
	for i := c.Starts[l]; i < c.Starts[l+1]; i++ {
		s.Base[i], s.ID[i], s.Role[i] = int32(100+i), int32(100+i), other
	}
}
