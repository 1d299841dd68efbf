package app

import (
	"fmt"
	"io"
	"os"
	"strconv"
)

// The widths that --width accepts: narrower, no table can be read; wider is a
// typing error.
const (
	minWidth = 40
	maxWidth = 10_000
)

// width is how many characters wide the results may be: --width, else COLUMNS,
// else the terminal's; 0 where there is none of them, as in a file.
func (e *Env) width(stdout io.Writer) int {
	if e.Width > 0 {
		return e.Width
	}
	f, ok := stdout.(*os.File)
	if !ok || !Terminal(stdout) {
		return 0
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n >= minWidth {
		return min(n, maxWidth)
	}
	if n := terminalWidth(f); n >= minWidth {
		return n
	}
	return 0
}

// plainTerminal is the TERM of a terminal that has no colours.
const plainTerminal = "dumb"

// color reports whether results may be coloured: on a terminal that can, and
// whose user did not say no.
func color(stdout io.Writer) bool {
	return Terminal(stdout) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != plainTerminal
}

// checkWidth refuses widths that no table can have.
func (e *Env) checkWidth() error {
	if e.Width != 0 && (e.Width < minWidth || e.Width > maxWidth) {
		return fmt.Errorf("--width %d: want a number from %d to %d, or 0 for the terminal's", e.Width, minWidth,
			maxWidth)
	}
	return nil
}
