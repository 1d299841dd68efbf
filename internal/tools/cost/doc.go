// Package cost says what a process cost the machine, for measurements and benchmarks.
package cost

import (
	"os"
	"runtime"
	"time"
)

// CPUOf is the processor time of a finished process.
func CPUOf(p *os.ProcessState) time.Duration { return p.UserTime() + p.SystemTime() }

// residentUnit is the unit of ru_maxrss in bytes.
func residentUnit() int64 {
	if runtime.GOOS == "darwin" {
		return 1
	}
	return 1024
}
