//go:build linux || darwin || freebsd

package app

import (
	"os"
	"syscall"
	"unsafe"
)

// terminalWidth asks the terminal for its width; 0 if it does not say.
func terminalWidth(f *os.File) int {
	var size struct{ rows, columns, x, y uint16 }
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	if errno != 0 {
		return 0
	}
	return int(size.columns)
}
