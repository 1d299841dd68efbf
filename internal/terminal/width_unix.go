//go:build linux || darwin || freebsd

package terminal

import (
	"os"
	"syscall"
	"unsafe"
)

// Width asks the terminal for its width; 0 where it does not tell.
func Width(f *os.File) int {
	var size struct{ rows, columns, x, y uint16 }
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	if errno != 0 {
		return 0
	}
	return int(size.columns)
}
