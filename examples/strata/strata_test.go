package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// mostBytes is how large the one binary may be: it is copied to machines beside
// the server, over whatever line they have.
const mostBytes = 20_000_000

// TestBinaryIsSmall builds the program as it is released.
func TestBinaryIsSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: builds the program")
	}
	path := filepath.Join(t.TempDir(), "strata")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", info.Size())
	if info.Size() >= mostBytes {
		t.Errorf("the stripped program has %d bytes, want less than %d", info.Size(), mostBytes)
	}
}
