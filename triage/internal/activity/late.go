package activity

import "github.com/llmstrata/strata/trace"

// absorbed says of each activity whether time saved there changes nothing later in its pass: the GPU is idle when the
// host launches a later kernel of the pass, so that it waits for the host however early the kernels before it end.
func (w *Trace) absorbed() []bool {
	late := make([]bool, len(w.Acts))
	end := map[trace.DeviceID]int64{} // of all work so far
	for i := range w.Acts {
		act := &w.Acts[i]
		d := w.Queues[act.Queue].Device
		if launch := w.Event(act).Launch(); launch.Valid() && !act.Replay && int64(launch.Start()) >= end[d] &&
			end[d] != 0 {
			late[i] = true
		}
		end[d] = max(end[d], act.End)
	}
	type pass struct {
		device trace.DeviceID
		pass   int32
	}
	seen := map[pass]bool{} // a late kernel of the pass follows
	for i := len(w.Acts) - 1; i >= 0; i-- {
		act := &w.Acts[i]
		if act.Pass == trace.None {
			continue
		}
		key := pass{w.Queues[act.Queue].Device, act.Pass}
		follows := seen[key]
		if late[i] {
			seen[key] = true
		}
		late[i] = follows
	}
	return late
}

// Absorbed reports whether GPU time saved in an activity makes its pass no shorter, because the GPU waits for the
// host later in the pass.
func (w *Trace) Absorbed(act int32) bool {
	if w.saved == nil {
		w.saved = w.absorbed()
	}
	return w.saved[act]
}
