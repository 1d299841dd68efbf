//go:build unix

package testdata

import (
	"syscall"
	"time"
)

// CPU is the processor time that this process has taken since it began. Other work on the machine makes it longer by
// far less than the time that passes. Where the system does not report it, it is the time that passes.
func CPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return time.Since(began)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

var began = time.Now()
