package nsys

import (
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// zeroRows are the GPU activities that begin at 0 exactly, which is what CUPTI
// writes where a clock was not read, and what an export that somebody moved to 0
// begins with. They are held back until it is known which.
type zeroRows struct {
	held   []trace.EventData
	many   bool  // too many for what happens now and then
	others int   // activities that begin later
	lo, hi int64 // start and end of those
}

const (
	// zeroOthers is how many other activities it takes to find what is far from them.
	zeroOthers = 20
	// zeroShare is of how many others one may have no clock; more begin the recording.
	zeroShare = 100
	// zeroMost bounds what is held back.
	zeroMost = 1 << 16
)

// keep holds an activity at 0 back and learns from the others.
func (z *zeroRows) keep(e *trace.EventData, add func(trace.EventData)) bool {
	switch {
	case e.Kind.Lane() != event.LaneGPU:
		return false
	case e.Start != 0:
		end := e.Start + e.Duration
		if z.others++; z.others == 1 {
			z.lo, z.hi = e.Start, end
		}
		z.lo, z.hi = min(z.lo, e.Start), max(z.hi, end)
		return false
	case z.many:
		return false
	}
	z.held = append(z.held, *e)
	if len(z.held) > zeroMost {
		z.many = true
		z.release(add)
	}
	return true
}

// far reports whether those at 0 are few and further from all others than these
// are from each other: their clocks were not read.
func (z *zeroRows) far() bool {
	last := int64(0)
	for i := range z.held {
		last = max(last, z.held[i].Duration)
	}
	few := len(z.held) <= max(1, z.others/zeroShare)
	return few && z.others >= zeroOthers && z.lo-last > z.hi-z.lo
}

// settle adds what was held back, if it belongs to the recording, or returns how many do not.
func (z *zeroRows) settle(add func(trace.EventData)) int64 {
	if len(z.held) > 0 && z.far() {
		return int64(len(z.held))
	}
	z.release(add)
	return 0
}

func (z *zeroRows) release(add func(trace.EventData)) {
	for i := range z.held {
		add(z.held[i])
	}
	z.held = nil
}
