package layer_test

import (
	"testing"

	"github.com/llmstrata/strata/layer"
)

// TestKindsOfBlocks: FLUX.1 has 19 blocks of two streams and 38 of one; some of a kind run a compiled kernel in two
// pieces. No kind has both.
func TestKindsOfBlocks(t *testing.T) {
	d, blocks := analyze(t, open(t, "xdit-flux1-mi300.json.gz"), layer.Options{}), 0
	for i := range d.Passes {
		p := &d.Passes[i]
		if p.NumLayers != 57 {
			continue
		}
		blocks++
		single := map[string]bool{}
		for l, v := range p.Variants(p.Layers()) {
			if l == 0 || l == 56 { // of a type of their own
				continue
			}
			if v == "" {
				t.Errorf("pass %d: block %d is of no kind", i, l)
			}
			if was, seen := single[v]; seen && was != (l >= 19) {
				t.Errorf("pass %d: block %d is of kind %s, as the others are", i, l, v)
			}
			single[v] = l >= 19
		}
	}
	if blocks == 0 {
		t.Error("no pass has 57 blocks")
	}
}
