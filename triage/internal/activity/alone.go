package activity

import (
	"cmp"
	"slices"
)

// Alone is how long an activity runs with nothing beside it on its device.
func (w *Trace) Alone(act int32) int64 {
	w.findAlone()
	return w.own[act]
}

// Idle is how long the device of two activities is idle between them.
func (w *Trace) Idle(before, after int32) int64 {
	w.findAlone()
	return max(0, w.idle[after]-w.idle[before])
}

// findAlone looks once at what runs when.
func (w *Trace) findAlone() {
	if w.own != nil {
		return
	}
	w.own, w.idle = make([]int64, len(w.Acts)), make([]int64, len(w.Acts))
	for from := 0; from < len(w.Acts); {
		device, to := w.Queues[w.Acts[from].Queue].Device, from+1
		for to < len(w.Acts) && w.Queues[w.Acts[to].Queue].Device == device {
			to++
		}
		w.sweep(from, to)
		from = to
	}
}

// sweep goes over the activities of a device, which are in order of their starts.
func (w *Trace) sweep(from, to int) {
	byEnd := make([]int, to-from)
	for i := range byEnd {
		byEnd[i] = from + i
	}
	slices.SortFunc(byEnd, func(a, b int) int { return cmp.Compare(w.Acts[a].End, w.Acts[b].End) })
	at, idle, shared := w.Acts[from].Start, int64(0), int64(0) // until now
	running, next := 0, from
	pass := func(t int64) {
		switch {
		case running == 0:
			idle += t - at
		case running > 1:
			shared += t - at
		}
		at = t
	}
	for _, i := range byEnd {
		for ; next < to && w.Acts[next].Start <= w.Acts[i].End; next++ {
			pass(w.Acts[next].Start)
			running++
			w.idle[next], w.own[next] = idle, shared
		}
		pass(w.Acts[i].End)
		running--
		w.own[i] = w.Acts[i].End - w.Acts[i].Start - (shared - w.own[i])
	}
}
