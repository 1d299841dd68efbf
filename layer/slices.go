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

// StepEnd is where the step of pass p ends: where the next pass starts, or where the pass itself ends if nothing follows within a
// tenth of a second.
func (d *Device) StepEnd(p int) trace.Time {
	if d.stepEnds == nil { // not of an analysis
		return d.Passes[p].End
	}
	return d.stepEnds[p]
}

// findStepEnds says where each step ends. A time of more than [framework.Pause] to the next pass is no part of a step: the server
// had nothing to do. What shorter times are lost to, package hostoverhead says.
func (d *Device) findStepEnds() {
	d.stepEnds = make([]trace.Time, len(d.Passes))
	for p := range d.Passes {
		d.stepEnds[p] = d.Passes[p].End
		if p+1 == len(d.Passes) {
			break
		}
		if next := d.Passes[p+1].Start; next >= d.Passes[p].End && time.Duration(next-d.Passes[p].End) <= framework.Pause {
			d.stepEnds[p] = next
		}
	}
}

// evidenceWhole is what the pass of a window without steps rests on.
const evidenceWhole string = "whole"

// Steps iterates over the slices of the timeline that lie between the start of a pass and its [Device.StepEnd], each with the index of that
// pass and cut at both. A slice's own Pass is another one where a kernel of that runs meanwhile. Of a window in which
// no steps were found, idle times of a tenth of a second are left out: the server had nothing to do.
func (d *Device) Steps() iter.Seq2[int, Slice] {
	return func(yield func(int, Slice) bool) {
		first := 0 // passes before it have ended
		for s := range d.Timeline() {
			for first < len(d.Passes) && d.StepEnd(first) <= s.Start {
				first++
			}
			for p := first; p < len(d.Passes) && d.Passes[p].Start < s.End; p++ {
				if s.Kernel == trace.None && s.End-s.Start > trace.Time(framework.Pause) && d.Passes[p].PassEvidence == evidenceWhole {
					continue // a pause of a window without steps
				}
				part := s
				part.Start, part.End = max(s.Start, d.Passes[p].Start), min(s.End, d.StepEnd(p))
				if part.Start < part.End && !yield(p, part) {
					return
				}
			}
		}
	}
}
