//go:build unix

package cost

import (
	"os"
	"syscall"
)

// PeakOf is a finished process's peak resident memory in bytes, 0 if unknown.
func PeakOf(p *os.ProcessState) int64 {
	if u, ok := p.SysUsage().(*syscall.Rusage); ok {
		return int64(u.Maxrss) * residentUnit()
	}
	return 0
}
