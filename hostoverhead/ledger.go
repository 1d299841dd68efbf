package hostoverhead

import (
	"cmp"
	"context"
	"slices"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/stop"
	"github.com/llmstrata/strata/trace"
)

// NOTE: how idle time gets its cause.
//
// A gap ends because a kernel starts; the call that launched that kernel and
// the thread it was made on are known unless the kernel is an orphan. The gap
// is cut at the beginning and the end of that call:
//
//	        idle gap
//	|------------------------|
//	   host code   call  wait  kernel
//
// After the call the kernel was on its way: launch latency, or, if that took
// too long to be the launch, a wait. Inside the call: launch latency, or graph
// launch. Before it the thread's timeline decides, piece by piece: inside an
// API call, in profiler overhead, or in host code that a range, op or frame
// names. Copies are taken out first.
//
// All cuts are exact and every piece gets one cause, so the ledger adds up to
// the idle time to the nanosecond.

// LedgerEntry is a piece of idle time with one cause.
type LedgerEntry struct {
	Device  trace.DeviceID `json:"device"`
	StartNS int64          `json:"start_ns"` // since the trace's first event
	EndNS   int64          `json:"end_ns"`
	Cause   Cause          `json:"cause"`
	API     string         `json:"api,omitempty"`    // API call the thread was in
	Range   string         `json:"range,omitempty"`  // innermost annotation or NVTX range that is not a step
	Step    string         `json:"step,omitempty"`   // innermost step annotation, where no other range is inside it
	Frame   string         `json:"frame,omitempty"`  // innermost op or Python frame
	Detail  string         `json:"detail,omitempty"` // what else decided
	Next    trace.EventID  `json:"next"`             // kernel that ended the gap
}

// CauseTotal sums the entries of one cause and name.
type CauseTotal struct {
	Cause   Cause  `json:"cause"`
	Name    string `json:"name,omitempty"` // API call, range, frame or detail; empty for the sum of the cause
	TotalNS int64  `json:"total_ns"`
	Count   int    `json:"count"` // pieces
	Share   Ratio  `json:"share"` // of the device's idle time
}

// DeviceLedger accounts for the idle time of one device.
type DeviceLedger struct {
	Device   trace.DeviceID `json:"device"`
	WindowNS int64          `json:"window_ns"`
	IdleNS   int64          `json:"idle_ns"` // the sum of Causes, exactly
	Causes   []CauseTotal   `json:"causes"`  // in the order of the Cause constants, those with time
	Names    []CauseTotal   `json:"names"`   // by cause and name, largest first
}

// ledger walks the idle time of a workload.
type ledger struct {
	w         *workload
	timelines map[trace.ThreadIndex]*timeline
}

// Ledger accounts for every nanosecond of idle time of every device, or of all
// devices merged. It returns [ErrNoKernels] for a trace without kernels, and
// ctx's error when cancelled.
func Ledger(ctx context.Context, t *trace.Trace, opts ...Option) ([]DeviceLedger, error) {
	cfg := newConfig(opts)
	w, err := newWorkload(stop.New(ctx), t, &cfg)
	if err != nil {
		return nil, err
	}
	l := newLedger(w)
	out := make([]DeviceLedger, 0, len(w.devices))
	for _, d := range w.devices {
		out = append(out, l.account(d))
	}
	if err := w.stop.Err(); err != nil {
		return nil, err
	}
	return out, nil
}

// LedgerEntries calls f with every piece of idle time, by device and start, until
// f returns false. It returns [ErrNoKernels] for a trace without kernels, and
// ctx's error when cancelled.
func LedgerEntries(ctx context.Context, t *trace.Trace, f func(LedgerEntry) bool, opts ...Option) error {
	cfg := newConfig(opts)
	w, err := newWorkload(stop.New(ctx), t, &cfg)
	if err != nil {
		return err
	}
	l := newLedger(w)
	for _, d := range w.devices {
		if !l.walk(d, f) {
			break
		}
	}
	return w.stop.Err()
}

func newLedger(w *workload) *ledger {
	return &ledger{w: w, timelines: map[trace.ThreadIndex]*timeline{}}
}

// account sums a device's entries.
func (l *ledger) account(d *deviceWork) DeviceLedger {
	out := DeviceLedger{Device: d.id, WindowNS: d.window().Len()}
	out.IdleNS = out.WindowNS - interval.Total(d.busy)
	byCause, byName := map[Cause]*CauseTotal{}, map[[2]string]*CauseTotal{}
	l.walk(d, func(e LedgerEntry) bool {
		c := byCause[e.Cause]
		if c == nil {
			c = &CauseTotal{Cause: e.Cause}
			byCause[e.Cause] = c
		}
		n := byName[[2]string{string(e.Cause), e.label()}]
		if n == nil {
			n = &CauseTotal{Cause: e.Cause, Name: e.label()}
			byName[[2]string{string(e.Cause), e.label()}] = n
		}
		for _, x := range []*CauseTotal{c, n} {
			x.TotalNS += e.EndNS - e.StartNS
			x.Count++
		}
		return true
	})
	for _, c := range causes {
		if x := byCause[c]; x != nil {
			x.Share = ratio(x.TotalNS, out.IdleNS)
			out.Causes = append(out.Causes, *x)
		}
	}
	for _, x := range byName {
		x.Share = ratio(x.TotalNS, out.IdleNS)
		out.Names = append(out.Names, *x)
	}
	slices.SortFunc(out.Names, func(a, b CauseTotal) int {
		return cmp.Or(cmp.Compare(b.TotalNS, a.TotalNS), cmp.Compare(a.Cause, b.Cause), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// label is the name under which an entry is summed: the most telling one.
func (e *LedgerEntry) label() string {
	switch e.Cause {
	case CauseHostPrep, CauseCollectiveWait:
		return cmp.Or(e.Range, e.Frame, e.Step, e.Detail)
	case CauseLaunchLatency:
		if e.API != "" && e.Detail != "" {
			return e.API + ": " + e.Detail
		}
		return cmp.Or(e.API, e.Detail)
	case CauseBlockingCall, CauseGraphLaunch, CauseProfiler:
		return cmp.Or(e.API, e.Detail)
	}
	return e.Detail
}

// walk calls f with every entry of a device in order.
func (l *ledger) walk(d *deviceWork, f func(LedgerEntry) bool) bool {
	return l.walkGaps(d, interval.Between(d.busy), f)
}

// walkGaps is walk for some of the gaps, in order.
func (l *ledger) walkGaps(d *deviceWork, gaps []interval.Span, f func(LedgerEntry) bool) bool {
	k, ok := 0, true
	copyAt := 0
	for _, gap := range gaps {
		if l.w.stop.Over() {
			return false
		}
		// The kernel that ends the gap: the first that starts at its end.
		for k < len(d.kernels) && int64(l.w.t.LaneAt(trace.LaneGPU, int(d.kernels[k])).Start()) < gap.End {
			k++
		}
		next := l.w.t.LaneAt(trace.LaneGPU, int(d.kernels[k]))
		emit := func(s interval.Span, e LedgerEntry) {
			if s.Empty() || !ok {
				return
			}
			e.Device, e.StartNS, e.EndNS, e.Next = d.id, s.Start, s.End, next.ID()
			ok = f(e)
		}
		at := gap.Start
		for copyAt < len(d.copies) && d.copies[copyAt].End <= gap.Start {
			copyAt++
		}
		for c := copyAt; c < len(d.copies) && d.copies[c].Start < gap.End; c++ {
			cut := d.copies[c].Clip(gap)
			l.explain(d, interval.Span{Start: at, End: cut.Start}, next, emit)
			emit(cut, LedgerEntry{Cause: CauseTransfer, Detail: "copy or set"})
			at = cut.End
		}
		l.explain(d, interval.Span{Start: at, End: gap.End}, next, emit)
		if !ok {
			return false
		}
	}
	return true
}

// explain gives every part of an idle span, after which next ran, its cause.
func (l *ledger) explain(d *deviceWork, s interval.Span, next trace.Event, emit func(interval.Span, LedgerEntry)) {
	if s.Empty() {
		return
	}
	launch := next.Launch()
	if !launch.Valid() || launch.Thread() < 0 {
		l.orphan(d, s, next, emit)
		return
	}
	call := spanOf(launch)
	before := interval.Span{Start: s.Start, End: min(s.End, call.Start)}
	during := call.Clip(s)
	after := interval.Span{Start: max(s.Start, call.End), End: s.End}
	l.host(launch.Thread(), before, emit)
	emit(during, LedgerEntry{Cause: apiCause(launch), API: launch.Name()})
	if after.Empty() {
		return
	}
	e := LedgerEntry{Cause: CauseLaunchLatency, API: launch.Name(), Detail: "launched, not started yet"}
	if call.End <= s.Start {
		e.Detail = "already queued, GPU dispatch"
	}
	// Queued before the gap began: the host was ahead, the device was not ready.
	if call.End <= s.Start && after.Len() > queuedLimit || after.Len() > 2*queuedLimit {
		e = LedgerEntry{Cause: CauseUnknown, Detail: "launched in time, started late (event, other rank or host callback)"}
		if l.w.names.kernel(next.NameID()).Collective != classify.NotCollective {
			e.Cause, e.Detail = CauseCollectiveWait, "collective launched in time, started late"
		}
	}
	emit(after, e)
}

// orphan explains a span before a kernel whose launch is not in the trace.
// Replayed kernels follow each other without the host. For others, what the
// only thread that works for the device was doing is the best evidence.
func (l *ledger) orphan(d *deviceWork, s interval.Span, next trace.Event, emit func(interval.Span, LedgerEntry)) {
	if next.IsReplay() && s.Len() <= queuedLimit {
		emit(s, LedgerEntry{Cause: CauseLaunchLatency, Detail: "between kernels of a graph replay"})
		return
	}
	if len(d.threads) == 1 && l.w.t.LaneLen(trace.LaneLaunch) > 0 {
		l.host(d.threads[0], s, emit)
		return
	}
	emit(s, LedgerEntry{Cause: CauseUnknown, Detail: "the next kernel's launch is not in the trace"})
}

// host explains a span by what a thread was doing.
func (l *ledger) host(th trace.ThreadIndex, s interval.Span, emit func(interval.Span, LedgerEntry)) {
	tl := l.timelineOf(th)
	t, watch := l.w.t, l.w.stop
	cutBy(watch, tl.over, s, func(s interval.Span, p *piece) {
		if p != nil {
			emit(s, LedgerEntry{Cause: CauseProfiler, API: t.At(p.id).Name()})
			return
		}
		cutBy(watch, tl.calls, s, func(s interval.Span, call *piece) {
			cutBy(watch, tl.ranges, s, func(s interval.Span, rng *piece) {
				var e LedgerEntry
				if rng != nil {
					id := t.At(rng.id).NameID()
					if l.w.names.step(id, l.w.cfg.steps) != nil {
						e.Step = l.w.names.general(id)
					} else {
						e.Range = l.w.names.general(id)
					}
				}
				cutBy(watch, tl.code, s, func(s interval.Span, code *piece) {
					e := e
					if code != nil {
						e.Frame = t.At(code.id).Name()
					}
					if call != nil {
						e.API = t.At(call.id).Name()
						e.Cause = apiCause(t.At(call.id))
					} else if e.Cause = hostCause(cmp.Or(e.Range, e.Frame, e.Step)); e.Cause == CauseUnknown {
						e.Detail = "between calls, in no recorded range, op or frame"
					} else if e.Cause == CauseHostPrep && e.Frame != "" {
						e.Cause = hostCause(e.Frame)
					}
					emit(s, e)
				})
			})
		})
	})
}
