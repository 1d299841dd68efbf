package compare

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/layer/compare"
)

// TestNamedBaselines: a name is kept in the directory of baselines, which only --save makes, with commit, date and
// version; a slash or an ending is a file.
func TestNamedBaselines(t *testing.T) {
	demo := demoFile(t)
	dir := filepath.Join(t.TempDir(), "kept")
	t.Setenv("STRATA_BASELINES", dir)
	t.Setenv("GITHUB_SHA", "abc123")
	if r := apptest.Run(t, Program(), "--baseline", "main", demo); r.Code != 1 {
		t.Errorf("a baseline that is absent: exit code %d", r.Code)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("reading made the directory")
	}
	r := apptest.MustRun(t, Program(), "--b", demo, "--save", "v0.12")
	if !strings.Contains(r.Stderr, "created "+dir) {
		t.Errorf("stderr %q", r.Stderr)
	}
	got := apptest.MustRun(t, Program(), "--baseline", "v0.12", demo, "--format", "json")
	var report compare.Report
	if err := json.Unmarshal([]byte(got.Stdout), &report); err != nil || report.Verdict != compare.Same ||
		report.A.Commit != "abc123" || len(report.A.Date) != len("2026-01-02") {
		t.Errorf("%v: %s, side A %+v", err, report.Text, report.A)
	}
	other := filepath.Join(t.TempDir(), "other")
	apptest.MustRun(t, Program(), "--b", demo, "--save", "main", "--baselines", other)
	apptest.MustRun(t, Program(), "--b", demo, "--save", filepath.Join(t.TempDir(), "plain"))
	if _, err := os.Stat(filepath.Join(other, "main.side.json")); err != nil {
		t.Error(err)
	}
	for value, want := range map[string]string{"main": filepath.Join(dir, "main.side.json"),
		"v1.2": filepath.Join(dir, "v1.2.side.json"), "a.side.json": "a.side.json", "./a": "./a", "": ""} {
		if got := (&options{}).baselineFile(value); got != want {
			t.Errorf("%q is %q, want %q", value, got, want)
		}
	}
}

// TestUselessSideIsNotSaved: a trace without passes replaces no baseline, as nothing could be compared with it.
func TestUselessSideIsNotSaved(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "main.side.json")
	apptest.MustRun(t, Program(), "--b", demoFile(t), "--save", kept)
	before, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty.json")
	if err := os.WriteFile(empty, []byte(`{"schemaVersion":1,"traceEvents":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := apptest.Run(t, Program(), "--b", empty, "--save", kept); r.Code != 1 || !strings.Contains(r.Stderr,
		"no forward pass was found in "+empty) {
		t.Errorf("exit code %d, stderr %q", r.Code, r.Stderr)
	}
	if after, err := os.ReadFile(kept); err != nil || string(after) != string(before) {
		t.Errorf("the baseline changed: %v", err)
	}
}

// TestCSV: a line for each row and each of its kernels, as many cells as names, and rows that add up to the difference.
func TestCSV(t *testing.T) {
	demo := demoFile(t)
	old := fasterSide(t, demo)
	text := apptest.MustRun(t, Program(), "--baseline", old, "--b", demo, "--format", "csv").Stdout
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(lines) < 20 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	found := map[string]int{}
	for _, line := range lines[1:] {
		found[line[0]]++
		if line[1] == "attention" && line[0] == "operator" && line[14] != "true" {
			t.Errorf("attention is not significant: %v", line)
		}
	}
	if found["operator"] < 5 || found["kernel"] < 5 {
		t.Errorf("%v", found)
	}
}
