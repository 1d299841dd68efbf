package segment

import (
	"slices"
	"strings"
	"testing"
)

// kernelsNamed is a sequence of kernels whose names, each a word, begin with a letter for their role.
func kernelsNamed(names string) *Sequence {
	role := map[byte]Role{'e': embed, 'n': Norm, 'p': product, 'm': mixer, 'a': activation, 'x': elementwise, 's': sample}
	s, ids := &Sequence{}, map[string]int32{}
	for _, name := range strings.Fields(names) {
		id, ok := ids[name]
		if !ok {
			id = int32(len(ids))
			ids[name] = id
		}
		s.add(id, role[name[0]])
	}
	return s
}

// TestLayersInTurns: every fourth layer of Qwen 3.5 attends, the others, written out in single operations, scan. Of
// eight layers two attend, and the last one, which nothing follows, is a layer as the fourth is.
func TestLayersInTurns(t *testing.T) {
	rsqrt := "osquare omean oepsilon xroot "
	norm := "ncast " + rsqrt + "ocast xepsilon xweight oout "
	feed := norm + "pwide asilu pwide xmul psplit preduce xadd "
	scan := norm + "pmixed pwide pheads pheads ocat ocopy mconvolve acut asoftplus ocast xexp xneg ocast xbias adecay " +
		"xweight ocopy ocopy ocast ocast ocast ocast xweight xsquares xepsilon xroot xweight xsquares xepsilon xroot " +
		"xscale xbeta xexp xtimes xtimes xreduce xsub xtimes xtimes xsub xtimes xreduce omove oout omove " +
		"ncast " + rsqrt + "oout xgather ocast agate xmulfloat oout psplit preduce xadd "
	heads := rsqrt + "ocast xepsilon xtimes oout "
	attend := norm + "pwide ocopy ncopy " + heads + "pnarrow ncast " + heads + "pnarrow " +
		strings.Repeat("xgather xturn ojoin xgather xadd ", 2) +
		"ojoin ojoin okeys okeys mattention asigmoid xmul pwide xadd "
	s := kernelsNamed("elookup xcast xcos xsin " + strings.Repeat(strings.Repeat(scan+feed, 3)+attend+feed, 2) + norm +
		"phead sargmax")
	if n := Number(s); n != 8 {
		t.Fatalf("%d layers, want 8", n)
	}
	c, ok := Layers(s, 8)
	if !ok {
		t.Fatal("no layers")
	}
	scans, attends := len(strings.Fields(scan+feed)), len(strings.Fields(attend+feed))
	want := []int{4}
	for l := range 8 {
		want = append(want, want[l]+scans)
		if l%4 == 3 {
			want[l+1] = want[l] + attends
		}
	}
	if !slices.Equal(c.Starts, want) {
		t.Errorf("layers begin at %v, want %v", c.Starts, want)
	}
}

// TestWrittenOutLayers: where layers begin, and how many there are, in passes that run as transformers 5.17 writes these
// models: the norms of OLMo 2 follow the halves of layers and are the same kernels as those of queries and keys; a
// layer of Falcon-H1 mixes twice behind one norm.
func TestWrittenOutLayers(t *testing.T) {
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
		s := kernelsNamed(c.before + strings.Repeat(c.layer, layers) + c.after)
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
		{"much shorter", "abcdefghij", "abcdef", false}, {"shorter", "abcdefghij", "abcdefg", true},
		{"13 of 20 in common", "abcdefghijklmnopqrst", "abcdefghijklmABCDEFG", true},
		{"12 of 20", "abcdefghijklmnopqrst", "abcdefghijklABCDEFGH", false},
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

// withNorms has kernels of names; what one named "ocast" begins is a norm that is written out where "osquare" follows.
func withNorms(names string) *Sequence {
	s, list := kernelsNamed(names), strings.Fields(names)
	for k := range len(list) - 1 {
		if list[k] == "ocast" && list[k+1] == "osquare" {
			s.Role[k] = norm
		}
	}
	return s
}

// TestPartsWrittenOut: layers that are a norm and a mixer, or a feed-forward part, each, in single operations: no name
// runs once a layer, and the final norm runs the kernels of a layer.
func TestPartsWrittenOut(t *testing.T) {
	n := "ocast osquare omean xroot xmul ocast xmul "
	parts := map[rune]string{
		'M': n + "pin ocast xmul ocopy xmul oscan mstep xmul ocast xexp xmul osum ocast xmul xroot pout xadd ",
		'-': n + "pup aclamp xmul pdown xadd ", '*': n + "pq pk pv ocat ocat mflash po xadd "}
	pattern := strings.Repeat("M-M-M*-", 4) + "M-M-"
	names, want := "elookup oarange ", []int{2}
	for _, p := range pattern {
		names += parts[p]
		want = append(want, len(strings.Fields(names)))
	}
	s := withNorms(names + n + "phead ocast sargmax xcmp xmul")
	if got := Number(s); got != len(pattern) {
		t.Fatalf("%d layers, want %d", got, len(pattern))
	}
	c, ok := Layers(s, len(pattern))
	if !ok || !slices.Equal(c.Starts, want) || c.Comb.Occurs(s) != len(pattern) {
		t.Errorf("%v: layers begin at %v, want %v; the anchor occurs %d times", ok, c.Starts, want, c.Comb.Occurs(s))
	}
}

// TestSharedBlock: a block of attention and feed-forward before every sixth layer of a state space is of that layer,
// and no layer that a comb lacks, although it runs single operations as the others do.
func TestSharedBlock(t *testing.T) {
	n := "ocast osquare omean xroot xmul ocast xmul "
	mamba := n + "pin ocast xmul osum xadd xsilu ocast xexp xneg xadd xmul xexp ocopy xmul xmul mstep xadd pout xadd "
	shared := "ocat " + n + "pq pk pv ocat ocat mflash po pgate agelu xmul pdown plinear xadd "
	names, want := "elookup ", []int{1}
	for i := range 38 {
		if i%6 == 5 {
			names += shared
		}
		names += mamba
		want = append(want, len(strings.Fields(names)))
	}
	s := withNorms(names + n + "phead sargmax")
	if got := Number(s); got != 38 {
		t.Fatalf("%d layers, want 38", got)
	}
	if c, ok := Layers(s, 38); !ok || !slices.Equal(c.Starts, want) {
		t.Errorf("%v: layers begin at %v, want %v", ok, c.Starts, want)
	}
}
