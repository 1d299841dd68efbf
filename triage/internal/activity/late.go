package activity

import (
	"cmp"
	"slices"

	"github.com/llmstrata/strata/internal/waits"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// Hold is a moment of a pass that limits by how much GPU time saved before it makes the pass shorter.
type Hold struct {
	// Room is the limit in nanoseconds: how long the host waited for the GPU; 0 where the host kept the GPU idle.
	Room int64
	at   int64
}

// holds finds what holds each activity of a pass, nil for nothing. Where the GPU is idle when the host launches a
// kernel, the host keeps it idle however early the kernels before end. A host that waits for the GPU in between
// launches as much earlier as its wait is shorter.
func (w *Trace) holds() []*Hold {
	type pass struct {
		device trace.DeviceID
		pass   int32
	}
	of := func(act *Activity) pass { return pass{w.Queues[act.Queue].Device, act.Pass} }
	type work struct { // that has ended by some time
		end  int64
		pass pass
	}
	done := map[trace.DeviceID][]work{} // by device and time
	drives := map[trace.ThreadIndex]map[trace.DeviceID]bool{}
	found := map[pass][]*Hold{}
	for i := range w.Acts {
		act := &w.Acts[i]
		p := of(act)
		before := done[p.device]
		launch := w.Event(act).Launch()
		if launch.Valid() {
			if drives[launch.Thread()] == nil {
				drives[launch.Thread()] = map[trace.DeviceID]bool{}
			}
			drives[launch.Thread()][p.device] = true
		}
		if n := len(before); launch.Valid() && !act.Replay && n > 0 && int64(launch.Start()) >= before[n-1].end &&
			act.Pass != trace.None {
			found[p] = append(found[p], &Hold{at: int64(launch.Start())})
		}
		if n := len(before); n == 0 || act.End > before[n-1].end {
			done[p.device] = append(before, work{act.End, p})
		}
	}
	for e := range w.Trace.Events(event.LaneLaunch) {
		start, end := int64(e.Start()), int64(e.End())
		if drives[e.Thread()] == nil || !w.blocks(e) {
			continue
		}
		for device := range drives[e.Thread()] {
			n, exact := slices.BinarySearchFunc(done[device], end, func(x work, t int64) int { return cmp.Compare(x.end, t) })
			if exact {
				n++
			}
			if n == 0 || done[device][n-1].end <= start {
				continue // there was nothing to wait for
			}
			last := done[device][n-1]
			found[last.pass] = append(found[last.pass], &Hold{at: end, Room: last.end - start})
		}
	}
	for p, list := range found {
		slices.SortFunc(list, func(x, y *Hold) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.Room, y.Room)) })
		for len(list) > 0 && list[len(list)-1].Room > 0 { // nothing waits for the host after them
			list = list[:len(list)-1]
		}
		found[p] = list
	}
	out := make([]*Hold, len(w.Acts))
	for i := range w.Acts {
		act := &w.Acts[i]
		list := found[of(act)]
		n, _ := slices.BinarySearchFunc(list, act.End, func(h *Hold, t int64) int { return cmp.Compare(h.at, t) })
		if n < len(list) && act.Pass != trace.None {
			out[i] = list[n]
		}
	}
	return out
}

// blocks reports whether a call of the host waits for the GPU: it synchronises, or copies.
func (w *Trace) blocks(e trace.Event) bool {
	if waits.CallWait(e.Name()) == finding.Synchronisation {
		return true
	}
	for a := range e.Activities() {
		return a.Kind() == event.Memcpy && a.End() <= e.End() && !waits.RunsOn(e, a)
	}
	return false
}

// Hold is what keeps GPU time saved in an activity from making its pass shorter, nil for nothing.
func (w *Trace) Hold(act int32) *Hold {
	if w.held == nil {
		w.held = w.holds()
	}
	return w.held[act]
}
