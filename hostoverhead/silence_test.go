package hostoverhead_test

import (
	"testing"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/hosttest"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace/event"
)

// TestSilenceBetweenSteps: the same time in which nothing is recorded before each step is host code, also where each
// step ends with a copy of its results, which is in no pass.
func TestSilenceBetweenSteps(t *testing.T) {
	for _, copies := range []bool{false, true} {
		tl := hosttest.NewTimeline()
		for i := range 12 {
			at := int64(1000 * i)
			tl.Event(event.Annotation, "step[DECODE bs=8]", 0, 0, at, at+20)
			tl.Event(event.Runtime, "cudaLaunchKernel", 0, 2*i+1, at+1, at+5)
			tl.Event(event.Kernel, "gemm", 0, 2*i+1, at+8, at+400)
			if copies {
				tl.Event(event.Runtime, "cudaMemcpyAsync", 0, 2*i+2, at+25, at+30)
				tl.Event(event.Memcpy, "Memcpy DtoH (Device -> Pinned)", 0, 2*i+2, at+401, at+403)
			}
			tl.Event(event.Runtime, "cudaStreamSynchronize", 0, 0, at+31, at+405)
		}
		a, err := layer.Analyze(t.Context(), tl.Finish(), layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := hostoverhead.Analyze(t.Context(), []*layer.Analysis{a}, hostoverhead.Options{})
		if err != nil {
			t.Fatal(err)
		}
		of := map[finding.Cause]int64{}
		for _, c := range v.Idle {
			of[c.Cause] += c.NS
		}
		if of[finding.HostCode] < 11*590_000 || of[finding.UnknownCause] > 0 {
			t.Errorf("copies %v: %v", copies, of)
		}
	}
}

// TestSleepsBeforeDecodes: a server that sleeps before each step in which requests go on makes them wait. It has no
// requests where it sleeps before few of them, for much longer than before the others, or before prompts.
func TestSleepsBeforeDecodes(t *testing.T) {
	const usual = 400
	each := func(n int, us int64) (all [12]int64) {
		for i := range n {
			all[i] = us
		}
		return all
	}
	longer := each(12, usual)
	longer[7] = 2 * usual
	for name, c := range map[string]struct {
		step   string
		sleeps [12]int64
		want   int64 // time without requests, in µs
	}{
		"before each":                         {"step[DECODE bs=8]", each(12, usual), 0},
		"before two thirds":                   {"step[DECODE bs=8]", each(9, usual), 0},
		"before each check of drafted tokens": {"step[TARGET_VERIFY bs=8]", each(12, usual), 0},
		"before half":                         {"step[DECODE bs=8]", each(6, usual), 5 * usual},
		"before one for long":                 {"step[DECODE bs=8]", longer, 2 * usual},
		"before prompts":                      {"step[EXTEND bs=1 toks=512]", each(12, usual), 11 * usual},
	} {
		tl := hosttest.NewTimeline()
		at := int64(0)
		for i, sleep := range c.sleeps {
			if sleep > 0 {
				tl.Event(event.Frame, "<built-in method sleep of module object>", 0, 0, at, at+sleep)
			}
			at += sleep
			tl.Event(event.Annotation, c.step, 0, 0, at, at+20)
			tl.Event(event.Runtime, "cudaLaunchKernel", 0, i+1, at+1, at+5)
			tl.Event(event.Kernel, "gemm", 0, i+1, at+6, at+300)
			tl.Event(event.Runtime, "cudaStreamSynchronize", 0, 0, at+21, at+300)
			at += 300
		}
		a, err := layer.Analyze(t.Context(), tl.Finish(), layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := int64(0)
		for _, w := range a.Devices[0].Waits() {
			if w.Cause == finding.NoRequests {
				got += int64(w.End-w.Start) / 1000
			}
		}
		if got != c.want {
			t.Errorf("%s: no requests for %d µs, want %d", name, got, c.want)
		}
	}
}
