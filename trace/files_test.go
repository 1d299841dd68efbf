package trace_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestOpenReadsWhatAKilledServerLeft: a .tmp that ends in the middle of an event.
func TestOpenReadsWhatAKilledServerLeft(t *testing.T) {
	p := filepath.Join(t.TempDir(), "1700-TP-2.trace.json.tmp")
	whole := document(record(`"ts":1`), record(`"ts":2`), record(`"ts":3`))
	if err := os.WriteFile(p, []byte(whole[:len(whole)-20]), 0o666); err != nil {
		t.Fatal(err)
	}
	files, err := trace.ListFiles(filepath.Dir(p))
	if err != nil || len(files) != 1 || !files[0].Partial {
		t.Fatalf("ListFiles: %+v, %v, want the partial file", files, err)
	}
	tr, err := trace.Open(t.Context(), files[0].Path, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := tr.Health()
	if tr.Len() != 2 || tr.Meta().Rank != 2 || h.Status != trace.HealthDegraded ||
		h.Losses[0].Reason != event.Truncated || h.Losses[0].Bytes == 0 {
		t.Errorf("%d events, rank %d, health %+v, want 2, 2 and truncated", tr.Len(), tr.Meta().Rank, h)
	}
	if _, err := trace.Open(t.Context(), p, trace.Options{Strict: true}); !errors.Is(err, io.ErrUnexpectedEOF) ||
		!strings.Contains(err.Error(), p) {
		t.Errorf("strict: %v, want io.ErrUnexpectedEOF and the path", err)
	}
}
