package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
)

// mostBytes is how large the one binary may be: it is copied to machines beside
// the server, over whatever line they have.
const mostBytes = 23_500_000

// TestBinaryIsSmall builds the program as it is released, but for the paths in it: without
// -trimpath the packages that other tests compiled serve here, too.
func TestBinaryIsSmall(t *testing.T) {
	if !testdata.Long() {
		t.Skip("SKIPPED: builds the program")
	}
	path := filepath.Join(t.TempDir(), "strata")
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("ulimit", func(t *testing.T) { limited(t, path) })
	t.Logf("%d bytes", info.Size())
	if info.Size() >= mostBytes {
		t.Errorf("the stripped program has %d bytes, want less than %d", info.Size(), mostBytes)
	}
}

// limited runs the program in little address space: it works, or ends with one line
// that names the limit, and never with the stacks of Go's runtime. Where less than
// 0.8 GB or some 1.2 GB are allowed, that runtime ends before any of the program runs.
// What it maps at its start is not the same in every run: 1.3 GB once, 1.4 GB another
// time, so that 1.6 GB are refused at the start or where the trace is read.
func limited(t *testing.T, program string) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("SKIPPED: limits of address space were measured on linux/amd64")
	}
	var events strings.Builder
	for i := range 250_000 {
		fmt.Fprintf(&events, `{"ph":"X","cat":"kernel","name":"k%d","ts":%d,"dur":1,"pid":0,"tid":7,"args":{"device":0,"stream":7}},`, i%50, 2*i)
	}
	file := filepath.Join(t.TempDir(), "trace.json")
	if err := os.WriteFile(file, []byte(`{"traceEvents":[`+strings.TrimSuffix(events.String(), ",")+`]}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		kb   int
		says []string // one of them is in the error, none for no error
	}{
		{1_000_000, []string{"the rest"}}, {1_600_000, []string{"the rest", "memory budget"}}, {3_000_000, nil},
	} {
		out, err := exec.Command("sh", "-c", fmt.Sprintf(`ulimit -v %d && exec "$0" report "$1"`, tt.kb), program,
			file).CombinedOutput()
		text := string(out)
		code := 0
		if exit, ok := err.(*exec.ExitError); ok {
			code = exit.ExitCode()
		} else if err != nil {
			t.Skipf("SKIPPED: no shell with ulimit -v: %v", err)
		}
		failed := tt.says != nil
		said := slices.ContainsFunc(tt.says, func(what string) bool { return strings.Contains(text, what) })
		if failed != (code == 1) || !failed && code != 0 || strings.Contains(text, "goroutine ") ||
			strings.Contains(text, "runtime:") {
			t.Errorf("ulimit -v %d: exit code %d, failure wanted: %v\n%s", tt.kb, code, failed, text)
		}
		if failed && (strings.Count(text, "\n") != 1 || !said || !strings.Contains(text, "RLIMIT_AS") ||
			!strings.Contains(text, "ulimit -v")) {
			t.Errorf("ulimit -v %d: %s, want one line that names the limit", tt.kb, text)
		}
	}
}
