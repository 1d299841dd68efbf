package layer

import (
	"testing"

	"github.com/llmstrata/strata/layer/internal/operator"
)

// TestAtEdge: operators move kernels at the edges of layers, one after the other, and none out of the middle.
func TestAtEdge(t *testing.T) {
	for _, c := range []struct {
		layers, to string // a letter for each kernel
		k          int
		want       bool
	}{
		{"aaabbb", "aaabbb", 0, true}, // where nothing moves nothing is asked
		{"aaabbb", "aabbbb", 2, true},
		{"aaabbb", "aaaabb", 3, true},
		{"aaabbb", "abbbbb", 1, true},  // with the one after it
		{"aaabbb", "abbbbb", 2, true},  // which moves, too
		{"aaabbb", "ababbb", 1, false}, // what follows it stays
		{"aaabbb", "aaabab", 4, false},
		{"aaabbb", "aaacbb", 3, false}, // of no layer beside it
		{"aaabbb", "caabbb", 0, true},  // the pass begins there
		{"aaabbb", "aaabbc", 5, true},
	} {
		layers, found := make([]int32, len(c.layers)), make([]operator.Found, len(c.to))
		for i := range layers {
			layers[i], found[i].Layer = int32(c.layers[i]), int32(c.to[i])
		}
		if got := atEdge(layers, found, c.k); got != c.want {
			t.Errorf("layers %s, operators of %s, kernel %d: %v, want %v", c.layers, c.to, c.k, got, c.want)
		}
	}
}
