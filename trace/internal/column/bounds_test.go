package column

import (
	"fmt"
	"slices"
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
		{0, 0, true}, {-1 << 60, 0, true}, {-1<<60 - 1, 0, false}, {1 << 62, 0, true}, {1<<62 + 1, 0, false}, {0, 1 << 61, true}, {0, 1<<61 + 1, false},
	} {
		if got := Plausible(c.start, c.dur); got != c.want {
			t.Errorf("%d for %d: %v, want %v", c.start, c.dur, got, c.want)
		}
	}
	if AbsurdDuration != 10e9 || FarAway != 3600e9 {
		t.Errorf("%d ns are absurd, %d far: want 10 s and an hour", int64(AbsurdDuration), FarAway)
	}
}

// TestImpossibleDurations: what lasts more than ten seconds, never ended, or reaches more than a millisecond into a hundred later
// activities of its stream, ends where the next one begins.
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
		{"not ended", activities([2]int64{0, 2000}, [2]int64{5, 1}), func(c *Columns) { c.Unended.Set(0, 1) }, 9, false, 5000},
		{"not ended, a millisecond", activities([2]int64{0, 1005}, [2]int64{5, 1}), func(c *Columns) { c.Unended.Set(0, 1) }, 9, false, 1_005_000},
		{"not ended, a little more", activities([2]int64{0, 1005}, [2]int64{5, 1}), func(c *Columns) { c.Unended.Set(0, 1); c.Dur[0]++ }, 9, false, 5000},
		{"a hundred", many(100, 1001), nil, 9, false, 2_001_000},
		{"a hundred and one", many(101, 1001), nil, 9, false, 10_000},
		{"just not into the last", many(101, 1000), nil, 9, false, 2_010_000},
		{"of one replay", many(101, 1001), func(c *Columns) {
			for i := range c.Len() {
				c.Corr.Set(i, 7)
			}
		}, 9, false, 2_011_000},
		{"of another launch", many(101, 1001), func(c *Columns) {
			for i := range c.Len() {
				c.Corr.Set(i, uint64(i+1))
			}
		}, 9, false, 10_000},
		{"a whole replay", many(101, 1001), nil, 1, false, 2_011_000},
		{"no stream", many(101, 1001), nil, 9, true, 2_011_000},
		{"another stream", activities([2]int64{0, 10_000_001}, [2]int64{5, 1}), func(c *Columns) { c.Queue[1] = 1 }, 9, false, 10_000_001_000},
		{"another process", activities([2]int64{0, 10_000_001}, [2]int64{5, 1}), func(c *Columns) { c.Scope.Set(1, 1) }, 9, false, 10_000_001_000},
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

// TestEventsFarFromAllOthers: at most one in a hundred, or one, more than an hour and a thousand times the recording away.
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
	far, _ = DropFar(t.Context(), []Columns{*row(300, 1, 10*hour, -5*hour)})
	if far.Dropped != 2 || far.Gap != 5*hour*1000 {
		t.Errorf("%d left out, the nearest %d away; want 2 and 5 hours", far.Dropped, far.Gap)
	}
}

// TestLaunchesOfActivities: the last call of an id that began before the activity, and that launches; ids far apart are found, too.
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
		got, err := Launches(t.Context(), &g, &c, launches)
		if err != nil {
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
		{"far apart", []call{{0, 1, 1, 0}, {10, 1 << 40, 1, 0}, {11, 1 << 50, 1, 0}}, call{start: 20, corr: 1 << 40}, 1},
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
		x, err := c.indexCalls(t.Context(), launches)
		if err != nil || x.spans[0].size != want {
			t.Errorf("ids 1 and %d: a table of %d numbers, want %d", last, x.spans[0].size, want)
		}
	}
}

func TestGroupsParentsAndJumps(t *testing.T) {
	first, row := Group([]int32{1, -1, 0, 1, 2}, 3)
	if got := fmt.Sprint(first, row); got != "[0 1 3 4] [2 0 3 4]" {
		t.Errorf("groups %s", got)
	}
	c := &Columns{}
	for _, r := range [][3]int64{{0, 0, 100}, {0, 10, 50}, {0, 20, 10}, {0, 60, 10}, {0, 60, 0}, {0, 65, 10}, {0, 100, 10}, {0, 110, 0}, {1, 5, 5}} {
		c.Thread, c.Start, c.Dur = append(c.Thread, int32(r[0])), append(c.Start, r[1]), append(c.Dur, r[2])
	}
	if got, want := c.Parents(), []int32{-1, 0, 1, 0, 3, 0, -1, 6, -1}; !slices.Equal(got, want) {
		t.Errorf("parents %v, want %v", got, want)
	}
	if got, want := Jumps([]int32{-1, 0, 1, 2, 3, 4, 5, 6}), []int32{-1, 0, 1, 0, 3, 4, 3, 0}; !slices.Equal(got, want) {
		t.Errorf("jumps %v, want %v", got, want)
	}
}

func TestScrambledLaunches(t *testing.T) {
	launch := func(n int, factor int64) *Columns { // the file's order has two names, one behind the other; times go to and fro
		c := &Columns{}
		for i := range n {
			c.Start, c.Dur, c.Queue = append(c.Start, int64((i*2%n+i*2/n)*100_000)), append(c.Dur, 0), append(c.Queue, 0)
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
	}{{"large enough", 32, 10, 1}, {"too few", 30, 10, 0}, {"spread enough", 40, 3, 1}, {"hardly spread", 40, 2, 0}, {"equal", 40, 1, 0}} {
		c := launch(tt.n, tt.factor)
		var s Scrambled
		s.Judge(t.Context(), c, 1)
		if s.Launches != tt.want {
			t.Errorf("%s: %d launches are scrambled, want %d (%v)", tt.name, s.Launches, tt.want, &s)
		}
	}
	c := launch(32, 10)
	s := Scrambled{Repair: true}
	s.Judge(t.Context(), c, 1)
	if !slices.IsSorted(c.Start) || c.Dur[15] != 1000 || c.Dur[16] != 10_000 || s.Rows == 0 {
		t.Errorf("repaired: starts %v, durations %v", c.Start, c.Dur)
	}
}

func TestRoomOfColumns(t *testing.T) {
	for _, c := range []struct{ need, predicted, want int }{{100, 0, 125}, {100, 125, 125}, {100, 126, 157}, {100, 200, 250}, {100, 1280, 1600}, {100, 1281, 1600}, {100, 10_000, 1600}, {4, 0, 5}} {
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
