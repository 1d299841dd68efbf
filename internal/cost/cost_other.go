//go:build !unix

package cost

import (
	"os"
	"time"
)

// PeakOf is a finished process's peak resident memory in bytes, 0 if unknown.
func PeakOf(*os.ProcessState) int64 { return 0 * residentUnit() }

// CPU is the processor time that this process has taken since it began; here, the time that has passed.
func CPU() time.Duration { return time.Since(began) }
