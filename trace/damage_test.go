package trace_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/trace"
)

// TestNoEventsSaysWhy: a trace without a readable event says whether it was
// cut off, is damaged (and where), or is no trace.
func TestNoEventsSaysWhy(t *testing.T) {
	front := `{"schemaVersion": 1, "deviceProperties": [{"id": 0}], "traceEvents": [`
	whole := front + `{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 2}]}`
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write([]byte(whole))
	w.Close()
	tests := []struct {
		name, in string
		is       error
		says     string
	}{
		{"cut.json", front[:50], io.ErrUnexpectedEOF, "cut off after 50 bytes, before its events"},
		{"metadata.json", `{"schemaVersion": 1, "deviceProperties": [{"id": 0}]], "with_stack": 1}`, trace.ErrDamaged,
			"broken at byte 52"},
		{"compression.json.gz", z.String()[:12] + "\xff\xff\xff\xff", trace.ErrDamaged,
			"gzip data damaged after 0 decompressed bytes"},
		{"cut.json.gz", z.String()[:16], trace.ErrDamaged, "gzip data damaged after"},
		{"renamed.json.gz", "\x7b\x01\x02\x03\x04\x05\x06\x07\x08\x09\x10", trace.ErrDamaged, "its name ends in .gz"},
		{"other.json", `{"model_type": "llama"}`, trace.ErrFormat, "a model's config.json"},
		{"cut-config.json", `{"some": {"thing": 1`, trace.ErrFormat, "ends too early"},
		{"broken.json", `{"traceEvents": [{"ph": "X" x}]}`, trace.ErrFormat, "without trace events that can be read"},
		{"none.json", `{"schemaVersion": 1, "with_stack": 0}`, trace.ErrFormat, "without traceEvents"},
	}
	for _, tt := range tests {
		path := filepath.Join(t.TempDir(), tt.name)
		if err := os.WriteFile(path, []byte(tt.in), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := trace.Open(context.Background(), path, trace.Options{})
		if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %v and %q", tt.name, err, tt.is, tt.says)
		}
		if tt.is != trace.ErrFormat && errors.Is(err, trace.ErrFormat) {
			t.Errorf("%s: called no trace: %v", tt.name, err)
		}
	}
}
