package app

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/llmstrata/strata/internal/table"
)

// progressEvery is how often the progress line changes: often enough to look
// alive, rarely enough to cost nothing.
const progressEvery = 200 * time.Millisecond

// linesEvery is how often a line is written where it cannot be overwritten: rarely enough for the log of a build
// server.
const linesEvery = 30 * time.Second

// clearLine returns to the start of a terminal's line and empties it.
const clearLine = "\r\x1b[K"

// progress is one line on a terminal that is written over and over. A nil
// progress shows nothing.
type progress struct {
	w   io.Writer
	now func() time.Time

	mu    sync.Mutex
	last  time.Time
	lines bool // a line every linesEvery, from then on, instead of one that is overwritten
	shown bool
}

// newProgress returns the progress line that the switch asks for, nil for none.
func newProgress(s Switch, stderr io.Writer) *progress {
	if s == Off {
		return nil
	}
	p := &progress{w: stderr, now: time.Now}
	if s == Auto && !Terminal(stderr) {
		p.lines, p.last = true, p.now()
	}
	return p
}

// Terminal reports whether w is a terminal: a character device.
func Terminal(w io.Writer) bool {
	if c, ok := w.(interface{ Unwrap() io.Writer }); ok {
		w = c.Unwrap()
	}
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// show updates the line unless it has just been.
func (p *progress) show(label string, done, total int64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if every := map[bool]time.Duration{false: progressEvery, true: linesEvery}[p.lines]; (p.shown || p.lines) &&
		now.Sub(p.last) < every {
		return
	}
	p.last, p.shown = now, true
	text := " ..."
	switch {
	case total > 0: // a file may grow while it is read
		text = fmt.Sprintf(": %d%% of %s", min(100, int64(100*float64(done)/float64(total))), table.Bytes(total))
	case done > 0:
		text = ": " + table.Bytes(done)
	}
	if p.lines {
		fmt.Fprintf(p.w, "%s%s\n", table.Clean(label), text)
		return
	}
	fmt.Fprintf(p.w, "%s%s%s", clearLine, table.Clean(label), text)
}

// clear removes the line.
func (p *progress) clear() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown && !p.lines {
		io.WriteString(p.w, clearLine)
		p.shown = false
	}
}
