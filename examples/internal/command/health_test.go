package command_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-json"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/demo"
)

// TestLossesAreInTheHealthOfEveryCommand: where passes show that records of kernels are missing, which the file itself
// does not, each command with the condition health says so, and so does the header of the report.
func TestLossesAreInTheHealthOfEveryCommand(t *testing.T) {
	z, err := gzip.NewReader(bytes.NewReader(demo.Trace()))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	events := doc["traceEvents"].([]any)
	field := func(e any, name string) any { return e.(map[string]any)[name] }
	var kernels []int // by start
	for i, e := range events {
		if field(e, "cat") == "kernel" {
			kernels = append(kernels, i)
		}
	}
	start := func(i int) float64 { return field(events[i], "ts").(float64) }
	slices.SortFunc(kernels, func(a, b int) int { return cmp.Compare(start(a), start(b)) })
	lost := kernels[len(kernels)/2:][:15]
	var kept []any
	for i, e := range events {
		if !slices.Contains(lost, i) {
			kept = append(kept, e)
		}
	}
	doc["traceEvents"] = kept
	if data, err = json.Marshal(doc); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.json")
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []string{"report", "answer", "layers", "breakdown", "light", "triage", "host", "export", "perfetto",
		"fleet"} {
		r := run(t, "", c, path, "--fail-on", "health degraded")
		if r.Code != app.ExitFailed {
			t.Errorf("%s: exit code %d, want %d: %s", c, r.Code, app.ExitFailed, r.Stderr)
		}
		if head, _, _ := strings.Cut(r.Stdout, "\nCoverage"); c == "report" && !strings.Contains(head, "degraded") {
			t.Errorf("report: its header does not call the recording degraded:\n%s", head)
		}
	}
}
