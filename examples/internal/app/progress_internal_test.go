package app

import (
	"strings"
	"testing"
	"time"
)

// TestLinesOfProgress: without a terminal there is a line every half minute, the first after that long; on one it is
// overwritten.
func TestLinesOfProgress(t *testing.T) {
	var b strings.Builder
	p := newProgress(Auto, &b)
	if p == nil || !p.lines {
		t.Fatal("no lines where nothing is a terminal")
	}
	at := p.last
	p.now = func() time.Time { return at }
	for range 100 {
		at = at.Add(time.Second)
		p.show("reading x", 1, 4)
	}
	if got, want := b.String(), strings.Repeat("reading x: 25% of 4 B\n", 3); got != want {
		t.Errorf("100 s: %q, want %q", got, want)
	}
	p.clear()
	if strings.Contains(b.String(), clearLine) || newProgress(Off, &b) != nil {
		t.Error("a line is cleared where none can be, or progress is shown that nobody wants")
	}
}
