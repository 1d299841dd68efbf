package segment

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestContradiction: four passes of twelve layers contradict a number of layers that is no part and no multiple of
// twelve, and not one or two less. One that shows another number, or none, leaves it open.
func TestContradiction(t *testing.T) {
	twelve := layersOf(12)
	padded := func(n int) *Sequence { // so many kernels that no layer has come before
		s := &Sequence{}
		for i := range n {
			s.add(int32(100+i), 0)
		}
		for i := range twelve.ID {
			s.add(twelve.ID[i], twelve.Role[i])
		}
		return s
	}
	four := []*Sequence{twelve, twelve, twelve, twelve}
	for _, c := range []struct {
		passes []*Sequence
		given  int
		want   int
	}{
		{four, 12, 0}, {four, 11, 0}, {four, 10, 0}, {four, 9, 12}, {four, 13, 12}, {four, 14, 12}, {four, 6, 0},
		{four, 5, 12},
		{four, 24, 0}, {four, 25, 12}, {four[:1], 9, 12}, {nil, 9, 0}, {append(four[:3:3], layersOf(10)), 9, 0}, {append([]*Sequence{stack(1, 20)}, four[:3]...), 9, 0},
		{append(four[:4:4], layersOf(10)), 9, 12}, {append(four[:3:3], stack(1, 20)), 9, 0},
		// eleven distances of eight kernels are 88: four fifths of 110
		{[]*Sequence{padded(10)}, 9, 12}, {[]*Sequence{padded(14)}, 9, 0},
	} {
		if got := Contradiction(c.passes, c.given); got != c.want {
			t.Errorf("%d passes, %d layers are given: %d contradict, want %d", len(c.passes), c.given, got, c.want)
		}
	}
	if !StrongVote(twelve, 12) || StrongVote(twelve, 11) || StrongVote(stack(1, 20), 12) {
		t.Error("twelve layers that are alike explain a pass of them, and no other number does")
	}
}

// TestRestsBetweenPasses: without marks passes begin where the GPU rests at three in five of the places that are alike,
// unless one graph launch launched what is around them. One such place says nothing.
func TestRestsBetweenPasses(t *testing.T) {
	for _, c := range []struct {
		rests string // before the second pass and each later one: R, or . for none
		mark  Mark
		want  string
	}{
		{"RRRRR", 0, "[10 20 30 40 50]"}, {"R.R.R", 0, "[10 20 30 40 50]"}, {"R...R", 0, "[]"}, {"R", 0, "[]"},
		{"RR", 0, "[10 20]"}, {"RRRRR", Inside, "[]"},
	} {
		letters := "abcdefghij"
		for _, r := range c.rests {
			letters += map[rune]string{'R': "Abcdefghij", '.': "abcdefghij"}[r]
		}
		s, marks := stretchOfLetters(letters)
		for i := range marks {
			marks[i] = c.mark
		}
		if got := fmt.Sprint(Bounds(s, marks)); got != c.want {
			t.Errorf("rests %s, marks %d: %s, want %s", c.rests, c.mark, got, c.want)
		}
	}
}

// TestBoundsAfterSampling: where work follows without an embedding, a pass begins after the last kernel that samples,
// or where the GPU rests between it and the work.
func TestBoundsAfterSampling(t *testing.T) {
	const works = "wxwxwxwxwx"
	for letters, want := range map[string]string{works + "sabc" + works: "[11]", works + "ssbc" + works: "[12]",
		works + "saBc" + works: "[12]", works + "sabcabcabcabc": "[]", works + "sabc" + "e" + works: "[14]",
		works + "sa" + works + "sa" + works: "[11 23]", "sabcdfghiX" + works: "[9]", "wabcdfghie" + works: "[9]",
		works + "Xabcd" + "ewxe" + works: "[10]", works + "Xabcd" + "ewxxxxxxe" + works: "[10 23]"} {
		s, marks := stretchOfLetters(letters)
		if got := fmt.Sprint(Bounds(s, marks)); got != want {
			t.Errorf("%s: %s, want %s", letters, got, want)
		}
	}
}

// TestFitsIdleTime: kernels that are missing took half of their usual time at least, and a quarter of it with the idle
// time between them, within what the GPU idles and three microseconds.
func TestFitsIdleTime(t *testing.T) {
	for _, c := range []struct {
		time, gap Span
		idle      int64
		want      bool
	}{{8000, 0, 1000, true}, {8000, 0, 999, false}, {2000, 14_000, 1000, true}, {2000, 14_001, 1000, false}} {
		p := newProfile(Stretch{Sequence: &Sequence{ID: []int32{1, 2}, Base: []int32{1, 2}, Role: make([]Role, 2)},
			Time: []Span{7, c.time}, Gap: []Span{0, c.gap}})
		if got := p.fits(1, 2, c.idle); got != c.want {
			t.Errorf("a kernel of %d ns after %d in %d: %v, want %v", c.time, c.gap, c.idle, got, c.want)
		}
	}
}

// TestModulated: a layer of a diffusion transformer begins with a product, of an activation or not, that follows a sum
// and makes what the norm after it is scaled by. More than half of the layers do.
func TestModulated(t *testing.T) {
	plain := []Role{elementwise, product, norm, elementwise, elementwise}
	for _, c := range []struct {
		roles []Role
		want  bool
	}{{plain, true}, {[]Role{elementwise, activation, product, norm, elementwise, elementwise}, true},
		{plain[:4], false}, {[]Role{norm, product, norm, elementwise, elementwise}, false},
		{[]Role{elementwise, norm, norm, elementwise, elementwise}, false},
		{[]Role{elementwise, product, product, elementwise, elementwise}, false},
		{[]Role{elementwise, product, norm, norm, elementwise}, false},
		{[]Role{elementwise, product, norm, elementwise, norm}, false}} {
		s := &Sequence{Role: c.roles, ID: make([]int32, len(c.roles))}
		if got := s.modulates(1); got != c.want || s.modulates(0) || s.modulates(len(c.roles)) {
			t.Errorf("%v: %v, want %v", c.roles, got, c.want)
		}
	}
	for n, want := range map[int]bool{0: false, 2: false, 3: true, 4: true} {
		s, c := &Sequence{}, &Cut{}
		for l := range 5 {
			c.Starts = append(c.Starts, len(s.ID)+1)
			for i, r := range plain {
				if l >= n && i == 1 {
					r = mixer
				}
				s.add(int32(i), r)
			}
		}
		if got := Modulated(s, c); got != want {
			t.Errorf("%d of 4 layers begin with a modulation: %v, want %v", n, got, want)
		}
	}
}

// TestWhatFollowsTheLayers: seven in ten kernels of a layer after the last one are a layer. What is longer than each
// layer, or more than a fifth of which no layer runs, is none.
func TestWhatFollowsTheLayers(t *testing.T) {
	starts := []int{0, 10, 20, 30}
	for n := range 11 {
		s := stack(4, 10)
		s.ID, s.Base, s.Role = s.ID[:30+n], s.Base[:30+n], s.Role[:30+n]
		if end, ok := layerAfter(s, starts); ok != (n >= 7) || ok && end != 30+n {
			t.Errorf("%d kernels of a layer of ten: it ends at %d, %v", n, end, ok)
		}
	}
	for _, c := range []struct {
		kernels, foreign int
		want             bool
	}{{10, 0, true}, {11, 0, false}, {10, 2, true}, {10, 3, false}, {5, 1, true}, {4, 1, false}} {
		s := stack(5, 10)
		for i := range c.foreign {
			s.Base[30+i] = 99
		}
		if got := likeLayers(s, starts, 30, 30+c.kernels); got != c.want {
			t.Errorf("%d kernels, %d of them foreign: %v, want %v", c.kernels, c.foreign, got, c.want)
		}
	}
}

// TestBreaksBetweenPasses: units with at least two foreign kernels, and half of what the fullest has, break passes
// where two thirds of their distances are a tenth of the median off at most; of units within three the fullest does.
func TestBreaksBetweenPasses(t *testing.T) {
	for _, c := range []struct {
		foreign map[int]int // by unit
		want    string
	}{
		{nil, "[]"}, {map[int]int{5: 1, 15: 1}, "[]"}, {map[int]int{5: 2}, "[5]"},
		{map[int]int{5: 2, 15: 2, 25: 2}, "[5 15 25]"},
		{map[int]int{5: 6, 15: 3, 25: 6}, "[5 15 25]"}, {map[int]int{5: 7, 15: 3, 25: 7}, "[5 25]"},
		{map[int]int{5: 3, 15: 3, 25: 3, 20: 1}, "[5 15 25]"},
		{map[int]int{5: 2, 8: 3, 18: 3}, "[8 18]"}, {map[int]int{5: 3, 8: 2, 18: 3}, "[5 18]"},
		{map[int]int{5: 3, 8: 3, 18: 3}, "[5 18]"}, {map[int]int{5: 2, 9: 2, 13: 2}, "[5 9 13]"},
		{map[int]int{0: 2, 10: 2, 20: 2, 40: 2}, "[0 10 20 40]"}, {map[int]int{0: 2, 10: 2, 30: 2, 70: 2}, "[]"},
		{map[int]int{0: 2, 10: 2, 30: 2, 50: 2, 90: 2}, "[]"},
		{map[int]int{0: 2, 17: 2, 37: 2, 60: 2}, "[]"}, {map[int]int{0: 2, 18: 2, 38: 2, 60: 2}, "[0 18 38 60]"},
		{map[int]int{0: 2, 10: 2, 21: 2, 30: 2}, "[0 10 21 30]"}, {map[int]int{0: 2, 10: 2, 22: 2, 30: 2}, "[]"},
	} {
		foreign := make([]int, 100)
		for k, n := range c.foreign {
			foreign[k] = n
		}
		if got := fmt.Sprint(breaksOf(foreign)); got != c.want {
			t.Errorf("%v: %s, want %s", c.foreign, got, c.want)
		}
	}
}

// TestInputOfALayer: a layer begins with the norm before its mixer, or with its only norm.
func TestInputOfALayer(t *testing.T) {
	for _, c := range []struct {
		roles []Role
		want  int
	}{{[]Role{product, norm, product}, 1}, {[]Role{norm, product, product}, 0}, {[]Role{product, product}, -1},
		{[]Role{norm, product, norm}, -1}, {[]Role{product, norm, norm}, -1},
		{[]Role{norm, activation, norm, product, mixer}, 2}, {[]Role{norm, product, mixer, norm, activation}, 0}} {
		s := &Sequence{}
		s.add(9, norm) // of the layer before
		for i, r := range c.roles {
			s.add(int32(i), r)
		}
		if got := inputOf(unit{s: s, from: 1, to: 1 + len(c.roles)}); got != c.want {
			t.Errorf("%v begins at %d, want %d", c.roles, got, c.want)
		}
	}
}

// TestDoubledMixers: layers with more mixers than most have, of which a norm is before each, or with more than two.
func TestDoubledMixers(t *testing.T) {
	for _, c := range []struct {
		layers string // n is a norm, m a mixer
		want   int
	}{{"nmx nmx nmx", 0}, {"nmx nmx nmxnm nmx", 5}, {"nmx nmx nmxmm nmx", 0}, {"nmnm nmnm nmnm", 0}, {"nmnm nm nmnm", 0},
		{"nmnmnm nmnmnm", 12}, {"nmx nmx nmnmx nmnmx", 10}, {"nmnmx nmnmx nmx nmx", 10}, {"nx nx nmx", 0},
		{"nx nx nmnmx", 5}} {
		s, starts := &Sequence{}, []int{0}
		for _, layer := range strings.Fields(c.layers) {
			for _, r := range layer {
				s.add(r, map[rune]Role{'n': norm, 'm': mixer}[r])
			}
			starts = append(starts, len(s.ID))
		}
		if got := doubled(s, starts); got != c.want {
			t.Errorf("%s: %d kernels of layers with too many mixers, want %d", c.layers, got, c.want)
		}
	}
}

// TestPartsOfLayers: where units with a mixer return at a distance of up to four, at nine in ten places; fewer than 24
// units always may be parts.
func TestPartsOfLayers(t *testing.T) {
	for _, c := range []struct {
		pattern string
		n       int
		flip    []int
		want    bool
	}{{"m.", 24, nil, true}, {"m.", 24, []int{10}, true}, {"m.", 24, []int{10, 15}, false}, {"mm..", 24, nil, true},
		{"mm..", 24, []int{10}, true}, {"mm..", 24, []int{10, 15}, false}, {"mm...", 24, nil, false},
		{"mm...", 23, nil, true},
		{"m", 24, nil, true}} {
		mixes := make([]bool, c.n)
		for k := range mixes {
			mixes[k] = c.pattern[k%len(c.pattern)] == 'm'
		}
		for _, k := range c.flip {
			mixes[k] = !mixes[k]
		}
		if got := partsOfLayers(mixes); got != c.want {
			t.Errorf("%d units as %s, others at %v: %v, want %v", c.n, c.pattern, c.flip, got, c.want)
		}
	}
}

// TestNearestPair: of two neighbouring gaps that are usual the nearest, the one before of equals.
func TestNearestPair(t *testing.T) {
	for _, c := range []struct {
		gaps string // u is usual
		k    int
		want int
	}{{"uu..x.", 4, 0}, {"uuxuu", 2, 0}, {"..xuu", 2, 3}, {".uxu.", 2, -1}, {"u.xuu", 2, 3}, {"uu...xuu", 5, 6},
		{"x", 0, -1},
		{"uux", 2, 0}, {"xuu", 0, 1}, {"uu..x..uu", 4, 0}} {
		usual := func(j int) bool { return j >= 0 && j < len(c.gaps) && c.gaps[j] == 'u' }
		if got := nearestPair(c.k, len(c.gaps), usual); got != c.want {
			t.Errorf("%s: %d, want %d", c.gaps, got, c.want)
		}
	}
}

// TestLayersAroundAComb: layers before and after those of a comb are added up to a number that is known; where it is
// not, one after them, and four before: more are another stack.
func TestLayersAroundAComb(t *testing.T) {
	for _, c := range []struct {
		layers, from, to, n int
		want                string
	}{{6, 2, 4, 2, "[20 30 40]"}, {6, 2, 4, 3, "[10 20 30 40]"}, {6, 2, 4, 4, "[0 10 20 30 40]"},
		{6, 2, 4, 5, "[0 10 20 30 40 50]"}, {6, 2, 4, 0, "[0 10 20 30 40 50]"}, {8, 4, 6, 0, "[0 10 20 30 40 50 60 70]"},
		{8, 5, 7, 0, "[50 60 70 80]"}, {4, 0, 4, 0, "[0 10 20 30 40]"}} {
		var starts []int
		for l := c.from; l <= c.to; l++ {
			starts = append(starts, 10*l)
		}
		if got := fmt.Sprint(completeEnds(stack(c.layers, 10), starts, c.n)); got != c.want {
			t.Errorf("%d to %d of %d layers, %d are known: %s, want %s", c.from, c.to, c.layers, c.n, got, c.want)
		}
	}
}

// TestRunsOfLayers: four layers that mix and repeat are a run, wherever the pass ends.
func TestRunsOfLayers(t *testing.T) {
	for layers, want := range map[int]string{3: "[]", 4: "[{{0 16 4} 4}]", 5: "[{{0 20 5} 4}]"} {
		s := &Sequence{}
		for range layers {
			for i, r := range []Role{norm, product, mixer, product} {
				s.add(int32(i), r)
			}
		}
		for _, end := range []bool{false, true} {
			if end {
				s.add(99, norm)
			}
			if got := fmt.Sprint(runsOf(s)); got != want {
				t.Errorf("%d layers, something after them %v: %s, want %s", layers, end, got, want)
			}
		}
	}
}

// TestPlausibleGuesses: what repeats is a stack of layers from some share of the pass on, from some length of a layer
// on, and where enough names say so. The fewer roles are known, the more layers it has to have.
func TestPlausibleGuesses(t *testing.T) {
	for _, c := range []struct {
		what           string
		kernels, n     int
		span           int // between the first layer's begin and the last one's
		support        float64
		mixers, parts  bool
		known, trained int // kernels with a role, and of training
		want           bool
	}{
		{"two fifths of the pass", 100, 4, 30, 1, true, false, 0, 0, true},
		{"less", 100, 4, 29, 1, true, false, 0, 0, false},
		{"layers of three kernels", 100, 14, 39, 1, true, false, 0, 0, true},
		{"shorter ones", 100, 14, 38, 1, true, false, 0, 0, false},
		{"a quarter of the names", 100, 4, 75, 0.25, true, false, 0, 0, true},
		{"fewer", 100, 4, 75, 0.24, true, false, 0, 0, false},
		{"fewer, but of parts of layers", 100, 4, 75, 0.24, true, true, 0, 0, true},
		{"three layers and half of the names", 100, 3, 60, 0.5, true, false, 0, 0, true},
		{"three layers and fewer names", 100, 3, 60, 0.49, true, false, 0, 0, false},
		{"three layers of six kernels", 40, 3, 12, 0.5, true, false, 0, 0, true},
		{"three layers of five", 40, 3, 11, 0.5, true, false, 0, 0, false},
		{"roles but no mixer: eight layers", 100, 8, 70, 0.6, false, false, 26, 0, true},
		{"seven layers", 100, 7, 70, 0.6, false, false, 26, 0, false},
		{"eight layers, fewer names", 100, 8, 70, 0.59, false, false, 26, 0, false},
		{"hardly a role: four layers", 100, 4, 70, 0.35, false, false, 25, 0, true},
		{"three layers of unknown kernels", 100, 3, 60, 0.9, false, false, 25, 0, false},
		{"four layers, fewer names", 100, 4, 70, 0.34, false, false, 25, 0, false},
		{"one kernel in fifty is of training", 100, 4, 75, 1, true, false, 0, 2, true},
		{"more", 100, 4, 75, 1, true, false, 0, 3, false},
	} {
		s := &Sequence{}
		for i := range c.kernels {
			r := other
			if i < c.known {
				r = product
			}
			if i >= c.kernels-c.trained {
				r = backward
			}
			s.add(int32(i), r)
		}
		g := &Guess{N: c.n, Support: c.support, parts: c.parts, Combs: []Comb{{Pos: []int{0, c.span}}}}
		if got := plausible(s, g, c.mixers); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}

// named has so many kernels of each name.
func named(counts ...int) *Sequence {
	s := &Sequence{}
	for id, n := range counts {
		for range n {
			s.add(int32(id), 0)
		}
	}
	return s
}

// TestCountsOfNames: a count explains names that occur a multiple of it, and from four on once more than two or more
// times it; of several passes, once more for each sixteen.
func TestCountsOfNames(t *testing.T) {
	for _, c := range []struct {
		counts []int
		passes bool
		want   string
	}{
		{[]int{4, 8, 9, 5}, false, "4 21/26, 9 9/26, 8 8/26, 5 5/26"}, {[]int{3, 7, 1}, false, "7 7/11, 3 3/11"},
		{[]int{3, 6}, false, "3 9/9, 6 6/9"}, {[]int{4, 10}, false, "10 10/14, 4 4/14"},
		{[]int{32, 66}, false, "66 66/98, 32 32/98"}, {[]int{32, 66}, true, "32 98/98, 66 66/98"},
		{[]int{2, 5, 2}, false, "5 5/9, 2 4/9"}, {[]int{4097}, false, ""}, {[]int{4097}, true, "4097 4097/4097"},
		{[]int{4096}, false, "4096 4096/4096"}, {[]int{4, 9}, true, "4 13/13, 9 9/13"}, {[]int{4, 10}, true, "10 10/14, 4 4/14"},
	} {
		s := named(c.counts...)
		var got []string
		for _, g := range nameCounts(s, c.passes) {
			got = append(got, fmt.Sprintf("%d %.0f/%d", g.N, g.Support*float64(s.Len()), s.Len()))
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%v, of passes %v: %s, want %s", c.counts, c.passes, text, c.want)
		}
	}
}

// TestDoubtsOfLayers: each doubt begins beyond its own limit.
func TestDoubtsOfLayers(t *testing.T) {
	for _, c := range []struct {
		d    Doubts
		want string // how the first doubt begins
	}{
		{Doubts{}, ""}, {Doubts{Lost: true, Scrambled: true, Front: true}, "nothing shows where the pass begins or ends"},
		{Doubts{Scrambled: true, Front: true}, "records are scrambled"},
		{Doubts{Front: true, Foreign: true}, "nothing shows"},
		{Doubts{Uneven: .1, Endless: true}, "nothing shows where the pass ends"},
		{Doubts{Uneven: .11, Endless: true}, "layers of uneven length"}, {Doubts{Uneven: .11}, ""},
		{Doubts{Uneven: .11, Unstarted: .1}, ""}, {Doubts{Uneven: .11, Unstarted: .11}, "layers of uneven length"},
		{Doubts{Unlike: .05}, ""}, {Doubts{Unlike: .051}, "layers unlike the others"},
		{Doubts{Foreign: true}, "layers unlike those of the whole pass"}, {Doubts{Miscounted: true}, "more layers"},
		{Doubts{Twice: true, Drafts: true}, "the kernels of another pass twice"},
		{Doubts{Drafts: true}, "layers that look up"}, {Doubts{Parts: true}, ""},
		{Doubts{Parts: true, Guessed: true}, "each mixer or feed-forward part"},
		{Doubts{Unplaced: true, Several: true, Ragged: true}, "several norms that uneven"},
		{Doubts{Unplaced: true, Several: true}, "several norms that layers may begin with"},
		{Doubts{Unplaced: true}, "no norm before the mixer"}, {Doubts{Unplaced: true, Unstarted: .76}, "layers that do not"},
		{Doubts{Unstarted: .25}, ""}, {Doubts{Unstarted: .26}, "some layers begin with a norm"},
		{Doubts{Unstarted: .75}, "some layers begin with a norm"}, {Doubts{Unstarted: .76}, "layers that do not begin"},
		{Doubts{Unstarted: .76, Single: .045}, "layers that do not begin"},
		{Doubts{Unstarted: .76, Single: .046}, "uneven layers that do not begin"},
		{Doubts{Nameless: true}, "no kernel is known"},
		{Doubts{Single: .2, Guessed: true}, ""}, {Doubts{Single: .21, Guessed: true}, "a number of layers that is read"},
		{Doubts{Single: .21}, "many layers"}, {Doubts{Single: .2}, ""}, {Doubts{Outside: .02, Rest: .025}, ""},
		{Doubts{Outside: .021}, "kernels like those"}, {Doubts{Rest: .026}, "kernels like those"},
		{Doubts{FromEnd: true}, "the window cuts off"},
	} {
		got := Words(c.d)
		if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
			t.Errorf("%+v: %q, want %q first", c.d, got, c.want)
		}
		if most := Judge(1, c.d); (most < 1) != (c.want != "") || Judge(0.05, c.d) != 0.05 {
			t.Errorf("%+v leaves %v of 1, and %v of 0.05", c.d, most, Judge(0.05, c.d))
		}
	}
}

// TestConfidenceOfRepeats: a share of the kernels is in layers that occur twice; a boundary that is open costs a tenth.
func TestConfidenceOfRepeats(t *testing.T) {
	for _, c := range []struct {
		unequal int // layers of eight that equal no other
		lo, hi  int
		byRole  bool
		want    float64
	}{{0, 3, 3, false, 0.995}, {4, 3, 3, false, 0.985}, {8, 3, 3, false, 0.975}, {7, 3, 3, false, 0.975},
		{0, 3, 4, false, 0.895}, {0, 3, 4, true, 0.995}} {
		s, cut := stack(8, 10), &Cut{Lo: c.lo, Hi: c.hi, ByRole: c.byRole}
		for l := range 9 {
			cut.Starts = append(cut.Starts, 10*l)
			if l < c.unequal {
				s.Base[10*l+5] = int32(100 + l)
			}
		}
		if got := Confidence(s, cut); got != c.want {
			t.Errorf("%d of 8 layers equal no other, the boundary is at %d to %d: %v, want %v", c.unequal, c.lo, c.hi, got,
				c.want)
		}
	}
}

// TestLongestRest: where the GPU idles longest, the first of equals.
func TestLongestRest(t *testing.T) {
	s := Stretch{Sequence: stack(1, 6), Gap: []Span{9, 1, 5, 5, 2, 8}}
	if at := s.Rest(1, 4); at != 2 || s.Rest(0, 5) != 0 || s.Rest(3, 3) != 3 || s.Rest(4, 5) != 5 {
		t.Errorf("the longest rest is before kernel %d, want 2", at)
	}
}

// TestRareKernels: a name that fewer than one unit in six runs is foreign.
func TestRareKernels(t *testing.T) {
	for _, c := range []struct{ units, times, want int }{{12, 2, 1}, {11, 2, 0}, {12, 3, 0}, {18, 3, 1}, {17, 3, 0},
		{12, 1, 1}} {
		s, comb := &Sequence{}, []int{}
		for k := range c.units + 1 {
			comb = append(comb, len(s.ID))
			s.add(0, 0)
			if k < c.times {
				s.add(1, 0)
			}
		}
		foreign := foreignKernels(s, comb)
		if n := len(foreign); n != c.units || foreign[0] != c.want || foreign[n-1] != 0 {
			t.Errorf("a name %d times in %d units: %v", c.times, c.units, foreign)
		}
	}
}

// TestCostOfMissingKernels: one to three records are lost by themselves, more as a stretch. What would have taken
// longer than the GPU idles is in another order, or costs much; of a stretch the GPU idles about as long as it takes.
func TestCostOfMissingKernels(t *testing.T) {
	ten := func(time Span) *Profile {
		s := Stretch{Sequence: stack(1, 10), Time: make([]Span, 10), Gap: make([]Span, 10)}
		for i := range s.Time {
			s.Time[i] = time
		}
		return newProfile(s)
	}
	for _, c := range []struct {
		time     Span
		from, to int
		idle     int64
		want     float64
	}{
		{1000, 2, 2, 0, 0}, {1000, 2, 3, 0, 4.6}, {1000, 2, 4, 0, 7.02}, {1000, 2, 5, 0, 7.03},
		{6000, 2, 3, 0, 4.6}, {6002, 2, 3, 0, 4.6 + 5}, {6002, 2, 3, 1, 4.6}, {10_000, 2, 5, 0, 7.03 + 5},
		{10_000, 2, 6, 0, 7.04 + 16 + math.Log(43./3)}, {10_000, 2, 6, 40_000, 7.04},
		{10_000, 2, 6, 83_000, 7.04 + math.Log(2)},
		{10_000, 2, 6, 1e7, 7.04 + 3}, {10_000, 0, 4, 1e7, 7.04}, {10_000, 1, 5, 1e7, 7.04 + 3}, {10_000, 6, 10, 1e7, 7.04}, {10_000, 5, 9, 1e7, 7.04 + 3},
	} {
		if got := ten(c.time).skip(c.from, c.to, c.idle); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("kernels %d to %d of %d ns each in %d ns: %v, want %v", c.from, c.to, c.time, c.idle, got, c.want)
		}
	}
	of := func(letters string) Stretch { // of 1 µs each
		s := Stretch{Sequence: &Sequence{}}
		for i, base := range strings.ToLower(letters) {
			s.ID, s.Base, s.Role = append(s.ID, int32(letters[i])), append(s.Base, base), append(s.Role, other)
			s.Time, s.Gap = append(s.Time, 1000), append(s.Gap, 0)
		}
		return s
	}
	for letters, want := range map[string]float64{ // a capital is another tile
		"abcdefghij": 10 * .01, "abcdefghijabcdefghij": 20*.01 + 2, "abcdexfghij": 10*.01 + 7,
		"abcdexyfghij": 10*.01 + 7 + 4, "abcdeghij": 9*.01 + 4.6, "abcdehij": 8*.01 + 7.02, "bcdefghij": 9*.01 + 4.6,
		"abcdefghi": 9*.01 + 4.6, "abcdefghijx": 10*.01 + 7, "abcdeFghij": 9*.01 + 1.5,
		"xabcdefghij": 10*.01 + 3 + 4.5 + 2, "xyabcdefghij": 10*.01 + 3 + 2*4.5 + 2,
	} {
		if got := decode(of(letters), []*Profile{newProfile(of("abcdefghij"))}, math.Inf(1), false).Cost; math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v, want %v", letters, got, want)
		}
	}
}

// TestWeighedGuesses: without mixers a count needs four fifths of the best support, or two fifths where units are
// alike: 0.7 of their kernels are those of the unit before. Less than 0.35 of them are no units.
func TestWeighedGuesses(t *testing.T) {
	for _, c := range []struct {
		common  int // of ten kernels of each unit
		support float64
		want    bool
	}{{7, 0.79, true}, {6, 0.79, false}, {6, 0.8, true}, {7, 0.39, false}, {7, 0.4, true}, {4, 0.8, true}, {3, 0.8, false},
		{10, 0.4, true}, {3, 1, false}} {
		s := &Sequence{}
		for l := range 8 {
			for i := range 10 {
				id := int32(i)
				if i >= c.common {
					id = int32(100 + 10*l + i)
				}
				s.add(id, other)
			}
		}
		if got := weigh(s, &Guess{N: 8, Support: c.support}, 1); got != c.want {
			t.Errorf("%d of 10 kernels in common, support %v: %v, want %v", c.common, c.support, got, c.want)
		}
	}
}

// TestDoubtsByHand: eight layers need two mixers to be known; a layer that is like no other, and lacks the mixer, is an
// eighth of them.
func TestDoubtsByHand(t *testing.T) {
	for mixers, want := range map[int]bool{0: true, 1: true, 2: false, 8: false} {
		s := layersOf(8)
		c, ok := Layers(s, 8)
		left := mixers
		for i, r := range s.Role {
			if left--; r != mixer {
				left++
			} else if left < 0 {
				s.Role[i] = other
			}
		}
		if d := Doubt(s, c, false); !ok || d.Nameless != want || d.Drafts || d.Uneven != 0 || d.Unstarted != 0 ||
			d.Single != 0 {
			t.Errorf("%d mixers in eight layers: %+v", mixers, d)
		}
	}
	s := layersOf(8)
	c, _ := Layers(s, 8)
	if d := Doubt(s, c, true); d.Unlike != 0 || d.Outside != 0 || d.Parts || !d.Guessed {
		t.Errorf("eight equal layers: %+v", d)
	}
	unlike(s, c, 3)
	if d := Doubt(s, c, false); d.Unlike != 1./8 || d.Single != 1./8 || d.Unstarted != 1./8 || d.Guessed {
		t.Errorf("one of eight layers is unlike the others: %+v", d)
	}
}

// TestPartOfAStretch: a part is open at the ends of the stretch that it holds.
func TestPartOfAStretch(t *testing.T) {
	s := Stretch{Sequence: stack(1, 6), Time: make([]Span, 6), Gap: make([]Span, 6)}
	for span, want := range map[[2]int]Cuts{{0, 6}: {true, true}, {0, 3}: {true, false}, {3, 6}: {false, true},
		{1, 5}: {false, false}} {
		if got := s.part(span[0], span[1]); got.Open != want || got.Len() != span[1]-span[0] {
			t.Errorf("kernels %v: %d, open at %v; want %v", span, got.Len(), got.Open, want)
		}
	}
}
