package programs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/triage"
)

func fixedTime() time.Time { return time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC) }

func TestTriageBundleBundleOfADirectoryAndAFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("a.md", "# Triage View\n\nFramework: vLLM\nModel: Qwen3\n")
	extra := write("b.report", "# Triage View\n\nFramework: SGLang\n")
	out := apptest.MustRun(t, triageBundle(fixedTime), "--analysis-root", dir, "--analysis-file", "Llama="+extra,
		"--include-toc", "--title", "All runs").Stdout
	for _, want := range []string{"# All runs\n", "Generated: 2026-07-01 12:00:00 UTC", "- [Qwen3](#qwen3)",
		"## Llama\n", "### SGLang\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("bundle does not hold %q:\n%s", want, out)
		}
	}
}

// TestTriageBundleOldFlag: the published script's flag for what is the rule here.
func TestTriageBundleOldFlag(t *testing.T) {
	r := apptest.Run(t, triageBundle(time.Now), "--no-include-toc")
	if r.Code != app.ExitUsage || !strings.Contains(r.Stderr, "no report") {
		t.Errorf("exit code %d, stderr %q", r.Code, r.Stderr)
	}
}

func TestTriageBundleMissingFilesAreAllNamed(t *testing.T) {
	r := apptest.Run(t, triageBundle(fixedTime), "/absent/a.md", "--", "x=/absent/b.md")
	if r.Code != app.ExitError || !strings.Contains(r.Stderr, "/absent/a.md") ||
		!strings.Contains(r.Stderr, "/absent/b.md") {
		t.Errorf("exit code %d: %s", r.Code, r.Stderr)
	}
	if r := apptest.Run(t, triageBundle(fixedTime)); r.Code != app.ExitUsage {
		t.Errorf("no report: exit code %d, want %d", r.Code, app.ExitUsage)
	}
}

func TestTriageBundleParseEntry(t *testing.T) {
	for s, want := range map[string]triage.BundleEntry{
		"Qwen=a/b.md": {Label: "Qwen", Path: "a/b.md"},
		"a/b.md":      {Path: "a/b.md"},
		"=a.md":       {Path: "=a.md"},
	} {
		if got := parseBundleEntry(s); got != want {
			t.Errorf("%q is %+v, want %+v", s, got, want)
		}
	}
}
