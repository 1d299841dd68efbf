package app

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAFileHasNoWidth: only a terminal has a width.
func TestAFileHasNoWidth(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n := terminalWidth(f); n != 0 {
		t.Errorf("a file is %d characters wide, want 0", n)
	}
}
