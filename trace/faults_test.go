package trace_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/trace"
)

// plain is the demo trace unpacked.
func plain(t *testing.T) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(demo.Trace()))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestReadErrorInTheMiddle: what a disk or a network file system says ends the reading; a part is never taken for the
// trace.
func TestReadErrorInTheMiddle(t *testing.T) {
	gone := errors.New("input/output error")
	for name, text := range map[string][]byte{"plain": plain(t), "gzip": demo.Trace()} {
		for _, share := range []int{1, 50, 99} {
			part := text[:len(text)*share/100]
			_, err := trace.Read(context.Background(), io.MultiReader(bytes.NewReader(part), iotest.ErrReader(gone)),
				trace.Options{})
			if !errors.Is(err, gone) {
				t.Errorf("%s, %d%%: %v, want %v", name, share, err, gone)
			}
		}
	}
}

// TestFileThatGrows: a trace that a profiler still writes is not healthy; once it is whole, it is.
func TestFileThatGrows(t *testing.T) {
	for name, text := range map[string][]byte{"x.json": plain(t), "x.json.gz": demo.Trace()} {
		path := filepath.Join(t.TempDir(), name)
		for _, share := range []int{20, 50, 99, 100} {
			if err := os.WriteFile(path, text[:len(text)*share/100], 0o666); err != nil {
				t.Fatal(err)
			}
			tr, err := trace.Open(context.Background(), path, trace.Options{})
			healthy := err == nil && tr.Health().Status == trace.HealthOK
			if healthy != (share == 100) {
				t.Errorf("%s, %d%%: healthy %v, %v", name, share, healthy, err)
			}
		}
	}
}
