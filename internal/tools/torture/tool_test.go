package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// script is a tool made of a line of shell.
func script(t *testing.T, line string) tool {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tool")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+line+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	made, err := newTool(path + " {}")
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestWhatToolsDoIsSeen: crashes, hangs, refusals and losses are separated.
func TestWhatToolsDoIsSeen(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("SKIPPED, NOT CHECKED: no /bin/sh")
	}
	for _, tt := range []struct {
		line string
		want row
		bad  bool
	}{
		{"echo events: 5", row{}, false},
		{"echo events: 3", row{}, false},
		{"echo events: 2", row{lost: 1}, true},
		{"echo no >&2; exit 1", row{refused: 1, said: "no"}, false},
		{"kill -SEGV $$", row{crashed: 1}, true},
		{"echo 'goroutine 1 [running]:' >&2; exit 2", row{crashed: 1, refused: 1, said: "goroutine 1 [running]:"},
			true},
		{"exec sleep 60", row{hung: 1}, true},
	} {
		b := &bench{dir: t.TempDir(), limit: 500 * time.Millisecond, log: io.Discard, tools: []tool{script(t, tt.line)}}
		if tt.want.hung == 0 {
			b.limit = 20 * time.Second
		}
		b.feed(t.Context(), "suite", "name", 5, [][]byte{[]byte("{}")})
		got := b.rows[0]
		if got.crashed != tt.want.crashed || got.hung != tt.want.hung || got.refused != tt.want.refused ||
			got.lost != tt.want.lost || got.said != tt.want.said {
			t.Errorf("%s: %+v, want %+v", tt.line, got, tt.want)
		}
		if b.bad() != tt.bad {
			t.Errorf("%s: bad is %v", tt.line, b.bad())
		}
	}
}

// TestRefusalsOfACounterAreLosses: what a tool that counts events refuses is lost.
func TestRefusalsOfACounterAreLosses(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("SKIPPED, NOT CHECKED: no /bin/sh")
	}
	counter, other := script(t, `grep -q bad "$1" && exit 1; echo events: 5`),
		script(t, `grep -q bad "$1" && exit 1; echo fine`)
	for _, tt := range []struct {
		whole int
		want  [2]int
	}{{5, [2]int{1, 0}}, {lossMax, [2]int{}}, {-1, [2]int{}}} {
		b := &bench{dir: t.TempDir(), limit: 20 * time.Second, log: io.Discard, tools: []tool{counter, other}}
		b.feed(t.Context(), "suite", "name", tt.whole, [][]byte{[]byte("bad"), []byte("{}")})
		if got := [2]int{b.rows[0].lost, b.rows[1].lost}; got != tt.want {
			t.Errorf("of %d events: lost %v, want %v", tt.whole, got, tt.want)
		}
	}
}

// TestSteepGrowthIsBad: the exponent decides where the time is more than a start.
func TestSteepGrowthIsBad(t *testing.T) {
	for _, tt := range []struct {
		r    growthRow
		want bool
	}{
		{growthRow{large: time.Second, exponent: 1.34}, false},
		{growthRow{large: time.Second, exponent: 1.36}, true},
		{growthRow{large: leastGrowth, exponent: 2}, false},
		{growthRow{hung: true}, true},
	} {
		b := bench{exponent: 1.35, growth: []growthRow{tt.r}}
		if b.bad() != tt.want {
			t.Errorf("%+v: bad is %v, want %v", tt.r, b.bad(), tt.want)
		}
	}
	b := bench{size: 10, exponent: 1.35, tools: []tool{{name: "x"}}, growth: []growthRow{{shape: "streams", tool: "x", hung: true}}}
	if page := string(b.page(nil)); !strings.Contains(page, "| Shape | x |") || !strings.Contains(page, "| streams | hung |") {
		t.Errorf("the page does not tell: %s", page)
	}
}
