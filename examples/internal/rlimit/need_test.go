package rlimit

import (
	"strings"
	"testing"
)

// TestRefusal: one byte decides, and the line says what to do.
func TestRefusal(t *testing.T) {
	const mapped = 1_300_000_000
	if text := refusal(mapped+Least, mapped, Least); text != "" {
		t.Errorf("enough is left: %s", text)
	}
	text := refusal(mapped+Least-1, mapped, Least)
	for _, want := range []string{"RLIMIT_AS", "1300 MB are taken", "ulimit -v 4000000"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
	if strings.Contains(text, "\n") {
		t.Errorf("%q has more than one line", text)
	}
}
