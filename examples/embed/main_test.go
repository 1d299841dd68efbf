package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
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
		report, err := run(t.Context(), args, &out)
		if err != nil {
			t.Errorf("%d recordings: %v", len(args), err)
		} else if err := json.Unmarshal(out.Bytes(), &r); err != nil || len(r.Findings) == 0 {
			t.Errorf("%d recordings: %d findings, %v", len(args), len(r.Findings), err)
		} else if (r.Against != nil) != (len(args) == 2) {
			t.Errorf("%d recordings: compared with %v", len(args), r.Against)
		} else {
			w := httptest.NewRecorder()
			page(report).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
			if body := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(body, `<html`) ||
				!strings.Contains(body, r.Findings[0].Text) {
				t.Errorf("%d recordings: the page, code %d, lacks %q", len(args), w.Code, r.Findings[0].Text)
			}
		}
	}
	cpu := filepath.Join(t.TempDir(), "cpu.json") // has nothing to compare with
	if err := os.WriteFile(cpu, []byte(`{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::mm","ts":1,"dur":2,`+
		`"pid":1,"tid":1}]}`), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{nil, {path, path + ".absent"}, {path, cpu}, {path, path, path}} {
		if _, err := run(t.Context(), args, &bytes.Buffer{}); err == nil {
			t.Errorf("%q gave no error", args)
		}
	}
}
