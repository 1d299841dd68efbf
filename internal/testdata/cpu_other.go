//go:build !unix

package testdata

import "time"

// CPU is the time that has passed: this system does not report what the process has taken.
func CPU() time.Duration { return time.Since(began) }

var began = time.Now()
