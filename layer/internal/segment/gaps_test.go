package segment

import (
	"fmt"
	"slices"
	"testing"
)

// gapped is units of so many kernels each, equal ones by equal letters, and where they begin and the last one ends; a letter of two cases holds two units of that kind between two teeth.
func gapped(units string, length int) (s *Sequence, pos []int) {
	s = &Sequence{}
	put := func(kind rune) {
		for k := range length {
			r := other
			if k == 1 {
				r = mixer
			}
			s.add(20*(kind-'a')+int32(k), r)
		}
	}
	for _, u := range units {
		pos = append(pos, s.Len())
		if u < 'a' {
			u += 'a' - 'A'
			put(u)
		}
		put(u)
	}
	return s, append(pos, s.Len())
}

// TestTeethThatAreMissing: a gap of two units is filled where it holds the kernels of two usual ones, wherever it stands, and up to the number of layers.
func TestTeethThatAreMissing(t *testing.T) {
	p := DefaultParams()
	for _, c := range []struct {
		units string
		n     int // teeth there may be, 0 for any
		want  string
	}{
		{"aaaaaa", 0, "[]"}, {"aaAaaa", 0, "[18]"}, {"Aaaaaa", 0, "[6]"}, {"aaaaaA", 0, "[36]"}, {"aAaaAa", 0, "[12 36]"}, {"aabBaa", 0, "[]"}, {"aaAbb", 0, "[18]"}, {"bbAaa", 0, "[]"}, {"aAa", 0, "[]"}, {"aA", 0, "[]"}, {"AAa", 0, "[]"},
		{"aaAaaa", 7, "[]"}, {"aaAaaa", 8, "[18]"}, {"aAaaAa", 8, "[12]"}, {"aAaaAa", 9, "[12 36]"}, {"aAaaAa", 7, "[]"},
	} {
		s, pos := gapped(c.units, 6)
		var got []int
		for _, at := range p.fillGaps(s, pos, c.n) {
			if !slices.Contains(pos, at) {
				got = append(got, at)
			}
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s, %d teeth at most: new ones at %v, want %s", c.units, c.n, got, c.want)
		}
	}
}

// TestNearestUsualPair: two neighbouring usual gaps, the nearest to the one that is looked at, in front of it first.
func TestNearestUsualPair(t *testing.T) {
	for _, c := range []struct {
		usual string // u for a usual gap
		k     int
		want  int
	}{{"uuxuu", 2, 0}, {"xxxuu", 2, 3}, {"uxxuu", 1, 3}, {"xuu", 0, 1}, {"uux", 2, 0}, {"uxuxu", 2, -1}, {"uuxxx", 4, 0}, {"x", 0, -1}, {"uuu", 1, -1}, {"uuuu", 1, 2}, {"uuuu", 2, 0}, {"xxxxxuu", 0, 5}} {
		usual := func(k int) bool { return k >= 0 && k < len(c.usual) && c.usual[k] == 'u' }
		if got := nearestPair(c.k, len(c.usual), usual); got != c.want {
			t.Errorf("%s, gap %d: %d, want %d", c.usual, c.k, got, c.want)
		}
	}
}

// TestUnitsInTurns: kinds of units that return after four at most are as alike as they are to the last one of their kind.
func TestUnitsInTurns(t *testing.T) {
	p := DefaultParams()
	for units, want := range map[string]float64{"aaaa": 1, "abab": 2.0 / 3, "ababab": 0.8, "abcabc": 0.6, "abcdabcd": 4.0 / 7, "abcdeabcde": 0, "ab": 0, "aa": 1, "a": 0, "abba": 2.0 / 3} {
		s, pos := gapped(units, 5)
		if got := likeness(s, pos, p.Turns); got < want-1e-9 || got > want+1e-9 {
			t.Errorf("%s: %v, want %v", units, got, want)
		}
	}
}

// TestPartsOfLayers: units of which every second, third or fourth holds a mixer are parts of layers; so are fewer than 24, which show no pattern.
func TestPartsOfLayers(t *testing.T) {
	p := DefaultParams()
	for _, c := range []struct {
		mixers string // repeated
		n      int
		want   bool
	}{{"m.", 24, true}, {"m..", 24, true}, {"m...", 24, true}, {"m....", 25, false}, {"m....", 24, false}, {"m....", 23, true}, {"mm.", 30, true}, {"m.m..", 30, false}, {"m", 30, true}} {
		s := stack(c.n, 4)
		var pos []int
		for k := range c.n {
			pos = append(pos, 4*k)
			if c.mixers[k%len(c.mixers)] == 'm' {
				s.Role[4*k+1] = mixer
			}
		}
		if got := p.partsOfLayers(mixesOf(s, append(pos, s.Len()))); got != c.want {
			t.Errorf("%d units of %s: parts %v, want %v", c.n, c.mixers, got, c.want)
		}
	}
}

// TestLayersBesideTheOthers: what stands in front of the layers, or behind them, is one where it runs as one of the four outer ones does; an embedding is in front of all of them.
func TestLayersBesideTheOthers(t *testing.T) {
	p := DefaultParams()
	for _, c := range []struct {
		name          string
		front, behind string // units beside six equal ones
		embeds        bool   // the kernel in front of the layers looks up an embedding
		before, after bool
	}{
		{"nothing", "", "", false, false, false}, {"one more in front", "a", "", false, true, false}, {"one more behind", "", "a", false, false, true}, {"both", "a", "a", false, true, true},
		{"of another kind", "b", "b", false, false, false}, {"an embedding in it", "a", "", true, false, false},
	} {
		s, pos := gapped(c.front+"aaaaaa"+c.behind, 8)
		from := len(c.front)
		starts := pos[from : from+7]
		if c.embeds {
			s.Role[starts[0]-1] = embed
		}
		at, before := p.layerBefore(s, starts)
		if before != c.before || before && at != 0 {
			t.Errorf("%s: a layer in front %v at %d, want %v", c.name, before, at, c.before)
		}
		end, after := p.layerAfter(s, starts)
		if after != c.after || after && end != s.Len() {
			t.Errorf("%s: a layer behind %v up to %d, want %v", c.name, after, end, c.after)
		}
	}
	single, at := gapped("aaaaaaa", 1)
	if end, ok := p.layerAfter(single, at[:7]); !ok || end != 7 {
		t.Errorf("behind six layers of a kernel: one more %v up to %d, want up to 7", ok, end)
	}
	ends, at := gapped("baaaaaaaaabb", 8)
	if begin, ok := p.layerBefore(ends, at[1:12]); !ok || begin != 0 {
		t.Errorf("in front of ten layers, one as the last of them: %v at %d, want 0", ok, begin)
	}
	if end, ok := p.layerAfter(ends, at[1:12]); !ok || end != ends.Len() {
		t.Errorf("behind ten layers, one as the last of them: %v up to %d, want %d", ok, end, ends.Len())
	}
	s, pos := gapped("aaaaaa", 8)
	for l, want := range []bool{true, true, true, true, true, true} { // like any of the outer ones
		if got := p.likeLayer(s, pos[l], pos[l+1], pos); got != want {
			t.Errorf("layer %d is like the others: %v", l, got)
		}
	}
	odd, pos := gapped("baaaaaaaaab", 8)
	mixersAt(odd, 0, 1)
	for _, c := range []struct {
		from, to int
		want     bool
	}{{0, 1, true}, {1, 2, false}, {10, 11, false}} { // the first layer alone holds a mixer: others must, too
		if got := p.likeLayer(odd, pos[c.from], pos[c.to], pos); got != c.want {
			t.Errorf("layer %d of %d, of which the first alone has a mixer: %v, want %v", c.from, len(pos)-1, got, c.want)
		}
	}
}
