//go:build unix

package cost

import (
	"os"
	"syscall"
	"time"
)

// PeakOf is a finished process's peak resident memory in bytes, 0 if unknown.
func PeakOf(p *os.ProcessState) int64 {
	if u, ok := p.SysUsage().(*syscall.Rusage); ok {
		return int64(u.Maxrss) * residentUnit()
	}
	return 0
}

// CPU is the processor time that this process has taken since it began. Other work on the machine makes it longer by far less than
// the time that passes. Where the system does not tell it, it is the time that passes.
func CPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return time.Since(began)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
