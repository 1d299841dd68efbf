//go:build unix

package main

import (
	"os"
	"syscall"
)

// peakOf is a finished process's peak resident memory in bytes, 0 if unknown.
func peakOf(p *os.ProcessState) int64 {
	if u, ok := p.SysUsage().(*syscall.Rusage); ok {
		return int64(u.Maxrss) * rssUnit()
	}
	return 0
}
