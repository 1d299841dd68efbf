package segment

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// layersNamed is kernelsNamed of layers with a bar between them, and where they begin and the last one ends.
func layersNamed(names string) (s *Sequence, starts []int) {
	s = kernelsNamed(strings.ReplaceAll(names, "|", " "))
	n := 0
	for layer := range strings.SplitSeq(names, "|") {
		starts = append(starts, n)
		n += len(strings.Fields(layer))
	}
	return s, append(starts, n)
}

// TestJoinBare: what neither has a norm nor mixes is a part of the layer before where the others mix. A last layer that
// neither mixes nor feeds forward is none where all others do one of these.
func TestJoinBare(t *testing.T) {
	mixing := strings.Repeat("|n m a", 8)
	for names, want := range map[string]string{
		"n m a|n m a|n x":          "[0 3 6]",
		"n m a|n x":                "[0 3]",
		"n x":                      "[0 2]",
		"n m a|n x|n x":            "[0 3 5 7]",
		"n m a|n x|n m a":          "[0 3 5 8]",
		"n m a|p p|n m a":          "[0 5 8]",
		"p p|n m a|n m a":          "[0 2 5 8]",
		"n m a|n m a|a a":          "[0 3 8]",
		"p a|p a|p a":              "[0 2 4 6]",
		"n m a|n a|p p|n m a":      "[0 3 5 7 10]",
		"n m a|n a|a" + mixing:     "[0 3 6 9 12 15 18 21 24 27 30]",
		"n m a|n a|n a|a" + mixing: "[0 3 5 7 8 11 14 17 20 23 26 29 32]",
	} {
		s, starts := layersNamed(names)
		r := reading{starts: starts}
		if r.joinBare(s); fmt.Sprint(r.starts) != want {
			t.Errorf("%s: %v, want %s", names, r.starts, want)
		}
	}
}

// TestSplitParts: a unit that mixes and then feeds forward, before another one that mixes, is two parts.
func TestSplitParts(t *testing.T) {
	for names, want := range map[string]string{
		"n m p|n a p|n m p":     "[true false true]",
		"n m p a|n m p|n a p":   "[true false true false]",
		"n a p m p|n m p|n a p": "[true true false]",
		"n m p a|n a p|n m p a": "[true false true]",
		"n m p a|n m p a":       "[true false true]",
	} {
		s, pos := layersNamed(names)
		if got := fmt.Sprint(splitParts(s, pos)); got != want {
			t.Errorf("%s: %s, want %s", names, got, want)
		}
	}
}

// addAll adds kernels of no role with the ids from one on up to another.
func (s *Sequence) addAll(from, to int32) {
	for id := from; id < to; id++ {
		s.add(id, 0)
	}
}

// TestTeethInGaps: a gap that is 1.6 times as long as the median one holds two layers where each half is like one of
// two neighbours, and none beyond the number that is known.
func TestTeethInGaps(t *testing.T) {
	type part struct{ from, to int32 }
	layer := []part{{0, 10}}
	for _, c := range []struct {
		what string
		gap  []part // between the second tooth and the third
		n    int
		want bool
	}{
		{"two layers", []part{{0, 10}, {0, 10}}, 0, true},
		{"two layers, six are known", []part{{0, 10}, {0, 10}}, 6, true},
		{"two layers, five are known", []part{{0, 10}, {0, 10}}, 5, false},
		{"16 kernels", []part{{0, 8}, {0, 8}}, 0, true},
		{"15 kernels", []part{{0, 8}, {0, 7}}, 0, false},
		{"other kernels first", []part{{50, 60}, {0, 10}}, 0, false},
		{"other kernels last", []part{{0, 10}, {50, 60}}, 0, false},
	} {
		s := &Sequence{}
		var pos []int
		for _, unit := range [][]part{layer, c.gap, layer, layer, layer} {
			pos = append(pos, s.Len())
			for _, p := range unit {
				s.addAll(p.from, p.to)
			}
		}
		want := append([]int(nil), pos...)
		if c.want {
			want = append(append(want[:2:2], 10+int(c.gap[0].to)), pos[2:]...)
		}
		if got := fillGaps(s, pos, c.n); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", c.what, got, want)
		}
	}
	// the only two neighbouring gaps that are usual are the first
	ends := stack(8, 10)
	if got := fmt.Sprint(fillGaps(ends, []int{0, 10, 20, 40, 54, 64}, 0)); got != "[0 10 20 30 40 54 64]" {
		t.Errorf("a gap behind the only usual ones: %s", got)
	}
	for last, want := range map[int]string{30: "[0 20 30]", 40: "[0 10 20 30 40]", 50: "[0 10 20 30 40 50]"} {
		pos := []int{0}
		for at := 20; at <= last; at += 10 {
			pos = append(pos, at)
		}
		if got := fmt.Sprint(fillGaps(stack(6, 10), pos, 0)); got != want {
			t.Errorf("of the teeth %v: %s, want %s", pos, got, want)
		}
	}
}

// TestLayerBeforeTheFirst: a layer of another kind before the first one begins with four kernels as a layer does, has
// nearly half of its kernels, is half longer at most, and does not look up an embedding. Of several beginnings the one
// that agrees best counts, of equals the nearest.
func TestLayerBeforeTheFirst(t *testing.T) {
	for _, c := range []struct {
		what    string
		kernels string // a number is a kernel of the layers, whose first one is a norm, x another one, e an embedding
		want    int    // −1: none
	}{
		{"half a layer", "01234xxxxx", 0},
		{"a layer without its end", "0123xxx", 0},
		{"less in common", "0123xxxx", -1},
		{"three kernels, then others", "012xxxx789", -1},
		{"half longer", "0123456789xxxxx", 0},
		{"longer", "0123456789xxxxxx", -1},
		{"a lookup in it", "01234xxxex", -1},
		{"a lookup before it", "e01234xxxxx", 1},
		{"the end of a layer before it", "56789" + "01234xxxxx", 5},
		{"two of them", "0123x0123456789", 5},
		{"two beginnings that agree as far", "01234x01234x", 6},
		{"a norm of another name first", "n12345xxxx", 0},
		{"nothing", "", -1},
	} {
		s := &Sequence{}
		for k, r := range c.kernels {
			switch r {
			case 'e':
				s.add(int32(50+k), embed)
			case 'n':
				s.add(int32(50+k), norm)
			case 'x':
				s.add(int32(50+k), other)
			case '0':
				s.add(0, norm)
			default:
				s.add(r-'0', other)
			}
		}
		first := s.Len()
		for range 5 {
			s.add(0, norm)
			s.addAll(1, 10)
		}
		begin, ok := layerBefore(s, []int{first, first + 10, first + 20, first + 30, first + 40, first + 50})
		if ok != (c.want >= 0) || ok && begin != c.want {
			t.Errorf("%s: a layer begins at %d, %v; want %d", c.what, begin, ok, c.want)
		}
	}
}

// TestNormsThatFollow: up to the first product the kernels of the first layer may be other ones of the same role, and
// none that other layers do not run.
func TestNormsThatFollow(t *testing.T) {
	layers := "n p m p n p a p |n p m p n p a p "
	for names, want := range map[string]bool{
		"e1 e2 x |" + layers:                    false,
		"e1 e2 x |n1 p m p n p a p |" + layers:  false,
		"e1 e2 x |n o p m p n p a p |" + layers: true,
		"e1 e2 x |n p o m p n p a p |" + layers: false,
		"e1 e2 o e3 x |" + layers:               true,
		"e1 e2 e3 x o |" + layers:               false,
		"e1 e2 x |n o |n o1 ":                   false,
		"e1 e2 x |n o |m o ":                    true,
	} {
		s, starts := layersNamed(names)
		if got := normsClose(s, starts[1:]); got != want {
			t.Errorf("%s: %v, want %v", names, got, want)
		}
	}
}

// TestDisplaced: layers begin one kernel earlier than structure says where it leaves one place, two kernels are in front
// of what repeats, and no norm is known.
func TestDisplaced(t *testing.T) {
	for _, c := range []struct {
		lo, hi, front, norms int
		want                 bool
	}{{3, 3, 2, 0, true}, {3, 4, 2, 0, false}, {1, 1, 2, 0, true}, {0, 0, 2, 0, false}, {3, 3, 1, 0, false},
		{3, 3, 3, 0, true}, {3, 3, 2, 1, false}} {
		s := stack(4, 6)
		for i := range c.norms {
			s.Role[i] = norm
		}
		k := &cutter{s: s, c: unit{s, 6, 12}, pos: []int{5 + c.front, 12}, head: 5}
		if got := k.displaced(c.lo, c.hi); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestNamesInStep: names that run once in each round, at most one kernel in eight each, show passes where three of
// them do.
func TestNamesInStep(t *testing.T) {
	for _, c := range []struct {
		what          string
		rounds, names int
		others        int // kernels of each round that no other round runs
		want          string
	}{
		{"eight names", 5, 8, 0, "[[0 8 16 24 32]]"}, {"seven: more than one kernel in eight", 5, 7, 0, "[]"},
		{"three names", 5, 3, 7, "[[0 10 20 30 40]]"}, {"two names", 5, 2, 8, "[]"},
		{"two rounds", 2, 3, 7, "[[0 10]]"}, {"one round", 1, 3, 7, "[]"},
	} {
		s := &Sequence{}
		for round := range c.rounds {
			s.addAll(0, int32(c.names))
			s.addAll(int32(50+10*round), int32(50+10*round+c.others))
		}
		if got := fmt.Sprint(StepGroups(s)); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
	for _, c := range []struct {
		a, b []int
		want bool
	}{{[]int{0, 10}, []int{0, 10}, true}, {[]int{0, 10}, []int{9, 19}, true}, {[]int{0, 10}, []int{10, 19}, false},
		{[]int{5, 10}, []int{4, 19}, false}, {[]int{0, 10}, []int{1, 9}, false}} {
		if got := inStep(c.a, c.b); got != c.want {
			t.Errorf("%v and %v: in step %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

// TestOccurrencesOfAComb: a norm that is written out runs once more after the layers, which is none of theirs.
func TestOccurrencesOfAComb(t *testing.T) {
	for norms, want := range map[int]int{4: 4, 5: 4, 6: 6} {
		s := &Sequence{}
		for range norms {
			s.add(0, norm)
			s.add(0, other)
		}
		c := &Comb{Pos: []int{0, 2, 4, 6}, Symbol: 1, level: byNorm}
		if got := c.Occurs(s); got != want {
			t.Errorf("a comb of four of %d norms: it may take %d, want %d", norms, got, want)
		}
		if c.level, c.Symbol = byName, 0; c.Occurs(s) != 2*norms {
			t.Errorf("a comb of a name: it may take %d of %d", c.Occurs(s), 2*norms)
		}
	}
}

// TestCostOfCutPasses: where the window may cut a pass it begins or ends at any column alike; elsewhere what is missing
// costs what records do that are lost, and a kernel in the place of another costs by what the two have in common.
func TestCostOfCutPasses(t *testing.T) {
	of := func(letters string) Stretch { // of 1 µs each; a digit is a norm
		s := Stretch{Sequence: &Sequence{}}
		for i, base := range strings.ToLower(letters) {
			r := other
			if base >= '0' && base <= '9' {
				r = norm
			}
			s.ID, s.Base, s.Role = append(s.ID, int32(letters[i])), append(s.Base, base), append(s.Role, r)
			s.Time, s.Gap = append(s.Time, 1000), append(s.Gap, 0)
		}
		return s
	}
	const pass = "abcdefghij0klmnopqrs" // of twenty kernels
	for _, c := range []struct {
		letters string
		open    Cuts
		idle    Span // before the kernel after a hole
		at      int
		want    float64
	}{
		{"fghij0klmnopqrs", Cuts{Start: true}, 0, 0, math.Log(20) + 15*.01},
		{"fghij0klmnopqrs", Cuts{}, 0, 0, 7.05 + 15*.01},
		{"cdefghij0klmnopqrs", Cuts{}, 0, 0, 2*4.6 - 2.18 + 18*.01}, // 7.02, a stretch of two, costs less
		{"abcdefghij0klmn", Cuts{End: true}, 0, 0, math.Log(20) + 15*.01},
		{"abcdefghij0klmn", Cuts{}, 0, 0, 7.05 + 15*.01},
		{"abcdefghij0klmnopqr", Cuts{End: true}, 0, 0, math.Log(20) + 19*.01},
		{"abxdefghij0klmnopqrs", Cuts{}, 0, 0, 9 + 19*.01},
		{"abCdefghij0klmnopqrs", Cuts{}, 0, 0, 1.5 + 19*.01},
		{"abcdefghij1klmnopqrs", Cuts{}, 0, 0, 3.5 + 19*.01},
		{"abhij0klmnopqrs", Cuts{}, 5000, 2, 7.05 + 15*.01},
		{"abhij0klmnopqrs", Cuts{}, 0, 2, 7.05 + math.Log(8./3) + 15*.01},
		{"abhij0klmnopqrs", Cuts{}, 13_000, 2, 7.05 + math.Log(2) + 15*.01},
	} {
		s := of(c.letters)
		s.Open, s.Gap[c.at] = c.open, c.idle
		if got := decode(s, []*Profile{newProfile(of(pass))}, math.Inf(1), false).Cost; math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s, open at %v: %v, want %v", c.letters, c.open, got, c.want)
		}
	}
}

// TestScoreOfAReading: each kernel of a layer counts two; foreign kernels and missing ones of layers take as much
// away, and what is outside of layers takes nothing.
func TestScoreOfAReading(t *testing.T) {
	of := stack(2, 5)
	kinds, _ := kindsOf(of.Base, []int{0, 5, 10})
	for _, c := range []struct {
		letters string // a to e is a layer
		open    Cuts
		score   int
		starts  string
	}{
		{"abcdeabcde", Cuts{}, 20, "[0 5 10]"},
		{"xxabcdeabcdexx", Cuts{}, 20, "[2 7 12]"},
		{"abcdexabcde", Cuts{}, 18, "[0 5 11]"},
		{"abcdeabde", Cuts{}, 16, "[0 5 9]"},
		{"abcde", Cuts{}, 10, "[0 5]"},
		{"decbaabcde", Cuts{}, 10, "[5 10]"},
		{"deabcdeabcde", Cuts{}, 20, "[2 7 12]"},
		{"deabcdeabcde", Cuts{Start: true}, 24, "[0 2 7 12]"},
		{"abcdeabcdeab", Cuts{}, 20, "[0 5 10]"},
		{"abcdeabcdeab", Cuts{End: true}, 24, "[0 5 10 12]"},
		{"bcde", Cuts{Start: true}, 8, "[0 4]"},
		{"abcd", Cuts{End: true}, 8, "[0 4]"},
		{"cdeabcdeab", Cuts{Start: true, End: true}, 20, "[0 3 8 10]"},
	} {
		s := &Sequence{}
		for _, l := range c.letters {
			s.add(l-'a', 0)
		}
		r, ok := readAs(s, of, kinds, c.open)
		if got := fmt.Sprint(r.starts); !ok || r.score != c.score || got != c.starts {
			t.Errorf("%s, open at %v: %s scores %d, %v; want %s and %d", c.letters, c.open, got, r.score, ok, c.starts, c.score)
		}
	}
	if r, ok := readAs(of.Slice(0, 0), of, kinds, Cuts{}); ok {
		t.Errorf("no kernels are read as %+v", r)
	}
}

// TestKindsOfLayers: a kind occurs twice at least, and is less than 85% alike with each kind before it; the most
// frequent ones come first, of equals the longest.
func TestKindsOfLayers(t *testing.T) {
	for _, c := range []struct {
		layers []string
		want   string
	}{
		{[]string{"abcd", "abcd", "efgh"}, "abcd"},
		{[]string{"abcd", "efgh", "efgh", "abcd", "abcd"}, "abcd efgh"},
		{[]string{"abcd", "efghi", "efghi", "abcd"}, "efghi abcd"},
		{[]string{"abcdefghij", "abcdefghij", "abcdefghij", "abcdefghkl", "abcdefghkl"}, "abcdefghij abcdefghkl"},
		{[]string{"abcdefghij", "abcdefghij", "abcdefghij", "abcdefghik", "abcdefghik"}, "abcdefghij"},
		{[]string{"abcd", "", "", "abcd"}, "abcd"},
	} {
		s, starts := &Sequence{}, []int{0}
		for _, layer := range c.layers {
			for _, l := range layer {
				s.add(l-'a', 0)
			}
			starts = append(starts, s.Len())
		}
		var got []string
		for _, k := range layerKinds(s, starts) {
			name := ""
			for _, id := range s.ID[k.from:k.to] {
				name += string('a' + id)
			}
			got = append(got, name)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%v: kinds %s, want %s", c.layers, text, c.want)
		}
	}
}

// TestUsualGaps: nine in ten kernels wait no longer, and the GPU never idles less than a nanosecond.
func TestUsualGaps(t *testing.T) {
	for _, c := range []struct {
		gaps []Span
		want Span
	}{{nil, 1}, {[]Span{0, 0, 0}, 1}, {[]Span{2}, 2}, {[]Span{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, 10},
		{[]Span{11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, 10}} {
		if got := usualGap(c.gaps, make([]Mark, len(c.gaps)), 0); got != c.want {
			t.Errorf("gaps %v: %d, want %d", c.gaps, got, c.want)
		}
	}
	marks := []Mark{Works, Works | Alone, Alone, Begins}
	if got := usualGap([]Span{9, 3, 4, 8}, marks, Alone); got != 4 {
		t.Errorf("of the kernels that are launched alone: %d, want 4", got)
	}
}

// TestStacksCoverThePass: two stacks are two fifths of the pass at least.
func TestStacksCoverThePass(t *testing.T) {
	for others, want := range map[int]int{48: 2, 49: 0} {
		s := &Sequence{}
		for _, first := range []int32{0, 10} {
			for range 4 {
				for k, r := range []Role{product, mixer, product, product} {
					s.add(first+int32(k), r)
				}
			}
			for k := range others / 2 {
				s.add(100+first*int32(100)+int32(k), other)
			}
		}
		if others%2 > 0 {
			s.add(99, other)
		}
		if got := Apart(s); len(got) != want {
			t.Errorf("32 kernels of stacks and %d others: %v, want %d stacks", others, got, want)
		}
	}
}

// TestHiddenBounds: where a stretch begins or ends with what others run alone, and the GPU rests there longer than
// within that, it is divided. Passes have eight kernels at least.
func TestHiddenBounds(t *testing.T) {
	for _, c := range []struct {
		what   string
		known  int  // kernels of the pass that runs twice
		others int  // kernels beside it
		first  bool // it runs first
		rest   Span // between the two
		passes int  // of the pass
		want   string
	}{
		{"it runs first", 10, 8, true, 3, 2, "[10]"}, {"it runs last", 10, 8, false, 3, 2, "[8]"},
		{"a rest as within it", 10, 8, true, 2, 2, "[]"}, {"it runs once", 10, 8, true, 3, 1, "[]"},
		{"it runs three times", 10, 8, true, 3, 3, "[10]"},
		{"seven kernels beside it", 10, 7, true, 3, 2, "[]"}, {"a pass of eight kernels", 8, 8, false, 3, 2, "[8]"},
		{"a pass of seven", 7, 8, true, 3, 2, "[]"}, {"three passes in one", 10, 18, true, 3, 2, "[10 20]"},
	} {
		stretch := func(s *Sequence) Stretch {
			out := Stretch{Sequence: s, Gap: make([]Span, s.Len())}
			for i := range out.Gap {
				out.Gap[i] = 2
			}
			return out
		}
		pass, both := &Sequence{}, &Sequence{}
		pass.addAll(0, int32(c.known))
		var all []Stretch
		for range c.passes {
			all = append(all, stretch(pass))
		}
		at := c.known
		if !c.first {
			at = c.others
			both.addAll(50, int32(50+c.others))
		}
		both.addAll(0, int32(c.known))
		if c.first && c.others > c.known {
			both.addAll(0, int32(c.known))
		}
		if c.first {
			both.addAll(50, int32(50+c.known+c.others-both.Len()))
		}
		last := stretch(both)
		for i := at; i < both.Len(); i += c.known {
			last.Gap[i] = c.rest
		}
		if got := Hidden(append(all, last)); fmt.Sprint(got[c.passes]) != c.want || got[0] != nil {
			t.Errorf("%s: %v, want %s", c.what, got, c.want)
		}
	}
}

// TestBoundariesInKinds: a block with a norm and a mixer that other layers do not run, between the last kernel of a layer
// and the first one of the next, begins the next one.
func TestBoundariesInKinds(t *testing.T) {
	for names, want := range map[string]int{
		"n1 p1 m1 p2 n2 p3":          4, // as the others
		"n1 p1 m1 p2 n9 m9 n2 p3":    4,
		"n1 p1 m1 p2 m9 n9 n2 p3":    4,
		"n1 p1 m1 p2 p9 m9 n2 p3":    6,
		"n1 p1 m1 p2 n9 p9 n2 p3":    6,
		"n1 p1 m1 p2 p9 n9 m9 n2 p3": 4,
	} {
		s := kernelsNamed("n1 p1 m1 p2 n2 p3 n1 p1 m1 p2 n2 p3 " + names)
		k := &cutter{s: s, c: unit{s, 0, 6}, kinds: []kind{{from: 12, to: s.Len()}}}
		if got := k.boundaryIn(0, 4); got != want {
			t.Errorf("%s: the boundary is at %d, want %d", names, got, want)
		}
	}
}

// TestHeadByBegin: a first layer of another kind begins where four kernels run as the unit does from its boundary on.
func TestHeadByBegin(t *testing.T) {
	for _, c := range []struct {
		front string // digits are kernels of the unit, which begins at 2
		want  int    // −1: none
	}{{"x23456789xx", 1}, {"x2345xx", 1}, {"x234xxx", -1}, {"2345xx23456x", 6}, {"23456x23456x", 6}, {"xxx", -1}} {
		s := &Sequence{}
		for k, r := range c.front {
			if r == 'x' {
				s.add(int32(50+k), other)
			} else {
				s.add(r-'0', other)
			}
		}
		n := s.Len()
		s.addAll(0, 10)
		s.addAll(0, 10)
		k := &cutter{s: s, c: unit{s, n, n + 10}}
		if begin, ok := k.headByBegin(n, 2); ok != (c.want >= 0) || ok && begin != c.want {
			t.Errorf("%s: %d, %v; want %d", c.front, begin, ok, c.want)
		}
	}
}

// TestFragments: a pass of which the window shows a part is numbered from the end that is there; where neither is, the
// window likely cut the beginning off. A whole pass, or one of as many layers, is none.
func TestFragments(t *testing.T) {
	whole := layersOf(12)
	for _, c := range []struct {
		what     string
		from, to int // kernels of the pass
		n        int
		known    Cuts
		want     string
	}{
		{"the beginning", 0, 61, 12, Cuts{}, "8 layers from 0, cut {false true}, false and true, 0.96"},
		{"the end", 37, 99, 12, Cuts{}, "8 layers from 4, cut {true false}, true and false, 0.96"},
		{"neither", 19, 75, 12, Cuts{}, "7 layers from 5, cut {true false}, true and false, 0.4"},
		{"whole layers", 0, 57, 12, Cuts{End: true}, "7 layers from 0, cut {false true}, false and false, 0.96"},
		{"two layers", 0, 17, 12, Cuts{}, "2 layers from 0, cut {false true}, false and false, 0.96"},
		{"three layers", 0, 25, 12, Cuts{}, "3 layers from 0, cut {false true}, false and false, 0.96"},
		{"as many layers", 0, 61, 7, Cuts{}, "none"},
		{"a whole pass of fewer", 0, 99, 13, Cuts{}, "none"},
	} {
		got := "none"
		if f, cut, conf, ok := Fragment(whole.Slice(c.from, c.to), c.n, c.known); ok {
			got = fmt.Sprintf("%d layers from %d, cut %v, %v and %v, %v", f.Layers(), f.First, cut, f.CutFirst, f.CutLast, conf)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
	for span, want := range map[[2]int]Cuts{{0, 99}: {}, {0, 61}: {false, true}, {37, 99}: {true, false},
		{20, 80}: {true, true}} {
		s, n := whole.Slice(span[0], span[1]), (span[1]-span[0])/8
		if got := (Cuts{CutOff(s, n, true, false), CutOff(s, n, false, true)}); got != want || CutOff(s, n, false, false) ||
			CutOff(s, n, true, true) != (want.Start || want.End) {
			t.Errorf("kernels %v: cut %v, want %v", span, got, want)
		}
	}
}

// TestFitByAWholePass: with a whole pass of twelve layers the layers of a cut one are found from one on, and the part of
// one that the window shows.
func TestFitByAWholePass(t *testing.T) {
	whole := layersOf(12)
	c, _ := Layers(whole, 12)
	for _, n := range []int{1, 2, 5, 10} {
		want := append(startsOf(n), 1+8*n+3)
		if f, ok := Fit(whole.Slice(0, 1+8*n+3), c, 12, Cuts{End: true}); !ok || !slices.Equal(f.Starts, want) || f.First != 0 {
			t.Errorf("%d layers and three kernels: layers from %d begin at %v, want %v", n, f.First, f.Starts, want)
		}
		want = []int{0}
		for l := range 12 - n {
			want = append(want, 5+8*l)
		}
		if f, ok := Fit(whole.Slice(1+8*n+3, whole.Len()), c, 12, Cuts{Start: true}); !ok || !slices.Equal(f.Starts, want) ||
			f.First != n {
			t.Errorf("%d layers and three kernels are cut off: layers from %d begin at %v, want %v", n, f.First, f.Starts, want)
		}
	}
	front := &Sequence{} // a layer of another kind before four
	front.addAll(0, 6)
	front.addAll(50, 54)
	for range 4 {
		front.addAll(0, 10)
	}
	four := &Cut{Starts: []int{0, 10, 20, 30, 40, 50}, At: 10, unit: unit{front, 16, 26},
		Comb: Comb{Pos: []int{16, 26, 36, 46}, Symbol: 6, Stride: 1}}
	for n, want := range map[int]string{4: "[10 20 30 40 50]", 5: "[0 10 20 30 40 50]", 6: "[0 10 20 30 40 50]"} {
		four.At = 4
		if f, ok := Fit(front, four, n, Cuts{}); !ok || fmt.Sprint(f.Starts) != want {
			t.Errorf("%d layers: they begin at %v, want %s", n, f.Starts, want)
		}
	}
}

// TestReadingsThatExplain: a reading explains a pass where all that is missing had time, and at most four records are,
// and one more for each twenty kernels, or stretches for each forty; so many kernels may be no columns, and one in ten
// of few.
func TestReadingsThatExplain(t *testing.T) {
	for _, c := range []struct {
		kernels, matched, noTime, holes, size int
		want                                  bool
	}{{30, 27, 0, 0, 1, true}, {30, 26, 0, 0, 1, false}, {30, 30, 1, 0, 1, false}, {30, 30, 0, 5, 1, true},
		{30, 30, 0, 6, 1, false}, {40, 40, 0, 6, 1, true}, {40, 40, 0, 7, 1, false}, {100, 91, 0, 9, 1, true},
		{100, 90, 0, 9, 1, false}, {30, 30, 0, 4, 2, true}, {30, 30, 0, 5, 2, false}, {40, 40, 0, 5, 9, true},
		{40, 40, 0, 6, 9, false}} {
		p := Pass{Column: make([]int32, c.kernels), NoTime: c.noTime}
		for range c.holes {
			p.Missing = append(p.Missing, Gap{To: c.size})
		}
		for i := c.matched; i < c.kernels; i++ {
			p.Column[i] = NoColumn
		}
		s := &shape{Stretch: Stretch{Sequence: stack(1, c.kernels)}}
		if got := s.isReadBy(&passReading{Passes: []Pass{p}}); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if (&shape{Stretch: Stretch{Sequence: &Sequence{}}}).isReadBy(&passReading{}) {
		t.Error("no passes explain something")
	}
}

// TestOccurrencesBesideLayers: a comb leaves out three occurrences of its name, and no more; two layers have one.
func TestOccurrencesBesideLayers(t *testing.T) {
	for surplus, want := range map[int]bool{0: true, 3: true, 4: false} {
		s := &Sequence{}
		for range 8 + surplus {
			s.add(0, 0)
			s.add(int32(1+s.Len()), 0)
		}
		if got := len(Combs(s, 8, 9)) > 0; got != want {
			t.Errorf("a name that occurs %d times more than there are layers has a comb: %v, want %v", surplus, got, want)
		}
	}
	for n, want := range map[int]bool{1: false, 2: true} {
		if _, ok := Best(stack(2, 8), n); ok != want {
			t.Errorf("two layers as %d: %v, want %v", n, ok, want)
		}
	}
}

// TestOneMixerOutside: one mixer outside of layers is all of them.
func TestOneMixerOutside(t *testing.T) {
	s := layersOf(8)
	c, _ := Layers(s, 8)
	for i, r := range s.Role {
		if r == mixer {
			s.Role[i] = other
		}
	}
	for i, want := range map[int]float64{s.Len() - 1: 1, c.Starts[0]: 0} {
		s.Role[i] = mixer
		if d := Doubt(s, c, false); d.Outside != want {
			t.Errorf("a mixer at kernel %d: %v are outside, want %v", i, d.Outside, want)
		}
		s.Role[i] = other
	}
}

// TestMixersOfUnknownNames: where the first unit alone holds mixers whose names are known, other units that feed
// forward as it does hold one, too.
func TestMixersOfUnknownNames(t *testing.T) {
	s := stack(4, 8)
	s.Role[2], s.Role[3] = mixer, mixer
	for l := range 4 {
		s.Role[8*l+5] = activation
	}
	if share, ok := mixerShare(s, []int{0, 8, 16, 24, 32}); !ok || share != 0.8 {
		t.Errorf("%v of four units and what is outside, %v; want four in five", share, ok)
	}
}

// TestPartsBetweenBounds: each kernel is in the part that its bounds say; the window may have cut the first and the last.
func TestPartsBetweenBounds(t *testing.T) {
	s := Stretch{Sequence: stack(1, 6), Time: make([]Span, 6), Gap: []Span{1, 2, 3, 4, 5, 6}}
	got := ""
	for _, p := range s.Parts([]int{2, 5}) {
		got += fmt.Sprint(p.ID, p.Gap, p.After, p.Open, " ")
	}
	if want := "[0 1] [1 2] 3 {true false} [2 3 4] [3 4 5] 6 {false false} [5] [6] 0 {false true} "; got != want {
		t.Errorf("parts %s, want %s", got, want)
	}
}

// TestSeamlessEnds: kernels after the last anchor are of the last layer as far as each has its role or its name.
func TestSeamlessEnds(t *testing.T) {
	for names, want := range map[string]string{"n1 p1 m1 p2": "4 8", "n2 p3 m2 p4": "4 8", "n1 p1 x9 p2": "2 6", "x9": "0 4",
		"n1 p1 m1 p2 n1": "4 8", "n1 x1 m1 p2": "1 5"} {
		s := kernelsNamed("n1 p1 m1 p2 " + names)
		k := &cutter{s: s, c: unit{s, 0, 4}, pos: []int{0, 4}, kinds: []kind{{from: 0, to: 4}}}
		hi, end := k.seamless()
		if got := fmt.Sprint(hi, end); got != want {
			t.Errorf("%s: up to coordinate and kernel %s, want %s", names, got, want)
		}
	}
}

// TestUsualTimes: of passes that run the same the least times of the first five count.
func TestUsualTimes(t *testing.T) {
	f := &finder{}
	s := &shape{Stretch: Stretch{Sequence: stack(1, 2), Time: []Span{90, 90}}}
	for _, times := range [][]Span{{90, 90}, {80, 95}, {85, 60}, {99, 99}, {70, 99}, {10, 10}} {
		s.pieces = append(s.pieces, len(f.all))
		f.all = append(f.all, Stretch{Sequence: s.Sequence, Time: times})
	}
	for n, want := range map[int]string{1: "[90 90]", 2: "[80 90]", 4: "[80 60]", 5: "[70 60]", 6: "[70 60]"} {
		some := *s
		some.pieces = s.pieces[:n]
		if got := fmt.Sprint(f.usual(&some).Time); got != want {
			t.Errorf("of %d passes: %s, want %s", n, got, want)
		}
	}
	if s.Time[0] != 90 {
		t.Error("the times of the pass itself have changed")
	}
}

// TestRestsAreLong: a rest is more than four times as long as the GPU usually idles.
func TestRestsAreLong(t *testing.T) {
	for gap, want := range map[Span]string{4: "[11]", 5: "[13]"} {
		s, marks := stretchOfLetters("wxwxwxwxwx" + "sabc" + "wxwxwxwxwx")
		s.Gap[13] = gap
		if got := fmt.Sprint(Bounds(s, marks)); got != want {
			t.Errorf("the GPU idles %d times as long as usual after sampling: bounds %s, want %s", gap, got, want)
		}
	}
}

// TestSmallPassesAreJoined: a pass of fewer than eight kernels, and what is of none, is of the pass before, or at the
// start of the one after it.
func TestSmallPassesAreJoined(t *testing.T) {
	for passes, want := range map[string]string{ // profiles, - for none, and kernels
		"a10 -3": "a13", "-3 a10": "a13", "a10 b7": "a17", "a8 b8": "a8 b8", "a7 b8": "b15", "-3 -2 a10": "a15",
		"a10 -3 b10": "a13 b10", "-3": "-3", "-20 a10": "a30", "a10 b8 -1 c9": "a10 b9 c9",
	} {
		r := passReading{}
		at := 0
		for word := range strings.FieldsSeq(passes) {
			var n int
			fmt.Sscan(word[1:], &n)
			p := Pass{Profile: Outside, From: at, To: at + n, Column: make([]int32, n)}
			if word[0] != '-' {
				p.Profile = int(word[0] - 'a')
			}
			r.Passes, at = append(r.Passes, p), at+n
		}
		r.join()
		var got []string
		at = 0
		for _, p := range r.Passes {
			if p.From != at || len(p.Column) != p.To-p.From {
				t.Errorf("%s: %d columns of the kernels %d to %d, want them from %d on", passes, len(p.Column), p.From, p.To, at)
			}
			at = p.To
			got = append(got, fmt.Sprintf("%c%d", "-abc"[p.Profile+1], p.To-p.From))
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %s, want %s", passes, text, want)
		}
	}
}

// TestWhatTheWindowCutsIsNotLost: columns before the first kernel and after the last one are cut off where the window may
// have cut there, and missing elsewhere.
func TestWhatTheWindowCutsIsNotLost(t *testing.T) {
	full := timed(4, 10)
	n := full.Len()
	for _, c := range []struct {
		from, to int
		open     Cuts
		want     string
	}{
		{0, n, Cuts{true, true}, "[] {false false}"},
		{20, n, Cuts{Start: true}, "[] {true false}"},
		{20, n, Cuts{}, "[{0 20 0 false false false}] {false false}"},
		{0, 20, Cuts{End: true}, "[] {false true}"},
		{0, 20, Cuts{}, fmt.Sprintf("[{20 %d 20 false false false}] {false false}", n)},
		{10, 30, Cuts{true, true}, "[] {true true}"},
	} {
		s := full.part(c.from, c.to)
		s.Open, s.After = c.open, 1e6
		if !c.open.Start {
			s.Gap = slices.Clone(s.Gap)
			s.Gap[0] = 1e6
		}
		r := decode(s, []*Profile{newProfile(full)}, math.Inf(1), false)
		if len(r.Passes) != 1 {
			t.Fatalf("kernels %d to %d: %d passes", c.from, c.to, len(r.Passes))
		}
		p := r.Passes[0]
		if got := fmt.Sprint(p.Missing, p.Cut); got != c.want || p.Matched() != c.to-c.from || p.Column[0] != int32(c.from) {
			t.Errorf("kernels %d to %d, open at %v: %d columns from %d, missing and cut %s, want %s", c.from, c.to, c.open,
				p.Matched(), p.Column[0], got, c.want)
		}
	}
}

// TestWeightOfAPhase: a mixer in each layer weighs most, then a place that structure leaves open, a norm that begins each
// layer, and the norm that comes before a mixer.
func TestWeightOfAPhase(t *testing.T) {
	s := layersOf(4)
	k := &cutter{s: s, c: unit{s, 1, 9}, pos: []int{1, 9, 17, 25}}
	shifted := func(by int) (starts []int) {
		for _, i := range startsOf(4) {
			starts = append(starts, i+by)
		}
		return starts
	}
	for _, c := range []struct {
		by, lo, hi, input int
		want              float64
	}{
		{0, 0, 0, 0, weightMixer + weightNorm + weightOpen + weightInput},
		{0, 0, 0, 4, weightMixer + weightNorm + weightOpen},
		{0, 1, 8, 0, weightMixer + weightNorm + weightInput},
		{2, 2, 8, 0, weightMixer + weightOpen},
		{2, 0, 2, 0, weightMixer + weightOpen},
		{2, 0, 1, 0, weightMixer},
		{3, 0, 8, 0, weightMixer*3./4 + weightOpen},
		{4, 0, 8, 4, weightMixer*3./4 + weightNorm + weightOpen + weightInput},
		{8, 0, 8, 0, weightMixer*3./4 + weightNorm + weightOpen + weightInput}, // the final norm is one, too
	} {
		if got := k.weighPhase(shifted(c.by), c.by, c.lo, c.hi, c.input); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("layers begin %d kernels later, %d to %d are open: %v, want %v", c.by, c.lo, c.hi, got, c.want)
		}
	}
}

// TestTowersBeforeLayers: layers of another stack before those of a pass are its tower where they are four at least and
// hold a mixer each.
func TestTowersBeforeLayers(t *testing.T) {
	for n, want := range map[int]int{3: 0, 4: 4, 6: 6} {
		s, from, to := twoStacks(n, 12, product, product)
		for i := range from { // kernels of its own
			s.ID[i], s.Base[i] = s.ID[i]+100, s.Base[i]+100
		}
		tower, next := Before(s, 12)
		if tower.N != want || want > 0 && (tower.From != 1 || tower.To != from || next != to) {
			t.Errorf("%d layers before twelve: %+v, the twelve from %d; want %d from 1 to %d, and %d", n, tower, next, want, from, to)
		}
	}
	s, _, _ := twoStacks(6, 12, product, product)
	for i, r := range s.Role[:20] {
		if r == mixer {
			s.Role[i] = other
		}
	}
	if tower, _ := Before(s, 12); tower.N != 0 {
		t.Errorf("layers without mixers: %+v", tower)
	}
}

// TestNormsBeforeMixers: the norm that begins a layer is the first before its mixer that a product follows. Where no
// feed-forward part is between two mixers, it is the only one such, and of several none.
func TestNormsBeforeMixers(t *testing.T) {
	for letters, want := range map[string]int{
		"npmp": 0, "pnpm": 1, "mpnp": 2, "npnpmp": -1, "npnmp": -1, "npmpnpap": 0, "npapnpmp": 4, "npmnpap": 0, "nnpmpap": 1,
		"npmpmp": 0, "pmpm": -1, "npap": -1, "npmpnpmpnpap": 0, "npnpmpa": 0,
	} {
		s := kernelsOf(letters)
		if got := normOfMixer(unit{s, 0, s.Len()}); got != want {
			t.Errorf("%s: norm %d, want %d", letters, got, want)
		}
	}
	for letters, want := range map[string]int{ // x computes elements: a modulation is a product after one, with a norm and two more behind
		"xxpnxxpm": 1, "xpnxxpm": 0, "xmxpnxxp": 2, "xxpnxxp": -1, "xpm": -1, "xmp": -1, "xpnxpnxxmp": 3, "xxapnxxpm": 1,
		"xxapnxxapnxxppm": 1, "xxpnxxpnxxpm": 1, "xxpnxxpxpnxxpm": 7, // of two streams the first, of two parts the second
	} {
		s := kernelsOf(letters)
		if got := modulationOfMixer(unit{s, 1, s.Len()}); got != want {
			t.Errorf("%s: modulation %d, want %d", letters, got, want)
		}
	}
}
