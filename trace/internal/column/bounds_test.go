package column

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// activities makes rows of one stream: start and duration, in µs.
func activities(rows ...[2]int64) *Columns {
	c := &Columns{}
	for _, r := range rows {
		c.Start, c.Dur = append(c.Start, r[0]*1000), append(c.Dur, r[1]*1000)
		c.Name, c.Kind, c.Queue = append(c.Name, 0), append(c.Kind, 1), append(c.Queue, 0)
	}
	return c
}

func TestPlausibleTimes(t *testing.T) {
	for _, c := range []struct {
		start, dur int64
		want       bool
	}{
		{0, 0, true}, {-1 << 60, 0, true}, {-1<<60 - 1, 0, false}, {1 << 62, 0, true}, {1<<62 + 1, 0, false},
		{0, 1 << 61, true}, {0, 1<<61 + 1, false},
	} {
		if got := Plausible(c.start, c.dur); got != c.want {
			t.Errorf("%d for %d: %v, want %v", c.start, c.dur, got, c.want)
		}
	}
	if AbsurdDuration != 10e9 || FarAway != 3600e9 {
		t.Errorf("%d ns are absurd, %d far: want 10 s and an hour", int64(AbsurdDuration), FarAway)
	}
}

// TestImpossibleDurations: what lasts more than ten seconds, never ended, or reaches more than a millisecond into a
// hundred later activities of its stream, ends where the next one begins.
func TestImpossibleDurations(t *testing.T) {
	many := func(n int, reach int64) *Columns { // the first overlaps n others by more than a millisecond
		c := activities([2]int64{0, int64(n)*10 + reach})
		for i := range n {
			more := activities([2]int64{int64(i+1) * 10, 5})
			c.Append(more, func(n int) int { return n })
		}
		return c
	}
	for _, tt := range []struct {
		name   string
		c      *Columns
		change func(*Columns)
		graph  uint8
		free   bool // not done in order
		want   int64
	}{
		{"ten seconds", activities([2]int64{0, 10_000_000}, [2]int64{5, 1}), nil, 9, false, 10_000_000_000},
		{"more", activities([2]int64{0, 10_000_001}, [2]int64{5, 1}), nil, 9, false, 5000},
		{"more, and nothing behind", activities([2]int64{0, 10_000_001}), nil, 9, false, 10_000_001_000},
		{"not ended", activities([2]int64{0, 2000}, [2]int64{5, 1}), func(c *Columns) { c.Unended.Set(0, 1) }, 9, false,
			5000},
		{"not ended, a millisecond", activities([2]int64{0, 1005}, [2]int64{5, 1}),
			func(c *Columns) { c.Unended.Set(0, 1) }, 9, false, 1_005_000},
		{"not ended, a little more", activities([2]int64{0, 1005}, [2]int64{5, 1}),
			func(c *Columns) { c.Unended.Set(0, 1); c.Dur[0]++ }, 9, false, 5000},
		{"a hundred", many(100, 1001), nil, 9, false, 2_001_000},
		{"a hundred and one", many(101, 1001), nil, 9, false, 10_000},
		{"just not into the last", many(101, 1000), nil, 9, false, 2_010_000},
		{"of one replay", many(101, 1001), func(c *Columns) {
			for i := range c.Len() {
				c.Corr.Set(i, 1)
			}
		}, 9, false, 2_011_000},
		{"over a replay and a hundred others", many(110, 1001), func(c *Columns) {
			for i := range 11 {
				c.Corr.Set(i, 1)
			}
		}, 9, false, 2_101_000},
		{"over a replay and more", many(111, 1001), func(c *Columns) {
			for i := range 11 {
				c.Corr.Set(i, 1)
			}
		}, 9, false, 10_000},
		{"of another launch", many(101, 1001), func(c *Columns) {
			for i := range c.Len() {
				c.Corr.Set(i, uint64(i+1))
			}
		}, 9, false, 10_000},
		{"a whole replay", many(101, 1001), nil, 1, false, 2_011_000},
		{"no stream", many(101, 1001), nil, 9, true, 2_011_000},
		{"another stream", activities([2]int64{0, 10_000_001}, [2]int64{5, 1}), func(c *Columns) { c.Queue[1] = 1 }, 9,
			false, 10_000_001_000},
		{"another process", activities([2]int64{0, 10_000_001}, [2]int64{5, 1}), func(c *Columns) { c.Scope.Set(1, 1) },
			9, false, 10_000_001_000},
	} {
		if tt.change != nil {
			tt.change(tt.c)
		}
		was := tt.c.Dur[0]
		tt.c.CapDurations(tt.graph, []bool{!tt.free, !tt.free})
		if got := tt.c.Dur[0]; got != tt.want {
			t.Errorf("%s: lasts %d ns, want %d", tt.name, got, tt.want)
		}
		recorded := int64(0)
		if was != tt.want {
			recorded = was + 1
		}
		if got := tt.c.Recorded.At(0); got != recorded {
			t.Errorf("%s: recorded as %d, want %d", tt.name, got, recorded)
		}
	}
}

// TestEventsFarFromAllOthers: at most one in a hundred, or one, more than an hour and a thousand times the recording
// away.
func TestEventsFarFromAllOthers(t *testing.T) {
	const hour = int64(3600) * 1_000_000 // µs
	row := func(n int, step int64, more ...int64) *Columns {
		c := &Columns{}
		for i := range n {
			c.Append(activities([2]int64{int64(i) * step, 1}), func(n int) int { return n })
		}
		for _, at := range more {
			c.Append(activities([2]int64{at, 1}), func(n int) int { return n })
		}
		return c
	}
	for _, tt := range []struct {
		name    string
		c       *Columns
		dropped int64
	}{
		{"one of twenty", row(19, 1, 10*hour), 1},
		{"one of nineteen", row(18, 1, 10*hour), 0},
		{"an hour", row(25, 1, hour), 0},
		{"just more than an hour", row(25, 1, hour+25), 1},
		{"two of a hundred", row(100, 1, 10*hour, 10*hour), 0},
		{"two of two hundred", row(198, 1, 10*hour, 10*hour), 2},
		{"before", row(25, 1, -10*hour), 1},
		{"a long recording", row(25, hour/2, 100*hour), 0},
		{"a thousandth", row(101, hour/100, 1001*hour), 1},
		{"more than a thousandth", row(101, hour/100, 1000*hour), 0},
		{"none", row(25, 1), 0},
	} {
		n := tt.c.Len()
		far, ok := DropFar(t.Context(), []Columns{*tt.c})
		if ok != (tt.dropped > 0) || far.Dropped != tt.dropped {
			t.Errorf("%s: %d of %d left out (%v), want %d", tt.name, far.Dropped, n, ok, tt.dropped)
		}
	}
	far, _ := DropFar(t.Context(), []Columns{*row(25, 1, 10*hour)})
	if far.First != 0 || far.Gap != (10*hour-24)*1000 {
		t.Errorf("first %d, gap %d; want 0 and 10 hours less 24 µs", far.First, far.Gap)
	}
	// Around the others: the gap is to the nearest, and the first that is left out gives its name.
	for _, tt := range []struct {
		before, after int64
		want          int64 // of the nearer one
	}{{-5 * hour, 10 * hour, 5 * hour * 1000}, {-10 * hour, 5 * hour, (5*hour - 299) * 1000}} {
		c := row(300, 1, tt.before, tt.after)
		for i := range c.Name {
			c.Name[i] = uint32(i)
		}
		far, ok := DropFar(t.Context(), []Columns{*c})
		if !ok || far.Dropped != 2 || far.Gap != tt.want || far.Name != 300 || far.First != 0 {
			t.Errorf("%d before and %d after: %+v, want 2 left out, the nearest %d away, the first named 300",
				tt.before, tt.after, far, tt.want)
		}
	}
	// In several lanes, and where a lane keeps all its rows.
	lanes := []Columns{*row(60, 1), *row(60, 1, 10*hour)}
	if far, ok := DropFar(t.Context(), lanes); !ok || far.Dropped != 1 || lanes[0].Len() != 60 || lanes[1].Len() != 60 {
		t.Errorf("%+v, %d and %d rows are left; want one left out and 60 and 60", far, lanes[0].Len(), lanes[1].Len())
	}
	far, _ = DropFar(t.Context(), []Columns{*row(300, 1, 10*hour, -5*hour)})
	if far.Dropped != 2 || far.Gap != 5*hour*1000 {
		t.Errorf("%d left out, the nearest %d away; want 2 and 5 hours", far.Dropped, far.Gap)
	}
}

// TestLaunchesOfActivities: the last call of an id that began before the activity, and that launches; ids far apart
// are found, too.
func TestLaunchesOfActivities(t *testing.T) {
	type call struct {
		start int64
		corr  uint64
		name  uint32
		scope uint16
	}
	launches := func(name uint32) bool { return name == 1 }
	find := func(calls, acts []call) []int32 {
		var c, g Columns
		for _, list := range []struct {
			to   *Columns
			rows []call
		}{{&c, calls}, {&g, acts}} {
			for i, r := range list.rows {
				list.to.Start, list.to.Name = append(list.to.Start, r.start), append(list.to.Name, r.name)
				list.to.Corr.Set(i, r.corr)
				list.to.Scope.Set(i, r.scope)
			}
		}
		got := make([]int32, len(acts))
		for i := range got {
			got[i] = -1
		}
		if _, err := Link(t.Context(), &g, &c, IDs{&g.Corr, &c.Corr}, got, launches, false); err != nil {
			t.Fatal(err)
		}
		return got
	}
	for _, tt := range []struct {
		name  string
		calls []call
		act   call
		want  int32
	}{
		{"its own", []call{{0, 1, 1, 0}, {10, 2, 1, 0}}, call{start: 20, corr: 2}, 1},
		{"no id", []call{{0, 1, 1, 0}}, call{start: 20}, -1},
		{"calls without id", []call{{0, 0, 1, 0}}, call{start: 20, corr: 0}, -1},
		{"an id that no call has", []call{{0, 1, 1, 0}, {10, 3, 1, 0}}, call{start: 20, corr: 2}, -1},
		{"below all ids", []call{{0, 5, 1, 0}}, call{start: 20, corr: 4}, -1},
		{"above all ids", []call{{0, 5, 1, 0}}, call{start: 20, corr: 6}, -1},
		{"the last before it", []call{{0, 1, 1, 0}, {10, 1, 1, 0}, {30, 1, 1, 0}}, call{start: 20, corr: 1}, 1},
		{"at the same time", []call{{0, 1, 1, 0}, {20, 1, 1, 0}}, call{start: 20, corr: 1}, 1},
		{"all later", []call{{30, 1, 1, 0}, {40, 1, 1, 0}}, call{start: 20, corr: 1}, 0},
		{"one that launches", []call{{0, 1, 1, 0}, {10, 1, 2, 0}}, call{start: 20, corr: 1}, 0},
		{"one that launches, later", []call{{0, 1, 2, 0}, {30, 1, 1, 0}, {40, 1, 2, 0}}, call{start: 20, corr: 1}, 1},
		{"two that launch", []call{{0, 1, 1, 0}, {5, 1, 2, 0}, {10, 1, 1, 0}}, call{start: 20, corr: 1}, 2},
		{"none launches", []call{{0, 1, 2, 0}, {10, 1, 2, 0}}, call{start: 20, corr: 1}, 1},
		{"not in order of time", []call{{10, 1, 1, 0}, {0, 1, 1, 0}}, call{start: 5, corr: 1}, 1},
		{"of its process", []call{{0, 1, 1, 0}, {10, 1, 1, 1}}, call{start: 20, corr: 1, scope: 1}, 1},
		{"of no process known", []call{{0, 1, 1, 0}}, call{start: 20, corr: 1, scope: 2}, -1},
		{"far apart", []call{{0, 1, 1, 0}, {10, 1 << 40, 1, 0}, {11, 1 << 50, 1, 0}}, call{start: 20, corr: 1 << 40},
			1},
		{"far apart, none", []call{{0, 1, 1, 0}, {10, 1 << 40, 1, 0}}, call{start: 20, corr: 2}, -1},
		{"downwards", []call{{0, 9, 1, 0}, {10, 5, 1, 0}, {12, 7, 1, 0}}, call{start: 20, corr: 5}, 1},
		{"downwards, the highest", []call{{0, 9, 1, 0}, {10, 5, 1, 0}}, call{start: 20, corr: 9}, 0},
	} {
		if got := find(tt.calls, []call{tt.act}); got[0] != tt.want {
			t.Errorf("%s: call %d, want %d", tt.name, got[0], tt.want)
		}
	}
	var c Columns
	for i, id := range []uint64{1, 16, 0} { // two calls: a table of sixteen numbers, not of seventeen
		c.Start, c.Name = append(c.Start, int64(i)), append(c.Name, 1)
		c.Corr.Set(i, id)
	}
	for last, want := range map[uint64]uint64{16: 16, 17: 0} {
		c.Corr.Set(1, last)
		x, err := c.indexCalls(t.Context(), &c.Corr, launches)
		if err != nil || x.spans[0].size != want {
			t.Errorf("ids 1 and %d: a table of %d numbers, want %d", last, x.spans[0].size, want)
		}
	}
}

func TestGroups(t *testing.T) {
	first, row := Group([]int32{1, -1, 0, 1, 2}, 3)
	if got := fmt.Sprint(first, row); got != "[0 1 3 4] [2 0 3 4]" {
		t.Errorf("groups %s", got)
	}
}

// TestEnds compares with a walk through all rows before one.
func TestEnds(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{0, 1, endsOf - 1, endsOf, endsOf + 1, endsOf*endsOf + 5, 3 * endsOf * endsOf} {
		c := &Columns{}
		for i := range n {
			c.Start, c.Dur = append(c.Start, int64(i)), append(c.Dur, rng.Int64N(1+rng.Int64N(int64(1+n-i))))
		}
		ends := c.Ends()
		for range 500 {
			i := rng.IntN(n+1) - 1
			lo, end := rng.IntN(i+2), rng.Int64N(int64(n+2))
			want := i
			for want >= lo && c.End(want) < end {
				want--
			}
			if want < lo {
				want = -1
			}
			if got := ends.Last(c, lo, i, end); got != want {
				t.Fatalf("%d rows: the last of %d to %d that ends at %d: %d, want %d", n, lo, i, end, got, want)
			}
		}
	}
}

func TestScrambledLaunches(t *testing.T) {
	// the file's order has two names, one after the other; times go to and fro
	launch := func(n int, factor int64) *Columns {
		c := &Columns{}
		for i := range n {
			c.Start, c.Dur, c.Queue = append(c.Start, int64((i*2%n+i*2/n)*100_000)), append(c.Dur, 0),
				append(c.Queue, 0)
			c.Name = append(c.Name, uint32(i*2/n))
			c.Corr.Set(i, 5)
		}
		byTime := make([]int, n)
		for i := range byTime {
			byTime[i] = i
		}
		slices.SortFunc(byTime, func(a, b int) int { return int(c.Start[a] - c.Start[b]) })
		for k, i := range byTime { // the first half of the time is short, the second long
			c.Dur[i] = 1000
			if k >= n/2 {
				c.Dur[i] *= factor
			}
		}
		return c
	}
	for _, tt := range []struct {
		name   string
		n      int
		factor int64
		want   int
	}{{"large enough", 32, 10, 1}, {"too few", 30, 10, 0}, {"spread enough", 40, 3, 1}, {"hardly spread", 40, 2, 0},
		{"equal", 40, 1, 0}} {
		c := launch(tt.n, tt.factor)
		var s Scrambled
		s.Judge(t.Context(), c, 1)
		if s.Launches != tt.want {
			t.Errorf("%s: %d launches are scrambled, want %d (%v)", tt.name, s.Launches, tt.want, &s)
		}
	}
	// The rows of several launches are summed.
	var several Scrambled
	for _, n := range []int{40, 32} {
		several.Judge(t.Context(), launch(n, int64(n)), 1)
	}
	if got := several.String(); several.Launches != 2 ||
		!strings.Contains(got, " of the 72 kernels of 2 graph launches ") {
		t.Errorf("launches of 40 and 32 kernels: %s", got)
	}
	c := launch(32, 10)
	s := Scrambled{Repair: true}
	s.Judge(t.Context(), c, 1)
	if !slices.IsSorted(c.Start) || c.Dur[15] != 1000 || c.Dur[16] != 10_000 || s.Rows == 0 {
		t.Errorf("repaired: starts %v, durations %v", c.Start, c.Dur)
	}
}

func TestRoomOfColumns(t *testing.T) {
	for _, c := range []struct{ need, predicted, want int }{{100, 0, 125}, {100, 125, 125}, {100, 126, 157},
		{100, 200, 250}, {100, 1280, 1600}, {100, 1281, 1600}, {100, 10_000, 1600}, {4, 0, 5}} {
		if got := Room(c.need, c.predicted); got != c.want {
			t.Errorf("%d needed, %d predicted: %d, want %d", c.need, c.predicted, got, c.want)
		}
	}
	var s Sparse[int32]
	s.Set(3, 0)
	if len(s.V) != 0 {
		t.Error("zero takes room")
	}
	s.Set(2, 7)
	if s.At(2) != 7 || s.At(1) != 0 || s.At(9) != 0 || len(s.V) != 3 {
		t.Errorf("%v", s.V)
	}
	if got := s.widen(5); len(got) != 5 || got[2] != 7 {
		t.Errorf("%v", got)
	}
	if got := s.widen(4); len(got) != 5 {
		t.Errorf("%v", got)
	}
	if got := (&Sparse[int32]{}).widen(4); len(got) != 0 {
		t.Errorf("%v", got)
	}
	for gap := range 4 { // rows of a lane that the column had no value in, before more are appended
		to, more := &Sparse[int32]{}, &Sparse[int32]{V: []int32{7, 8}}
		to.extend(more, gap, func(n int) int { return n })
		if len(to.V) != gap+2 || to.V[gap] != 7 || gap > 0 && to.V[gap-1] != 0 {
			t.Errorf("behind %d rows: %v", gap, to.V)
		}
	}
	var f Sparse[int32]
	for i := range 2000 {
		f.Fill(i, 1, 5000)
	}
	if cap(f.V) != 5000 {
		t.Errorf("room for %d, want that of the lane", cap(f.V))
	}
	if got := Grow(make([]int, 2, 4), 2); cap(got) != 4 {
		t.Errorf("room for %d, want 4", cap(got))
	}
	if got := Grow([]int{1, 2}, 3); len(got) != 2 || cap(got) < 5 || got[1] != 2 {
		t.Errorf("%v, room for %d", got, cap(got))
	}
	n := activities([2]int64{1, 2}, [2]int64{3, 4}, [2]int64{5, 6})
	n.Cut(2)
	if n.Len() != 2 || len(n.Dur) != 2 || n.Size() != 2*8*2+2*4*2+2 {
		t.Errorf("%d rows, %d bytes", n.Len(), n.Size())
	}
}

// TestSpreadOfLaunches: what shows that records are scrambled, in figures.
func TestSpreadOfLaunches(t *testing.T) {
	row := func(names []uint32, durations []int64) *Columns {
		c := &Columns{}
		for i, d := range durations {
			c.Name, c.Dur = append(c.Name, names[i]), append(c.Dur, d)
		}
		return c
	}
	all := []int32{0, 1, 2, 3}
	for _, tt := range []struct {
		name  string
		names []uint32
		dur   []int64
		want  float64
	}{
		{"equal", []uint32{1, 1, 2, 2}, []int64{5, 5, 9, 9}, 0},
		{"each once", []uint32{1, 2, 3, 4}, []int64{5, 50, 9, 90}, 0},
		{"a factor of e² under each", []uint32{1, 1, 2, 2}, []int64{1_000_000, 7_389_056, 10_000_000, 73_890_561}, 1},
		{"under one of them", []uint32{1, 1, 2, 2}, []int64{1_000_000, 7_389_056, 5, 5}, math.Sqrt(0.5)},
		{"one that occurs once does not count", []uint32{1, 1, 2, 3}, []int64{1_000_000, 7_389_056, 5, 500}, 1},
		{"from a nanosecond on", []uint32{1, 1, 2, 2}, []int64{1, 100, 5, 5}, math.Log(100) * math.Sqrt(1./8)},
		{"none shorter than a nanosecond", []uint32{1, 1, 2, 2}, []int64{0, 1, 5, 5}, 0},
	} {
		if got := row(tt.names, tt.dur).spread(all, all); !(math.Abs(got-tt.want) <= 1e-6) { // NaN, too
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	if got := row([]uint32{1, 1, 2, 2}, []int64{1, 9, 1, 9}).spread(all, []int32{0, 2, 1, 3}); got != 0 {
		t.Errorf("names with the times of others: %v, want 0", got)
	}
}

// TestDisorderedLaunches: launches whose rows go back in time on their stream, in file order.
func TestDisorderedLaunches(t *testing.T) {
	type row struct {
		start int64
		corr  uint64
		queue int32
		scope uint16
	}
	for _, tt := range []struct {
		name string
		rows []row
		want string
	}{
		{"in order", []row{{0, 1, 0, 0}, {5, 1, 0, 0}}, "[]"},
		{"at one time", []row{{5, 1, 0, 0}, {5, 1, 0, 0}}, "[]"},
		{"back", []row{{5, 1, 0, 0}, {0, 1, 0, 0}, {7, 1, 0, 0}}, "[[0 1 2]]"},
		{"without a launch", []row{{5, 0, 0, 0}, {0, 0, 0, 0}}, "[]"},
		{"of two launches", []row{{5, 1, 0, 0}, {0, 2, 0, 0}}, "[]"},
		{"of two processes", []row{{5, 1, 0, 0}, {0, 1, 0, 1}}, "[]"},
		{"of two streams", []row{{5, 1, 0, 0}, {0, 1, 1, 0}}, "[]"},
		{"two launches", []row{{5, 2, 0, 0}, {4, 2, 0, 0}, {9, 1, 1, 0}, {8, 1, 1, 0}, {7, 2, 0, 0}},
			"[[0 1 4] [2 3]]"},
	} {
		c := &Columns{}
		for i, r := range tt.rows {
			c.Start, c.Queue = append(c.Start, r.start), append(c.Queue, r.queue)
			c.Corr.Set(i, r.corr)
			c.Scope.Set(i, r.scope)
		}
		if got := fmt.Sprint(c.disordered(2)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestOrderAndBounds: rows of CPU lanes are sorted by thread, start and length, those of the GPU lane by start.
func TestOrderAndBounds(t *testing.T) {
	c := &Columns{}
	for _, r := range [][3]int64{{1, 5, 1}, {0, 9, 1}, {0, 2, 3}, {-1, 7, 1}, {0, 2, 8}, {1, 4, 1}} {
		c.Thread, c.Start, c.Dur, c.Name = append(c.Thread, int32(r[0])), append(c.Start, r[1]), append(c.Dur, r[2]),
			append(c.Name, 0)
	}
	if first, last := c.Bounds(); first != 2 || last != 10 {
		t.Errorf("from %d to %d, want 2 to 10", first, last)
	}
	if first, last := (&Columns{}).Bounds(); first != 0 || last != 0 {
		t.Errorf("of no rows: from %d to %d", first, last)
	}
	first := ThreadRows(c.Thread, 3)
	if !slices.Equal(first, []int32{0, 1, 4, 6, 6}) {
		t.Errorf("first rows %v", first)
	}
	c.Sort(t.Context(), first)
	if got := fmt.Sprint(c.Thread, c.Start, c.Dur); got != "[-1 0 0 0 1 1] [7 2 2 9 4 5] [1 8 3 1 1 1]" {
		t.Errorf("sorted: %s", got)
	}
	c.Rebase(2)
	if c.Start[0] != 5 || c.Start[1] != 0 {
		t.Errorf("relative to 2: %v", c.Start)
	}
	g := activities([2]int64{5, 1}, [2]int64{3, 1}, [2]int64{3, 2}, [2]int64{1, 1})
	g.Sort(t.Context(), nil)
	if got := fmt.Sprint(g.Start, g.Dur); got != "[1000 3000 3000 5000] [1000 1000 2000 1000]" {
		t.Errorf("activities sorted: %s", got)
	}
}

// TestScrambledInWords: one launch, or several.
func TestScrambledInWords(t *testing.T) {
	for n, want := range map[int]string{1: "of 1 graph launch carry", 2: "of 2 graph launches carry"} {
		s := Scrambled{Launches: n, Rows: 3, of: 4}
		if got := s.String(); !strings.Contains(got, want) || !strings.HasPrefix(got, "3 of the 4 kernels") {
			t.Errorf("%d launches: %s", n, got)
		}
	}
}
