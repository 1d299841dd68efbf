package activity

import (
	"cmp"
	"math"
	"slices"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// Sweep goes over the starts and ends of a device's kernels in order of time,
// and counts those that run by what they are.
type Sweep[T comparable] struct {
	Active map[T]int // how many of each run; none that does not

	d          *layer.Device
	of         []T     // per kernel; the zero value for one that takes no time
	ends       []int32 // kernels by end
	start, end int     // the next of each
}

// NewSweep stands in front of the first kernel of a device.
func NewSweep[T comparable](d *layer.Device, of func(layer.Kernel) T) *Sweep[T] {
	n := d.NumKernels()
	s := &Sweep[T]{d: d, of: make([]T, n), ends: make([]int32, 0, n), Active: map[T]int{}}
	for i := range n {
		k := d.Kernel(i)
		if is := of(k); k.Event().End() > k.Event().Start() {
			s.of[i], s.ends = is, append(s.ends, int32(i))
		}
	}
	slices.SortFunc(s.ends, func(p, q int32) int {
		return cmp.Compare(d.Kernel(int(p)).Event().End(), d.Kernel(int(q)).Event().End())
	})
	return s
}

// To passes all starts and ends up to t, and returns when the next one is.
func (s *Sweep[T]) To(t trace.Time) trace.Time {
	var none T
	next := trace.Time(math.MaxInt64)
	for ; s.start < len(s.of); s.start++ {
		if is := s.of[s.start]; is != none {
			if at := s.d.Kernel(s.start).Event().Start(); at > t {
				next = at
				break
			}
			s.Active[is]++
		}
	}
	for ; s.end < len(s.ends); s.end++ {
		if at := s.d.Kernel(int(s.ends[s.end])).Event().End(); at > t {
			return min(next, at)
		}
		is := s.of[s.ends[s.end]]
		if s.Active[is]--; s.Active[is] == 0 {
			delete(s.Active, is)
		}
	}
	return next
}
