package layer

import (
	"slices"
	"strings"
	"testing"
)

// TestGroupsOfLayers: layers of one kind have enough kernels in common with its first, and no more than one group
// beyond those worth a name is looked for.
func TestGroupsOfLayers(t *testing.T) {
	double, single := strings.Repeat("d", 20)+strings.Repeat("s", 20), strings.Repeat("s", 20)
	for _, c := range []struct {
		what  string
		least float64
		runs  []string
		want  string
	}{
		{"one kind", 1, []string{"ab", "ab", "ab"}, "AAA"},
		{"in turns", 1, []string{"ab", "ac", "ab", "ac"}, "ABAB"},
		{"order does not count, how often does", 1, []string{"aab", "aba", "ab"}, "AAB"},
		{"nothing runs", 1, []string{"", "", "a"}, "AAB"},
		{"five", 1, []string{"a", "b", "c", "d", "e", "a"}, "ABCDE"},
		{"one kernel more", alike, []string{double, single, double + "x", single + "x", single + "y"}, "ABABB"},
		{"nine in ten", alike, []string{"aaaaaaaaab", "aaaaaaaaac"}, "AA"},
		{"less", alike, []string{"aaaaaaaab", "aaaaaaaac"}, "AB"},
	} {
		var runs []layerRun
		for i, s := range c.runs {
			r := layerRun{at: i, names: strings.Split(s, "")}
			slices.Sort(r.names)
			runs = append(runs, r)
		}
		got := make([]byte, 0, len(runs))
		for i := range runs {
			for k, g := range groupRuns(runs, c.least) {
				if slices.ContainsFunc(g, func(r layerRun) bool { return r.at == i }) {
					got = append(got, 'A'+byte(k))
				}
			}
		}
		if string(got) != c.want {
			t.Errorf("%s: groups %s, want %s", c.what, got, c.want)
		}
	}
}
