//go:build !linux && !darwin && !freebsd

package app

import "os"

// terminalWidth is not known here; COLUMNS sets it.
func terminalWidth(*os.File) int { return 0 }
