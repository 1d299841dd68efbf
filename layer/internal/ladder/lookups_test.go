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
		{"of experts in each second layer that mixes twice",
			strings.Repeat("e"+strings.Repeat("nqmonqmongadnqmonqmonbex", 6)+"h", 3), 3},
		{"of layers without experts that mix twice", strings.Repeat("e"+strings.Repeat("nqmonqmongad", 2)+"nhx", 3), 3},
		{"of what positions add to scores", strings.Repeat("enqqqgeoxg"+strings.Repeat(letterLayer, 4)+"h", 3), 3},
		{"of passes in which nothing is known to mix", strings.Repeat("eqxqxqxqxqx", 3), 3},
		{"one in each second layer", strings.Repeat("ex"+strings.Repeat(experts[:9]+letterLayer, 3), 2), 2},
	} {
		w, all := workOfLetters(c.kernels, "")
		if got := w.sequenceOf(all).Count(roleEmbed); got != c.want {
			t.Errorf("%s: %d lookups of embeddings, want %d", c.name, got, c.want)
		}
	}
}

// TestPassesOfUnknownKernels: where nothing samples, what an embedding begins and what recurs is a pass, though no
// layer is known in it; where something samples it is none.
func TestPassesOfUnknownKernels(t *testing.T) {
	const unknown = "bcfijklpruvqwxyzBDFGHIJKLMN"
	for text, want := range map[string]int{
		strings.Repeat("e"+unknown, 4):       4,
		strings.Repeat("e"+unknown, 4) + "s": 1,
	} {
		w, _ := workOfLetters(text, "")
		found, err := w.Climb(nil, &Model{})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(found.Results); n != want {
			t.Errorf("%d passes, want %d", n, want)
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
