package layer

import (
	"iter"
	"time"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/trace"
)

// Slice is a stretch of a device's time during which one kernel runs, or none.
type Slice struct {
	Start trace.Time // inclusive
	End   trace.Time // exclusive
	// Pass is the pass of the kernel that runs, or of the one that ends the idle time; None outside of passes.
	Pass int
	// Kernel is the number of the kernel that runs: of several at the same time the one that started first. None: idle.
	Kernel int32
	// Next is the number of the kernel that ends the idle time; None where one runs.
	Next int32
}

// Timeline iterates over the time from the start of the device's first activity to the end of its last, in slices that hold
// each nanosecond once, by start. Activities that take no time, and those that others cover, have no slice.
func (d *Device) Timeline() iter.Seq[Slice] {
	return func(yield func(Slice) bool) {
		var at trace.Time // up to here the time is given out
		for i := range d.columns.pass {
			e := d.event(int32(i))
			start, end, pass := e.Start(), e.End(), int(d.columns.pass[i])
			if i == 0 {
				at = start
			}
			if start > at {
				if !yield(Slice{Start: at, End: start, Pass: pass, Kernel: trace.None, Next: int32(i)}) {
					return
				}
				at = start
			}
			if end > at {
				if !yield(Slice{Start: at, End: end, Pass: pass, Kernel: int32(i), Next: trace.None}) {
					return
				}
				at = end
			}
		}
	}
}

// idleGap is how long the time to the next pass may be, in lengths of the pass itself, to count as time between two steps in any
// case: longer, and the server may have had nothing to do.
const idleGap = 1.0

// usualGaps is the share of the passes that longer times follow from which these are part of the steps: it is no lack of requests
// but a host that is slower than its GPU. Half of them: requests do not run out behind every second step.
const usualGaps = 0.5

// StepEnd is where the step of pass p ends: where the next pass starts, or where the pass itself ends if the server was idle behind it.
func (d *Device) StepEnd(p int) trace.Time {
	if d.stepEnds == nil { // not of an analysis
		return d.Passes[p].End
	}
	return d.stepEnds[p]
}

// findStepEnds says where each step ends.
func (d *Device) findStepEnds() {
	d.stepEnds = make([]trace.Time, len(d.Passes))
	var long []int
	followed := 0
	for p := range d.Passes {
		fp := &d.Passes[p]
		d.stepEnds[p] = fp.End
		if p+1 == len(d.Passes) {
			break
		}
		next := d.Passes[p+1].Start
		gap := time.Duration(next - fp.End)
		if gap > framework.Pause {
			continue
		}
		followed++
		switch {
		case gap < 0:
		case float64(gap) <= idleGap*float64(fp.Wall()):
			d.stepEnds[p] = next
		default:
			long = append(long, p)
		}
	}
	if float64(len(long)) < usualGaps*float64(followed) {
		return
	}
	for _, p := range long {
		d.stepEnds[p] = d.Passes[p+1].Start
	}
}

// Steps iterates over the slices of the timeline that lie between the start of a pass and its [Device.StepEnd], each with the index of that
// pass and cut at both. A slice's own Pass is another one where a kernel of that runs meanwhile.
func (d *Device) Steps() iter.Seq2[int, Slice] {
	return func(yield func(int, Slice) bool) {
		first := 0 // passes before it have ended
		for s := range d.Timeline() {
			for first < len(d.Passes) && d.StepEnd(first) <= s.Start {
				first++
			}
			for p := first; p < len(d.Passes) && d.Passes[p].Start < s.End; p++ {
				part := s
				part.Start, part.End = max(s.Start, d.Passes[p].Start), min(s.End, d.StepEnd(p))
				if part.Start < part.End && !yield(p, part) {
					return
				}
			}
		}
	}
}
