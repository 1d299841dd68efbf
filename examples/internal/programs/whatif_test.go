package programs

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/hostoverhead/replay"
	"github.com/llmstrata/strata/internal/gen/idle"
)

// idleServer writes a trace of a server with a stall in each step.
func idleServer(t *testing.T) string {
	t.Helper()
	v := idle.Server{Seed: 1, Steps: 20, Kernels: 50, Kernel: 10e3, Call: 4e3, Python: 8e3, Prepare: 200e3,
		Process: 300e3, Stall: 500e3, Items: 0, Limit: 1024, Jitter: 0.03}
	var b bytes.Buffer
	if err := idle.WriteServerTorch(&b, v.Play(1)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run.json")
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestWhatIfEditsAreAnswered: in text and as a document, by name and from the findings.
func TestWhatIfEditsAreAnswered(t *testing.T) {
	path := idleServer(t)
	r := apptest.Run(t, WhatIf(), path, "--edit", "cause=log_stats", "--edit", "kernel=nothing*0.5")
	if r.Code != app.ExitOK || !strings.Contains(r.Stdout, "without log_stats") || !strings.Contains(r.Stdout, "→") ||
		!strings.Contains(r.Stdout, "refused: no kernel has that name") {
		t.Errorf("exit %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	r = apptest.Run(t, WhatIf(), path, "--format", "json")
	var doc replay.Report
	if err := json.Unmarshal([]byte(r.Stdout), &doc); err != nil || doc.Schema != replay.Schema || len(doc.Gains) < 2 {
		t.Fatalf("%v: %s%s", err, r.Stdout, r.Stderr)
	}
	found := false
	for _, g := range doc.Gains {
		found = found || g.Edit.Name == "log_stats" && g.Refused == "" && g.After < g.Base-400_000
	}
	if !found {
		t.Errorf("the stall of 500 µs is not among %+v", doc.Gains)
	}
	if r := apptest.Run(t, WhatIf(), path, "--format", "markdown"); r.Code != app.ExitOK ||
		!strings.Contains(r.Stdout, "log_stats") {
		t.Errorf("exit %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
}

// TestWhatIfWrongEditsAreRefused: with the forms that are known.
func TestWhatIfWrongEditsAreRefused(t *testing.T) {
	path := idleServer(t)
	for _, e := range []string{"faster", "kernel", "kernel=a*x", "fuse=a", "overlap=a", "kernel=a*-1"} {
		if r := apptest.Run(t, WhatIf(), path, "--edit", e); r.Code != app.ExitUsage ||
			!strings.Contains(r.Stderr, e) {
			t.Errorf("%s: exit %d: %s", e, r.Code, r.Stderr)
		}
	}
}
