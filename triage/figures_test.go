package triage_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/triage"
)

// TestBundleOfRealReports: the figures of real reports are in one table at the start, by model and framework.
func TestBundleOfRealReports(t *testing.T) {
	dir := t.TempDir()
	var entries []triage.BundleEntry
	for name, rel := range map[string]string{
		"a.md": "traces/torch/sglang-qwen3-8b-decode-graph-mi300.json.gz",
		"b.md": "traces/torch/vllm-gptoss20b-mixed-piecewise-mi300.json.gz",
	} {
		var b bytes.Buffer
		if err := analyze(t, rel, "", triage.Options{Model: strings.Split(filepath.Base(rel),
			"-")[1]}).WriteMarkdown(&b); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		entries = append(entries, triage.BundleEntry{Path: path})
	}
	bundle := triage.Bundle{Title: "All", Entries: entries}
	var b bytes.Buffer
	if err := bundle.WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| qwen3 | SGLang | decode | 10.5 ms | 327 µs | gate_up_proj 24.7% | - |\n",
		"| gptoss20b | vLLM | mixed | 156 ms |",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the bundle has no row %q:\n%.900s", want, b.String())
		}
	}
}
