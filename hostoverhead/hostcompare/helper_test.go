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
