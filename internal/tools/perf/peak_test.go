package main

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
)

func TestFinishedProcess(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run", "^$")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := peakOf(cmd.ProcessState); runtime.GOOS != "windows" && (got < 1<<20 || got > 1<<32) {
		t.Errorf("peakOf = %d bytes, want some MiB", got)
	}
}
