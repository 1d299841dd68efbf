//go:build !unix

package main

import "os"

// peakOf is a finished process's peak resident memory in bytes, 0 if unknown.
func peakOf(*os.ProcessState) int64 { return 0 }
