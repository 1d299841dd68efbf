package main

import (
	"go/importer"
	"go/token"
	"math/rand/v2"
	"strings"
	"testing"
)

const example = `package p

const limit = 0.45

const total = 3 * limit

var table [7]int

func f(xs []int, n int, share float32) bool {
	buf := make([]byte, 64)
	return n > 3 && xs[0] != n && len(buf) < int(share*limit*2) && xs[n+1] == 5
}
`

func read(t *testing.T, text string) *source {
	t.Helper()
	s, wrong, err := check("p", token.NewFileSet(), map[string]string{"p/p.go": text}, importer.Default())
	if err != nil || len(wrong) > 0 {
		t.Fatal(err, wrong)
	}
	return s
}

func TestSitesAreNumbersThatDecide(t *testing.T) {
	for k, want := range map[kind][]string{
		number:     {"0.45", "3", "3", "2", "1", "5"},
		comparison: {">", "!=", "<", "=="},
	} {
		got := read(t, example).sites(k)
		if len(got) != len(want) {
			t.Fatalf("%s: %d places, want %d: %+v", k, len(got), len(want), got)
		}
		for i, s := range got {
			if s.text != want[i] || example[s.at:s.at+len(s.text)] != s.text {
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
	for text, want := range map[string]string{"-1": "0", "1": "2", "n - 1": "2"} {
		sites := read(t, "package p\n\nvar n = 3\nvar x = "+text+"\n").sites(number)
		if got := sites[1].mutated(rng); got != want {
			t.Errorf("1 of %s becomes %s, want %s", text, got, want)
		}
	}
	for op, to := range swaps {
		got := site{text: op.String(), kind: comparison}.mutated(rng)
		if got != to[0] && got != to[1] {
			t.Errorf("%s becomes %s, want one of %v", op, got, to)
		}
	}
}

// Each change is behind a switch of its own, with the type that the place has; a
// constant that another constant needs can not be switched.
func TestSwitches(t *testing.T) {
	s := read(t, strings.Replace(example, "const total = 3 * limit\n", "", 1))
	for text, want := range map[string]string{
		"0.45": "share*mutantswitch.Of[float32](7, limit, limit_mutant7)*2",
		"3":    "n > mutantswitch.Of[int](7, 3, 9)",
		"1":    "xs[n+mutantswitch.Of[int](7, 1, 9)]",
		">":    "(mutantswitch.On(7) && (n 9 3) || mutantswitch.Off(7) && (n > 3))",
	} {
		for _, at := range append(s.sites(number), s.sites(comparison)...) {
			if at.text != text {
				continue
			}
			got := s.switched([]mutant{{site: at, id: 7, to: "9"}})["p/p.go"]
			if !strings.Contains(got, want) {
				t.Errorf("%s: %s\nwant %s", text, got, want)
			}
		}
	}
	s = read(t, example)
	if _, _, ok := s.edits(mutant{site: s.sites(number)[0], id: 7, to: "0"}); ok {
		t.Error("limit can be switched, though total needs it at compile time")
	}
}

func TestSurvivorsAreExplained(t *testing.T) {
	known, err := readSurvivors(survivors + "\na/b.go | x := 3 | 3 → 30 | cost: a size\na/b.go | x < 2 | < | equivalent: never 2\n")
	if err != nil {
		t.Fatal(err)
	}
	m := mutant{site: site{file: "a/b.go", line: 5, text: "3"}, to: "30"}
	if got := known.reason(m, "x := 3"); got != costOnly {
		t.Errorf("reason %q, want %q", got, costOnly)
	}
	m.to = "4"
	if got := known.reason(m, "x := 3"); got != "" {
		t.Errorf("another change of the line has the reason %q, want none", got)
	}
	m = mutant{site: site{file: "a/b.go", line: 9, text: "<"}, to: ">="}
	if got := known.reason(m, "x < 2"); got != equivalent {
		t.Errorf("reason %q, want %q", got, equivalent)
	}
	if _, err := readSurvivors("a/b.go | x := 3 | 3 | because"); err == nil {
		t.Error("a reason of no kind is taken")
	}
}
