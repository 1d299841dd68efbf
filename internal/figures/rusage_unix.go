//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// residentMB is the largest resident size of a process that has ended.
func residentMB(s *os.ProcessState) float64 {
	u, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	bytes := float64(u.Maxrss)
	if runtime.GOOS != "darwin" { // which counts bytes, the others kB
		bytes *= 1024
	}
	return bytes / 1e6
}
