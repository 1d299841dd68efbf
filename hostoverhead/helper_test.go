package hostoverhead_test

import (
	"testing"

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
