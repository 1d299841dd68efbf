package perfettomap

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/internal/demo"
)

func TestFileNameDoesNotControlTheTerminal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a\x1b[31mb.json.gz")
	if err := os.WriteFile(path, demo.Trace(), 0o644); err != nil {
		t.Fatal(err)
	}
	got := apptest.MustRun(t, program(machine{}), "--trace", path)
	if all := got.Stdout + got.Stderr; strings.Contains(all, "\x1b") || !strings.Contains(got.Stdout, "\ufffd[31mb.json.gz") {
		t.Errorf("an escape sequence is printed, or the name is not:\n%q", all)
	}
}
