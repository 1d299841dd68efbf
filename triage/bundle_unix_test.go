//go:build unix

package triage_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/llmstrata/strata/triage"
)

// TestFindReportsPassesPipesBy: a pipe without a writer and a link to nothing do not keep it from the reports beside them.
func TestFindReportsPassesPipesBy(t *testing.T) {
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
	got, err := triage.FindReports(dir)
	if err != nil || len(got) != 1 || got[0].Path != want {
		t.Errorf("found %v, error %v, want %s alone", got, err, want)
	}
}
