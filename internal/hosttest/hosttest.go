package hosttest

import (
	"path/filepath"
	"testing"

	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/nsys"
)

// Open reads an export.
func Open(tb testing.TB, path string) *trace.Trace {
	tb.Helper()
	t, err := nsys.Open(tb.Context(), path, trace.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// Generate writes an export and reads it.
func Generate(tb testing.TB, cfg nsysgen.Config) *trace.Trace {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "run.sqlite")
	if _, err := nsysgen.Write(path, cfg); err != nil {
		tb.Fatal(err)
	}
	return Open(tb, path)
}
