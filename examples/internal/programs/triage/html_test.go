package triage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
)

func TestHTML(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.html")
	r := apptest.MustRun(t, program(), "--html", path)
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(page); !strings.HasPrefix(s, "<!DOCTYPE html>") || !strings.HasSuffix(strings.TrimSpace(s), "</html>") || !strings.Contains(s, "Launches") {
		t.Errorf("the report of %d bytes is not whole", len(page))
	}
	if !strings.Contains(r.Stderr, "wrote "+path) || r.Stdout != apptest.MustRun(t, program()).Stdout {
		t.Errorf("stderr = %q; stdout must be what it is without --html", r.Stderr)
	}
	absent := filepath.Join(t.TempDir(), "absent", "report.html")
	if r := apptest.Run(t, program(), "--html", absent); r.Code != app.ExitError || !strings.Contains(r.Stderr, absent) {
		t.Errorf("a report that cannot be written: exit code %d: %s", r.Code, r.Stderr)
	}
}
