package capture

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/examples/internal/live"
	"github.com/llmstrata/strata/trace"
)

// TestMatrix captures a pair and a single server from real traces, reports on
// each, fails one and resumes.
func TestMatrix(t *testing.T) {
	dir := apptest.ProfileFolder(t)
	mapping, formal, single := newServer(t), newServer(t), newServer(t)
	single.Broken = true
	plan := filepath.Join(filepath.Dir(dir), "plan.json")
	text := fmt.Sprintf(`{"title": "Two of a kind", "output_dir": "out", "entries": [
		{"name": "pair", "framework": "sglang", "mapping_url": %q, "formal_url": %q},
		{"name": "alone", "url": %q, "stages": "decode"}]}`, mapping.URL, formal.URL, single.URL)
	if err := os.WriteFile(plan, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	args := append(apptest.FastLive, "--plan", plan, "--trace-timeout", "2s", "--num-steps", "1")

	got := apptest.Run(t, matrixProgram(), args...)
	if got.Code != live.ExitIncomplete || !strings.Contains(got.Stderr, "alone: single: no decode trace") {
		t.Errorf("exit code %d, stderr %s", got.Code, got.Stderr)
	}
	if !strings.Contains(got.Stdout, "Two of a kind") || !strings.Contains(got.Stdout, "pair") {
		t.Errorf("the finished entry is not in the bundle:\n%s", got.Stdout)
	}

	single.Broken = false
	starts := len(mapping.Starts) + len(formal.Starts)
	got = apptest.MustRun(t, matrixProgram(), args...)
	if n := len(mapping.Starts) + len(formal.Starts); n != starts {
		t.Errorf("%d windows opened again", n-starts)
	}
	for _, part := range []string{"# Two of a kind", "pair", "alone", "Qwen/Qwen3-8B", "mapping-formal",
		"single-trace"} {
		if !strings.Contains(got.Stdout, part) {
			t.Errorf("bundle does not say %q:\n%.2000s", part, got.Stdout)
		}
	}

	got = apptest.MustRun(t, matrixProgram(), append(args, "--format", "json")...)
	var doc struct {
		Title   string
		Entries []capture.Entry
		Reports map[string]string
	}
	if err := json.Unmarshal([]byte(got.Stdout), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Entries) != 2 || len(doc.Entries[0].Captures) != 2 ||
		doc.Reports["alone"] != filepath.Join(dir, "alone", "triage.md") {
		t.Errorf("document = %+v", doc)
	}
	for _, e := range doc.Entries {
		for _, c := range e.Captures {
			if !c.Resumed {
				t.Errorf("%s %s was captured again", e.Name, c.Role)
			}
			for _, f := range c.Files() {
				if _, err := trace.Open(t.Context(), f, trace.Options{}); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// TestMatrixInvalid: each entry leaves probe.json and triage.md and is in the bundle, also one whose capture is INVALID
// and one whose server is not there; the exit code says so.
func TestMatrixInvalid(t *testing.T) {
	dir := apptest.ProfileFolder(t)
	s := newServer(t)
	plan := filepath.Join(filepath.Dir(dir), "plan.json")
	text := fmt.Sprintf(`{"output_dir": "elsewhere", "entries": [{"name": "short", "url": %q, "stages": "decode"}, {"name": "none", "framework": "vllm", "url": "http://127.0.0.1:1"}]}`, s.URL)
	if err := os.WriteFile(plan, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	args := append(apptest.FastLive, "--plan", plan, "--output-dir", dir, "--num-steps", "50")
	got := apptest.Run(t, matrixProgram(), args...)
	if got.Code != live.ExitInvalid {
		t.Errorf("exit code %d, stderr %s", got.Code, got.Stderr)
	}
	for _, name := range []string{"short", "none"} {
		for _, file := range []string{"probe.json", "triage.md"} {
			text, err := os.ReadFile(filepath.Join(dir, name, file))
			if err != nil || len(text) == 0 || file == "triage.md" &&
				!strings.Contains(string(text), "Capture: INVALID") {
				t.Errorf("%s of %s: %v: %.200s", file, name, err, text)
			}
		}
		if !strings.Contains(got.Stdout, "("+name+") INVALID") {
			t.Errorf("%s is not marked in the bundle:\n%.1500s", name, got.Stdout)
		}
	}
	if !strings.Contains(got.Stdout, "50 decode steps need max_tokens ≥ 51") {
		t.Errorf("the bundle does not say what to change:\n%.1500s", got.Stdout)
	}
}
