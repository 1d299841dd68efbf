//go:build unix

package strata_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/gen"
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

// BenchmarkShare reports the processor time of an analysis, in percent of that of the load before it.
func BenchmarkShare(b *testing.B) {
	analyzeAll(b, repeated(b, gen.Demo(), 1)())
	for _, c := range memoryTraces {
		b.Run(c.name, func(b *testing.B) {
			load := c.made(b, 12)
			var loading, analysing time.Duration
			for b.Loop() {
				runtime.GC() // what was left belongs to what came before
				start := processorTime(b)
				t := load()
				loading += processorTime(b) - start
				runtime.GC()
				start = processorTime(b)
				analyzeAll(b, t)
				analysing += processorTime(b) - start
			}
			b.ReportMetric(100*float64(analysing)/float64(loading), "%")
		})
	}
}

// processorTime is what the process has used so far, with the work of the collector.
func processorTime(tb testing.TB) time.Duration {
	tb.Helper()
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
