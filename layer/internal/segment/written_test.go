package segment

import (
	"slices"
	"strings"
	"testing"
)

// TestWrittenOutLayers: where layers begin, and how many there are, in passes that run as transformers 5.17 writes these
// models: the norms of OLMo 2 follow the halves of layers and are the same kernels as those of queries and keys; a
// layer of Falcon-H1 mixes twice behind one norm.
func TestWrittenOutLayers(t *testing.T) {
	role := map[byte]Role{'e': embed, 'n': Norm, 'p': product, 'm': mixer, 'a': activation, 'x': elementwise, 's': sample}
	norm := "n xsquare xmean xepsilon xroot xtimes xweight xcast "
	attention := "ptall " + norm + "ptall " + norm + "ptall xrope xturn xrope xturn xcopy xcopy mattention ptall "
	feed := "pwide asilu pwide xmul ptall "
	for _, c := range []struct{ name, before, layer, after string }{
		{"norms behind the halves", "elookup xcast product xcos xsin ", attention + norm + "xadd " + feed + norm + "xadd ",
			norm + "pwide sargmax"},
		{"norms behind the halves, nothing sampled", "elookup xcast product xcos xsin ", attention + norm + "xadd " +
			feed + norm + "xadd ", norm + "pwide"},
		{"two mixers beside each other", "elookup xcast ",
			"n xscale pin xmul xpad mconv asilu xmul xcast xadd xmul pout xadd xscale " +
				"pq xscale pk pv xmul xcast xmul xadd mattention po xadd xadd n " + feed + "xadd ", "n pwide sargmax"},
	} {
		const layers = 10
		names := strings.Fields(c.before + strings.Repeat(c.layer, layers) + c.after)
		s := &Sequence{}
		ids := map[string]int32{}
		for _, name := range names {
			id, ok := ids[name]
			if !ok {
				id = int32(len(ids))
				ids[name] = id
			}
			s.add(id, role[name[0]])
		}
		first, period := len(strings.Fields(c.before)), len(strings.Fields(c.layer))
		if n := Number(s); n != layers {
			t.Errorf("%s: %d layers, want %d", c.name, n, layers)
			continue
		}
		cut, ok := Best(s, layers)
		if !ok {
			t.Errorf("%s: no layers", c.name)
			continue
		}
		var want []int
		for l := range layers + 1 {
			want = append(want, first+l*period)
		}
		if !slices.Equal(cut.Starts, want) {
			t.Errorf("%s: layers begin at %v, want %v", c.name, cut.Starts, want)
		}
	}
}

// TestSameLayer: two units are layers of one kind or another where most of their kernels run in the same order, and not
// where they only have them in common, as the halves of a layer that is written out do.
func TestSameLayer(t *testing.T) {
	for _, c := range []struct {
		name, one, other string
		want             bool
	}{
		{"equal", "abcdefghij", "abcdefghij", true},
		{"another mixer", "abcdefghij", "abcxyfghij", true},
		{"in another order", "abcdefghij", "jihgfedcba", false},
		{"halves", "aabbccddee", "ebdacebdac", false},
		{"much shorter", "abcdefghij", "abcdef", false},
	} {
		s := &Sequence{}
		for _, k := range c.one + c.other {
			s.add(k-'a', 0)
		}
		if got := sameLayer(s, 0, len(c.one), len(c.one), s.Len()); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}
