package hostoverhead_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/gen/idle"
	"github.com/llmstrata/strata/internal/hosttest"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// loops calls f with runs of event loops, as both profilers record them.
func loops(t *testing.T, f func(t *testing.T, l idle.Loop, tr *trace.Trace)) {
	for _, l := range idle.Loops() {
		// The short form takes one length on each side of 100 ms, and exports of the shortest: polls are many rows.
		const brief, far = 5 * time.Millisecond, 101 * time.Millisecond
		if l.Gap > brief && l.Gap != far && !testdata.Long() {
			continue
		}
		if l.Torch {
			t.Run("torch/"+l.Name, func(t *testing.T) {
				var b bytes.Buffer
				if err := l.WriteTorch(&b); err != nil {
					t.Fatal(err)
				}
				tr, err := trace.Read(t.Context(), &b, trace.Options{})
				if err != nil {
					t.Fatal(err)
				}
				f(t, l, tr)
			})
		}
		if l.Nsys && (l.Gap <= brief || testdata.Long()) {
			t.Run("nsys/"+l.Name, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "run.sqlite")
				if err := l.WriteNsys(path); err != nil {
					t.Fatal(err)
				}
				f(t, l, hosttest.Open(t, path))
			})
		}
	}
}

// TestCausesDecide: event loops of servers and programs. The cause of the time between two steps decides, and its
// length does not: a loader of 99 ms has the verdict of one of 101 ms, and a server that polls for requests that of
// one that sleeps.
func TestCausesDecide(t *testing.T) {
	testdata.ManyInputs(t)
	loops(t, func(t *testing.T, l idle.Loop, tr *trace.Trace) {
		v := judged(t, tr)
		if !slices.Contains(l.Verdicts, v.Verdict.String()) {
			t.Errorf("verdict %s, want one of %s: %s", v.Verdict, l.Verdicts, v.Summary)
		}
		if (v.Verdict == hostoverhead.Inconclusive) != (v.Confidence == finding.BandUnknown) {
			t.Errorf("%s with confidence %q", v.Verdict, v.Confidence)
		}
		adviceFits(t, &l, v)
		var all, own int64
		for _, c := range v.Idle {
			all += c.NS
			if c.Cause.String() == l.Cause {
				own = c.NS
			}
		}
		if least := 0.85; float64(own) < least*float64(all) {
			t.Errorf("%s has %.2f of the idle time, want at least %.2f: %v", l.Cause, float64(own)/float64(all), least,
				causesOf(v))
		}
	})
}

// TestWindowsThatCapture: a window in which most of the host's time goes into capturing graphs says nothing about
// serving.
func TestWindowsThatCapture(t *testing.T) {
	for _, c := range []struct {
		until int64 // µs, of a capture that begins at 110
		want  hostoverhead.Answer
	}{{900, hostoverhead.Inconclusive}, {300, hostoverhead.Yes}} {
		tl := hosttest.NewTimeline()
		tl.Event(event.Runtime, "cudaLaunchKernel", 0, 1, 0, 5)
		tl.Event(event.Kernel, "a", 0, 1, 10, 100)
		tl.Event(event.Range, "prepare", 0, 0, 100, 1000)
		tl.Event(event.Runtime, "cudaStreamBeginCapture", 0, 0, 110, 112)
		tl.Event(event.Runtime, "cudaStreamEndCapture", 0, 0, c.until-2, c.until)
		tl.Event(event.Runtime, "cudaLaunchKernel", 0, 2, 1000, 1005)
		tl.Event(event.Kernel, "b", 0, 2, 1010, 1100)
		v := judged(t, tl.Finish())
		if v.Verdict != c.want || (doubt(v, "graph-capture") != nil) != (c.want == hostoverhead.Inconclusive) {
			t.Errorf("a capture until %d µs: %s (%s), want %s", c.until, v.Verdict, v.Summary, c.want)
		}
		if says := strings.Contains(v.Summary, "shows no serving"); says != (c.want == hostoverhead.Inconclusive) {
			t.Errorf("a capture until %d µs: %s", c.until, v.Summary)
		}
		for _, x := range v.Next {
			if c.want == hostoverhead.Inconclusive && x.NS > 0 {
				t.Errorf("a capture until %d µs: advice on %d ns: %s", c.until, x.NS, x.Do)
			}
		}
	}
}

// adviceFits: what helps a program whose loader is slow is no flag of a server, and bounds beyond ten are of the
// window.
func adviceFits(t *testing.T, l *idle.Loop, v *hostoverhead.Verdict) {
	t.Helper()
	if far := v.Headroom.AtMost > 10; v.Verdict == hostoverhead.Yes &&
		strings.Contains(v.Summary, "of this window") != far {
		t.Errorf("at most %.1f×: %s", v.Headroom.AtMost, v.Summary)
	}
	if !strings.HasPrefix(l.Name, "loader") || !strings.HasPrefix(t.Name(), "TestCausesDecide/torch") {
		return
	}
	for i, x := range v.Next {
		if strings.Contains(x.Do, "vLLM") || strings.Contains(x.Do, "SGLang") || i == 0 &&
			!strings.Contains(x.Do, "num_workers") {
			t.Errorf("a loader's advice %d: %s", i, x.Do)
		}
	}
}

// TestCopiesAreNoKernels: a program that waits for copies is not sent to its kernels.
func TestCopiesAreNoKernels(t *testing.T) {
	for _, c := range []struct {
		copied int64 // µs of 1,000
		want   bool
	}{{270, false}, {20, true}} {
		tl := hosttest.NewTimeline()
		for i := range int64(120) {
			at := i * 1000
			tl.Event(event.Runtime, "cudaLaunchKernel", 0, int(2*i+1), max(0, at-500), at-490)
			tl.Event(event.Kernel, "a", 0, int(2*i+1), at, at+1000-c.copied)
			tl.Event(event.Runtime, "cudaMemcpyAsync", 0, int(2*i+2), at-480, at-475)
			tl.Event(event.Memcpy, "Memcpy HtoD", 0, int(2*i+2), at+1000-c.copied, at+1000)
		}
		v := judged(t, tl.Finish())
		if kernels := slices.ContainsFunc(v.Next, func(x hostoverhead.Action) bool {
			return strings.HasPrefix(x.Do, "Look at the kernels")
		}); kernels != c.want || v.Verdict != hostoverhead.No {
			t.Errorf("copies of %d µs in 1000: %s, sent to the kernels %v, want %v", c.copied, v.Verdict, kernels,
				c.want)
		}
	}
}
