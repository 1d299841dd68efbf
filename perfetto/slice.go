package perfetto

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"

	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/internal/scan"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// SliceStats says what [Slice] kept.
type SliceStats struct {
	Kept       int64 `json:"kept"`       // events written, metadata included
	Dropped    int64 `json:"dropped"`    // events outside the slice
	Activities int   `json:"activities"` // GPU activities written
	Bytes      int64 `json:"bytes"`      // written, before compression
	// Names are the texts that remain in a redacted slice, each once, in order of
	// the alphabet; nil where nothing was hidden.
	Names []string `json:"names,omitempty"`
	// Removed names what [CopyOptions] left out or replaced: keys of values beside
	// the events, environments and keys.
	Removed []string `json:"removed,omitempty"`
}

// Slice writes a trace that holds only the given GPU activities of t and what
// belongs to them, from the trace file src, which t was loaded from, to dst:
// their launch calls, everything on the launching threads while they were
// launched (ops, frames, annotations), everything on their GPU while they ran
// (annotations, synchronisation), the flows between those, and all metadata.
// Times stay as they were, so that they can be compared with the full trace.
//
// Memory grows with the number of activities kept, not with the file. A copy that
// is made of t's events (see [FromEvents]) is written as [Annotate] does; what is
// to be hidden cannot be hidden there, which is an error.
func Slice(ctx context.Context, t *trace.Trace, keep []trace.EventID, src, dst string, o CopyOptions) (SliceStats,
	error) {
	var stats SliceStats
	if len(keep) == 0 {
		return stats, errors.New("perfetto: nothing to slice: no GPU activity was chosen")
	}
	sel, err := newSelection(ctx, t, keep)
	if err != nil {
		return stats, err
	}
	if FromEvents(t, dst) {
		return sliceEvents(ctx, t, sel, src, dst, o)
	}
	red := newRedactor(o.Redact)
	c := &copier{o: o, red: red, wants: sel.wants}
	err = c.rewrite(ctx, src, dst, nil, func() error {
		if sel.found < len(sel.activities) {
			return fmt.Errorf("perfetto: %s: only %d of %d chosen GPU activities are in it: is it the file the trace was "+
				"loaded from?", src, sel.found, len(sel.activities))
		}
		return nil
	})
	stats.Kept, stats.Dropped, stats.Bytes, stats.Activities, stats.Removed = c.kept, c.dropped, c.bytes, sel.found,
		c.removed
	if red != nil {
		maps.DeleteFunc(red.kept, func(name string, _ bool) bool { return replacement().MatchString(name) })
		stats.Names = slices.Sorted(maps.Keys(red.kept))
	}
	return stats, err
}

// activityKey recognises a kept activity in the stream. Only what the reader
// takes over as it is written serves for that: it mends impossible durations,
// and old files have device and stream in pid and tid. Two activities of one
// launch that begin in the same nanosecond are kept together.
type activityKey struct {
	ts          int64
	correlation uint64
}

// window is a closed span of raw time.
type window struct{ start, end int64 }

// ident is a process or thread id: a text, or else a number.
type ident struct {
	text string
	num  int64
}

type threadKey struct{ pid, tid ident }

// selection decides which events belong to a set of GPU activities.
type selection struct {
	activities  map[activityKey]bool // true once seen in the stream
	correlation map[uint64]bool
	threads     map[threadKey][]window      // where kept launches were made
	devices     map[trace.DeviceID][]window // where kept activities ran
	kinds       map[string]event.Kind       // by category, to keep the loop free of allocation
	open        map[threadKey][]bool        // begun by B and not ended, whether it was kept
	found       int
}

// ctxStride is after how many activities a long loop looks at its context.
const ctxStride = 1 << 12

func newSelection(ctx context.Context, t *trace.Trace, keep []trace.EventID) (*selection, error) {
	s := &selection{
		activities: map[activityKey]bool{}, correlation: map[uint64]bool{},
		threads: map[threadKey][]window{}, devices: map[trace.DeviceID][]window{}, kinds: map[string]event.Kind{},
		open: map[threadKey][]bool{},
	}
	kept := map[trace.EventID]bool{}
	for i, id := range keep {
		if i%ctxStride == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		e := t.At(id)
		if e.Kind().Lane() != event.LaneGPU {
			continue
		}
		kept[id] = true
		kept[e.Launch().ID()] = true
		s.activities[keyOf(t, e)] = false
		if c := e.Data().Correlation; c != 0 {
			s.correlation[c] = true
		}
	}
	delete(kept, trace.None)
	// A window is a run of kept launches (or activities) that no other one
	// interrupts: slicing passes 2 and 5 does not bring 3 and 4 along.
	for i := range t.Threads() {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		th := t.Thread(trace.ThreadIndex(i))
		k := threadKey{newIdent(th.ProcessLabel, int64(th.Process)), newIdent(th.Label, int64(th.ID))}
		var r run
		for e := range t.OnThread(event.LaneLaunch, trace.ThreadIndex(i)) {
			for range e.Activities() {
				r.step(kept[e.ID()], t.Raw(e.Start()), t.Raw(e.End()))
				break
			}
		}
		if w := r.done(); len(w) > 0 {
			s.threads[k] = w
		}
	}
	for _, d := range t.Devices() {
		var r run
		for e := range t.Events(event.LaneGPU) {
			if e.Index()%ctxStride == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if e.Device() == d {
				r.step(kept[e.ID()], t.Raw(e.Start()), t.Raw(e.End()))
			}
		}
		if w := r.done(); len(w) > 0 {
			s.devices[d] = w
		}
	}
	return s, nil
}

// run collects windows from events in order of start.
type run struct {
	open bool
	cur  window
	all  []window
}

func (r *run) step(kept bool, start, end int64) {
	switch {
	case kept && r.open:
		r.cur.end = max(r.cur.end, end)
	case kept:
		r.open, r.cur = true, window{start, end}
	default:
		r.close()
	}
}

func (r *run) close() {
	if r.open {
		r.all = append(r.all, r.cur)
		r.open = false
	}
}

// done returns the windows in order; those that overlap, as on a device with
// several streams, are joined.
func (r *run) done() []window {
	r.close()
	slices.SortFunc(r.all, func(a, b window) int { return cmp.Compare(a.start, b.start) })
	var out []window
	for _, w := range r.all {
		if n := len(out); n > 0 && w.start <= out[n-1].end {
			out[n-1].end = max(out[n-1].end, w.end)
			continue
		}
		out = append(out, w)
	}
	return out
}

// touches reports whether [start, end] meets one of the disjoint windows ws.
func touches(ws []window, start, end int64) bool {
	i := sort.Search(len(ws), func(i int) bool { return ws[i].end >= start })
	return i < len(ws) && ws[i].start <= end
}

func keyOf(t *trace.Trace, e trace.Event) activityKey {
	return activityKey{t.Raw(e.Start()), e.Data().Correlation}
}

func newIdent(text string, num int64) ident {
	if text != "" {
		return ident{text: text}
	}
	return ident{num: num}
}

// wants reports whether the event belongs to the slice.
func (s *selection) wants(ev *scan.Event) bool {
	switch ev.Phase {
	case 'M':
		return true
	case 's', 'f', 't':
		return s.correlation[uint64(ev.ID.Num)] && ev.ID.Text == nil
	case 'B':
		th, keep := threadOf(ev), s.chosen(ev)
		s.open[th] = append(s.open[th], keep)
		return keep
	case 'E': // goes with its beginning
		th := threadOf(ev)
		open := s.open[th]
		if len(open) == 0 {
			return false
		}
		s.open[th] = open[:len(open)-1]
		return open[len(open)-1]
	}
	return s.chosen(ev)
}

func threadOf(ev *scan.Event) threadKey {
	return threadKey{newIdent(string(ev.PID.Text), ev.PID.Num), newIdent(string(ev.TID.Text), ev.TID.Num)}
}

// chosen reports whether an event with a time belongs to the slice.
func (s *selection) chosen(ev *scan.Event) bool {
	if ev.PID.Text != nil && windowProcesses[string(ev.PID.Text)] {
		return true // marks where the recording began and ended: keeps the time axis
	}
	what, ok := s.kinds[string(ev.Cat)]
	if !ok {
		what = event.Kind(kind.Of(string(ev.Cat), ""))
		s.kinds[string(ev.Cat)] = what
	}
	end := ev.TS + max(ev.Dur, 0)
	if ev.Has&scan.HasDur == 0 {
		end = ev.TS
	}
	switch what.Lane() {
	case event.LaneGPU:
		k := activityKey{ev.TS, 0}
		if ev.Has&scan.HasCorrelation != 0 {
			k.correlation = uint64(ev.Correlation)
		}
		seen, ok := s.activities[k]
		if ok && !seen {
			s.activities[k] = true
			s.found++
		}
		return ok
	case event.LaneLaunch:
		if ev.Has&scan.HasCorrelation != 0 && s.correlation[uint64(ev.Correlation)] {
			return true
		}
	}
	if what == event.GPUAnnotation || what == event.Sync || what == event.Overhead {
		d := trace.DeviceID(ev.PID.Num)
		if ev.Has&scan.HasDevice != 0 {
			d = trace.DeviceID(ev.Device)
		}
		if touches(s.devices[d], ev.TS, end) {
			return true
		}
	}
	return touches(s.threads[threadOf(ev)], ev.TS, end)
}

// windowProcesses are the pseudo-processes in which Kineto marks the recording window.
var windowProcesses = map[string]bool{"Spans": true, "Traces": true, "": true}
