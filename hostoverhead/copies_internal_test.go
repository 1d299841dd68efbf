package hostoverhead

import (
	"context"
	"testing"
	"time"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// A copy call blocks where the host waits for the copy: not for one within a device, nor for an asynchronous one of
// pinned memory or that ends after the call.
func TestCopiesThatBlock(t *testing.T) {
	for _, c := range []struct {
		call, copied string
		took, end    time.Duration // of the call; when the copy ends after the call's start; 0: no copy is recorded
		blocks       bool
	}{
		{"cudaMemcpyAsync", "Memcpy DtoD (Device -> Device)", 42e3, 41e3, false},
		{"cudaMemcpy", "Memcpy DtoD (Device -> Device)", 42e3, 41e3, false},
		{"cudaMemcpyPeerAsync", "Memcpy PtoP (Device -> Device)", 42e3, 41e3, false},
		{"cudaMemcpyAsync", "Memcpy HtoD (Pinned -> Device)", 42e3, 41e3, false},
		{"cudaMemcpyAsync", "Memcpy DtoH (Device -> Pinned)", 42e3, 41e3, false},
		{"cudaMemcpyAsync", "Memcpy DtoH (Device -> Pageable)", 42e3, 41e3, true},
		{"cudaMemcpyAsync", "Memcpy DtoH (Device -> Pageable)", 19e3, 18e3, false},
		{"cudaMemcpyAsync", "Memcpy HtoD (Pageable -> Device)", 42e3, 41e3, true},
		{"cudaMemcpyAsync", "Memcpy HtoD (Pageable -> Device)", 42e3, 50e3, false},
		{"hipMemcpyWithStream", "Memcpy DtoH (Device -> Pinned)", 9e3, 8e3, true},
		{"cudaMemcpy", "Memcpy DtoH (Device -> Pinned)", 9e3, 8e3, true},
		{"cudaMemcpyAsync", "", 42e3, 0, true}, {"cudaMemcpyAsync", "", 19e3, 0, false}, {"cudaMemcpy", "", 9e3, 0, true},
	} {
		b := trace.NewBuilder(trace.Options{})
		b.Add(trace.EventData{Kind: event.Runtime, Name: c.call, Duration: int64(c.took), Process: 1, Thread: 1,
			Correlation: 7, Device: trace.None, Stream: trace.None})
		if c.end > 0 {
			b.Add(trace.EventData{Kind: event.Memcpy, Name: c.copied, Start: 5e3, Duration: int64(c.end) - 5e3,
				Stream: 7, Correlation: 7})
		}
		tr := built.Trace(b)
		p := defaultParams()
		l := &ledger{w: &workload{t: tr, layers: &layer.Analysis{}}, names: make([]hostName, tr.NumNames())}
		for e := range tr.Events(event.LaneLaunch) {
			want := finding.LaunchCall
			if c.blocks {
				want = finding.BlockingCopy
			}
			if got := p.callCause(e, l.name(e.NameID()).callName); got != want {
				t.Errorf("%+v: %s, want %s", c, got, want)
			}
		}
	}
}

// Frames of one name inside each other count once, whatever is between them and whichever line they are at; those of
// another thread count for themselves.
func TestNestedFramesCountOnce(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	add := func(name string, thread, start, end int64) {
		b.Add(trace.EventData{Kind: event.Frame, Name: name, Start: start, Duration: end - start, Process: 1,
			Thread: thread, Device: trace.None, Stream: trace.None})
	}
	add("module.py(1553): _call_impl", 1, 0, 1000)
	add("model.py(10): forward", 1, 10, 990)
	add("module.py(1553): _call_impl", 1, 20, 500)
	add("layer.py(3): forward", 1, 30, 490)
	add("module.py(1562): _call_impl", 1, 40, 480)
	add("module.py(1553): _call_impl", 1, 500, 900)
	add("module.py(1553): _call_impl", 1, 1000, 1100)
	add("module.py(1553): _call_impl", 2, 100, 300)
	tr := built.Trace(b)
	w := &recording{t: tr, general: names.ByName(tr, names.Generalise), ended: context.Background().Err}
	sums := newTally(w, compare.RangeKind, []interval.Span{{Start: 0, End: 2000}}, 1)
	sums.addFrames()
	for _, op := range sums.operations() {
		want := map[string][2]float64{"module.py: _call_impl": {1.3, 3}, "model.py: forward": {0.98, 1},
			"layer.py: forward": {0.46, 1}}[op.Name]
		if op.US != want[0] || op.CountPerStep != want[1] {
			t.Errorf("%s: %v µs, %v times, want %v", op.Name, op.US, op.CountPerStep, want)
		}
	}
	if len(sums.byName) != 3 {
		t.Errorf("%d operations, want 3", len(sums.byName))
	}
}
