package hostoverhead

import (
	"slices"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// drives holds for each thread the devices that it launched on; a thread that launched nothing has those of its
// process.
type drives [][]trace.DeviceID

// drivesOf finds them through the launch links.
func drivesOf(t *trace.Trace) drives {
	type process struct {
		id    int64
		label string
	}
	threads := t.Threads()
	out := make(drives, len(threads))
	byProcess := map[process][]trace.DeviceID{}
	processOf := func(i int) process { return process{threads[i].Process, threads[i].ProcessLabel} }
	for e := range t.Events(event.LaneGPU) {
		th, d := int(e.Launch().Thread()), e.Device()
		if th < 0 || d == trace.None || slices.Contains(out[th], d) {
			continue
		}
		out[th] = append(out[th], d)
		if p := processOf(th); !slices.Contains(byProcess[p], d) {
			byProcess[p] = append(byProcess[p], d)
		}
	}
	for i := range out {
		if len(out[i]) == 0 {
			out[i] = byProcess[processOf(i)]
		}
	}
	return out
}

// drive reports whether a thread works for a device. A thread of a process that launched nothing in the window may
// work for any.
func (w drives) drive(th trace.ThreadIndex, d trace.DeviceID) bool {
	return th < 0 || len(w[th]) == 0 || slices.Contains(w[th], d)
}

// onlyGPU is the one GPU that an analysis is about where its trace has several; nil where it is about all of them.
func onlyGPU(a *layer.Analysis) *trace.DeviceID {
	if len(a.Devices) != 1 || len(a.Trace().Devices()) == 1 {
		return nil
	}
	return &a.Devices[0].ID
}
