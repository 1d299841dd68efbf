package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRunLeavesTheSameTraceAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo.gz")
	if err := os.WriteFile(path, []byte("not gzip"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := run(path); err != nil {
		t.Fatal(err)
	}
	first, err := os.Stat(path)
	if err != nil || first.Size() < 1000 {
		t.Fatalf("after run: %v, %v, want a trace", first, err)
	}
	// Read-only: a second write would fail (unless root, whom nothing stops).
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	if err := run(path); err != nil {
		t.Fatal(err)
	}
	second, err := os.Stat(path)
	if err != nil || !second.ModTime().Equal(first.ModTime()) {
		t.Errorf("the second run wrote the file again")
	}
}
