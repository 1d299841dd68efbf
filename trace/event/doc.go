// Package event says what the events of a trace are: their kinds, and the lanes
// in which package trace stores them.
//
//	for e := range t.Events(event.LaneGPU) {
//		if e.Kind() == event.Kernel {
//			…
//		}
//	}
package event
