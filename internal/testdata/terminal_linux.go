package testdata

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"unsafe"
)

// Terminal returns both ends of a terminal of this many columns: what its user sees, and what a program writes to.
func Terminal(t testing.TB, columns uint16) (user, program *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("SKIPPED: no terminal can be made here: %v", err)
	}
	t.Cleanup(func() { user.Close() })
	control := func(request uintptr, at unsafe.Pointer) {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, user.Fd(), request, uintptr(at)); errno != 0 {
			t.Fatal(errno)
		}
	}
	var number, unlock int32
	control(syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	control(syscall.TIOCGPTN, unsafe.Pointer(&number))
	size := [4]uint16{50, columns}
	control(syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	if program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Skipf("SKIPPED: no terminal can be made here: %v", err)
	}
	return user, program
}
