package ladder

import (
	"strings"
	"testing"
)

// TestLookupsOfLayers: a lookup that returns with each layer is none of an embedding; one that returns after a stack
// of layers, or after sampling, is.
func TestLookupsOfLayers(t *testing.T) {
	experts := "nqmongebadex"
	for _, c := range []struct {
		name, kernels string
		want          int // lookups
	}{
		{"one", "e" + letterLayer, 1},
		{"of each pass", strings.Repeat(wholePass(4), 3), 3},
		{"of each run of a draft of one layer that samples", strings.Repeat(wholePass(1), 5), 5},
		{"a word and its position", strings.Repeat("ee"+strings.Repeat(letterLayer, 4), 3), 6},
		{"two in each layer", strings.Repeat("e"+strings.Repeat(experts, 6)+"h", 3), 3},
		{"of what positions add to attention", strings.Repeat("enqqqeoxg"+strings.Repeat(letterLayer, 4)+"h", 3), 3},
		{"of the last tokens, and the next ones", strings.Repeat("e"+strings.Repeat(letterLayer, 4)+"eh", 3), 6},
		{"one in each second layer", strings.Repeat("ex"+strings.Repeat(experts[:9]+letterLayer, 3), 2), 2},
	} {
		w, all := workOfLetters(c.kernels, "")
		if got := w.sequenceOf(all).Count(roleEmbed); got != c.want {
			t.Errorf("%s: %d lookups of embeddings, want %d", c.name, got, c.want)
		}
	}
}

// TestPassesOfExperts: layers that gather tokens by their expert are layers of a pass, whether it samples or not.
func TestPassesOfExperts(t *testing.T) {
	for _, end := range []string{"h", "hs"} {
		pass := "exy" + strings.Repeat("nqmongebadex", 6) + end
		w, _ := workOfLetters(strings.Repeat(pass, 5), "")
		found, err := w.Climb(nil, &Model{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range found.Results {
			if len(r.Kernels) != len(pass) || r.Count != 6 {
				t.Errorf("ends with %q: a pass of %d kernels and %d layers, want %d and 6", end, len(r.Kernels), r.Count,
					len(pass))
			}
		}
		if n := len(found.Results); n != 5 {
			t.Errorf("ends with %q: %d passes, want 5", end, n)
		}
	}
}
