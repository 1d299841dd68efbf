//go:build unix

package strata_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/internal/demo"
)

func mkfifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	return path
}

// TestOpenPipes: a pipe is opened once and loses nothing.
func TestOpenPipes(t *testing.T) {
	for name, d := range map[string][]byte{"json.gz": demo.Trace(), "sqlite": export(t), "sqlite.gz": gz(export(t))} {
		want, err := strata.Open(t.Context(), "-", strata.Options{Stdin: bytes.NewReader(d)})
		if err != nil {
			t.Fatal(err)
		}
		pipe := mkfifo(t)
		go func() {
			f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
			if err != nil {
				return
			}
			defer f.Close()
			io.Copy(f, bytes.NewReader(d))
		}()
		rec, err := strata.Open(t.Context(), pipe, strata.Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := rec.Parts[0].Trace.Len(); got != want.Parts[0].Trace.Len() {
			t.Errorf("%s: %d events, want %d", name, got, want.Parts[0].Trace.Len())
		}
	}
}

// TestOpenOfAPipeWithoutWriterEnds: with its context.
func TestOpenOfAPipeWithoutWriterEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := strata.Open(ctx, mkfifo(t), strata.Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the deadline", err)
	}
}
