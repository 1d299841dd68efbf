package hostoverhead

import (
	"math"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/timeline"
	"github.com/llmstrata/strata/internal/waits"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestCausesOfMoments: what recorded most about a moment says why the device was idle: the profiler, a call, what the
// thread waited for in it, the system, a range, code, and where nothing was recorded whether the thread can have
// worked by itself.
func TestCausesOfMoments(t *testing.T) {
	type kinds = map[string]event.Kind
	all := kinds{"cudaLaunchKernel": event.Runtime, "cudaGraphLaunch": event.Runtime,
		"cudaStreamSynchronize": event.Runtime, "cudaGetDevice": event.Runtime, "Buffer flush": event.Overhead,
		"pthread_cond_wait": event.OSCall, "take_gil": event.OSCall, "epoll_wait": event.OSCall, "read": event.OSCall,
		"off": event.OffCPU, "Waiting for GIL": event.Range, "broadcast_requests": event.Range,
		"python": event.Range, "gloo:send": event.Op, "threading.py(359): wait": event.Frame, "a.py(1): f": event.Frame,
		"sample": event.Sample}
	var names []string
	for n := range all {
		names = append(names, n)
	}
	a, ids := named(names...)
	a.l.names, a.l.meanings = make([]hostName, a.l.w.t.NumNames()), waits.NewNames(a.l.w.t)
	events := map[trace.NameID]trace.EventID{}
	for e := range a.l.w.t.Events(event.LaneGPU) {
		events[e.NameID()] = e.ID()
	}
	piece := func(name string) timeline.Piece {
		if name == "" {
			return timeline.Piece{}
		}
		return timeline.Piece{ID: events[ids[name]], Name: ids[name], Kind: all[name]}
	}
	for _, c := range []struct {
		over, call, system, off, rng, code, ran string
		between, began                          bool
		quiet                                   time.Duration
		want                                    finding.Cause
		detail                                  uint8
	}{
		{over: "Buffer flush", call: "cudaStreamSynchronize", want: finding.Profiler},
		{call: "cudaLaunchKernel", rng: "python", want: finding.LaunchCall},
		{call: "cudaLaunchKernel", system: "pthread_cond_wait", off: "off", want: finding.Lock},
		{call: "cudaGraphLaunch", system: "take_gil", want: finding.GIL},
		{call: "cudaLaunchKernel", system: "read", off: "off", want: finding.Descheduled},
		{call: "cudaGraphLaunch", off: "off", want: finding.Descheduled},
		{call: "cudaGraphLaunch", want: finding.GraphLaunch},
		{call: "cudaGetDevice", off: "off", want: finding.Descheduled},
		{call: "cudaStreamSynchronize", system: "pthread_cond_wait", off: "off", want: finding.Synchronisation},
		{system: "pthread_cond_wait", rng: "python", want: finding.Lock},
		{system: "epoll_wait", between: true, want: finding.SystemCall}, // the device shows waits between steps
		{system: "epoll_wait", want: finding.SystemCall},
		{system: "read", between: true, want: finding.SystemCall},
		{rng: "Waiting for GIL", code: "gloo:send", want: finding.GIL},
		{rng: "broadcast_requests", want: finding.OtherRanks},
		{code: "gloo:send", want: finding.OtherRanks},
		{rng: "python", code: "threading.py(359): wait", want: finding.Lock},
		{rng: "python", code: "a.py(1): f", want: finding.HostCode},
		{off: "off", between: true, want: finding.UnknownCause, detail: detailOffCPU},
		{off: "off", want: finding.Descheduled},
		{off: "off", between: true, rng: "python", want: finding.Descheduled},
		{off: "off", between: true, code: "a.py(1): f", want: finding.Descheduled},
		{rng: "python", ran: "sample", want: finding.HostCode},
		{ran: "sample", quiet: time.Hour, want: finding.HostCode, detail: detailSampled},
		{began: true, quiet: time.Hour, want: finding.HostCode, detail: detailUnnamed},
		{quiet: a.l.p.Unnamed, want: finding.HostCode, detail: detailUnnamed},
		{quiet: a.l.p.Unnamed + 1, want: finding.UnknownCause, detail: detailQuiet},
	} {
		m := timeline.Moment{piece(c.over), piece(c.call), piece(c.system), piece(c.off), piece(c.rng), piece(c.code),
			piece(c.ran)}
		if c.call == "" {
			m[timeline.Calls].Span.End, m[timeline.Over].Span.End = int64(c.quiet), int64(c.quiet)
		}
		o := a.l.outerOf(&m)
		if got, detail := a.l.momentCause(&m, &o, c.between, c.began); got != c.want || detail != c.detail {
			t.Errorf("%+v: %s, %q; want %s, %q", c, got, details[detail], c.want, details[c.detail])
		}
	}
}

// TestWhatAMomentWaitsIn: what waits has the name of the frame around it where that says why, else its own.
func TestWhatAMomentWaitsIn(t *testing.T) {
	const write, grammar, code = "shm_broadcast.py(9): acquire_write", "get_ready_grammar_requests", "a.py(1): f"
	a, ids := named(write, grammar, code, "gloo:send")
	a.l.names, a.l.meanings = make([]hostName, a.l.w.t.NumNames()), waits.NewNames(a.l.w.t)
	for _, c := range []struct{ code, around, want string }{
		{code, write, write}, {code, grammar, grammar}, {"gloo:send", write, "gloo:send"}, {code, "", code},
	} {
		m := timeline.Moment{}
		for lane, name := range map[int]string{timeline.Code: c.code, timeline.AroundFrame: c.around} {
			if name != "" {
				m[lane] = timeline.Piece{Name: ids[name], Kind: event.Frame}
			}
		}
		o := a.l.outerOf(&m)
		a.l.decide(&gap{d: &deviceWork{}}, &m, &o, interval.Span{End: 10})
		if got := a.l.w.t.Name(a.l.piece.code); got != c.want {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
	}
}

// TestGapsBetweenSteps: a gap is between the steps of the kernels on its sides; the host began the later one where its
// work on it is known.
func TestGapsBetweenSteps(t *testing.T) {
	tr := built.Trace(trace.NewBuilder(trace.Options{}))
	passes := []layer.ForwardPass{{}, {}}
	passes[0].Host.Start, passes[0].Host.End = 5, 9
	for _, c := range []struct {
		pass    []int32
		between bool
		began   int64
	}{{[]int32{-1, 0}, true, 5}, {[]int32{0, 0}, false, 5}, {[]int32{0, 1}, true, math.MaxInt64},
		{[]int32{0, -1}, true, math.MaxInt64}, {[]int32{-1, -1}, false, math.MaxInt64}, {nil, false, math.MaxInt64}} {
		g := gap{next: 1, d: &deviceWork{pass: c.pass, path: make([]uint8, 2), layers: &layer.Device{Passes: passes}}}
		(&ledger{w: &workload{t: tr}}).sides(&g, trace.Event{}, 0)
		if g.between != c.between || g.began != c.began {
			t.Errorf("passes %v: between %t, began at %d; want %t, %d", c.pass, g.between, g.began, c.between, c.began)
		}
	}
}

// TestMomentsThatWereSampled: samples alone, of the thread that is asked for.
func TestMomentsThatWereSampled(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	for i, k := range []event.Kind{event.OSCall, event.Sample, event.OffCPU, event.Sample} {
		b.Add(trace.EventData{Kind: k, Name: "x", Start: int64(10 * i), Duration: 5, Process: 1, Thread: 1 + int64(i/3),
			Device: trace.None, Stream: trace.None})
	}
	tr := built.Trace(b)
	l := &ledger{w: &workload{t: tr, layers: &layer.Analysis{}}, samples: map[trace.ThreadIndex][]trace.EventID{}}
	for th := range tr.Threads() {
		for range 2 { // the second time it remembers
			got := l.samplesOf(trace.ThreadIndex(th))
			if len(got) != 1 || tr.At(got[0]).Kind() != event.Sample ||
				tr.At(got[0]).Thread() != trace.ThreadIndex(th) {
				t.Errorf("thread %d: %v, want its one sample", th, got)
			}
		}
	}
}
