package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/internal/demo"
)

// TestARunIsReportedAndCompared: a run is no slower than itself, and what is no recording is an error.
func TestARunIsReportedAndCompared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.json.gz")
	if err := os.WriteFile(path, demo.Trace(), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{path}, {path, path}} {
		var out bytes.Buffer
		var r strata.Report
		if err := run(t.Context(), args, &out); err != nil {
			t.Errorf("%d recordings: %v", len(args), err)
		} else if err := json.Unmarshal(out.Bytes(), &r); err != nil || len(r.Findings) == 0 {
			t.Errorf("%d recordings: %d findings, %v", len(args), len(r.Findings), err)
		} else if (r.Against != nil) != (len(args) == 2) {
			t.Errorf("%d recordings: compared with %v", len(args), r.Against)
		}
	}
	for _, args := range [][]string{nil, {path, path + ".absent"}, {path, path, path}} {
		if run(t.Context(), args, &bytes.Buffer{}) == nil {
			t.Errorf("%q gave no error", args)
		}
	}
}
