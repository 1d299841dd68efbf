package apptest

import "testing"

func TestFiguresAreTheSameToTheirLastDigit(t *testing.T) {
	for _, c := range []struct {
		published, ours string
		want            bool
	}{
		{"0.24ms", "0.2449ms", true},
		{"0.24ms", "0.235ms", true},
		{"0.24ms", "0.2456ms", false},
		{"0.24ms", "0.2344ms", false},
		{"0.24ms", "0.24s", false},
		{"0.24", "0.2", false}, // fewer decimals than published
		{"33", "34", false},
		{"33", "33", true},
		{"FIRST", "FIRST", true},
		{"FIRST", "HASH", false},
	} {
		if got := sameFigure(c.published, c.ours); got != c.want {
			t.Errorf("published %s, ours %s: same %v, want %v", c.published, c.ours, got, c.want)
		}
	}
}
