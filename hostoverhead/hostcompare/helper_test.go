package hostcompare_test

import (
	"testing"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// analyzed finds the passes of a trace.
func analyzed(tb testing.TB, t *trace.Trace) *layer.Analysis {
	tb.Helper()
	a, err := layer.Analyze(tb.Context(), t, layer.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// judged is the verdict about a trace.
func judged(tb testing.TB, t *trace.Trace) *hostoverhead.Verdict {
	tb.Helper()
	v, err := hostoverhead.Analyze(tb.Context(), []*layer.Analysis{analyzed(tb, t)}, hostoverhead.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// timeline builds a trace of kernels, launches and ranges by hand; times in µs.
type timeline struct{ b *trace.Builder }

func newTimeline() timeline { return timeline{trace.NewBuilder()} }

func (t timeline) add(kind trace.Kind, name string, device trace.DeviceID, corr int, start, end int64) {
	t.b.Add(trace.EventData{
		Kind: kind, Name: name, Start: start * 1000, Duration: (end - start) * 1000, Device: device, Stream: 7,
		Process: trace.ProcessRef{ID: 1 + trace.ProcessID(device), Scope: string(rune('a' + device))}, Thread: 1, Correlation: trace.CorrelationID(corr),
	})
}
