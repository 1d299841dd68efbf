package segment

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// kernelsOf writes a sequence by letters: e an embedding, n a norm, m a mixer, p a product, a an activation, s
// sampling; others are kernels of no role.
func kernelsOf(letters string) *Sequence {
	s := &Sequence{}
	for _, l := range letters {
		s.add(l-'a', map[rune]Role{'e': embed, 'n': norm, 'm': mixer, 'p': product, 'a': activation, 's': sample,
			'o': moe, 'x': elementwise}[l])
	}
	return s
}

// TestPartOfTheTarget: what lies before or after a sampling is no part of the layers where it holds a mixer, and one in
// four of the others at most.
func TestPartOfTheTarget(t *testing.T) {
	for _, c := range []struct {
		before, behind int
		want           int // kernels
	}{{8, 0, 25}, {8, 1, 24}, {8, 2, 24}, {8, 3, 34}, {4, 1, 12}, {3, 1, 13}, {4, 0, 13}} {
		s := sampled(c.before, c.behind)
		if part, from := ofTarget(s); part.Len() != c.want || from != 0 {
			t.Errorf("%d mixers in front and %d behind: %d kernels from %d, want %d from 0", c.before, c.behind,
				part.Len(), from, c.want)
		}
	}
	s := kernelsOf("mxs" + strings.Repeat("x", markGap) + strings.Repeat("npmpnpap", 8) + "s")
	if part, from := ofTarget(s); from != 2 || part.Len() != s.Len()-3 {
		t.Errorf("a mixer in front of the first sampling: %d kernels from %d, want all but 3 from 2", part.Len(), from)
	}
	if c, ok := Layers(s, 8); !ok || c.Starts[0] != 3+markGap || c.Starts[8] != s.Len()-1 ||
		s.ID[c.Comb.Pos[0]] != c.Comb.Symbol {
		t.Errorf("layers behind a draft: %+v", c)
	}
}

// TestLayersByRoles: a layer begins with the norm before its mixer, the first of several; a second mixer without
// a feed-forward part between is of the same layer.
func TestLayersByRoles(t *testing.T) {
	for letters, want := range map[string]string{
		"npmpnpapnpmpnpap": "[0 8]", "enpmpnpapnpmpnpaps": "[1 9]", "npmpnpmpnpapnpmpap": "[0 12]", "nnpmpnpap": "[1]",
		"pmpnpap": "[]", "npmponpmpo": "[0 5]", "": "[]", "mmm": "[]", "npmpanpmpa": "[0 5]", "nmpnpapnmpnpap": "[0 7]",
	} {
		if got := fmt.Sprint(layersByRole(kernelsOf(letters), false)); got != want {
			t.Errorf("%s: %s, want %s", letters, got, want)
		}
	}
	s := kernelsOf("mxmxmxmxsm") // the first kernel is a mixer
	if part, _ := ofTarget(s); part.Len() != 8 {
		t.Errorf("four mixers, sampling, and a mixer: %d kernels, want those in front of the sampling", part.Len())
	}
}

// TestInStep: each occurrence of one name has one of the other after it, before the next.
func TestInStep(t *testing.T) {
	for _, c := range []struct {
		b    []int
		want bool
	}{{[]int{5, 15, 25}, true}, {[]int{0, 10, 20}, true}, {[]int{9, 19, 99}, true}, {[]int{10, 15, 25}, false},
		{[]int{5, 20, 25}, false}, {[]int{5, 9, 25}, false}, {[]int{5, 15, 19}, false}} {
		if got := inStep([]int{0, 10, 20}, c.b); got != c.want {
			t.Errorf("%v beside 0, 10, 20: in step %v, want %v", c.b, got, c.want)
		}
	}
	s := kernelsOf("uvwxyuvwgkuvzltrd" + "bcfhijqbcfhijqbcfhijq") // names that occur twice count, too
	for k := 17; k < s.Len(); k++ {
		s.ID[k] += int32(100 * k) // each of its own
	}
	s.ID[10], s.ID[11] = 90, 91
	if got := fmt.Sprint(StepGroups(s)); got != "[[0 5]]" {
		t.Errorf("groups that occur in step: %s, want that of u, v and w", got)
	}
}

func TestMixersOfARange(t *testing.T) {
	s := kernelsOf("mxmxm")
	for _, c := range [][4]int{{0, 5, 3, 4}, {1, 5, 2, 4}, {0, 4, 2, 2}, {0, 1, 1, 0}, {1, 2, 0, -1}, {3, 3, 0, -1}} {
		if n, last := Mixers(s, c[0], c[1]); n != c[2] || last != c[3] {
			t.Errorf("from %d to %d: %d mixers up to %d, want %d and %d", c[0], c[1], n, last, c[2], c[3])
		}
	}
}

// TestExplainedByNeighbours: a layer is explained by one that is like it among the four before it and the four
// after it, at either end of the stack as well.
func TestExplainedByNeighbours(t *testing.T) {
	for kinds, want := range map[string]int{
		"bbbbbbbbbb": 10, "abbbabbbbb": 10, "abbbbabbbb": 8, "bbbbbabbba": 10, "bbbbabbbba": 8, "aabbbbbbbb": 10,
		"bbbbbbbbaa": 10, "abbbbbbbbb": 9, "bbbbbbbbba": 9, "ab": 0, "aa": 2,
	} {
		s := &Sequence{}
		c := &Cut{Starts: []int{0}}
		for _, kind := range kinds {
			for k := range 4 {
				s.add(10*(kind-'a')+int32(k), 0)
			}
			c.Starts = append(c.Starts, s.Len())
		}
		if got := Explained(s, c); got != 4*want {
			t.Errorf("%s: %d kernels are explained, want those of %d layers", kinds, got, want)
		}
	}
}

// TestGuessesOfOneCount: where all names occur equally often that is the number of layers; nothing is guessed of
// nothing.
func TestGuessesOfOneCount(t *testing.T) {
	for n := 4; n < 9; n++ {
		if g := Guesses(stack(n, 8), false); len(g) != 1 || g[0].N != n || g[0].Support != 1 {
			t.Errorf("%d units: %+v", n, g)
		}
	}
	if g := Guesses(&Sequence{}, false); g != nil {
		t.Errorf("no kernels: %+v", g)
	}
	if g := Guesses(stack(1, 8), false); g != nil {
		t.Errorf("kernels that run once: %+v", g)
	}
}

// TestNearSupport: a name that occurs one in twenty times less often than once a layer is near it.
func TestNearSupport(t *testing.T) {
	for occurs, want := range map[int]float64{20: 1, 19: 1, 18: 0, 21: 0, 38: 1, 37: 0, 40: 1, 1: 0} {
		s := &Sequence{}
		for range occurs {
			s.add(0, 0)
		}
		if got := nearSupport(s, 20); got != want {
			t.Errorf("%d times in 20 layers: %v, want %v", occurs, got, want)
		}
	}
}

// TestDropSurplus: one layer more than the next guess is dropped where that explains more, is as much alike, and the
// first or the last of the layers has nothing in common with its neighbour.
func TestDropSurplus(t *testing.T) {
	for _, c := range []struct {
		name        string
		more, less  Guess
		front, like bool
		want        string
	}{
		{"a kernel in front", Guess{N: 9, Support: 0.5, Similarity: 0.8}, Guess{N: 8, Support: 0.6, Similarity: 0.8},
			true, false, "[8]"},
		{"a kernel behind", Guess{N: 9, Support: 0.5, Similarity: 0.8}, Guess{N: 8, Support: 0.6, Similarity: 0.8},
			false, false, "[8]"},
		{"like its neighbour", Guess{N: 9, Support: 0.5, Similarity: 0.8}, Guess{N: 8, Support: 0.6, Similarity: 0.8},
			true, true, "[9 8]"},
		{"explains as much", Guess{N: 9, Support: 0.6, Similarity: 0.8}, Guess{N: 8, Support: 0.6, Similarity: 0.8},
			true, false, "[9 8]"},
		{"more alike", Guess{N: 9, Support: 0.5, Similarity: 0.8}, Guess{N: 8, Support: 0.6, Similarity: 0.7}, true,
			false, "[9 8]"},
		{"two more", Guess{N: 9, Support: 0.5, Similarity: 0.8}, Guess{N: 7, Support: 0.6, Similarity: 0.8}, true,
			false, "[9 7]"},
	} {
		s := &Sequence{}
		unit := func(own bool) {
			s.add(0, norm)
			for k := 1; k < 6; k++ {
				if own {
					s.add(int32(100+k), 0)
				} else {
					s.add(int32(k), 0)
				}
			}
		}
		unit(c.front && !c.like)
		for range 7 {
			unit(false)
		}
		unit(!c.front && !c.like)
		var got []int
		for _, g := range dropSurplus(s, []Guess{c.more, c.less}) {
			got = append(got, g.N)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
	}
	if got := dropSurplus(&Sequence{}, []Guess{{N: 9}}); len(got) != 1 {
		t.Errorf("a guess without another is dropped")
	}
}

// TestNormsClose: two lookups and a kernel that layers do not run between the norm and the first product, or none where
// layers have a norm, say that norms follow the halves of layers; so do three and nothing but sums before the norm.
func TestNormsClose(t *testing.T) {
	for _, c := range []struct {
		front string
		norm  bool // the first layer begins with the last kernel of the front
		want  bool
	}{
		{"eexen", true, true}, {"een", true, false}, {"eeewn", true, false}, {"enenen", true, true}, {"enene", false, true},
		{"eenx", false, true}, {"enx", false, false}, {"eex", false, true}, {"x", false, false}, {"eeepmpn", true, true},
		{"epmpn", true, false},
	} {
		s := kernelsOf(c.front + "pmpnpapnpmpnpapn")
		opened := []int{len(c.front) - 1, len(c.front) + 7}
		if got := normsClose(s, opened); got != c.want {
			t.Errorf("%q before the layers: %v, want %v", c.front, got, c.want)
		}
	}
}

// TestSettleVotes: of numbers of layers near the one with most votes that counts which explains most kernels of the
// passes that show them, whatever the order of votes.
func TestSettleVotes(t *testing.T) {
	for _, c := range []struct {
		votes map[int]int
		shows []int // layers of the pass that shows each
		want  int
	}{
		{map[int]int{8: 1}, []int{8}, 8},
		{map[int]int{1: 1}, []int{8}, 1},
		{map[int]int{4: 9, 8: 1}, []int{8, 8}, 8}, // both passes have eight
		{map[int]int{8: 5, 9: 3}, []int{8, 8}, 8},
		{map[int]int{7: 5, 8: 3}, []int{7, 8}, 7}, // a prefill behind a tower of eight, and decode steps of seven
		{map[int]int{3: 9, 8: 1}, []int{3, 8}, 3}, // too far apart to be nearly equal
	} {
		shows := map[int]*Sequence{}
		for _, n := range slices.Sorted(maps.Keys(c.votes)) {
			shows[n] = layersOf(c.shows[len(shows)])
		}
		if got := Settle(shows, c.votes); got != c.want {
			t.Errorf("votes %v: %d, want %d", c.votes, got, c.want)
		}
	}
}
