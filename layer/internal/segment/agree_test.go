package segment

import (
	"fmt"
	"strings"
	"testing"
)

// TestPassesAgree: four passes that each lack records are read by what they ran together, and lack what they lost; what
// only the longest of them runs is none of it, and neither is what the GPU did not idle for.
func TestPassesAgree(t *testing.T) {
	const all = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"
	// without leaves kernels out: the GPU idles where they ran.
	without := func(letters string, at ...int) string {
		out := []byte(letters)
		for _, k := range at {
			out[k], out[k+1] = '.', out[k+1]-'a'+'A'
		}
		return strings.ReplaceAll(string(out), ".", "")
	}
	for _, c := range []struct {
		name   string
		passes []string
		want   string // what each pass lacks: columns
	}{
		{"each lacks others", []string{without(all, 3), without(all, 10, 30), without(all, 20, 50), without(all, 40, 60)},
			"78 [3] [10 30] [20 50] [40 60]"},
		{"the longest has one more", []string{all[:5] + "Q" + all[5:], without(all, 10), without(all, 20), without(all, 30)},
			"78 [] [10] [20] [30]"},
		{"one did not idle where it runs one less", []string{without(all, 3), without(all, 10, 30),
			without(all, 20, 50), without(all[:3]+all[4:], 59)}, "78 [3] [10 30] [20 50] [60]"},
		{"the GPU did not idle", []string{all[:3] + all[4:], without(all, 10, 30), without(all, 20, 50), without(all, 40, 60)},
			"77 [] [9 29] [19 49] [39 59]"},
	} {
		var pieces []Stretch
		for _, letters := range c.passes {
			s, _ := stretchOfLetters(letters)
			for k := range s.Gap {
				s.Gap[k], s.Time[k] = 1000*s.Gap[k], 50_000
			}
			pieces = append(pieces, s)
		}
		clusters, read := Find(pieces, func() bool { return false })
		if len(clusters) != 1 || clusters[0].Members != len(pieces) {
			t.Errorf("%s: %d kinds of passes", c.name, len(clusters))
			continue
		}
		got := fmt.Sprint(clusters[0].Len())
		for p := range read {
			var lacks []int
			for _, g := range read[p].Passes[0].Missing {
				for j := g.From; j < g.To; j++ {
					lacks = append(lacks, j)
				}
			}
			got += fmt.Sprintf(" %v", lacks)
			for k, j := range read[p].Passes[0].Column {
				if j != NoColumn && clusters[0].Base[j] != pieces[p].Base[k] {
					t.Errorf("%s: kernel %d of pass %d is column %d", c.name, k, p, j)
				}
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
