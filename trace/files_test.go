package trace_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// rankFiles writes n small traces; the i-th one holds i+1 kernels.
func rankFiles(t *testing.T, n int) (paths []string) {
	dir := t.TempDir()
	for i := range n {
		var events []string
		for k := range i + 1 {
			events = append(events, record(fmt.Sprintf(`"ts":%d`, k+1)))
		}
		p := filepath.Join(dir, fmt.Sprintf("rank-%d.trace.json", i))
		if err := os.WriteFile(p, []byte(document(events...)), 0o666); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, p)
	}
	return paths
}

func TestOpenFilesKeepsTheOrderAndGoesOnAfterAnError(t *testing.T) {
	paths := rankFiles(t, 9)
	if err := os.WriteFile(paths[4], []byte("no trace"), 0o666); err != nil {
		t.Fatal(err)
	}
	paths[6] += ".absent"
	for inFlight := range 12 {
		i := 0
		for tr, err := range trace.OpenFiles(t.Context(), paths, trace.Options{FilesInFlight: inFlight}) {
			switch i {
			case 4:
				if tr != nil || !errors.Is(err, trace.ErrFormat) || !strings.Contains(err.Error(), paths[4]) {
					t.Errorf("file 4: %v, want ErrFormat and its path", err)
				}
			case 6:
				if tr != nil || !errors.Is(err, os.ErrNotExist) {
					t.Errorf("file 6: %v, want ErrNotExist", err)
				}
			default:
				if err != nil || tr.Len() != i+1 || tr.Meta().Rank != i || tr.Meta().Path != paths[i] {
					t.Errorf("file %d: %v, %v", i, tr, err)
				}
			}
			i++
		}
		if i != len(paths) {
			t.Errorf("%d in flight: %d pairs, want %d", inFlight, i, len(paths))
		}
	}
	for range trace.OpenFiles(t.Context(), nil, trace.Options{}) {
		t.Error("a pair for no file")
	}
}

// TestOpenFilesIsBounded counts the loads that were begun and not taken yet.
func TestOpenFilesIsBounded(t *testing.T) {
	paths := rankFiles(t, 20)
	var begun atomic.Int64
	count := func(p trace.Progress) {
		if p.Events == 0 || p.Read == p.Size { // called at least once a file
			begun.Add(1)
		}
	}
	const inFlight, callsPerFile = 3, 2
	taken := int64(0)
	for _, err := range trace.OpenFiles(t.Context(), paths, trace.Options{FilesInFlight: inFlight, Progress: count}) {
		if err != nil {
			t.Fatal(err)
		}
		if n := begun.Load(); n > callsPerFile*(taken+inFlight) {
			t.Errorf("%d calls after %d files were taken: more than %d files were begun", n, taken, taken+inFlight)
		}
		taken++
	}
	if begun.Load() < taken || taken != 20 {
		t.Errorf("%d calls, %d files taken", begun.Load(), taken)
	}
}

func TestOpenFilesStopsWhenBrokenOffOrCancelled(t *testing.T) {
	paths := rankFiles(t, 10)
	n := 0
	for range trace.OpenFiles(t.Context(), paths, trace.Options{}) {
		if n++; n == 2 {
			break
		}
	}
	if n != 2 {
		t.Errorf("%d pairs after a break, want 2", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n = 0
	var last error
	for _, err := range trace.OpenFiles(ctx, paths, trace.Options{FilesInFlight: 2}) {
		if n++; n == 3 {
			cancel()
		}
		last = err
	}
	if n != len(paths) || !errors.Is(last, context.Canceled) {
		t.Errorf("%d pairs, the last one %v, want %d and context.Canceled", n, last, len(paths))
	}
}

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
