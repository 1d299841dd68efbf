//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// peakOf is a finished process's peak resident memory in bytes, 0 if unknown.
func peakOf(p *os.ProcessState) int64 {
	u, ok := p.SysUsage().(*syscall.Rusage)
	switch {
	case !ok:
		return 0
	case runtime.GOOS == "darwin":
		return int64(u.Maxrss)
	}
	return int64(u.Maxrss) << 10
}
