package cost_test

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/cost"
)

func TestCPUGrowsWithWork(t *testing.T) {
	before, deadline := cost.CPU(), time.Now().Add(time.Minute)
	n := 0
	for cost.CPU()-before < 20*time.Millisecond {
		if n++; time.Now().After(deadline) {
			t.Fatalf("CPU() grew by %v in a minute of work", cost.CPU()-before)
		}
	}
	if n < 2 {
		t.Errorf("CPU() grew by 20 ms in %d calls", n)
	}
}

func TestFinishedProcess(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run", "TestCPUGrowsWithWork")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := cost.CPUOf(cmd.ProcessState); got < 20*time.Millisecond {
		t.Errorf("CPUOf = %v, want at least 20 ms", got)
	}
	if got := cost.PeakOf(cmd.ProcessState); runtime.GOOS != "windows" && (got < 1<<20 || got > 1<<32) {
		t.Errorf("PeakOf = %d bytes, want some MiB", got)
	}
}
