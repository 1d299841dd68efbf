package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// script writes a program that says a text, whatever it is asked.
func script(t *testing.T, says string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "strata")
	if err := os.WriteFile(file, []byte("#!/bin/sh\ncat <<'END'\n"+says+"\nEND\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestEachDifferenceNeedsItsReason(t *testing.T) {
	traces := t.TempDir()
	if err := os.WriteFile(filepath.Join(traces, "x.json"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	one := script(t, `{"passes": [{"name": "a", "ms": 1}, {"name": "b", "ms": 2}], "idle": 3}`)
	same := script(t, `{"idle": 3, "passes": [{"ms": 1, "name": "a"}, {"ms": 2, "name": "b"}]}`)
	more := script(t, `{"passes": [{"name": "new", "ms": 9}, {"name": "a", "ms": 1}, {"name": "b", "ms": 4}], "idle": 3}`)
	for _, c := range []struct {
		name, after, reasons, says string
		fails                      bool
	}{
		{"equal", same, "", "0 kinds of difference, 0 unexplained, 0 stale", false},
		{"unexplained", more, "", "2  light passes[].ms\n        x.json passes[b#1].ms: 2 → 4\n        UNEXPLAINED", true},
		{"half explained", more, `passes\[\]\.ms | a bug`, "2 kinds of difference, 1 unexplained", true},
		{"explained", more, "# why\n" + `passes\[\]\. | a bug`, "2 kinds of difference, 0 unexplained, 0 stale", false},
		{"stale", same, "idle | a bug", "1 stale", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			reasons := filepath.Join(t.TempDir(), "reasons.txt")
			if err := os.WriteFile(reasons, []byte(c.reasons), 0o666); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			err := run([]string{"-before", one, "-after", c.after, "-traces", traces, "-reasons", reasons,
				"-only", "^light TRACE --format"}, &out)
			if (err != nil) != c.fails || !strings.Contains(out.String(), c.says) {
				t.Errorf("error %v, says:\n%s\nwant %q", err, out.String(), c.says)
			}
		})
	}
}

func TestTextIsReadByTitleRowAndColumn(t *testing.T) {
	values := map[string]string{}
	if err := read([]byte("2 Passes\n------\n  decode   3.1 ms   4\n\n  decode   3.2 ms   4\n"), values); err != nil {
		t.Fatal(err)
	}
	for place, want := range map[string]string{
		"text[N Passes|decode#1].1": "3.1 ms", "text[N Passes|decode#2].1": "3.2 ms", "text[N Passes|decode#1].2": "4",
	} {
		if values[place] != want {
			t.Errorf("%s = %q, want %q of %v", place, values[place], want, values)
		}
	}
	if got := inAnyRow("text[N Passes|decode#1].1"); got != "text[].1" {
		t.Errorf("any row: %s", got)
	}
}
