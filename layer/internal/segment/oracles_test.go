package segment

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"
)

// What small functions say is held against what a slower way of counting says.

// random is a sequence of n kernels of few names; some are variants of each other and some have a role in
// common.
func random(r *rand.Rand, n int) *Sequence {
	s := &Sequence{}
	for range n {
		id := int32(r.Intn(8))
		s.ID, s.Base, s.Role = append(s.ID, id), append(s.Base, id/2*2),
			append(s.Role, []Role{0, 0, norm, norm, norm, product, mixer, other}[id])
	}
	return s
}

// aligned is the best score of aligning all of s with all of t, and of each beginning of one with each of the other.
func aligned(s, t *Sequence) [][]int {
	best := make([][]int, s.Len()+1)
	for i := range best {
		best[i] = make([]int, t.Len()+1)
		for j := range best[i] {
			switch {
			case i == 0 && j == 0:
				continue
			case i == 0:
				best[i][j] = best[i][j-1] + scoreGap
				continue
			case j == 0:
				best[i][j] = best[i-1][j] + scoreGap
				continue
			}
			best[i][j] = max(best[i-1][j]+scoreGap, best[i][j-1]+scoreGap, best[i-1][j-1]+scoreOf(s, i-1, t, j-1))
		}
	}
	return best
}

func reversed(s *Sequence) *Sequence {
	out := s.Slice(0, s.Len())
	out.ID, out.Base, out.Role = slices.Clone(s.ID), slices.Clone(s.Base), slices.Clone(s.Role)
	slices.Reverse(out.ID)
	slices.Reverse(out.Base)
	slices.Reverse(out.Role)
	return out
}

// TestAlignmentsAreTheBest: of two short sequences the agreement reaches as far as it scores best, forward and
// backward, and pairs score as much as the best alignment of all of both.
func TestAlignmentsAreTheBest(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	for range 3000 {
		s, u := random(r, r.Intn(6)), random(r, r.Intn(6))
		all := aligned(s, u)
		most := 0
		for i := range all {
			for j := range all[i] {
				most = max(most, all[i][j])
			}
		}
		if ns, nt, _ := extend(s, 0, s.Len(), u, 0, u.Len(), +1); all[ns][nt] != most {
			t.Fatalf("%v and %v agree up to %d and %d, which scores %d of %d", s.ID, u.ID, ns, nt, all[ns][nt], most)
		}
		rs, ru := reversed(s), reversed(u)
		if ns, nt, _ := extend(rs, rs.Len()-1, rs.Len(), ru, ru.Len()-1, ru.Len(), -1); all[ns][nt] != most {
			t.Fatalf("backward: %v and %v agree up to %d and %d, which scores %d of %d", s.ID, u.ID, ns, nt,
				all[ns][nt], most)
		}
		score, pairs := 0, 0
		at := [2]map[int]bool{{}, {}}
		AlignPairs(s, 0, s.Len(), u, 0, u.Len(), func(i, j int) {
			if at[0][i] || at[1][j] {
				t.Fatalf("%v and %v: %d or %d is paired twice", s.ID, u.ID, i, j)
			}
			at[0][i], at[1][j] = true, true
			score += scoreOf(s, i, u, j)
			pairs++
		})
		if score += scoreGap * (s.Len() + u.Len() - 2*pairs); score != all[s.Len()][u.Len()] {
			t.Fatalf("%v and %v: pairs score %d, the best alignment %d", s.ID, u.ID, score, all[s.Len()][u.Len()])
		}
		pos := alignPositions(s, 0, s.Len(), u, 0, u.Len())
		if len(pos) != u.Len()+1 || pos[u.Len()] != s.Len() || !slices.IsSorted(pos) || pos[0] < 0 {
			t.Fatalf("%v and %v: positions %v", s.ID, u.ID, pos)
		}
	}
}

// TestPositionsOfAlignedKernels: where each kernel of one sequence begins in another one.
func TestPositionsOfAlignedKernels(t *testing.T) {
	of := func(ids ...int32) *Sequence {
		s := &Sequence{}
		for _, id := range ids {
			s.add(id, 0)
		}
		return s
	}
	for _, c := range []struct {
		s, u []int32
		want string
	}{
		{[]int32{1, 2, 3}, []int32{1, 2, 3}, "[0 1 2 3]"}, {[]int32{1, 9, 2, 3}, []int32{1, 2, 3}, "[0 2 3 4]"},
		{[]int32{1, 3}, []int32{1, 2, 3}, "[0 1 1 2]"},
		{nil, []int32{1}, "[0 0]"}, {[]int32{1}, nil, "[1]"},
		{[]int32{1, 2, 9, 3, 4}, []int32{1, 2, 8, 3, 4}, "[0 1 2 3 4 5]"},
	} {
		if got := fmt.Sprint(alignPositions(of(c.s...), 0, len(c.s), of(c.u...), 0, len(c.u))); got != c.want {
			t.Errorf("%v in %v: %s, want %s", c.u, c.s, got, c.want)
		}
	}
	long, short := &Sequence{}, of(500, 501) // what differs too much is spread
	for k := range 2*maxBand + 20 {
		long.add(int32(k), 0)
	}
	if got, want := fmt.Sprint(alignPositions(long, 0, long.Len(), short, 0, 2)),
		fmt.Sprint([]int{0, long.Len() / 2, long.Len()}); got != want {
		t.Errorf("of another length: %s, want %s", got, want)
	}
	AlignPairs(long, 0, long.Len(), short, 0, 2, func(i, j int) {
		t.Errorf("%d is paired with %d in sequences of lengths that have nothing in common", i, j)
	})
}

// TestLikenessOfUnits: what two units share counts twice, over their lengths; that of several is the mean over
// neighbours.
func TestLikenessOfUnits(t *testing.T) {
	r := rand.New(rand.NewSource(4))
	for range 2000 {
		s := random(r, 12)
		a, b, c, d := r.Intn(4), 4+r.Intn(3), 7+r.Intn(3), 10+r.Intn(3)
		shared := func(x, y, z, w int) (n int) {
			left := slices.Clone(s.Base[z:w])
			for _, k := range s.Base[x:y] {
				if i := slices.Index(left, k); i >= 0 {
					left = slices.Delete(left, i, i+1)
					n++
				}
			}
			return n
		}
		one, two := 2*float64(shared(a, b, b, c))/float64(c-a), 2*float64(shared(b, c, c, d))/float64(d-b)
		if got := dice(s, a, b, b, c); math.Abs(got-one) > 1e-12 {
			t.Fatalf("%v at %d, %d, %d: %v, want %v", s.Base, a, b, c, got, one)
		}
		if got, want := Similarity(s, []int{a, b, c, d}), (one+two)/2; math.Abs(got-want) > 1e-12 {
			t.Fatalf("%v at %d, %d, %d, %d: %v, want %v", s.Base, a, b, c, d, got, want)
		}
	}
	s := random(r, 4)
	if Similarity(s, []int{0, 2}) != 0 || dice(s, 2, 2, 0, 4) != 0 || dice(s, 0, 4, 3, 3) != 0 {
		t.Error("nothing is like something")
	}
	for pos, want := range map[[4]int]float64{{0, 10, 20, 30}: 0, {0, 10, 20, 31}: 1.0 / 31, {0, 5, 15, 25}: 0.2,
		{0, 1, 2, 1000}: 0.997} {
		if got := unevenness(pos[:]); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v: uneven by %v, want %v", pos, got, want)
		}
	}
	if unevenness([]int{7}) != 0 || unevenness([]int{0, 9}) != 0 || medianLayer([]int{0, 3, 10, 12, 20}) != 7 ||
		medianLayer([]int{0, 3}) != 3 {
		t.Error("two positions are even; the median of 3, 7, 2 and 8 is the larger middle one")
	}
}

// TestCombsAreOccurrences: a comb has every so many-th occurrence of its name, and says how many it leaves out on
// either side; the best come first.
func TestCombsAreOccurrences(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	for range 400 {
		s := random(r, 30)
		n := 2 + r.Intn(5)
		last := -1.0
		for k, c := range Combs(s, n, 5) {
			var all []int
			for i, id := range s.symbols(c.level) {
				if id == c.Symbol {
					all = append(all, i)
				}
			}
			if k >= 5 || len(c.Pos) != n || c.Skip < 0 || c.Rest < 0 || c.Skip+(n-1)*c.Stride+1+c.Rest != len(all) ||
				c.Stride < 1 || c.Stride > maxStride || c.Skip+c.Rest > maxSurplus+c.Stride-1 || c.Cost < last {
				t.Fatalf("%v of %d: %+v", s.ID, n, c)
			}
			last = c.Cost
			for i, at := range c.Pos {
				if at != all[c.Skip+i*c.Stride] {
					t.Fatalf("%v: tooth %d of %+v is at %d, want %d", s.ID, i, c, at, all[c.Skip+i*c.Stride])
				}
			}
			for skip := range c.Skip + c.Rest + 1 { // no other offset is as even and as long
				var pos []int
				for i := range n {
					pos = append(pos, all[skip+i*c.Stride])
				}
				span := min(1, float64(pos[n-1]-pos[0])*float64(n)/float64(n-1)/float64(s.Len()))
				own := min(1, float64(c.Pos[n-1]-c.Pos[0])*float64(n)/float64(n-1)/float64(s.Len()))
				if unevenness(pos)+spanCost*(1-span) < unevenness(c.Pos)+spanCost*(1-own)-1e-9 {
					t.Fatalf("%v: %+v, but %v is better", s.ID, c, pos)
				}
			}
		}
	}
}

// TestBreaksOfPasses: breaks are where they hold most foreign kernels, of equal places the last, so that the first
// pass is complete.
func TestBreaksOfPasses(t *testing.T) {
	r := rand.New(rand.NewSource(6))
	for range 1000 {
		per, m := 1+r.Intn(4), 2+r.Intn(10)
		foreign := make([]int, m-1)
		for k := range foreign {
			foreign[k] = r.Intn(3)
		}
		best, most := 0, -1
		for off := range per {
			sum, any := 0, false
			for k, f := range foreign {
				if k >= off && (k-off)%per == 0 {
					sum, any = sum+f, true
				}
			}
			if any && sum >= most {
				best, most = off, sum
			}
		}
		var want []int
		for k := range foreign {
			if k >= best && (k-best)%per == 0 {
				want = append(want, k)
			}
		}
		if got := everyPer(foreign, m, per); !slices.Equal(got, want) {
			t.Fatalf("%v by %d: %v, want %v", foreign, per, got, want)
		}
	}
	s := stack(6, 3)
	comb := []int{0, 3, 6, 9, 12, 15}
	for per, want := range map[int]string{6: "[[0 6]]", 7: "[[0 6]]", 3: "[[0 3] [3 6]]", 2: "[[0 2] [2 4] [4 6]]",
		4: "[[0 4] [4 6]]", 1: "[[0 1] [1 2] [2 3] [3 4] [4 5] [5 6]]"} {
		if got := fmt.Sprint(SplitComb(s, comb, per)); got != want {
			t.Errorf("passes of %d: %s, want %s", per, got, want)
		}
	}
}

func TestVotesAndCounts(t *testing.T) {
	for _, c := range []struct {
		votes map[int]int
		want  int
	}{{nil, 0}, {map[int]int{3: 1}, 3}, {map[int]int{3: 1, 5: 1}, 5}, {map[int]int{3: 2, 5: 1}, 3},
		{map[int]int{3: 0}, 3}} {
		if got := MostVotes(c.votes); got != c.want {
			t.Errorf("%v: %d, want %d", c.votes, got, c.want)
		}
	}
	if abs(-3) != 3 || abs(3) != 3 || abs(0) != 0 || round(0.12345) != 0.123 || round(0.9996) != 1 {
		t.Error("abs or round")
	}
	for _, c := range []struct {
		n, few int
		want   string
	}{{3, 2, "[0 1 2]"}, {6, 2, "[0 1 4 5]"}, {4, 2, "[0 1 2 3]"}, {5, 1, "[0 4]"}, {1, 4, "[0]"}} {
		if got := fmt.Sprint(outer(c.n, c.few)); got != c.want {
			t.Errorf("of %d the %d outer ones: %s, want %s", c.n, c.few, got, c.want)
		}
	}
	s := &Sequence{}
	for _, id := range []int32{1, 2, 1, 3} {
		s.add(id, 0)
	}
	u := &Sequence{}
	u.add(1, 0)
	if Common(nil, s) != 0 || Common(s, u) != 2 || Common(u, s) != 1 || (&Comb{Symbol: 1}).Occurs(s) != 2 || (&Comb{Symbol: 7}).Occurs(s) != 0 ||
		s.Count(0) != 4 || s.Count(norm) != 0 {
		t.Error("counts of kernels")
	}
	var memo Memo[int]
	for k, ids := range [][]int32{{1, 2}, {2, 1}, {1}, {}, {1, 2}, {2, 1}, {1}, {}, {}} {
		if got, want := memo.Get(ids, func() int { return k }), min(k, 7)%4; got != want {
			t.Errorf("%v: %d, want %d", ids, got, want)
		}
	}
}

// TestRaggedCombs: either outer gap may be off, if the one next to it is not.
func TestRaggedCombs(t *testing.T) {
	for _, c := range []struct {
		pos  []int
		want bool
	}{
		{[]int{0, 20, 30, 40, 50}, true}, {[]int{0, 10, 20, 30, 50}, true}, {[]int{0, 20, 40, 50, 60, 70, 80}, false},
		{[]int{0, 10, 20, 30, 40, 60, 80}, false}, {[]int{0, 10, 20, 30}, false},
		{[]int{0, 20, 30, 40}, true}, {[]int{0, 10, 20, 40}, true}, {[]int{0, 20, 30}, false},
	} {
		if got := ragged(c.pos); got != c.want {
			t.Errorf("%v: ragged %v, want %v", c.pos, got, c.want)
		}
	}
}

// TestPositionsOfAComb: from the end that is present on, every so many-th.
func TestPositionsOfAComb(t *testing.T) {
	s := &Sequence{}
	for k := range 21 {
		s.add(int32(min(1, k%3)), 0) // 0 at 0, 3, 6, …, 18
	}
	for _, c := range []struct {
		comb Comb
		cut  Cuts
		want string
	}{
		{Comb{Stride: 1}, Cuts{}, "[0 3 6 9 12 15 18]"}, {Comb{Stride: 1, Skip: 2, Rest: 1}, Cuts{}, "[6 9 12 15 18]"},
		{Comb{Stride: 1, Skip: 2, Rest: 1}, Cuts{Start: true}, "[0 3 6 9 12 15]"},
		{Comb{Stride: 1, Skip: 2, Rest: 1}, Cuts{Start: true, End: true}, "[6 9 12 15 18]"},
		{Comb{Stride: 2}, Cuts{}, "[0 6 12 18]"}, {Comb{Stride: 2, Skip: 1}, Cuts{}, "[3 9 15]"},
		{Comb{Stride: 2}, Cuts{Start: true}, "[0 6 12 18]"}, {Comb{Stride: 2, Rest: 1}, Cuts{Start: true}, "[3 9 15]"},
		{Comb{Stride: 3}, Cuts{Start: true}, "[0 9 18]"}, {Comb{Stride: 3, Rest: 1}, Cuts{Start: true}, "[6 15]"},
		{Comb{Stride: 1, Skip: 9}, Cuts{}, "[]"}, {Comb{Stride: 1, Rest: 9}, Cuts{Start: true}, "[]"},
		{Comb{Symbol: 7, Stride: 2}, Cuts{Start: true}, "[]"},
	} {
		if got := fmt.Sprint(c.comb.Positions(s, c.cut)); got != c.want {
			t.Errorf("%+v, %+v: %s, want %s", c.comb, c.cut, got, c.want)
		}
	}
}

// TestLayersThatTheWindowCuts: what precedes the first whole layer, or after the last, is a part of one
// where that end is cut and layers are missing.
func TestLayersThatTheWindowCuts(t *testing.T) {
	s := stack(5, 4)
	for _, c := range []struct {
		starts      []int
		n           int
		cut         Cuts
		want        string
		first       int
		front, back bool
	}{
		{[]int{4, 8, 12}, 8, Cuts{}, "[4 8 12]", 0, false, false},
		{[]int{4, 8, 12}, 8, Cuts{Start: true}, "[0 4 8 12]", 5, true, false},
		{[]int{0, 8, 12}, 8, Cuts{Start: true}, "[0 8 12]", 6, true, false},
		{[]int{4, 8, 12}, 2, Cuts{Start: true}, "[4 8 12]", 0, false, false},
		{[]int{4, 8, 12}, 3, Cuts{Start: true}, "[0 4 8 12]", 0, true, false},
		{[]int{4, 8, 12}, 8, Cuts{End: true}, "[4 8 12 20]", 0, false, true},
		{[]int{4, 8, 20}, 8, Cuts{End: true}, "[4 8 20]", 0, false, false},
		{[]int{4, 8, 12}, 2, Cuts{End: true}, "[4 8 12]", 0, false, false},
		{[]int{4, 8, 12}, 3, Cuts{End: true}, "[4 8 12 20]", 0, false, true},
		{[]int{4, 8, 12}, 8, Cuts{Start: true, End: true}, "[0 4 8 12 20]", 0, true, true},
		{[]int{4, 8, 12}, 3, Cuts{Start: true, End: true}, "[0 4 8 12]", 0, true, false},
	} {
		f := Window(s, &Cut{Starts: c.starts}, c.n, c.cut)
		if got := fmt.Sprint(f.Starts); got != c.want || f.First != c.first || f.CutFirst != c.front ||
			f.CutLast != c.back {
			t.Errorf("%v of %d layers, %+v: %s from %d, cut %v and %v; want %s from %d, %v and %v", c.starts, c.n,
				c.cut, got, f.First, f.CutFirst, f.CutLast, c.want, c.first, c.front, c.back)
		}
	}
}

// TestPartsThatGoOn: what is beside the layers is a part of another one where it is no longer than the longest,
// and holds one foreign kernel in five at most.
func TestPartsThatGoOn(t *testing.T) {
	for _, lengths := range [][]int{{12, 10, 10}, {10, 12, 10}, {10, 10, 12}} {
		partsThatGoOn(t, lengths)
	}
	s := layersOf(4) // that the last layer is of other kernels makes these no foreign ones
	unlike(s, &Cut{Starts: startsOf(4)}, 3)
	s = s.Slice(0, 33)
	for k := range 4 {
		s.add(int32(125+k), 0)
	}
	if !MissingEnds(s, startsOf(4)).End {
		t.Error("the beginning of another layer as the last one is taken for an end")
	}
}

func partsThatGoOn(t *testing.T, lengths []int) {
	for _, c := range []struct {
		kernels, foreign int
		want             bool
	}{{0, 0, true}, {1, 0, true}, {1, 1, false}, {5, 1, true}, {4, 1, false}, {10, 2, true}, {10, 3, false},
		{12, 0, true}, {13, 0, false}} {
		part := func(s *Sequence) {
			for k := range c.kernels {
				id := int32(k % 10)
				if k < c.foreign {
					id = int32(90 + k)
				}
				s.add(id, 0)
			}
		}
		layers := func(s *Sequence) (starts []int) {
			for _, n := range lengths {
				starts = append(starts, s.Len())
				for k := range n {
					s.add(int32(k%10), 0)
				}
			}
			return append(starts, s.Len())
		}
		front, behind := &Sequence{}, &Sequence{}
		part(front)
		fs := layers(front)
		bs := layers(behind)
		part(behind)
		if got, other := MissingEnds(front, fs).Start, MissingEnds(behind, bs).End; got != c.want || other != c.want {
			t.Errorf("%d kernels, %d of them foreign: comes from %v, goes on %v, want %v", c.kernels, c.foreign, got,
				other, c.want)
		}
	}
}

// TestMixersOfUnits: what is outside of the units counts as one more; one mixer says nothing.
func TestMixersOfUnits(t *testing.T) {
	for _, c := range []struct {
		mixers []int // of kernels 0 to 13: two, three units of three, three
		share  float64
		ok     bool
	}{{nil, 0, false}, {[]int{3}, 0, false}, {[]int{3, 6}, 0.5, true}, {[]int{3, 6, 9}, 0.75, true},
		{[]int{3, 6, 9, 0}, 1, true}, {[]int{3, 6, 9, 1}, 1, true}, {[]int{3, 6, 9, 11}, 1, true},
		{[]int{3, 6, 9, 13}, 1, true}, {[]int{3, 6, 9, 0, 13}, 1, true}, {[]int{0, 13}, 0.25, true},
		{[]int{3, 4}, 0.25, true}} {
		s := &Sequence{}
		for k := range 14 {
			s.add(int32(k), 0)
		}
		for _, k := range c.mixers {
			s.Role[k] = mixer
		}
		if share, ok := mixerShare(s, []int{2, 5, 8, 11}); ok != c.ok || ok && share != c.share {
			t.Errorf("mixers at %v: %v, known %v; want %v, %v", c.mixers, share, ok, c.share, c.ok)
		}
	}
}

// TestBeginningOfLayerOne: a boundary that somebody knows lies after the first anchor, up to the second one, of the
// cut's own unit.
func TestBeginningOfLayerOne(t *testing.T) {
	s := stack(4, 5)
	cut := func(pos ...int) *Cut { return &Cut{Comb: Comb{Pos: pos}, unit: unit{s, 2, 7}, At: 9} }
	for _, c := range []struct {
		cut  *Cut
		i    int
		want int // −1: not in it
	}{{cut(2, 7, 12), 3, 1}, {cut(2, 7, 12), 7, 5}, {cut(2, 7, 12), 2, -1}, {cut(2, 7, 12), 8, -1}, {cut(2), 3, -1},
		{cut(), 3, -1}, {cut(3, 7), 5, -1}, {cut(2, 7), 4, 2}} {
		moved, ok := c.cut.BeginningAt(c.i)
		if ok != (c.want >= 0) || ok && moved.At != c.want || c.cut.At != 9 {
			t.Errorf("kernel %d of %v: at %d, %v; want %d", c.i, c.cut.Comb.Pos, moved.At, ok, c.want)
		}
	}
}

// TestClustersFromTheStart: a role that comes first begins a cluster, too.
func TestClustersFromTheStart(t *testing.T) {
	for want, at := range map[string][]int{"[0]": {0}, "[5]": {5}, "[0 7]": {0, 7}, "[1]": {1, 7}, "[]": nil,
		"[2 20]": {2, 8, 20}} {
		s := stack(1, 30)
		for _, k := range at {
			s.Role[k] = norm
		}
		if got := Clusters(s, norm); fmt.Sprint(got) != want {
			t.Errorf("at %v: %v, want %s", at, got, want)
		}
	}
}
