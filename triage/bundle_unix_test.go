//go:build unix

package triage_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/llmstrata/strata/triage"
)

// TestBundlePassesPipesBy: a pipe without a writer and a link to nothing do not keep it from the reports beside them.
func TestBundlePassesPipesBy(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "a.md"), 0o600); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "b.md")); err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(dir, "c.md")
	if err := os.WriteFile(want, []byte("# Triage View\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := triage.Bundle{Entries: []triage.BundleEntry{{Path: dir}}}
	var out strings.Builder
	if err := b.WriteMarkdown(&out); err != nil || strings.Count(out.String(), "Source: ") != 1 ||
		!strings.Contains(out.String(), want) {
		t.Errorf("error %v, want %s alone:\n%s", err, want, out.String())
	}
}
