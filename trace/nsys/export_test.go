package nsys_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/nsys"
)

// tool puts a script that replaces nsys before PATH.
func tool(t *testing.T, script string) {
	t.Helper()
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("no /bin/sh to stand in for nsys")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "nsys"), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// TestExportFailuresAreTold: what nsys said last is what the user needs.
func TestExportFailuresAreTold(t *testing.T) {
	report := filepath.Join(t.TempDir(), "run.nsys-rep")
	if err := os.WriteFile(report, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, script, says string }{
		{"fails with words", "echo first; echo 'file is of a newer version' >&2; exit 3",
			"exit status 3: file is of a newer version"},
		{"fails silently", "exit 4", "exit status 4"},
		{"writes nothing", "exit 0", "wrote no file"},
		{"writes something else", `echo hello > "$5"`, "no SQLite header"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tool(t, c.script)
			tmp := t.TempDir()
			t.Setenv("TMPDIR", tmp)
			_, err := nsys.Open(context.Background(), report, trace.Options{})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error = %v, want %q in it", err, c.says)
			}
			if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) > 0 {
				t.Errorf("temporary folders left: %v", left)
			}
		})
	}
	if _, err := nsys.Open(context.Background(), filepath.Join(t.TempDir(), "absent.nsys-rep"),
		trace.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent report: %v", err)
	}
}

func TestExportEndsWithItsContext(t *testing.T) {
	report := filepath.Join(t.TempDir(), "run.qdrep")
	if err := os.WriteFile(report, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	tool(t, "exec sleep 600")
	_, err := nsys.Open(ctx, report, trace.Options{})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v, want the deadline", err)
	}
}
