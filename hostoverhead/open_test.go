package hostoverhead_test

import (
	"context"
	"testing"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/nsys"
)

func openExport(tb testing.TB, path string) *trace.Trace {
	tb.Helper()
	t, err := nsys.Open(context.Background(), path, trace.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return t
}
