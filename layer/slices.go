package layer

import (
	"iter"

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
		for i := range d.columns.event {
			e := d.event(int32(i))
			start, end, pass := e.Start(), e.End(), int(d.columns.pass[i])
			if i == 0 {
				at = start
			}
			if start > at {
				if !yield(Slice{Start: at, End: start, Pass: pass, Kernel: None, Next: int32(i)}) {
					return
				}
				at = start
			}
			if end > at {
				if !yield(Slice{Start: at, End: end, Pass: pass, Kernel: int32(i), Next: None}) {
					return
				}
				at = end
			}
		}
	}
}

// Window returns the time from the start of the device's first activity to the end of its last.
func (d *Device) Window() (start, end trace.Time) {
	for i := range d.columns.event {
		e := d.event(int32(i))
		if i == 0 {
			start, end = e.Start(), e.End()
		}
		end = max(end, e.End())
	}
	return start, end
}
