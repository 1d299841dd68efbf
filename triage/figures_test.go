package triage_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/triage"
)

// TestBundleOfRealReports: real reports keep their figures, by model and framework.
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
		"Step (decode): 10.5 ms, 327 µs/token, top operator gate_up_proj 24.7%\n", "\n## qwen3\n\n### SGLang\n",
		"Step (mixed): 156 ms, ", "\n## gptoss20b\n\n### vLLM\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the bundle does not say %q:\n%.900s", want, b.String())
		}
	}
}
