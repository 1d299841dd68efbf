package main

import (
	"slices"
	"testing"
)

const example = `package p

const limit = 0.45

var table [7]int

func f(xs []int, n int, share float32) bool {
	buf := make([]byte, 64)
	return n > 3 && xs[0] != n && len(buf) < int(share*limit*2) && xs[n+1] == 5
}
`

func TestSitesAreNumbersThatDecide(t *testing.T) {
	for kind, want := range map[string][]string{
		number:     {"0.45", "3", "2", "1", "5"},
		comparison: {">", "!=", "<", "=="},
	} {
		sites, err := sitesIn("p/p.go", []byte(example), kind)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range sites {
			got = append(got, s.text)
			if example[s.at:s.at+len(s.text)] != s.text {
				t.Errorf("%s: %q is not at %d", kind, s.text, s.at)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
}

func TestMutantsDiffer(t *testing.T) {
	for _, text := range []string{"0", "1", "64", "0.45", "1e6", "0x1f", "0.0"} {
		if to := otherNumbers(text); len(to) == 0 || slices.Contains(to, text) {
			t.Errorf("%s becomes one of %q", text, to)
		}
	}
	for op, to := range swaps {
		if slices.Contains(to, op.String()) {
			t.Errorf("%s becomes one of %q", op, to)
		}
	}
}

func TestSurvivorsAreExplained(t *testing.T) {
	known, err := explained(survivors + "\na/b.go | x := 3 | 3 → 30 | cost: a size\na/b.go | x < 2 | < | equivalent: never 2\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ line, text, want string }{
		{"x := 3", "3 → 30", costOnly}, {"x := 3", "3 → 4", ""}, {"x < 2", "<", equivalent},
	} {
		if got := known[key("a/b.go", tt.line, tt.text)]; got != tt.want {
			t.Errorf("%s of %s has the reason %q, want %q", tt.text, tt.line, got, tt.want)
		}
	}
	if _, err := explained("a/b.go | x := 3 | 3 | because"); err == nil {
		t.Error("a reason of no kind is taken")
	}
}

// TestSurvivorsOfGoneLines: an entry is listed whose file is read and has no such line any more; of other files nothing is
// known.
func TestSurvivorsOfGoneLines(t *testing.T) {
	b := &bench{sources: []*source{{texts: map[string][]byte{"a/one.go": []byte("package a\n\n\tif x > 0 {\n")}}}}
	known := map[string]string{key("a/one.go", "if x > 0 {", "0"): equivalent, key("a/one.go", "if x > 1 {", "1 → 2"): equivalent,
		key("a/one.go", "if x > 1 {", ">"): equivalent, key("b/two.go", "if x > 1 {", "1"): equivalent}
	if got := b.gone(known); len(got) != 1 || got[0] != "a/one.go: if x > 1 {" {
		t.Errorf("gone: %q, want the one line that its file lacks", got)
	}
}
