package report_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/programs/report"
)

// terminal returns both ends of a terminal of this many columns: what its user sees, and what a program writes to.
func terminal(t *testing.T, columns uint16) (user, program *os.File) {
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

// TestColourAndWidthOfATerminal: a terminal gets colours and tables that fit it, unless its user wants no colours or it has none.
func TestColourAndWidthOfATerminal(t *testing.T) {
	for _, c := range []struct {
		noColor, term string
		want          bool
	}{{"", "xterm", true}, {"1", "xterm", false}, {"", "dumb", false}} {
		t.Setenv("NO_COLOR", c.noColor)
		t.Setenv("TERM", c.term)
		t.Setenv("COLUMNS", "")
		user, program := terminal(t, 90)
		shown := make(chan string)
		go func() {
			text, _ := io.ReadAll(user) // ends with an error when the other end is closed
			shown <- string(text)
		}()
		p := report.Program()
		if code := p.Exec(t.Context(), []string{"--progress=false"}, strings.NewReader(""), program, io.Discard); code != app.ExitOK {
			t.Fatalf("exit code %d", code)
		}
		program.Close()
		text := <-shown
		if got := strings.Contains(text, "\x1b["); got != c.want {
			t.Errorf("NO_COLOR=%q TERM=%q: coloured %v, want %v", c.noColor, c.term, got, c.want)
		}
		if !c.want {
			for _, line := range strings.Split(text, "\r\n") {
				if n := len([]rune(line)); n > 90 {
					t.Errorf("a line of %d characters on a terminal of 90: %s", n, line)
				}
			}
		}
	}
}
