package main

import (
	"math/rand/v2"
	"testing"
)

const source = `package p

const limit = 0.45

var table [7]int

func f(xs []int, n int) bool {
	buf := make([]byte, 64)
	return n > 3 && xs[0] != n && len(buf) < limit*2 && xs[n+1] == 5
}
`

func TestSitesAreNumbersThatDecide(t *testing.T) {
	for k, want := range map[kind][]string{
		number:     {"0.45", "3", "2", "1", "5"},
		comparison: {">", "!=", "<", "=="},
	} {
		got, err := sitesIn("p.go", []byte(source), k)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Fatalf("%s: %d places, want %d: %+v", k, len(got), len(want), got)
		}
		for i, s := range got {
			if s.text != want[i] || source[s.at:s.at+len(s.text)] != s.text {
				t.Errorf("%s %d: %q at %d, want %q there", k, i, s.text, s.at, want[i])
			}
		}
	}
}

func TestMutantsDiffer(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, text := range []string{"0", "1", "64", "0.45", "1e6", "0x1f", "0.0"} {
		for range 20 {
			if got := (site{text: text}).mutated(rng); got == text {
				t.Errorf("%s stays %s", text, got)
			}
		}
	}
	for op, to := range swaps {
		got := site{text: op.String(), kind: comparison}.mutated(rng)
		if got != to[0] && got != to[1] {
			t.Errorf("%s becomes %s, want one of %v", op, got, to)
		}
	}
}
