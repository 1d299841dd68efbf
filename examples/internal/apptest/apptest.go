package apptest

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// Result is what a program did.
type Result struct {
	// Code is the exit code.
	Code int
	// Stdout and Stderr are what was printed.
	Stdout, Stderr string
}

// Run runs the program with these arguments and an empty input.
func Run(t testing.TB, p app.Program, args ...string) Result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := p.Exec(t.Context(), args, strings.NewReader(""), &stdout, &stderr)
	keep(t, stdout.Bytes())
	return Result{code, stdout.String(), stderr.String()}
}

// keep writes what a program printed to the folder that STRATA_DOCUMENTS names, if it is one JSON document, for the
// test of internal/tools/validate, which holds documents against their schemas.
func keep(t testing.TB, out []byte) {
	dir := os.Getenv("STRATA_DOCUMENTS")
	if dir == "" || !bytes.HasPrefix(out, []byte("{\n  \"schema\": \"strata.")) {
		return
	}
	sum := fnv.New64a()
	sum.Write(out)
	if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%x.json", sum.Sum64())), out, 0o666); err != nil {
		t.Error(err)
	}
}

// MustRun is [Run] for a program that has to succeed: another exit code fails
// the test with what stderr says.
func MustRun(t testing.TB, p app.Program, args ...string) Result {
	t.Helper()
	r := Run(t, p, args...)
	if r.Code != app.ExitOK {
		t.Fatalf("%s %s: exit code %d: %s", p.Name, strings.Join(args, " "), r.Code, r.Stderr)
	}
	return r
}

// RunContext is [Run] with a context of the test's choice.
func RunContext(ctx context.Context, t *testing.T, p app.Program, args ...string) Result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := p.Exec(ctx, args, strings.NewReader(""), &stdout, &stderr)
	keep(t, stdout.Bytes())
	return Result{code, stdout.String(), stderr.String()}
}

// Update reports whether -update is given, for tests that write a part of a file.
func Update() bool { return *update }

// Golden compares a text with a file of the test's directory. With -update it
// writes the file.
func Golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// HTML runs a program without and with --html. It wants the same output, a complete page, and an error that names a
// page that cannot be written.
func HTML(t *testing.T, program func() app.Program) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	r := MustRun(t, program(), "--html", path)
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(page); !strings.HasPrefix(s, "<!DOCTYPE html>") ||
		!strings.HasSuffix(strings.TrimSpace(s), "</html>") || !strings.Contains(s, "Launches") {
		t.Errorf("the report of %d bytes is not complete", len(page))
	}
	if !strings.Contains(r.Stderr, "wrote "+path) || r.Stdout != MustRun(t, program()).Stdout {
		t.Errorf("stderr = %q; stdout must be what it is without --html", r.Stderr)
	}
	absent := filepath.Join(t.TempDir(), "absent", "report.html")
	if r := Run(t, program(), "--html", absent); r.Code != app.ExitError || !strings.Contains(r.Stderr, absent) {
		t.Errorf("a report that cannot be written: exit code %d: %s", r.Code, r.Stderr)
	}
}

// Export writes a generated nsys export and returns its path.
func Export(t *testing.T, cfg nsysgen.Config) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.sqlite")
	if _, err := nsysgen.Write(path, cfg); err != nil {
		t.Fatal(err)
	}
	return path
}
