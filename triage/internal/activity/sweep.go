package activity

import (
	"cmp"
	"math"
	"slices"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// Timed are the activities of a device with the order in which they end.
type Timed struct {
	*layer.Device
	Of   *Trace  // that they are of
	Acts []int32 // of the trace, by kernel
	ends []int32 // those that take time, by end
}

// NewTimed orders the activities of a device.
func NewTimed(w *Trace, d *layer.Device) *Timed {
	t := &Timed{Device: d, Of: w, Acts: w.OfKernel[d.ID]}
	t.ends = make([]int32, 0, len(t.Acts))
	for _, i := range t.Acts {
		if act := &w.Acts[i]; act.End > act.Start {
			t.ends = append(t.ends, i)
		}
	}
	slices.SortFunc(t.ends, func(i, j int32) int { return cmp.Compare(w.Acts[i].End, w.Acts[j].End) })
	return t
}

// Sweep goes over the starts and ends of a device's activities in order of time, and reports which classes of kernels
// run.
type Sweep struct {
	Running []int32 // each class once

	d          *Timed
	classOf    []int32 // by kernel of the pool
	count      []int   // of each class, how many run
	start, end int     // the next of each
}

// NewSweep starts before the first activity. The class of each kernel of the pool is below the number of kernels.
func NewSweep(d *Timed, classOf []int32) *Sweep {
	return &Sweep{d: d, classOf: classOf, count: make([]int, len(classOf))}
}

// To passes all starts and ends up to t, and returns when the next one is.
func (s *Sweep) To(t trace.Time) trace.Time {
	next := trace.Time(math.MaxInt64)
	for ; s.start < len(s.d.Acts); s.start++ {
		act := &s.d.Of.Acts[s.d.Acts[s.start]]
		if act.End <= act.Start {
			continue
		}
		if at := trace.Time(act.Start); at > t {
			next = at
			break
		}
		class := s.classOf[act.Kernel]
		if s.count[class]++; s.count[class] == 1 {
			s.Running = append(s.Running, class)
		}
	}
	for ; s.end < len(s.d.ends); s.end++ {
		act := &s.d.Of.Acts[s.d.ends[s.end]]
		if at := trace.Time(act.End); at > t {
			return min(next, at)
		}
		class := s.classOf[act.Kernel]
		if s.count[class]--; s.count[class] == 0 {
			i := slices.Index(s.Running, class)
			s.Running = slices.Delete(s.Running, i, i+1)
		}
	}
	return next
}
