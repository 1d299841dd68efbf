package trace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/trace/internal/column"
)

const hour, ten = int64(3600e9), int64(600e9) // ten minutes

// found are the codes of what n activities show, each of dur ns, step ns after the one before; change may alter them.
func found(n int, step, dur int64, change func(g *column.Columns, launch []int32)) string {
	var codes []string
	for _, f := range findings(n, step, dur, change) {
		codes = append(codes, fmt.Sprint(f.Code, "=", f.Count))
	}
	return strings.Join(codes, " ")
}

func findings(n int, step, dur int64, change func(g *column.Columns, launch []int32)) []Remark {
	g, calls := &column.Columns{}, &column.Columns{}
	launch := make([]int32, n)
	for i := range n {
		g.Start, g.Dur, g.Queue, g.Name = append(g.Start, int64(i)*step), append(g.Dur, dur), append(g.Queue, 0),
			append(g.Name, uint32(i))
		launch[i], calls.Start, calls.Dur = int32(i), append(calls.Start, int64(i)*step-5), append(calls.Dur, dur)
		calls.Thread = append(calls.Thread, 0)
	}
	if change != nil {
		change(g, launch)
	}
	return findSuspicions(g, calls, 2, launch, func(i int) bool { return g.Queue[i] == 0 },
		func(int32) launchCall { return kernelLaunch })
}

func TestSuspects(t *testing.T) {
	share := func(n int, plain bool) func(*column.Columns, []int32) { // the first n name one call more
		return func(g *column.Columns, launch []int32) {
			for i := range n + 1 {
				launch[i] = 0
				if !plain {
					g.Queue[i] = 1
				}
			}
		}
	}
	at := func(starts ...int64) func(*column.Columns, []int32) { // of the last ones, whose launches are unknown
		return func(g *column.Columns, launch []int32) {
			for i, start := range starts {
				row := len(g.Start) - len(starts) + i
				g.Start[row], launch[row] = start, -1
			}
		}
	}
	last := func(n int, by int64) func(*column.Columns, []int32) { // n of them
		return func(g *column.Columns, _ []int32) {
			for i := range n {
				g.Start[len(g.Start)-1-i] += by
			}
		}
	}
	inside := func(n int) func(*column.Columns, []int32) { // the first n of each two end after the second
		return func(g *column.Columns, _ []int32) {
			for i := range n {
				g.Dur[2*i] = 3001
			}
		}
	}
	early := func(n int) func(*column.Columns, []int32) {
		return func(g *column.Columns, _ []int32) {
			for i := range n {
				g.Start[i+1] -= 6
			}
		}
	}
	late := func(by int64) func(*column.Columns, []int32) {
		return func(g *column.Columns, _ []int32) {
			for i := range g.Start {
				g.Start[i] += by
			}
		}
	}
	for _, c := range []struct {
		name      string
		n         int
		step, dur int64
		change    func(*column.Columns, []int32)
		want      string
	}{
		{"nothing", 0, 0, 0, nil, ""},
		{"ordinary", 30, 10, 10, nil, ""},
		{"one in ten shares a call", 30, 10, 10, share(3, true), ""},
		{"more do", 30, 10, 10, share(4, true), "shared-launches=4"},
		{"more do, of graphs", 30, 10, 10, share(4, false), ""},
		{"no launches", 30, 10, 10, func(_ *column.Columns, l []int32) {
			for i := range l {
				l[i] = -1
			}
		}, ""},
		{"overlap of half", 2, 0, 10, nil, ""},
		{"overlap of more", 3, 0, 10, nil, "impossible-overlap=1"},
		{"three outlast later ones", 300, 2000, 1000, inside(3), ""},
		{"one outlasts ten", 300, 2000, 1000, func(g *column.Columns, _ []int32) { g.Dur[0] = 20_001 }, ""},
		{"four do", 300, 2000, 1000, inside(4), "impossible-overlap=4"},
		{"one in a hundred does", 500, 2000, 1000, inside(5), ""},
		{"more do", 500, 2000, 1000, inside(6), "impossible-overlap=6"},
		{"all begin before one ends, and end after it", 300, 1000, 1200, nil, ""},
		{"on two streams", 3, 0, 10, func(g *column.Columns,
			l []int32) {
			g.Queue[0] = 1
			g.Queue[1] = 0
			g.Dur[2] = 1
		}, ""},
		{"ten minutes without a call", 2, 1, 1, at(ten + 1), "time-jump=1"},
		{"less", 2, 1, 1, at(ten), ""},
		{"a hundredth of it works", 2, 1, ten / 200, at(ten + ten/200), ""},
		{"less does", 2, 1, ten / 200, at(ten + ten/200 + 200), "time-jump=1"},
		{"a call begins in the middle", 2, ten, 1, at(2*ten - 10), ""},
		{"a call begins at its end", 2, ten + 10, 1, at(ten + 20), "time-jump=1"},
		{"two jumps", 3, 1, 1, at(2*ten, 4*ten), "time-jump=2"},
		{"two begin nearly a second late", 4, 10, 10, last(2, 1e9+4), ""},
		{"two begin a second late", 4, 10, 10, last(2, 1e9+5), "time-jump=1"},
		{"the last alone does", 4, 10, 10, last(1, 1e9+5), ""},
		{"all but the first do", 4, 10, 10, last(3, 1e9+5), ""},
		{"half of all is that", 4, 1e9, 1e9, last(2, 6e9-10), ""},
		{"more is", 4, 1e9, 1e9, last(2, 6e9-9), "time-jump=1"},
		{"one in a hundred begins early", 100, 2000, 1000, early(1), ""},
		{"two do", 100, 2000, 1000, early(2), "clocks-apart=2"},
		{"all begin a second late", 3, 10, 10, late(1e9 - 5), ""},
		{"all begin later", 3, 10, 10, late(1e9 - 4), "clocks-apart=3"},
		{"as long as the GPU works", 3, 1e9, 1e9, late(3e9 - 5), ""},
		{"longer", 3, 1e9, 1e9, late(3e9 - 4), "clocks-apart=3"},
		{"none lasts", 3, 10, 0, nil, "no-durations=3"},
		{"neither of two does", 2, 10, 0, nil, "no-durations=2"},
		{"one does", 3, 10, 0, func(g *column.Columns, _ []int32) { g.Dur[1] = 1 }, ""},
		{"jumps, and a first call that is the cause", 2, 1, 1,
			func(g *column.Columns, l []int32) { g.Start[1], l[0], l[1] = 2*hour, -1, 0 },
			"time-jump=1 clocks-apart=2"},
		{"one of two streams overlaps", 3, 0, 10, func(g *column.Columns, l []int32) { g.Queue[1], g.Queue[2] = 1, 1 },
			""},
		{"one mark", 1, 10, 0, nil, ""},
	} {
		if got := found(c.n, c.step, c.dur, c.change); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestTimeScale: kernels that are shorter than any GPU's, kernels and calls that are never short, and copies that
// no memory can make.
func TestTimeScale(t *testing.T) {
	copies := func(fast, slow int, bytes int64) func(*column.Columns, []int32) {
		return func(g *column.Columns, launch []int32) {
			for i := range g.Start {
				g.Queue[i], launch[i] = 1, -1
				g.Bytes.Set(i, bytes)
				if g.Dur[i] = bytes / 20_000; i >= fast {
					g.Dur[i]++
				}
			}
			g.Dur = g.Dur[:fast+slow]
		}
	}
	some := func(n int, dur int64) func(*column.Columns, []int32) { // last so long
		return func(g *column.Columns, _ []int32) {
			for i := range n {
				g.Dur[i] = dur
			}
		}
	}
	for _, c := range []struct {
		name   string
		n      int
		dur    int64
		change func(*column.Columns, []int32)
		want   string
	}{
		{"a tenth of a microsecond", 100, 100, nil, ""},
		{"shorter", 100, 99, nil, "time-scale=100"},
		{"few of them", 99, 99, nil, ""},
		{"one in twenty", 100, 1000, some(5, 99), ""},
		{"more", 100, 1000, some(6, 99), "time-scale=6"},
		{"those that last nothing do not count", 199, 99, some(100, 0), ""},
		{"half a millisecond", 100, 500_000, nil, "time-scale=100"},
		{"few of that", 99, 500_000, nil, ""},
		{"one is shorter", 100, 500_000, some(1, 499_999), ""},
		{"one lasts nothing", 101, 500_000, some(1, 0), "time-scale=100"},
		{"of seven names", 100, 500_000, func(g *column.Columns, _ []int32) {
			for i := range g.Name {
				g.Name[i] %= 7
			}
		}, ""},
		{"of eight", 100, 500_000, func(g *column.Columns, _ []int32) {
			for i := range g.Name {
				g.Name[i] %= 8
			}
		}, "time-scale=100"},
		{"seven copies", 7, 1, copies(7, 0, 1<<20), ""},
		{"eight", 8, 1, copies(8, 0, 1<<20), "time-scale=8"},
		{"as many slower ones", 16, 1, copies(8, 8, 1<<20), ""},
		{"one less", 15, 1, copies(8, 7, 1<<20), "time-scale=8"},
		{"small ones", 8, 1, copies(8, 0, 1<<16-1), ""},
		{"just large enough", 8, 1, copies(8, 0, 1<<16), "time-scale=8"},
	} {
		if got := found(c.n, max(c.dur, 1<<20), c.dur, c.change); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if f := findings(8, 1<<20, 1, copies(8, 0, 1<<20)); len(f) != 1 ||
		!strings.Contains(f[0].Message, "8 of 8 large copies move more than 20 TB/s") {
		t.Errorf("%+v, want copies of 20 TB/s", f)
	}
	// A call that was quick shows that kernels are really long; that of a graph and one that lasts nothing show
	// nothing.
	for _, c := range []struct {
		graphs bool
		call   int64
		want   string
	}{{false, 5_000, ""}, {true, 5_000, "time-scale"}, {false, 1, ""}, {false, 0, "time-scale"}} {
		g, calls, launch := &column.Columns{}, &column.Columns{}, make([]int32, 100)
		for i := range 100 {
			g.Start, g.Dur, g.Queue, g.Name = append(g.Start, int64(i)<<20), append(g.Dur, 600_000), append(g.Queue, 0),
				append(g.Name, uint32(i))
			launch[i], calls.Start, calls.Dur = int32(i), append(calls.Start, int64(i)<<20), append(calls.Dur, c.call)
			calls.Thread = append(calls.Thread, 0)
		}
		got := ""
		for _, f := range findSuspicions(g, calls, 1, launch, func(int) bool { return true },
			func(int32) launchCall {
				if c.graphs {
					return graphLaunch
				}
				return kernelLaunch
			}) {
			got += string(f.Code)
		}
		if got != c.want {
			t.Errorf("calls of %d ns, graphs %v: %q, want %q", c.call, c.graphs, got, c.want)
		}
	}
}
