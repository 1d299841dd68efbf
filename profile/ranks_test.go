package profile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSizesInNames: the ranks 0 … n−1 beside each other are n; one rank alone, or a gap, says nothing; "tp8" alone
// is a label.
func TestSizesInNames(t *testing.T) {
	for _, c := range []struct {
		name, files, own string
		tp, ep, rank     int
		only             bool
	}{
		{"SGLang", "1-TP-0.json 1-TP-1.json", "1-TP-0.json", 2, 0, 0, true},
		{"other run beside it", "1-TP-0.json 1-TP-1.json x-TP-2.json", "1-TP-0.json", 2, 0, 0, true},
		{"another time", "17000-TP-0.json 17001-TP-1.json", "17000-TP-0.json", 2, 0, 0, true},
		{"short numbers differ", "170-TP-0.json 171-TP-1.json", "170-TP-0.json", 0, 0, 0, true},
		{"one alone", "1-TP-0.json", "1-TP-0.json", 0, 0, 0, true},
		{"a gap", "1-TP-0.json 1-TP-2.json", "1-TP-0.json", 0, 0, 0, true},
		{"without the first", "1-TP-1.json 1-TP-2.json", "1-TP-1.json", 0, 0, 0, true},
		{"two kinds", "1-TP-0-EP-0.json 1-TP-1-EP-1.json", "1-TP-0-EP-0.json", 2, 2, 0, false},
		{"data parallel beside it", "1-TP-0-DP-0.json 1-TP-1-DP-0.json", "1-TP-0-DP-0.json", 2, 0, 0, false},
		{"ranks", "rank0.json rank1.json rank2.json", "rank1.json", 0, 0, 3, false},
		{"a label", "llama-tp8-bs32.json", "llama-tp8-bs32.json", 8, 0, 0, false},
		{"the smallest label", "llama-tp2.json", "llama-tp2.json", 2, 0, 0, false},
		{"no power of two", "llama-tp6.json", "llama-tp6.json", 0, 0, 0, false},
		{"one is no size", "llama-tp1.json", "llama-tp1.json", 0, 0, 0, false},
		{"a rank beside the label", "tp8-rank0.json", "tp8-rank0.json", 0, 0, 0, false},
		{"a rank is no label", "rank8.json", "rank8.json", 0, 0, 0, false},
		{"a label of experts", "x_ep4.json", "x_ep4.json", 0, 4, 0, false},
		{"directory", "a.txt 1-TP-0.json 1-TP-1.json", "", 2, 0, 0, true},
		{"no marker", "a.json", "a.json", 0, 0, 0, false},
		{"part of a word", "http0.json http1.json", "http0.json", 0, 0, 0, false},
	} {
		dir := t.TempDir()
		for _, f := range strings.Fields(c.files) {
			if err := os.WriteFile(filepath.Join(dir, f), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		path := dir
		if c.own != "" {
			path = filepath.Join(dir, c.own)
		}
		n := readRunNames(path)
		if n.Kinds["tp"].N != c.tp || n.Kinds["ep"].N != c.ep || n.Kinds["rank"].N != c.rank || n.Ranks != c.rank ||
			n.OnlyTP != c.only {
			t.Errorf("%s: %+v, want TP %d, EP %d, ranks %d, only TP %v", c.name, n, c.tp, c.ep, c.rank, c.only)
		}
		if got := runDir(path); got != dir {
			t.Errorf("%s: directory %s, want %s", c.name, got, dir)
		}
	}
	dir := t.TempDir()
	for _, f := range []string{"TP-0.json", "TP-1.json"} {
		if err := os.WriteFile(filepath.Join(dir, f), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := readRunNames(filepath.Join(dir, "TP-0.json")).Kinds["tp"].Source,
		"file names: tp 0…1 in "+dir; got != want {
		t.Errorf("source %q, want %q", got, want)
	}
	if n := readRunNames(""); len(n.Kinds) != 0 || n.Ranks != 0 || n.OnlyTP {
		t.Errorf("no path: %+v", n)
	}
}
