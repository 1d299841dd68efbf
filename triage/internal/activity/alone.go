package activity

import (
	"math"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// Alone is how long an activity runs with no other one of the trace beside it on its device. Kernels of processes that
// were not asked for count neither here nor in Idle.
func (w *Trace) Alone(act int32) int64 {
	w.findAlone()
	return w.own[w.Acts[act].Event]
}

// Idle is how long the device of two activities runs none between them.
func (w *Trace) Idle(before, after int32) int64 {
	w.findAlone()
	return max(0, w.idle[w.Acts[after].Event]-w.idle[w.Acts[before].Event])
}

// findAlone looks once at what runs when.
func (w *Trace) findAlone() {
	if w.own != nil {
		return
	}
	n := w.Trace.Len(event.LaneGPU)
	w.own, w.idle = make([]int64, n), make([]int64, n)
	asked := make([]bool, n)
	for i := range w.Acts {
		asked[w.Acts[i].Event] = true
	}
	for i := range w.Analysis.Devices {
		w.sweep(&w.Analysis.Devices[i], asked)
	}
}

// sweep goes over the activities of a device that were asked for, by row of the GPU lane.
func (w *Trace) sweep(d *layer.Device, asked []bool) {
	at, idle, shared := trace.Time(0), int64(0), int64(0) // until now
	running, edges := 0, d.Edges()
	for t := edges.When(); t < math.MaxInt64; t = edges.When() {
		switch {
		case running == 0:
			idle += int64(t - at)
		case running > 1:
			shared += int64(t - at)
		}
		at = t
		k, starts := edges.Next()
		e := d.Kernel(int(k)).Event()
		switch i := e.Index(); {
		case !asked[i]:
		case starts:
			running++
			w.idle[i], w.own[i] = idle, shared
		default:
			running--
			w.own[i] = int64(e.Duration()) - (shared - w.own[i])
		}
	}
}
