package cost_test

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/llmstrata/strata/internal/tools/cost"
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
	if got := cost.CPUOf(cmd.ProcessState); got <= 0 {
		t.Errorf("CPUOf = %v, want more than nothing", got)
	}
	if got := cost.PeakOf(cmd.ProcessState); runtime.GOOS != "windows" && (got < 1<<20 || got > 1<<32) {
		t.Errorf("PeakOf = %d bytes, want some MiB", got)
	}
}
