package segment

import (
	"fmt"
	"math"
	"math/rand"
	"reflect"
	"testing"
)

// TestNoDoubtIsNoNumber: whatever layers a sequence is cut into, each doubt about them and their confidence is a number: a cut has a layer, and a sequence
// with a layer a kernel.
func TestNoDoubtIsNoNumber(t *testing.T) {
	r := rand.New(rand.NewSource(8))
	p := DefaultParams()
	seen := 0
	check := func(s *Sequence, c *Cut) {
		t.Helper()
		seen++
		if c.Layers() < 1 || s.Len() < 1 {
			t.Fatalf("%v: %d layers", s.ID, c.Layers())
		}
		for _, guessed := range []bool{false, true} {
			d := reflect.ValueOf(p.Doubt(s, c, guessed))
			for i := range d.NumField() {
				if f := d.Field(i); f.CanFloat() && (math.IsNaN(f.Float()) || math.IsInf(f.Float(), 0)) {
					t.Fatalf("%v cut at %v: %s is %v", s.ID, c.Starts, d.Type().Field(i).Name, f.Float())
				}
			}
		}
		if conf := p.Confidence(s, c); math.IsNaN(conf) || math.IsNaN(c.Similarity) || math.IsNaN(c.Comb.Cost) {
			t.Fatalf("%v cut at %v: confidence %v, similarity %v, cost %v", s.ID, c.Starts, conf, c.Similarity, c.Comb.Cost)
		}
	}
	for range 3000 {
		s, n := random(r, r.Intn(16)), 2+r.Intn(5)
		c, ok := p.Best(s, n)
		if !ok {
			continue
		}
		check(s, c)
		check(s, p.complete(s, c, 0))
		if again, _, found := p.Reread(s, c, 0, Cuts{true, true}); found {
			check(s, again)
		}
		part := s.Slice(r.Intn(s.Len()), s.Len())
		if f, ok := p.Fit(part, c, n, Cuts{Start: true}); ok {
			check(part, f.Cut)
		}
	}
	if seen < 3000 {
		t.Errorf("only %d cuts were looked at", seen)
	}
}

// TestLeadingLayer: what stands in front of layers is one where at least four of its kernels run as a layer does.
func TestLeadingLayer(t *testing.T) {
	p := DefaultParams()
	for kernels, want := range map[int]bool{3: false, 4: true} {
		s := &Sequence{}
		for k := range kernels {
			s.add(int32(k), 0)
		}
		var starts []int
		for range 6 {
			starts = append(starts, s.Len())
			for k := range 8 {
				s.add(int32(k), 0)
			}
		}
		if _, got := p.layerBefore(s, append(starts, s.Len())); got != want {
			t.Errorf("%d kernels of a layer in front: a layer %v, want %v", kernels, got, want)
		}
	}
}

// TestFewLayersAlike: three layers count where they have six kernels in ten in common.
func TestFewLayersAlike(t *testing.T) {
	p := DefaultParams()
	for shared, want := range map[int]bool{5: false, 6: true} {
		s := &Sequence{}
		for l := range 3 {
			for k := range 10 {
				if k < shared {
					s.add(int32(k), 0)
				} else {
					s.add(int32(100*(l+1)+k), 0)
				}
			}
		}
		if got := p.alike(s, 3); got != want {
			t.Errorf("%d of 10 kernels in common: alike %v, want %v", shared, got, want)
		}
	}
}

// TestNamelessLayers: where no mixer is known a count of names needs four fifths of the best support, or two fifths where layers are seven tenths alike.
func TestNamelessLayers(t *testing.T) {
	p := DefaultParams()
	for _, c := range []struct {
		support float64
		shared  int // of ten kernels of a layer
		want    bool
	}{{0.79, 6, false}, {0.8, 6, true}, {0.79, 7, true}, {0.4, 7, true}, {0.39, 7, false}, {1, 3, false}, {1, 4, true}} {
		s := &Sequence{}
		for l := range 8 {
			for k := range 10 {
				if k < c.shared {
					s.add(int32(k), 0)
				} else {
					s.add(int32(100*(l+1)+k), 0)
				}
			}
		}
		if got := p.weigh(s, &Guess{N: 8, Support: c.support}, 1); got != c.want {
			t.Errorf("%v of the best support, layers %d of 10 alike: %v, want %v", c.support, c.shared, got, c.want)
		}
	}
}

// TestCoveredByLayers: a stack covers two fifths of the kernels.
func TestCoveredByLayers(t *testing.T) {
	p := DefaultParams()
	for outside, want := range map[int]bool{120: true, 121: false} {
		s := stack(8, 10)
		var pos []int
		for l := range 8 {
			pos = append(pos, 10*l)
		}
		for k := range outside {
			s.add(int32(100+k), 0)
		}
		if got := p.plausible(s, &Guess{N: 8, Support: 1, Combs: []Comb{{Pos: pos}}}, true); got != want {
			t.Errorf("80 kernels of layers and %d others: a stack %v, want %v", outside, got, want)
		}
	}
}

// TestGroupsAreBounded: of groups of names that occur in step twelve are tried.
func TestGroupsAreBounded(t *testing.T) {
	p := DefaultParams()
	for groups, want := range map[int]int{11: 11, 12: 12, 14: 12} {
		s := &Sequence{}
		for at := range 30 {
			for g := range groups {
				if at < 2+g { // a count of its own
					for k := range 3 {
						s.add(int32(10*g+k), 0)
					}
				}
			}
			for range 10 {
				s.add(999, 0)
			}
		}
		if got := len(p.StepGroups(s)); got != want {
			t.Errorf("%d groups: %d are tried, want %d", groups, got, want)
		}
	}
}

// votingPass is eight layers of twenty kernels, so many of which are the same in all of them, with so many kernels more in the fourth one and behind the last.
func votingPass(shared, longer, behind int) *Sequence {
	s := &Sequence{}
	s.add(1000, embed)
	for l := range 8 {
		for k := range 20 {
			if r := []Role{norm, other, mixer, other}[min(k, 3)]; k < 4 || k >= 24-shared {
				s.add(int32(k), r)
			} else {
				s.add(int32(100*(l+1)+k), r)
			}
		}
		for k := range longer {
			if l == 3 {
				s.add(int32(2000+k), 0)
			}
		}
	}
	for k := range behind {
		s.add(int32(3000+k), 0)
	}
	return s
}

// TestVotesOfAPass: a pass votes where its layers are even and alike, explain most names and cover most of it; a vote that only contradicts where nothing else was found needs less.
func TestVotesOfAPass(t *testing.T) {
	p := DefaultParams()
	for _, c := range []struct {
		name                   string
		shared, longer, behind int
		clear, strong          bool
	}{
		{"all the same", 20, 0, 0, true, true},
		{"one kernel in twenty of its own", 19, 0, 0, true, true},
		{"two", 18, 0, 0, false, true},
		{"three", 17, 0, 0, false, true},
		{"five", 15, 0, 0, false, false},
		{"one longer by seven", 20, 7, 0, true, true},
		{"by eight", 20, 8, 0, false, true},
		{"what covers four fifths", 20, 0, 14, true, true},
		{"less", 20, 0, 16, false, true},
	} {
		s := votingPass(c.shared, c.longer, c.behind)
		want := 0
		if c.clear {
			want = 8
		}
		if got := p.ClearVote(s); got != want {
			t.Errorf("%s: a clear vote for %d, want %d", c.name, got, want)
		}
		if got := p.StrongVote(s, 8); got != c.strong {
			t.Errorf("%s: a strong vote %v, want %v", c.name, got, c.strong)
		}
	}
	eight, nine, none := layersOf(8), layersOf(9), &Sequence{}
	for _, c := range []struct {
		passes []*Sequence
		want   int
	}{{nil, 0}, {[]*Sequence{eight}, 8}, {[]*Sequence{nine, nine}, 9}, {[]*Sequence{eight, nine}, 0}, {[]*Sequence{eight, none}, 0}, {[]*Sequence{none, eight}, 0}} {
		if got := p.ClearVotes(c.passes); got != c.want {
			t.Errorf("%d passes vote for %d, want %d", len(c.passes), got, c.want)
		}
	}
}

// TestCombsOfACount: a name makes combs of n kernels where it occurs n times, or every so many-th time, and up to three times more beside what the last of them makes.
func TestCombsOfACount(t *testing.T) {
	p := DefaultParams()
	for _, c := range []struct {
		occurs, n int
		want      string // strides of combs and what they leave out
	}{
		{8, 8, "[1:0]"}, {11, 8, "[1:3]"}, {12, 8, "[]"}, {7, 8, "[]"},
		{14, 8, "[]"}, {15, 8, "[2:0]"}, {19, 8, "[2:4]"}, {20, 8, "[]"},
		{22, 8, "[3:0]"}, {27, 8, "[3:5]"}, {28, 8, "[]"},
		{29, 8, "[4:0]"}, {35, 8, "[4:6]"}, {36, 8, "[]"}, {43, 8, "[]"},
	} {
		byName, byBase := &Sequence{}, &Sequence{}
		for k := range c.occurs {
			own := []int32{int32(1 + 2*k), int32(2 + 2*k)}
			byName.ID, byName.Base, byName.Role = append(byName.ID, 0, own[1]), append(byName.Base, own...), append(byName.Role, 0, 0)
			byBase.ID, byBase.Base, byBase.Role = append(byBase.ID, own...), append(byBase.Base, 0, own[1]), append(byBase.Role, 0, 0)
		}
		got := []string{}
		for k, comb := range append(p.Combs(byName, c.n, 9), p.Combs(byBase, c.n, 9)...) {
			s, base := byName, 0.0
			if comb.Base {
				s, base = byBase, 0.005
			}
			if comb.Base != (k%2 == 1) {
				t.Fatalf("%d occurrences for %d layers: comb %d is %+v", c.occurs, c.n, k, comb)
			}
			span := float64(comb.Pos[c.n-1]-comb.Pos[0]) * 8 / 7 / float64(s.Len())
			left := min(float64(comb.Skip+comb.Rest), 3)
			if want := 0.02*float64(comb.Stride-1) + 0.01*left + 0.25*(1-min(1, span)) + base; math.Abs(comb.Cost-want) > 1e-9 {
				t.Errorf("%d occurrences for %d layers, every %d-th: an even comb costs %v, want %v", c.occurs, c.n, comb.Stride, comb.Cost, want)
			}
			if !comb.Base {
				got = append(got, fmt.Sprintf("%d:%d", comb.Stride, comb.Skip+comb.Rest))
			}
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%d occurrences for %d layers: %s, want %s", c.occurs, c.n, got, c.want)
		}
	}
	if sets := p.Combs(stack(1, 4), 1, 9); len(sets) == 0 || sets[0].Cost != 0 {
		t.Errorf("combs of one layer: %+v, want some that cost nothing", sets)
	}
}

// TestBoundaryBehindClosingNorms: where norms close the halves of layers and head and tail contradict each other, layers begin behind the norm that
// stands in front of the mixer, wherever the unit begins.
func TestBoundaryBehindClosingNorms(t *testing.T) {
	p := DefaultParams()
	for _, c := range []struct {
		unit     string // n the norm in front of the mixer, N the other one
		from, to int    // head and tail contradict each other here, around the other one
		want     int
	}{{"npmpeNpape", 5, 8, 1}, {"enpmpeNpap", 5, 8, 2}, {"peNpapenpm", 1, 4, 8}, {"NpapenpmpE", 0, 2, 6}} {
		s := kernelsOf("eeeen")
		for range 5 {
			for _, r := range c.unit {
				s.add(r, map[rune]Role{'n': norm, 'N': norm, 'm': mixer, 'p': product, 'a': activation}[r])
			}
		}
		k := &cutter{p: p, s: s, pos: []int{15, 25, 35, 45}, c: unit{s, 15, 25}}
		k.kinds, k.of = kindsOf(s.ID, k.pos)
		k.measure(false)
		cut := &Cut{Lo: c.to, Hi: c.from}
		if k.choosePhase(cut); cut.At != c.want {
			t.Errorf("a unit of %s: layers begin at its kernel %d, want %d", c.unit, cut.At, c.want)
		}
	}
}

// TestBreaksInClusters: of neighbours that hold foreign kernels the fullest is the break, the first of equals, wherever they stand.
func TestBreaksInClusters(t *testing.T) {
	p := DefaultParams()
	for _, c := range []struct {
		at   map[int]int // foreign kernels by unit
		want string
	}{
		{map[int]int{0: 5, 10: 4, 11: 5, 22: 5}, "[0 11 22]"}, {map[int]int{0: 4, 1: 5, 11: 5, 21: 5}, "[1 11 21]"}, {map[int]int{0: 5, 10: 5, 12: 5, 20: 5}, "[0 10 20]"}, {map[int]int{0: 5, 10: 5, 11: 4, 20: 5}, "[0 10 20]"},
		{map[int]int{0: 5, 10: 3, 11: 4, 12: 5, 24: 5}, "[0 12 24]"}, {map[int]int{7: 5}, "[7]"}, {map[int]int{}, "[]"},
	} {
		foreign := make([]int, 30)
		for k, n := range c.at {
			foreign[k] = n
		}
		if got := fmt.Sprint(p.breaksOf(foreign)); got != c.want {
			t.Errorf("%v: %s, want %s", c.at, got, c.want)
		}
	}
	if !regularShare(p, 6, 2) {
		t.Error("four distances of six are not regular enough")
	}
}

// TestWeightOfClosingNorms: a boundary behind a norm counts where norms close layers, also behind the first kernel of all.
func TestWeightOfClosingNorms(t *testing.T) {
	p := DefaultParams()
	for from, want := range map[int]float64{0: 0.75, 1: 1} { // in front of the first layer stands nothing, or a norm
		s := stack(5, 4)
		var starts []int
		for l := range 5 {
			starts = append(starts, from+4*l)
			if i := from + 4*l - 1; i >= 0 {
				s.Role[i] = norm
			}
		}
		k := &cutter{p: p, s: s, c: unit{s, 0, 4}, closes: true}
		if got := k.weighPhase(starts, 1, 2, 3, -1); got != want*p.WeightNorm {
			t.Errorf("layers from kernel %d on behind norms: %v, want %v", from, got, want*p.WeightNorm)
		}
	}
}

// TestReadingOfAWornLayer: a first layer that lacks a kernel and has another of another name is still a layer of its kind.
func TestReadingOfAWornLayer(t *testing.T) {
	p := DefaultParams()
	of, s := &Sequence{}, &Sequence{}
	whole := func(s *Sequence) {
		for k, r := range []Role{other, other, product} {
			s.add(int32(k), r)
		}
	}
	whole(of)
	s.add(0, other)
	s.add(9, product)
	whole(s)
	whole(s)
	for _, c := range []struct {
		from, to int // of these kernels
		open     Cuts
		want     string
		cut      Cuts
	}{
		{0, 8, Cuts{}, "[0 2 5 8]", Cuts{}}, {0, 8, Cuts{true, true}, "[0 2 5 8]", Cuts{}}, {2, 8, Cuts{true, true}, "[0 3 6]", Cuts{}},
		{3, 8, Cuts{Start: true}, "[0 2 5]", Cuts{Start: true}}, {3, 8, Cuts{}, "[0 2 5]", Cuts{}}, {2, 7, Cuts{End: true}, "[0 3 5]", Cuts{End: true}}, {2, 7, Cuts{}, "[0 3 5]", Cuts{}}, {2, 6, Cuts{}, "[0 3]", Cuts{}},
	} {
		r, ok := p.read(s.Slice(c.from, c.to), of, []kind{{from: 0, to: 3}}, c.open)
		if got := fmt.Sprint(r.starts); !ok || got != c.want || r.cut != c.cut {
			t.Errorf("kernels %d to %d: layers at %s, cut %+v; want %s, %+v", c.from, c.to, got, r.cut, c.want, c.cut)
		}
	}
	if _, ok := p.read(s, of, nil, Cuts{true, true}); ok {
		t.Error("layers of no kind are read")
	}
}

// TestFirstLayersOwnNorm: the first layer has no residual to add and runs another norm; that of the others stands once more behind the last.
func TestFirstLayersOwnNorm(t *testing.T) {
	p := DefaultParams()
	const layers = 8
	s := &Sequence{}
	s.add(20, embed)
	want := []int{}
	for l := range layers {
		want = append(want, s.Len())
		for k, r := range []Role{norm, product, mixer, product, norm, product, activation, product} {
			if id := int32(k); l == 0 && k == 0 {
				s.add(30, r)
			} else {
				s.add(id, r)
			}
		}
	}
	want = append(want, s.Len())
	s.add(0, norm)
	s.add(21, product)
	for sym := range int32(4) { // whichever kernel the layers are counted by
		pos := []int{}
		for i, id := range s.ID {
			if id == sym {
				pos = append(pos, i)
			}
		}
		if got := p.CutAt(s, Comb{Pos: pos, Symbol: sym, Stride: 1}, nil).Starts; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("counted by kernel %d: layers at %v, want %v", sym, got, want)
		}
	}
}

// TestGuessOfWornLayers: where each name was lost once the only number that names tell is one less; the gap that each comb has shows the other layer.
func TestGuessOfWornLayers(t *testing.T) {
	p := DefaultParams()
	s := &Sequence{}
	s.add(40, embed)
	for l := range 12 {
		for k, r := range []Role{norm, product, other, mixer, product, norm, product, activation, product, other} {
			if l != k+1 {
				s.add(int32(k), r)
			}
		}
	}
	s.add(41, product)
	if g := p.Guesses(s, false); len(g) != 1 || g[0].N != 12 {
		t.Errorf("%+v, want 12 layers", g)
	}
	if g := p.Guesses(s, true); len(g) != 1 || g[0].N != 11 {
		t.Errorf("of several passes: %+v, want the number of names, 11", g)
	}
}

// TestNamesThatOccurOnceMore: with several passes in a sequence a name may occur once more for each sixteen layers, in one pass once.
func TestNamesThatOccurOnceMore(t *testing.T) {
	p := DefaultParams()
	for _, c := range []struct {
		count, more int
		passes      bool
		want        bool
	}{{8, 1, false, true}, {8, 2, false, false}, {40, 1, false, true}, {40, 2, false, false}, {8, 1, true, true}, {8, 2, true, false}, {32, 2, true, true}, {32, 3, true, false}, {47, 2, true, true}, {47, 3, true, false}, {48, 3, true, true}} {
		s := &Sequence{}
		for range c.count {
			s.add(0, other)
		}
		for range 2*c.count + c.more {
			s.add(1, other)
		}
		for _, g := range p.counts(s, c.passes) {
			if g.N == c.count && (g.Support == 1) != c.want {
				t.Errorf("%d and %d occurrences, several passes %v: the second supports the first %v, want %v", c.count, 2*c.count+c.more, c.passes, !c.want, c.want)
			}
		}
	}
}

// TestCutOfAReading: a cut that is made of a reading alone has the first kernel of its middle layer for a comb.
func TestCutOfAReading(t *testing.T) {
	p := DefaultParams()
	s := &Sequence{}
	starts := []int{}
	for l := range 8 {
		starts = append(starts, s.Len())
		s.add(int32(10+l/3), norm) // the first three begin with another kernel, and the last two
		for k := range 5 {
			s.add(int32(k), other)
		}
	}
	c := p.fromReading(s, nil, append(starts, s.Len()))
	if got, want := fmt.Sprint(c.Comb.Positions(s, Cuts{})), fmt.Sprint(starts[3:6]); got != want {
		t.Errorf("the comb stands at %s, want %s", got, want)
	}
	if c.Layers() != 8 || c.Period() != 6 || c.At != 6 || !c.ByRole || c.Comb.Cost != 0 || math.Abs(c.Similarity-(7*10+5*2)/(7*12.0)) > 1e-9 {
		t.Errorf("%d layers of %d kernels, at %d, by role %v, cost %v, alike %v", c.Layers(), c.Period(), c.At, c.ByRole, c.Comb.Cost, c.Similarity)
	}
}

// TestDrift: sequences agree where they drift apart by 48 kernels at most, in either direction.
func TestDrift(t *testing.T) {
	p := DefaultParams()
	for drift, want := range map[int]bool{48: true, 49: false} {
		more, less := &Sequence{}, &Sequence{}
		for k := range drift {
			more.add(9000, other)
			for i := range 6 {
				more.add(int32(10*k+i), other)
				less.add(int32(10*k+i), other)
			}
		}
		if ns, nt, _ := p.extend(more, 0, more.Len(), less, 0, less.Len(), +1); (ns == more.Len() && nt == less.Len()) != want {
			t.Errorf("%d kernels more: agreement up to %d of %d, want all: %v", drift, ns, more.Len(), want)
		}
		if ns, nt, _ := p.extend(less, 0, less.Len(), more, 0, more.Len(), +1); (ns == less.Len() && nt == more.Len()) != want {
			t.Errorf("%d kernels less: agreement up to %d of %d, want all: %v", drift, ns, less.Len(), want)
		}
	}
}

// TestMixerOfAnUnknownName: where a unit's mixer has a name that nobody knows, the unit counts as one with a mixer where all have a feed-forward part.
func TestMixerOfAnUnknownName(t *testing.T) {
	p := DefaultParams()
	for feed, want := range map[Role]float64{other: 7.0 / 8, activation: 1, moe: 1} {
		s := &Sequence{}
		pos := []int{}
		for l := range 8 {
			pos = append(pos, s.Len())
			for k, r := range []Role{norm, product, mixer, product, feed} {
				if l == 3 && r == mixer {
					r = other
				}
				s.add(int32(k), r)
			}
		}
		if got, ok := p.mixerShareOfLayers(s, append(pos, s.Len())); !ok || got != want {
			t.Errorf("feed-forward parts by role %d: %v of the units have a mixer, want %v", feed, got, want)
		}
	}
}

// TestNumberOfWornLayers: where each layer lacks another kernel no name has their number; read again by the kind that all of them are they show it.
func TestNumberOfWornLayers(t *testing.T) {
	p := DefaultParams()
	for layers := 10; layers <= 16; layers++ {
		s := &Sequence{}
		s.add(40, embed)
		for l := range layers {
			for k, r := range []Role{norm, product, other, mixer, product, norm, product, activation, product, other} {
				if l == 4 || l == 7 || k != (l+1)%10 {
					s.add(int32(k), r)
				}
			}
		}
		s.add(41, norm)
		s.add(42, product)
		if got := p.Number(s); got != layers {
			t.Errorf("%d layers, read as %d", layers, got)
		}
	}
}

// TestSlackOfAlignments: ranges of one length are aligned where they are shifted against each other by eight kernels at most, in either direction.
func TestSlackOfAlignments(t *testing.T) {
	p := DefaultParams()
	for by, want := range map[int]bool{8: true, 9: false} {
		one, other := shifted(by)
		if m := p.alignPositions(one, 0, one.Len(), other, 0, other.Len()); (m[0] == by) != want {
			t.Errorf("%d kernels more in front: the other begins at %d, want all aligned: %v", by, m[0], want)
		}
		if m := p.alignPositions(other, 0, other.Len(), one, 0, one.Len()); (m[by] == 0 && m[by+30] == 30) != want {
			t.Errorf("%d kernels fewer in front: %d and %d, want all aligned: %v", by, m[by], m[by+30], want)
		}
		pairs := 0
		p.AlignPairs(other, 0, other.Len(), one, 0, one.Len(), func(i, j int) {
			if other.ID[i] == one.ID[j] {
				pairs++
			}
		})
		if (pairs == 60) != want {
			t.Errorf("%d kernels fewer in front: %d of 60 are paired, want all: %v", by, pairs, want)
		}
	}
}

// TestLikeALayer: what has 9 of 20 kernels of a layer is like it, what has 8 is not.
func TestLikeALayer(t *testing.T) {
	p := DefaultParams()
	for shared, want := range map[int]bool{8: false, 9: true} {
		s := stack(6, 20)
		starts := []int{0, 20, 40, 60, 80, 100, 120}
		for k := range 20 {
			if k < shared {
				s.add(int32(k), other)
			} else {
				s.add(int32(100+k), other)
			}
		}
		if got := p.likeLayer(s, 120, 140, starts); got != want {
			t.Errorf("%d of 20 kernels: like a layer %v, want %v", shared, got, want)
		}
	}
	for units, want := range map[string]bool{"baaaaaaaaac": true, "caaaaaaaaab": true, "aaaabaaaaac": false, "abaaaaaaaac": true, "caaaaaaaaba": true} {
		s, pos := gapped(units+"b", 6)
		if got := p.likeLayer(s, pos[11], pos[12], pos[:12]); got != want {
			t.Errorf("b beside %s: like one of the outer four %v, want %v", units, got, want)
		}
	}
}

// TestOpenEnds: where a sequence begins, or ends, within a layer the boundary may be anywhere up to there.
func TestOpenEnds(t *testing.T) {
	p := DefaultParams()
	for _, c := range []struct {
		name          string
		front, behind int // kernels in front of the first anchor and behind the last one, of layers
		anchors       int
		foreign       bool
		lo, hi        int
	}{
		{"foreign kernels on both sides", 3, 4, 4, true, 5, 5}, // three of a layer of eight in front of the first anchor, five from the last one on
		{"two anchors", 3, 4, 2, true, 5, 5},
		{"within a layer at both ends", 3, 4, 4, false, 0, 8},
		{"an anchor at both ends", 0, 0, 4, false, 0, 8},
	} {
		s := &Sequence{}
		if c.foreign {
			s.add(50, embed)
		}
		for k := 8 - c.front; k < 8; k++ {
			s.add(int32(k), other)
		}
		var pos []int
		for range c.anchors - 1 {
			pos = append(pos, s.Len())
			for k := range 8 {
				s.add(int32(k), other)
			}
		}
		pos = append(pos, s.Len())
		for k := range c.behind + 1 {
			s.add(int32(k), other)
		}
		if c.foreign {
			s.add(51, sample)
		}
		if cut := p.CutAt(s, Comb{Pos: pos, Stride: 1}, nil); cut.Lo != c.lo || cut.Hi != c.hi {
			t.Errorf("%s: the boundary lies at %d to %d of a unit, want %d to %d", c.name, cut.Lo, cut.Hi, c.lo, c.hi)
		}
	}
}

// TestLayersThatACombMisses: up to four layers in front of those of a comb, and one behind them, are theirs, up to the number of layers; five in front are another stack.
func TestLayersThatACombMisses(t *testing.T) {
	p := DefaultParams()
	for _, c := range []struct {
		front, teeth, behind int
		n                    int // layers there may be, 0 for any
		want                 int
	}{
		{0, 8, 0, 0, 8}, {2, 8, 2, 0, 11}, {2, 8, 2, 8, 8}, {2, 8, 2, 9, 9}, {2, 8, 2, 10, 10}, {2, 8, 2, 11, 11}, {2, 8, 2, 12, 11}, {0, 8, 1, 8, 8}, {0, 8, 1, 9, 9},
		{4, 5, 0, 0, 9}, {5, 5, 0, 0, 5}, {5, 5, 1, 0, 6}, {5, 5, 0, 8, 8}, {5, 5, 0, 9, 9}, {5, 5, 0, 10, 9},
	} {
		layers := c.front + c.teeth + c.behind
		s := &Sequence{}
		s.add(50, embed)
		var pos []int
		for l := range layers {
			if l >= c.front && l < c.front+c.teeth {
				pos = append(pos, s.Len()+2) // the mixer
			}
			for k, r := range []Role{norm, product, mixer, product, norm, product, activation, product} {
				s.add(int32(k), r)
			}
		}
		s.add(51, sample)
		starts := p.complete(s, p.CutAt(s, Comb{Pos: pos, Stride: 1}, nil), c.n).Starts
		for _, at := range starts {
			if (at-1)%8 != 0 {
				t.Errorf("a comb of %d of %d layers, %d in front, at most %d layers: one begins within another, at %d", c.teeth, layers, c.front, c.n, at)
			}
		}
		if got := len(starts) - 1; got != c.want {
			t.Errorf("a comb of %d of %d layers, %d in front, at most %d layers: %d, want %d", c.teeth, layers, c.front, c.n, got, c.want)
		}
	}
}

// TestFirstLayerOfAnotherKind: a first layer of another kind begins where its kernels run as the unit does from its boundary on, four at least, and no
// further in front of the first anchor than two units and a band.
func TestFirstLayerOfAnotherKind(t *testing.T) {
	p := DefaultParams()
	const period = 10
	for _, c := range []struct {
		front, run, behind int // kernels that run as the unit does, and others in front of them and up to the first anchor
		norm               int32
		want               int // −1 for none
	}{{100, 4, 6, 3, 100}, {100, 3, 6, 3, -1}, {100, 4, 2*period + p.Band, 3, 100}, {100, 4, 2*period + p.Band + 1, 3, -1}, {0, 4, 6, 3, 0}, {1, 4, 6, 3, 1}, {100, 5, 6, 30, 100}} {
		s := &Sequence{}
		for k := range c.front {
			s.add(int32(1000+k), other)
		}
		s.add(c.norm, norm) // its name may be another
		for k := 1; k < c.run; k++ {
			s.add(int32(3+k), other)
		}
		for k := range c.behind {
			s.add(int32(2000+k), other)
		}
		first := s.Len()
		for range 4 {
			for k := range period {
				s.add(int32(k), map[bool]Role{true: norm, false: other}[k == 3])
			}
		}
		k := &cutter{p: p, s: s, pos: []int{first, first + period, first + 2*period, first + 3*period}, c: unit{s, first, first + period}}
		begin, ok := k.headByBegin(first-c.run, 3)
		if !ok {
			begin = -1
		}
		if begin != c.want {
			t.Errorf("%d kernels of a layer and %d others: it begins at %d, want %d", c.run, c.behind, begin, c.want)
		}
	}
}

// TestFitOfLeadingLayers: a pass that the window cuts has the leading layers of the whole one, and no more layers than that.
func TestFitOfLeadingLayers(t *testing.T) {
	p := DefaultParams()
	pass := func(dense, experts int) (s *Sequence, pos []int) {
		s = &Sequence{}
		s.add(30, embed)
		for l := range dense + experts {
			for k, r := range []Role{norm, product, mixer, product, norm, moe, other} {
				id := int32(k)
				if l < dense && k > 4 {
					id, r = int32(15+k), []Role{activation, product}[k-5]
				} else if r == moe {
					pos = append(pos, s.Len())
				}
				s.add(id, r)
			}
		}
		s.add(31, sample)
		return s, pos
	}
	s, pos := pass(2, 6)
	whole := p.complete(s, p.CutAt(s, Comb{Pos: pos, Symbol: 5, Stride: 1}, nil), 0)
	if whole.Layers() != 8 {
		t.Fatalf("the whole pass has %d layers, want 8", whole.Layers())
	}
	for _, c := range []struct{ dense, experts, want int }{{2, 4, 6}, {1, 4, 5}, {3, 4, 6}, {0, 4, 4}, {2, 6, 8}, {2, 7, 8}, {2, 8, 8}} {
		s, _ := pass(c.dense, c.experts)
		f, ok := p.Fit(s.Slice(0, s.Len()-1), whole, 8, Cuts{End: true})
		if !ok || f.Layers() != c.want {
			t.Errorf("%d dense layers and %d with experts: %d layers, want %d", c.dense, c.experts, f.Layers(), c.want)
		}
	}
}
