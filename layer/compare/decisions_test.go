package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
)

// The cases of this file are on both sides of what decides, by hand. A pass takes a millisecond, so that findings are
// 5 µs at least, and 30 µs are no difference.
func millisecond() *comparison {
	return &comparison{ruler: rulerOf(1e6, false), scale: 1, ch: [2]*chosen{{side: &Side{}}, {side: &Side{}}}}
}

// What one side alone has is new or gone: from half of the passes on, and a finding from 0.5 % of the pass on.
func TestOneSided(t *testing.T) {
	some := func(n int) []float64 { return append(values(n, 7, 0), values(8-n, 0, 0)...) }
	for _, c := range []struct {
		a, b []float64
		want Change
	}{
		{some(8), some(0), Removed}, {some(0), some(8), New}, {some(4), some(0), Removed}, {some(0), some(4), New},
		{some(3), some(0), Unchanged}, {some(0), some(3), Unchanged}, {some(8), some(1), Unchanged},
		{some(1), some(8), Unchanged}, {some(0), some(0), Unchanged}, {nil, nil, Unchanged},
	} {
		if got := oneSided(series{a: c.a, b: c.b}); got != c.want {
			t.Errorf("%v and %v: %q, want %q", c.a, c.b, got, c.want)
		}
	}
	for _, c := range []struct {
		class Class
		ns    float64
		want  Change
		found bool
	}{
		{Memory, 5000, New, true}, {Memory, 4999, New, false}, {Latency, 5000, New, true},
		{Transfer, 90_000, New, false}, {Waiting, 500_000, Unchanged, true},
	} {
		s := []series{{class: c.class, a: values(8, 0, 0), b: values(8, c.ns, 0)}}
		j := rulerOf(1e6, false).judgeAll(s, floors{common: 1e-5}, true).rows[0]
		if j.change != c.want || j.found != c.found || !j.known() {
			t.Errorf("%s of %v ns: %q, found %v; want %q, %v", c.class, c.ns, j.change, j.found, c.want, c.found)
		}
	}
	for _, c := range []struct {
		class  Class
		passes int
		want   Change
	}{{Transfer, 1, New}, {OfHost, hostSteps, New}, {OfHost, hostSteps - 1,
		Unchanged}} { // too few show nothing of the host
		s := []series{{class: c.class, a: values(c.passes, 0, 0), b: values(c.passes, 90_000, 0)}}
		if j := rulerOf(1e6, false).judgeAll(s, floors{common: 1e-5, host: 1e-5}, true).rows[0]; j.change != c.want {
			t.Errorf("%s in %d passes: %q, want %q", c.class, c.passes, j.change, c.want)
		}
	}
	for ns, want := range map[float64]bool{10_000: true, 9_999: false} { // from 1% of the pass on
		s := []series{{class: Waiting, a: values(8, 0, 0), b: values(8, ns, 0)}}
		if j := rulerOf(1e6, true).judgeAll(s, floors{common: 1e-5}, true).rows[0]; j.found != want {
			t.Errorf("waiting of %v ns: found %v", ns, j.found)
		}
	}
	if j := rulerOf(1e6, false).judgeAll(nil, floors{}, true); j.uniform || j.p != 1 || len(j.rows) != 0 {
		t.Errorf("no rows: %+v", j)
	}
	if leastShare(Waiting) != minWait || leastShare(Memory) != minShare || leastShare(Transfer) != minShare {
		t.Error("waiting needs more than work to be a finding")
	}
}

// Classes of six rows and more have a factor of their own: a lower clock slows arithmetic, not memory.
func TestFactorOfAClass(t *testing.T) {
	for n, want := range map[int]bool{6: false, 5: true} {
		var rows []series
		for range 8 {
			rows = append(rows, series{class: Memory, a: values(8, 1e5, 0), b: values(8, 1e5, 0)})
		}
		for range n {
			rows = append(rows, series{class: Latency, a: values(8, 1e5, 0), b: values(8, 1.1e5, 0)})
		}
		found := false
		for _, j := range rulerOf(1e6, false).judgeAll(rows, floors{common: 1e-3}, true).rows {
			found = found || j.found
		}
		if found != want {
			t.Errorf("%d small kernels that take 1.1 times as long: found %v, want %v", n, found, want)
		}
	}
}

// A class of fewer rows has the shift of all.
func TestShiftOfAClass(t *testing.T) {
	for n, want := range map[int]float64{shiftRows - 1: 0.5, shiftRows: 0} {
		rows := slices.Repeat([]series{{class: Memory, a: values(3, 1e5, 0), b: values(3, 2e5, 0)}}, 8)
		rows = append(rows, slices.Repeat([]series{{class: Latency, a: values(3, 1e5, 0), b: values(3, 1e5, 0)}}, n)...)
		if got := rulerOf(1e6, false).classShift(rows, Latency, 0.5); got != want {
			t.Errorf("%d rows: a shift of %v, want %v", n, got, want)
		}
	}
}

// The step changed where that is beyond noise, as large as a finding, and typical passes agree with the mean.
func TestSignOfTheStep(t *testing.T) {
	for _, c := range []struct {
		judged         bool
		p              float64
		typical, delta float64
		step           time.Duration
		want           int
	}{
		{true, 0.0099, 6000, 6000, 5000, 1}, {true, 0.0099, -6000, -6000, -5000, -1},
		{false, 0.0099, 6000, 6000, 5000, 0}, {true, alpha, 6000, 6000, 5000, 0}, {true, 0.0099, 6000, 6000, 4999, 0},
		{true, 0.0099, -1, 6000, 5000, 0}, {true, 0.0099, 6000, -1, 5000, 0}, {true, 0.0099, 0, 0, 5000, 0},
	} {
		m := millisecond()
		m.wall = result{judged: c.judged, p: c.p, typical: c.typical, delta: c.delta}
		if got := m.wallSign(&Report{Delta: c.step}); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// GPU work changed where what was found together is as large as a finding, else where the interval of all of it
// excludes 0.
func TestSignOfWork(t *testing.T) {
	for _, c := range []struct {
		found, other, uniform time.Duration
		steady                bool
		low, high             time.Duration // of all work
		want                  int
	}{
		{5000, 0, 0, false, 0, 0, 1}, {-5000, 0, 0, false, 0, 0, -1}, {4999, 0, 0, false, 1, 2, 0},
		{0, 5000, 0, false, 0, 0, 0}, {0, 0, 5000, false, 0, 0, 1}, {6000, 0, -11_000, false, 0, 0, -1},
		{4999, 0, 0, true, 1, 9999, 1}, {4999, 0, 0, true, -9999, -1, -1}, {4999, 0, 0, true, 0, 10_000, 0},
		{4999, 0, 0, true, -10_000, 0, 0}, {-5000, 0, 0, true, 1, 9999, -1}, {0, 0, 0, true, 1, 9997, 0},
		{0, 0, 0, true, -9997, -1, 0},
	} {
		m := millisecond()
		m.kinds.steady = c.steady
		r := &Report{Work: Interval{Delta: (c.low + c.high) / 2, Low: c.low, High: c.high}, Rows: []Row{
			{Significant: true, Interval: Interval{Delta: c.found}}, {Interval: Interval{Delta: c.other}}}}
		r.Findings = []finding.Finding{r.newFinding(finding.UniformChange, "", "", "", c.uniform),
			r.newFinding(finding.OperatorChanged, "rope", "", "", 9000)}
		if got := m.workSign(r); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
		m.filled = 1 // records are lost: rows alone decide
		if got := m.workSign(r); abs(c.found+c.uniform) < 5000 && got != 0 {
			t.Errorf("%+v with lost records: %d", c, got)
		}
	}
}

// The verdict is the step's where that is beyond noise, else that of work where the step goes the same way by as much
// as is a finding; the same only where all that may be is below 3 %. Why it is inconclusive depends on what is left.
func TestConcludeByHand(t *testing.T) {
	const µs = time.Microsecond
	for _, c := range []struct {
		name              string
		wall              float64 // of a clear change
		found, step, work time.Duration
		low, high         time.Duration
		judged            bool
		want              Outcome
		text              string
	}{
		{"the step", 6000, 0, 6 * µs, 0, 0, 0, true, Slower, "B is slower: a step takes "},
		{"the step, less work", 6000, -9 * µs, 6 * µs, 0, 0, 0, true, Slower, "B is slower: "},
		{"a faster step", -6000, 0, -6 * µs, 0, 0, 0, true, Faster, "B is faster: "},
		{"work and step", 0, 5 * µs, 5 * µs, 0, 0, 0, true, Slower, "B is slower: "},
		{"work, and less of a step than is a finding", 0, 5 * µs, 5*µs - 1, 0, 0, 0, true, Mixed, "mixed: "},
		{"work alone", 0, 5 * µs, 0, 0, 0, 0, true, Mixed, "mixed: "},
		{"against the step", 0, 5 * µs, -1, 0, 0, 0, true, Mixed, "mixed: "},
		{"nothing", 0, 0, 30*µs - 1, 0, 1 - 30*µs, 30*µs - 1, false, Same, "same within 3%: "},
		{"work may be less", 0, 0, 0, 0, -30 * µs, 0, false, Inconclusive, "may be noise or a change"},
		{"work may be more", 0, 0, 0, 0, 0, 30 * µs, false, Inconclusive, "may be noise or a change"},
		{"waiting of few passes", 0, 0, 30 * µs, 0, 0, 0, false, Inconclusive, "needs 5 passes a side to be judged"},
		{"waiting that varies", 0, 0, 30 * µs, 0, 0, 0, true, Inconclusive, "which varies too much"},
		{"half of it is waiting", 0, 0, 30 * µs, 1, 0, 0, true, Inconclusive, "may be noise or a change"},
		{"half of it, few passes", 0, 0, 30 * µs, 1, 0, 0, false, Inconclusive, "may be noise or a change"},
	} {
		m := millisecond()
		m.wall = result{judged: c.judged, p: 1}
		if c.wall != 0 {
			m.wall = result{judged: true, typical: c.wall, delta: c.wall}
		}
		r := &Report{Delta: c.step, Wall: Interval{A: time.Millisecond, B: time.Millisecond + c.step},
			Work: Interval{Delta: c.work, Low: c.low, High: c.high},
			Rows: []Row{{Significant: true, Interval: Interval{Delta: c.found}}}}
		if m.conclude(r); r.Verdict != c.want || !strings.Contains(r.Text, c.text) {
			t.Errorf("%s: %s, %s; want %s, %q", c.name, r.Verdict, r.Text, c.want, c.text)
		}
	}
	if percentOf(5, 0) != "-" || percentOf(5, 100) != "+5.0%" {
		t.Error("a change of nothing has a percentage")
	}
}

// The sides launch differently where the shares are more than half apart, and more than a tenth of compiled code.
func TestOtherPath(t *testing.T) {
	for _, c := range []struct {
		graph, compiled float64
		want            int
	}{{0.5, 0.1, 0}, {0.51, 0, 1}, {0, 0.11, 1}, {0.6, 0.6, 2}, {1, 1, 2}} {
		for _, r := range []*Report{{B: Summary{Graph: c.graph, Compiled: c.compiled}},
			{A: Summary{Graph: c.graph, Compiled: c.compiled}}} {
			n, text := 0, ""
			millisecond().path(r, func(_ finding.Kind, _, _, evidence string, _ time.Duration) { n, text = n+1, evidence })
			if n != c.want || n > 0 && !strings.Contains(text, fmt.Sprintf("%.0f%%", 100*max(c.graph, c.compiled))) {
				t.Errorf("%+v: %d findings: %s", c, n, text)
			}
		}
	}
}

// What a row has to do is said by its bytes, or by its operations where arithmetic limits it on both sides.
func TestWorkOfARow(t *testing.T) {
	for _, c := range []struct {
		a, b Work
		want string
	}{
		{Work{Bytes: 100}, Work{Bytes: 104}, "same bytes"}, {Work{Bytes: 100}, Work{Bytes: 110}, "1.10× the bytes"},
		{Work{}, Work{Bytes: 110}, "same bytes"}, {Work{Bytes: 100}, Work{}, "same bytes"},
		{Work{Bytes: 100, GFLOP: 1, compute: true}, Work{Bytes: 100, GFLOP: 2, compute: true}, "2.00× the operations"},
		{Work{Bytes: 100, GFLOP: 1, compute: true}, Work{Bytes: 100, GFLOP: 2}, "same bytes"},
		{Work{Bytes: 100, GFLOP: 1}, Work{Bytes: 100, GFLOP: 2, compute: true}, "same bytes"},
		{Work{Bytes: 100, compute: true}, Work{Bytes: 200, GFLOP: 2, compute: true}, "2.00× the bytes"},
		{Work{Bytes: 100, GFLOP: 2, compute: true}, Work{Bytes: 200, compute: true}, "2.00× the bytes"},
	} {
		if got := (&Row{WorkA: c.a, WorkB: c.b}).workOf(); got != c.want {
			t.Errorf("%+v and %+v: %q, want %q", c.a, c.b, got, c.want)
		}
	}
}

// The floor of the step is that of its large kernels, if most of their time has one, and never more than they take.
func TestFloorOfTheWaterfall(t *testing.T) {
	with := func(floors ...time.Duration) *Side {
		r := runOf(repeated(6, use1{"attention", 10, 100}, use1{"rope", 10, 50}, use1{"down_proj", 10, 60})...)
		r.Parts[1].Class = Latency
		for _, p := range r.Passes {
			for i := range p.Parts {
				p.Parts[i].Floor = 1e3 * floors[i]
			}
		}
		return sideOf(r)
	}
	for name, c := range map[string]struct {
		a, b *Side
		want time.Duration
	}{
		"of two kernels":        {with(42, 30, 6), with(42, 30, 6), 48_000},
		"more than they take":   {with(90, 30, 72), with(96, 30, 78), 150_000},
		"of most of their time": {with(42, 30, 0), with(42, 30, 0), 42_000},
		"of less than half":     {with(0, 30, 6), with(42, 30, 6), 0},
		"of one side":           {with(42, 30, 6), with(0, 30, 0), 0},
		"of small kernels only": {with(0, 30, 0), with(0, 30, 0), 0},
	} {
		r := compareSides(t, c.a, c.b)
		var got time.Duration
		for _, part := range r.Waterfall {
			if part.Operator == "floor of kernels" {
				got = part.A
			}
		}
		if got != c.want {
			t.Errorf("%s: a floor of %v, want %v", name, got, c.want)
		}
	}
}

// A pass that lacks what the end of a window takes: some of half of the kernels that run often, or two that run once.
func TestCutOff(t *testing.T) {
	whole := signature{{"a", 10}, {"b", 10}, {"c", 4}, {"d", 3}, {"e", 1}}
	less := func(counts ...int) signature {
		out := slices.Clone(whole)
		for i, n := range counts {
			out[i].count = n
		}
		return out
	}
	for _, c := range []struct {
		s    signature
		want bool
	}{
		{whole, false}, {less(9, 9), true}, {less(9), false}, {less(9, 10, 3), true}, {less(0, 0, 0), false},
		{less(9, 0), false}, {less(10, 10, 4, 2), false}, {less(10, 10, 4, 2, 0), true}, {less(10, 10, 4, 3, 0), false},
		{less(11, 12, 5, 4, 2), false},
	} {
		if got := c.s.cutOff(whole); got != c.want {
			t.Errorf("%v: %v", c.s, got)
		}
	}
	two, few := signature{{"a", 10}, {"b", 10}}, signature{{"a", 3}, {"b", 1}}
	for _, c := range []struct {
		s, of signature
		want  bool
	}{{two, two, false}, {signature{{"a", 1}, {"b", 10}}, two, true}, {few, few, false}, {nil, two, false}} {
		if got := c.s.cutOff(c.of); got != c.want {
			t.Errorf("%v of %v: %v", c.s, c.of, got)
		}
	}
}

// A single pass at an end of its run is a part of the other side's where that runs 95 % of its kernels and it lacks
// more than 0.5 %.
func TestPartOfAPass(t *testing.T) {
	whole := []use1{{"k", 1000, 100}, {"l", 50, 10}}
	for _, c := range []struct {
		name   string
		passes [][]use1
		at     []int // of the group
		want   bool
	}{
		{"a part", [][]use1{{{"k", 950, 10}, {"m", 50, 10}}}, []int{0}, true},
		{"other kernels", [][]use1{{{"k", 949, 10}, {"m", 51, 10}}}, []int{0}, false},
		{"nearly all", [][]use1{{{"k", 1000, 10}, {"l", 44, 10}}}, []int{0}, true},
		{"all but a few", [][]use1{{{"k", 1000, 10}, {"l", 45, 10}}}, []int{0}, false},
		{"the last", [][]use1{whole, {{"k", 900, 10}}}, []int{1}, true},
		{"within the run", [][]use1{whole, {{"k", 900, 10}}, whole}, []int{1}, false},
		{"two of them", [][]use1{{{"k", 900, 10}}, {{"k", 900, 10}}}, []int{0, 1}, false},
	} {
		sides := [2]*Side{sideOf(runOf(c.passes...)), sideOf(runOf(whole))}
		part, other := &group{}, &group{}
		for _, p := range c.at {
			part.add(place{0, 0, p}, 1)
		}
		other.add(place{1, 0, 0}, 1)
		if got := onlyPart(sides, part, other); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
		sides[0], sides[1] = sides[1], sides[0]
		for i := range part.passes {
			part.passes[i].side = 1
		}
		other.passes[0].side = 0
		if got := onlyPart(sides, other, part); got != c.want {
			t.Errorf("%s, the other way round: %v", c.name, got)
		}
	}
}

// What lacks one kernel of its end is a part as long as no layers are known.
func TestPartWithoutLayers(t *testing.T) {
	whole, part := []use1{{"k", 20, 10}, {"l", 10, 10}, {"head", 1, 5}}, []use1{{"k", 20, 10}, {"l", 10, 10}}
	for _, c := range []struct {
		lacks  []use1
		layers int
		want   bool
	}{{part, 0, true}, {part, 1, false}, {[]use1{{"k", 19, 10}, {"l", 10, 10}, {"head", 1, 5}}, 0, true},
		{whole, 0, false}} {
		sides := [2]*Side{sideOf(runOf(c.lacks)), sideOf(runOf(whole))}
		sides[0].Runs[0].Passes[0].NumLayers, sides[1].Runs[0].Passes[0].NumLayers = c.layers, c.layers
		a, b := &group{}, &group{}
		a.add(place{0, 0, 0}, 1)
		b.add(place{1, 0, 0}, 1)
		if got := onlyPart(sides, a, b); got != c.want {
			t.Errorf("%v of %d layers: %v", c.lacks, c.layers, got)
		}
	}
	sides := [2]*Side{sideOf(runOf([]use1{{"k", 199, 10}})), sideOf(runOf([]use1{{"k", 200, 10}}))}
	a, b := &group{}, &group{}
	a.add(place{0, 0, 0}, 1)
	b.add(place{1, 0, 0}, 1)
	if onlyPart(sides, a, b) {
		t.Error("199 of 200 kernels are a whole pass")
	}
}

// Shares of a matching by hand: how much has a partner, what decides of two pairs, and why there is no verdict.
func TestMatchingByHand(t *testing.T) {
	on := func(a, b time.Duration) *group { return &group{time: [2]time.Duration{a, b}} }
	for _, c := range []struct {
		a, b, allA, allB time.Duration
		share            float64 // of A
		weight           float64
		matched          bool
	}{
		{1, 1, 1, 1, 1, 2, true}, {0, 0, 0, 0, 0, 0, false}, {5, 9, 10, 10, 0.5, 1.4, true}, {9, 5, 10, 10, 0.9, 1.4, true},
		{4, 9, 10, 10, 0.4, 1.3, false}, {9, 4, 10, 10, 0.9, 1.3, false},
	} {
		g := on(c.a, c.b)
		m := &matching{pairs: []pair{{a: g, b: g}}, all: [2]time.Duration{c.allA, c.allB}}
		if got := m.share(0); got != c.share || m.matched() != c.matched || m.pairs[0].weight(m.all) != c.weight {
			t.Errorf("%+v: share %v, matched %v, weight %v", c, got, m.matched(), m.pairs[0].weight(m.all))
		}
		if g.on(0) != (c.a > 0) || g.on(1) != (c.b > 0) {
			t.Errorf("%+v: on A %v, on B %v", c, g.on(0), g.on(1))
		}
	}
	for n, want := range map[int64]bool{-1: false, 0: false, 1: true} {
		if (identity{tokens: n}).hasTokens() != want {
			t.Errorf("%d tokens", n)
		}
	}
	for _, c := range []struct {
		a, b int
		want bool
	}{{0, 0, false}, {0, 12, false}, {12, 0, false}, {12, 12, false}, {1, 2, true}, {2, 1, true}} {
		if otherLayers(c.a, c.b) != c.want {
			t.Errorf("%d and %d layers", c.a, c.b)
		}
	}
	sides := [2]*Side{sideOf(runOf([]use1{{"x", 10, 100}})), sideOf(runOf([]use1{{"y", 10, 100}}))}
	own := func(side int, d time.Duration) *group {
		g := &group{}
		g.add(place{side, 0, 0}, d)
		return g
	}
	both := on(30, 40)
	for _, c := range []struct {
		m    matching
		want string
	}{
		{matching{pairs: []pair{{a: both, b: both}}, all: [2]time.Duration{100, 100}},
			"only 30% of A's GPU time and 40% of B's are in forward passes that were found"},
		{matching{pairs: []pair{{a: both, b: both}}, alone: [2][]*group{{own(0, 70)}, nil}, all: [2]time.Duration{100, 100}},
			"only 30% of A's GPU time and 40% of B's are in passes that both sides run"},
		{matching{alone: [2][]*group{{own(0, 70)}, nil}, all: [2]time.Duration{100, 100}}, "B has no complete forward pass"},
		{matching{alone: [2][]*group{{own(0, 70)}, {own(1, 70)}}, part: true, all: [2]time.Duration{100, 100}},
			"one side has a single pass, which runs a part of the other's kernels: the window may cut it"},
		{matching{alone: [2][]*group{{own(0, 70)}, {own(1, 70)}}, all: [2]time.Duration{100, 100}},
			"both are a program of 10 kernels a pass (A: 1 pass; B: 1 pass), but have only 100% of their kernels in common"},
		{matching{pairs: []pair{{a: on(50, 50), b: on(50, 50)}}, all: [2]time.Duration{100, 100}}, ""},
	} {
		for _, g := range slices.Concat(c.m.alone[0], c.m.alone[1]) {
			g.id = identity{stage: layer.StageUnknown, batch: -1, tokens: -1}
		}
		if c.m.describe(sides, nil); c.m.why != c.want {
			t.Errorf("%q, want %q", c.m.why, c.want)
		}
		for _, left := range c.m.left {
			if !strings.HasSuffix(left, ": 1 pass, 70.0% of its GPU time") {
				t.Errorf("left out: %q", left)
			}
		}
	}
}

// A group has one partner, the one that it shares most work with; the other is left out.
func TestOnePartner(t *testing.T) {
	a := runOf([]use1{{"x", 10, 400}, {"y", 10, 400}}, []use1{{"x", 10, 400}, {"y", 10, 400}})
	a.Passes[0].Batch, a.Passes[1].Batch = 16, 32
	b := runOf([]use1{{"x", 10, 400}, {"z", 12, 100}})
	b.Parts[1].Operator = "y"
	sides := [2]*Side{sideOf(a), sideOf(b)}
	m := match(sides, &Options{})
	back := match([2]*Side{sides[1], sides[0]}, &Options{})
	if len(m.pairs) != 1 || len(m.alone[0]) != 1 || len(back.pairs) != 1 || len(back.alone[1]) != 1 {
		t.Errorf("%d pairs and %d alone, back %d and %d", len(m.pairs), len(m.alone[0]), len(back.pairs), len(back.alone[1]))
	}
}

// Passes are alike from 70% on, of names or of the time in operators.
func TestAlikeFromASharedPart(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b []use1
		want float64
	}{
		{"14 of 20 kernels", []use1{{"k", 14, 10}, {"l", 3, 10}}, []use1{{"k", 14, 10}, {"m", 3, 90}}, 0.7},
		{"70% of the time", []use1{{"attention", 10, 70}, {"rope", 90, 30}},
			[]use1{{"attention", 90, 70}, {"o_proj", 10, 30}}, 0.7},
		{"69% of the time", []use1{{"attention", 10, 69}, {"rope", 90, 31}},
			[]use1{{"attention", 90, 69}, {"o_proj", 10, 31}}, 0},
	} {
		sides := [2]*Side{sideOf(runOf(c.a)), sideOf(runOf(c.b))}
		groups, _ := groupPasses(sides)
		if len(groups) != 2 || !groups[0].on(0) {
			t.Fatalf("%s: %d groups", c.name, len(groups))
		}
		for layers, want := range map[int]float64{0: c.want, 12: c.want} { // known on one side
			sides[0].Runs[0].Passes[0].NumLayers = layers
			if got := alike(sides, groups[0], groups[1]); got != want {
				t.Errorf("%s, %d layers on one side: %v, want %v", c.name, layers, got, want)
			}
		}
	}
}

// Passes that are compared, by hand: first ones and those that nothing follows are left out where others remain.
func TestChosenPasses(t *testing.T) {
	run := Run{Passes: make([]Pass, 5)}
	for i := range run.Passes {
		run.Passes[i] = Pass{Index: i, First: i == 0, Followed: i < 4}
	}
	with := func(passes ...[]int) *chosen { return &chosen{side: sideOf(run, run), passes: passes} }
	for want, c := range map[string]*chosen{"[[1 2] [1 2 3]]": with([]int{0, 1, 2}, []int{0, 1, 2, 3}),
		"[[0 1] []]": with([]int{0, 1}, nil)} {
		if c.drop(2, func(p *Pass) bool { return p.First }); fmt.Sprint(c.passes) != want {
			t.Errorf("%v, want %s", c.passes, want)
		}
	}
	for _, c := range []struct {
		of   *chosen
		cut  int // in the first run
		all  bool
		want string
	}{
		{with([]int{0, 1, 2, 4}, []int{3}), 2, true, "[[0 2] [3]]"}, {with([]int{0, 1}, nil), 9, true, "[[0 1] []]"},
		{with([]int{0, 1}, []int{4}), 9, false, "[[0 1] [4]]"}, {with([]int{1}, []int{0}), 2, false, "[[1] [0]]"},
	} {
		all := c.of.followed(func(run, pass int) bool { return run == 0 && pass == c.cut })
		if got := fmt.Sprint(c.of.passes); all != c.all || got != c.want {
			t.Errorf("%s, all followed %v; want %s, %v", got, all, c.want, c.all)
		}
	}
}

// Half of a side's GPU time must have a partner; where it has none is said.
func TestMatchedShare(t *testing.T) {
	work := 5 * 8 * time.Millisecond // of [plain]
	a := plain(1)
	a.Runs[0].Outside = work
	if r := compareSides(t, a, plain(1)); r.Verdict != Same || r.MatchedA != 0.5 || r.MatchedB != 1 {
		t.Errorf("half: %s, %v and %v", r.Text, r.MatchedA, r.MatchedB)
	}
	a.Runs[0].Outside += work / 10
	for _, x := range [][2]*Side{{a, plain(1)}, {plain(1), a}} {
		r := compareSides(t, x[0], x[1])
		if r.Verdict != NotComparable || !strings.Contains(r.Text, "48%") || !strings.Contains(r.Text, "100%") ||
			!strings.Contains(r.Text, "are in forward passes that were found") || r.MatchedA+r.MatchedB < 1.4 ||
			r.MatchedA+r.MatchedB > 1.5 {
			t.Errorf("less than half: %s, %v and %v", r.Text, r.MatchedA, r.MatchedB)
		}
	}
	var many [][]use1
	for i := range 6 {
		many = append(many, []use1{{fmt.Sprint("k", i), 10 * (i + 1), 100}})
	}
	many = append(many, []use1{{"whole", 20, 5000}}, []use1{{"whole", 19, 4000}})
	whole := sideOf(runOf([]use1{{"whole", 20, 5000}}))
	if left := strings.Join(compareSides(t, sideOf(runOf(many[1:]...)), whole).Left, "\n"); !strings.Contains(left,
		"A: 1 other kind of pass\n") {
		t.Errorf("one kind more:\n%s", left)
	}
	r := compareSides(t, sideOf(runOf(many...)), whole)
	if left := strings.Join(r.Left, "\n"); r.Verdict == NotComparable || len(r.Left) != 6 ||
		!strings.Contains(left, "A: 2 other kinds of passes") || !strings.Contains(left, "A: 1 pass cut by the window") {
		t.Errorf("%s\n%s", r.Text, left)
	}
	for want, l := range map[string]identity{"2 decode passes": {stage: layer.StageDecode, batch: -1, tokens: -1},
		"2 decode passes (batch 0, 1 token)": {stage: layer.StageDecode, tokens: 1},
		"2 passes (5 tokens)":                {stage: layer.StageUnknown, batch: -1, tokens: 5}} {
		if got := l.passes(2); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Operators of one fused kernel are one row, and so are those that could not be separated; a residual addition ties
// nothing together.
func TestTogether(t *testing.T) {
	got := together([]string{"gate_up_proj+activation", "activation", "input_norm+residual_add",
		"post_norm+residual_add", "rope"})
	for row, want := range map[string]string{"activation": "gate_up_proj+activation", "rope": "rope",
		"input_norm+residual_add": "input_norm", "post_norm+residual_add": "post_norm"} {
		if got[row] != want {
			t.Errorf("%s is compared in %s, want %s", row, got[row], want)
		}
	}
	got = together([]string{"q_proj|k_proj|v_proj", "q_proj", "k_proj|v_proj", "o_proj", "gate_proj|up_proj",
		"up_proj+activation", "down_proj"})
	for row, want := range map[string]string{"q_proj": "q_proj|k_proj|v_proj", "k_proj|v_proj": "q_proj|k_proj|v_proj",
		"o_proj": "o_proj", "gate_proj|up_proj": "gate_proj+up_proj+activation", "down_proj": "down_proj"} {
		if got[row] != want {
			t.Errorf("%s is compared in %s, want %s", row, got[row], want)
		}
	}
	both := opname.ResidualAdd + "+" + opname.ResidualAdd
	if got := operators(both); !slices.Equal(got, []string{both}) {
		t.Errorf("%v", got)
	}
}

// What is assumed of two runs: least where they ran on GPUs of one kind, or the same kernels on unknown ones.
func TestFloorsBetweenRuns(t *testing.T) {
	for _, c := range []struct {
		a, b     string
		likeness float64
		want     float64
	}{{"x", "x", 0.5, floorSameGPU}, {"", "", 1, floorSameGPU}, {"", "", 0.9, floorElsewhere},
		{"x", "", 1, floorElsewhere}, {"", "x", 1, floorElsewhere}, {"x", "y", 1, floorElsewhere}} {
		r := &Report{A: Summary{GPU: c.a}, B: Summary{GPU: c.b}, Likeness: c.likeness}
		if millisecond().floor(r, &Options{}); r.Floor != c.want || r.FloorFrom == "" {
			t.Errorf("%q and %q, alike %v: %v (%s), want %v", c.a, c.b, c.likeness, r.Floor, r.FloorFrom, c.want)
		}
	}
}

// Gates at their limit: of 5 % of a step of a microsecond.
func TestGateEdges(t *testing.T) {
	for _, c := range []struct {
		what             string
		low, delta, high time.Duration
		want             GateOutcome
		text             string
	}{
		{"", 50, 70, 90, GateFailed, ""}, {"", 49, 70, 90, GateFailed, ""}, {"", 10, 49, 88, GateUndecided, ""},
		{"", 10, 50, 90, GateFailed, ""}, {"", -9, 20, 49, GatePassed, ""}, {"", 0, 25, 50, GateUndecided, ""},
		{"", 0, 50, 100, GateUndecided, "below 5.0% cannot be detected: gate GPU work with work=5%"},
		{"", 1, 50, 99, GateFailed, ""}, {"", 50, 150, 250, GateFailed, ""}, {"work", 0, 50, 100, GateUndecided, ""},
		{"work", 1, 51, 101, GateFailed, ""},
	} {
		i := Interval{Low: c.low, Delta: c.delta, High: c.high}
		r := &Report{A: Summary{Wall: 1000}, Wall: i, Work: i}
		g := r.judge(Gate{What: c.what, Limit: 0.05})
		if g.Outcome != c.want || !strings.Contains(g.Text, c.text) || c.text == "" && strings.Contains(g.Text, "cannot") {
			t.Errorf("%s %d to %d: %s, %s; want %s", c.what, c.low, c.high, g.Outcome, g.Text, c.want)
		}
	}
	r := &Report{Host: &HostReport{Wall: Interval{A: 1000}, StepsA: 12, StepsB: 12, StepsNeeded: 12}}
	if g := r.judge(Gate{What: gateHost, Limit: 0.05}); !g.Known {
		t.Errorf("as many steps as are needed: %s", g.Text)
	}
}

// Small sums by hand.
func TestSumsByHand(t *testing.T) {
	r := Run{Passes: []Pass{{NumLayers: 1}, {NumLayers: 2}, {NumLayers: 3}}}
	if got := (&chosen{side: sideOf(r), passes: [][]int{{0, 1}}}).layers(); got != 2 {
		t.Errorf("%d layers of the chosen passes, want 2", got)
	}
	p := NewPass(Pass{Wall: 100}, []time.Duration{30, 60, 0}, 60)
	want := []PartTime{{Part: 0, Count: 1, Time: 30, Exclusive: 20}, {Part: 1, Count: 1, Time: 60, Exclusive: 40},
		{Part: 3, Exclusive: 40}}
	if !slices.EqualFunc(p.Parts, want, func(x, y PartTime) bool { return fmt.Sprint(x) == fmt.Sprint(y) }) {
		t.Errorf("%+v, want %+v", p.Parts, want)
	}
	x, y := plain(1).Runs[0], plain(1).Runs[0]
	y.Trace, y.Health = "y", "degraded"
	joined := NewRun([]Run{x, y})
	for i := range joined.Passes {
		if joined.Passes[i].Index != i {
			t.Errorf("pass %d of two files has number %d", i, joined.Passes[i].Index)
		}
	}
	notes := strings.Join(compareSides(t, sideOf(joined), plain(1)).Notes, "\n")
	if joined.Health != trace.HealthDegraded || strings.Count(notes, ": the recording is degraded") != 1 {
		t.Errorf("%s: %s", joined.Health, notes)
	}
	for _, h := range []*hostComparison{{}, {ruler: rulerOf(1, true)}} {
		before := h.effective
		if h.correlate(); h.effective != before {
			t.Errorf("steps of no operation count for %v, want %v", h.effective, before)
		}
	}
	same := map[string]float64{}
	for i := range 30 {
		same[fmt.Sprint("k", i)] = 1. / 30
	}
	one := commonLabels(same, same)
	for range 20 {
		if got := commonLabels(same, same); got != one {
			t.Fatalf("%v and %v of the same labels", one, got)
		}
	}
	if got := commonLabels(map[string]float64{"x": 0.6, "y": 0.4}, map[string]float64{"x": 0.3, "z": 0.7}); got != 0.3 {
		t.Errorf("in common %v, want 0.3", got)
	}
}

// Two lists are paired in their order, each thing once, however many there are.
func TestPairUp(t *testing.T) {
	type thing struct{ size, name int }
	order := func(x, y thing) int { return cmp.Or(cmp.Compare(x.size, y.size), cmp.Compare(x.name, y.name)) }
	for _, c := range []struct {
		a, b []thing
		want string
	}{
		{nil, []thing{{1, 1}}, "[]"}, {[]thing{{1, 1}}, nil, "[]"},
		{[]thing{{8, 1}, {2, 2}}, []thing{{2, 3}, {8, 4}}, "[[{2 2} {2 3}] [{8 1} {8 4}]]"},
		{[]thing{{1, 1}, {2, 2}, {3, 3}}, []thing{{3, 4}}, "[[{3 3} {3 4}]]"},
		{[]thing{{3, 4}}, []thing{{1, 1}, {2, 2}, {3, 3}}, "[[{3 4} {3 3}]]"},
		{[]thing{{1, 1}, {1, 2}}, []thing{{1, 3}}, "[[{1 1} {1 3}]]"},
	} {
		got := pairUp(c.a, c.b, order, func(x, y thing) bool { return x.size == y.size })
		if fmt.Sprint(got) != c.want {
			t.Errorf("%v and %v: %v, want %s", c.a, c.b, got, c.want)
		}
	}
	var a, b []thing
	for i := range 4000 {
		a, b = append(a, thing{2 * i, i}), append(b, thing{2*i + 1, i})
	}
	asked := 0
	pairs := pairUp(a, b, order, func(thing, thing) bool { asked++; return false })
	if len(pairs) > 0 || asked > len(a)+len(b) {
		t.Errorf("%d comparisons of %d things", asked, len(a)+len(b))
	}
}

// Kernels that all have another name and the same neighbours are each renamed, however many there are.
func TestManyRenames(t *testing.T) {
	with := func(suffix string, n int) *Side {
		var uses []use1
		for i := range n {
			uses = append(uses, use1{fmt.Sprint("k", i, suffix), 1 + i, 50})
		}
		r := runOf(repeated(6, uses...)...)
		for i := range r.Parts {
			r.Parts[i].Before, r.Parts[i].After = "norm", "norm"
		}
		return sideOf(r)
	}
	const n = 40
	a, b := with("", n), with("_v2", n)
	c := &comparison{ch: [2]*chosen{{side: a, passes: [][]int{{0}}}, {side: b, passes: [][]int{{0}}}}}
	c.relabel()
	for i := range n {
		if now, was := fmt.Sprint("k", i, "_v2"), fmt.Sprint("k", i); c.renamed[now] != was {
			t.Errorf("%s was %q, want %s", now, c.renamed[now], was)
		}
	}
	b.Runs[0].Parts[0].Operator = rowCopies
	if c.relabel(); c.renamed["k0_v2"] != "k0" {
		t.Errorf("a copy was %q, want k0 by another name", c.renamed["k0_v2"])
	}
	a.Runs[0].Parts[0].Operator = rowCopies
	if c.relabel(); c.renamed["k0_v2"] != "" || c.renamed["k1_v2"] != "k1" {
		t.Errorf("a fill is the copy %q by another name", c.renamed["k0_v2"])
	}
}

// Copies are a part of the waterfall, and no small kernels.
func TestPartsOfTheWaterfall(t *testing.T) {
	for _, c := range []struct {
		row   string
		class Class
		want  string
	}{{"rope", Memory, "kernels"}, {"rope", Latency, "small kernels"}, {rowCopies, Latency, "copies and fills"},
		{"all_reduce", Transfer, "exposed communication"}, {rowWaiting, Waiting, "waiting for ranks"},
		{rowIdle, Waiting, "between kernels"}, {rowBetween, Waiting, "between steps"},
		{"schedule", OfHost, "between kernels"}} {
		if got := partOf(c.row, c.class); got != c.want {
			t.Errorf("%s, %s is a part of %q, want %s", c.row, c.class, got, c.want)
		}
	}
	for floor, want := range map[time.Duration]string{0: "0.0", 14: "1.4", 99: "9.9", 100: "10", 994: "99"} {
		if got := shareOfPeak(ofPeak(floor, 1000)); got != want {
			t.Errorf("%d of 1000 is %s%% of peak, want %s", floor, got, want)
		}
	}
}

// A category is not judged that has an operator's kernels on one side alone: it runs as many of them, and lost records
// hide the operator of some.
func TestCategoriesThatDiffer(t *testing.T) {
	with := func(rope, other int) *Side {
		r := runOf(repeated(6, use1{"attention", 10, 500}, use1{"rope", rope, 10}, use1{"", other, 10})...)
		for i := range r.Parts[1:3] {
			r.Parts[1+i].Name, r.Parts[1+i].Base = "mul", "mul"
		}
		r.Parts[2].Operator, r.Parts[2].Category = "", "elementwise"
		return sideOf(r)
	}
	for _, c := range []struct {
		a, b *Side
		want bool
	}{
		{with(24, 2), with(20, 6), true}, {with(24, 2), with(24, 2), false}, {with(24, 2), with(24, 20), false},
	} {
		m := &comparison{ch: [2]*chosen{{side: c.a, passes: [][]int{{0}}}, {side: c.b, passes: [][]int{{0}}}}}
		if m.relabel(); m.unsure["elementwise"] != c.want {
			t.Errorf("%v: unsure of %v, want %v", c, m.unsure, c.want)
		}
		r := compareSides(t, c.a, c.b) // all of it is GPU work
		if got := r.Work.Delta; got != r.Delta {
			t.Errorf("GPU work differs by %v, the step by %v", got, r.Delta)
		}
		for _, row := range r.Rows {
			if row.Operator == "elementwise" && row.Judged == c.want {
				t.Errorf("%s is judged: %v", row.Operator, row.Judged)
			}
		}
	}
}

// What differences are called, where one side takes no time or hardly any.
func TestSentences(t *testing.T) {
	for _, c := range []struct {
		status Change
		a, b   time.Duration
		want   string
	}{
		{Unchanged, 1, 3, "k 1 ns → 3 ns, +2 ns (+200.0%)"}, {Unchanged, 0, 3, "k 0 → 3 ns, +3 ns"},
		{Unchanged, 10, 99, "k 10 ns → 99 ns, +89 ns (+890.0%)"}, {Unchanged, 10, 104, "k 10 ns → 104 ns, +94 ns (10×)"},
		{New, 1, 3, "k is new: 3 ns a pass"}, {Removed, 3, 1, "k is gone: 3 ns a pass before"},
	} {
		if got := sentence("k", c.status, c.a, c.b, "pass"); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	r := &Report{Rows: []Row{{Operator: "tiny", Interval: Interval{A: 100, B: 300, Delta: 200}},
		{Operator: "fresh", Interval: Interval{B: 50, Delta: 50}}, {Operator: "nothing", Interval: Interval{B: 49}}}}
	var b strings.Builder
	if err := r.table(1).WriteText(&b); err != nil || !strings.Contains(b.String(), "+200.0") ||
		!strings.Contains(b.String(), "1 other") {
		t.Errorf("%v\n%s", err, b.String())
	}
	b.Reset()
	if err := r.table(2).WriteText(&b); err != nil || strings.Contains(b.String(), "Inf") ||
		!strings.Contains(b.String(), "fresh") || strings.Contains(b.String(), "other") {
		t.Errorf("%v\n%s", err, b.String())
	}
	for n, want := range map[int]string{textLimits.list: "", textLimits.list + 1: "and 1 more"} {
		b.Reset()
		err := (&Report{Notes: slices.Repeat([]string{"x"}, n), Gates: slices.Repeat([]Gate{{Text: "y"}}, n)}).WriteText(&b)
		if err != nil || strings.Count(b.String(), "and 1 more") != 2*len(want)/len("and 1 more") || n > 41 {
			t.Errorf("%d notes: %v\n%s", n, err, b.String())
		}
	}
}

// Lost records are filled in by what two passes of the side agree on, else by the other side's count.
func TestFillIn(t *testing.T) {
	for _, c := range []struct {
		a, b  []int
		equal bool
		want  string
	}{
		{[]int{10, 10, 9}, []int{11, 11, 11}, true, "[100 100 111] [100 100 100] 1"},
		{[]int{10, 9}, []int{12, 12}, true, "[120 133] [100 100] 5"},
		{[]int{10, 9}, []int{12, 12}, false, "[100 111] [100 100] 1"},
		{[]int{10, 10, 7}, []int{4, 4, 3}, true, "[100 100 100] [100 100 133] 1"},
		{[]int{10, 10, 0}, []int{4, 4, 5}, true, "[100 100 100] [100 100 100] 0"},
	} {
		side := func(counts []int) []rowTimes {
			times := values(len(counts), 100, 0)
			return []rowTimes{{exclusive: times, time: slices.Clone(times), counts: counts}}
		}
		m := &comparison{equal: c.equal, rows: &rowSet{names: []string{"k"}}, parts: [2][]rowTimes{side(c.a), side(c.b)}}
		m.fillIn()
		a, b := &m.parts[0][0], &m.parts[1][0]
		if got := fmt.Sprintf("%.0f %.0f %d", a.time, b.time, m.filled); got != c.want ||
			!slices.Equal(a.time, a.full) || !slices.Equal(b.time, b.full) {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// A row runs another kernel where that is as often and as long, large enough to be seen, and on GPUs of one kind.
func TestKernelWithAnotherName(t *testing.T) {
	const µs = time.Microsecond
	for _, c := range []struct {
		name       string
		sameGPU    bool
		judged     bool
		a, b       time.Duration
		launches   float64 // of B
		gone, back string
		want       string
	}{
		{"renamed", true, true, 5 * µs, 5 * µs, 100, "x", "y", "x y"},
		{"as large", true, true, 0, 5*µs - 1, 100, "x", "y", " "},
		{"larger by less than a finding", true, true, 5 * µs, 10*µs - 1, 100, "x", "y", "x y"},
		{"larger by a finding", true, true, 5 * µs, 10 * µs, 100, "x", "y", " "},
		{"another GPU", false, true, 5 * µs, 5 * µs, 100, "x", "y", " "},
		{"not judged", true, false, 5 * µs, 5 * µs, 100, "x", "y", " "},
		{"5% more often", true, true, 5 * µs, 5 * µs, 105, "x", "y", "x y"},
		{"6% more often", true, true, 5 * µs, 5 * µs, 106, "x", "y", " "},
		{"nothing gone", true, true, 5 * µs, 5 * µs, 100, "", "y", " "},
		{"nothing new", true, true, 5 * µs, 5 * µs, 100, "x", "", " "},
	} {
		m := millisecond()
		m.sameGPU = c.sameGPU
		r := &Row{Judged: c.judged, LaunchesA: 100, LaunchesB: c.launches, Interval: Interval{A: c.a, B: c.b},
			KernelA: c.a, KernelB: c.b}
		if c.gone != "" {
			r.Kernels = append(r.Kernels, KernelDelta{Name: c.gone, LaunchesA: 1})
		}
		if c.back != "" {
			r.Kernels = append(r.Kernels, KernelDelta{Name: c.back, LaunchesB: 1})
		}
		if was, now := m.otherKernel(r); was+" "+now != c.want {
			t.Errorf("%s: %q instead of %q", c.name, now, was)
		}
	}
}

// What to look at first: the largest change for the worse, waiting that is not judged where that is more than half of
// the difference, the step where no part is beyond noise.
func TestWorst(t *testing.T) {
	const µs = time.Microsecond
	share := map[time.Duration]string{10*µs - 1: "50%", 5 * µs: "100%"} // by the difference of the step
	for _, c := range []struct {
		name    string
		rows    []Row
		delta   time.Duration
		found   []finding.Finding
		verdict Outcome
		kind    finding.Kind
		step    time.Duration
	}{
		{"nothing", nil, 0, nil, Same, finding.NoKind, 0},
		{"the step", nil, 9 * µs, nil, Slower, finding.StepChanged, 9 * µs},
		{"the larger", nil, 9 * µs, []finding.Finding{{Kind: finding.OperatorChanged, Size: finding.Size{PerStep: 6 * µs}},
			{Kind: finding.WaitChanged, Size: finding.Size{PerStep: 7 * µs}}}, Slower, finding.WaitChanged, 7 * µs},
		{"a rename", nil, 0, []finding.Finding{{Kind: finding.KernelRenamed, Size: finding.Size{PerStep: 6 * µs}},
			{Kind: finding.PathChanged, Size: finding.Size{PerStep: 6 * µs}},
			{Kind: finding.OperatorChanged, Size: finding.Size{PerStep: -6 * µs}}}, Same, finding.NoKind, 0},
		{"waiting that is not judged", []Row{{Class: Waiting, Interval: Interval{Delta: 5 * µs}}}, 10*µs - 1, nil,
			Inconclusive, finding.WaitChanged, 5 * µs},
		{"all of the difference", []Row{{Class: Waiting, Interval: Interval{Delta: 5 * µs}}}, 5 * µs, nil, Slower,
			finding.WaitChanged, 5 * µs},
		{"a faster step", []Row{{Class: Waiting, Interval: Interval{Delta: 5 * µs}}}, -9 * µs, nil, Faster,
			finding.WaitChanged, 5 * µs},
		{"half of the difference", []Row{{Class: Waiting, Interval: Interval{Delta: 5 * µs}}}, 10 * µs, nil, Same,
			finding.NoKind, 0},
		{"little waiting", []Row{{Class: Waiting, Interval: Interval{Delta: 5*µs - 1}}}, 5 * µs, nil, Same, finding.NoKind,
			0},
		{"no difference", nil, 0, []finding.Finding{{Kind: finding.OperatorChanged}}, Same, finding.NoKind, 0},
		{"a nanosecond", nil, 0, []finding.Finding{{Kind: finding.OperatorChanged, Size: finding.Size{PerStep: 1}}}, Same,
			finding.OperatorChanged, 1},
		{"the first of two", nil, 0, []finding.Finding{{Kind: finding.OperatorChanged, Size: finding.Size{PerStep: 6 * µs}},
			{Kind: finding.OperatorNew, Size: finding.Size{PerStep: 6 * µs}}}, Same, finding.OperatorChanged, 6 * µs},
		{"less than what is found", []Row{{Class: Waiting, Interval: Interval{Delta: 6 * µs}}}, 6 * µs,
			[]finding.Finding{{Kind: finding.OperatorChanged, Size: finding.Size{PerStep: 6 * µs}}}, Slower,
			finding.OperatorChanged, 6 * µs},
	} {
		r := &Report{Rows: c.rows, Delta: c.delta, Findings: c.found, Verdict: c.verdict}
		first := millisecond().worst(r)
		if first.Kind != c.kind || first.PerStep != c.step {
			t.Errorf("%s: %s of %v, want %s of %v", c.name, first.Kind, first.PerStep, c.kind, c.step)
		}
		if waits := c.kind == finding.WaitChanged && len(c.rows) > 0; waits &&
			(strings.Contains(first.Evidence, "% of the difference") != (share[c.delta] != "") ||
				!strings.Contains(first.Evidence, share[c.delta])) {
			t.Errorf("%s: %s, want %q of the difference", c.name, first.Evidence, share[c.delta])
		}
	}
}

// Idle time that grew is named with the host's largest change for the worse, the first of equal ones.
func TestWorstOfTheHost(t *testing.T) {
	f := func(kind finding.Kind, evidence string, d time.Duration) finding.Finding {
		return finding.Finding{Kind: kind, Evidence: evidence, Size: finding.Size{PerStep: d}}
	}
	r := &Report{Findings: []finding.Finding{f(finding.WaitChanged, "idle", 90), f(finding.HostChanged, "small", 20),
		f(finding.HostNew, "large", 40), f(finding.HostChanged, "as large", 40), f(finding.HostRenamed, "renamed", 80)}}
	if got := millisecond().worst(r); got.Evidence != "idle; meanwhile large" {
		t.Error(got.Evidence)
	}
}

// What other launches say of a row's change: a kernel for two and the reverse, more of them and fewer; where their
// number does not explain the direction, what each takes. Copies replace nothing.
func TestLaunchWords(t *testing.T) {
	for _, c := range []struct {
		row        string
		a, b       float64 // launches
		kernelB    time.Duration
		gone, back []string
		want       string
	}{
		{"rope", 64, 32, 5000, []string{"x", "y"}, []string{"z"}, "fused: z instead of x and y, 32 launches instead of 64"},
		{"rope", 32, 64, 5000, []string{"z"}, []string{"x", "y"}, "split: x and y instead of z, 64 launches instead of 32"},
		{"rope", 32, 64, 9600, nil, []string{"x"}, "x besides, 64 launches instead of 32"},
		{"rope", 64, 32, 3200, []string{"x"}, nil, "without x, 32 launches instead of 64"},
		{"rope", 64, 32, 3200, nil, []string{"x"}, "32 launches instead of 64"},
		{"rope", 32, 64, 9600, []string{"x"}, nil, "64 launches instead of 32"},
		{"rope", 64, 32, 6400, nil, nil, "32 launches instead of 64"}, // in as long as before
		{"rope", 64, 32, 9600, []string{"x"}, nil, "32 launches instead of 64, each 100 ns → 300 ns"},
		{"rope", 32, 64, 3200, nil, []string{"x"}, "64 launches instead of 32, each 200 ns → 50 ns"},
		{rowCopies, 64, 32, 3200, []string{"x"}, []string{"y"}, "without x, 32 launches instead of 64"},
		{rowCopies, 32, 64, 9600, []string{"x"}, []string{"y"}, "y besides, 64 launches instead of 32"},
	} {
		r := &Row{Operator: c.row, LaunchesA: c.a, LaunchesB: c.b, KernelA: 6400, KernelB: c.kernelB}
		if got := r.launchWords(c.gone, c.back); got != c.want {
			t.Errorf("%s of %v and %v launches: %q, want %q", c.row, c.a, c.b, got, c.want)
		}
	}
	for want, signs := range map[string][2]int{"GPU work shrank beyond noise, and the step did not": {-1, -1},
		"what changed beyond noise takes more time in sum, but GPU work as a whole did not grow beyond noise":   {1, -1},
		"what changed beyond noise takes less time in sum, but GPU work as a whole did not shrink beyond noise": {-1, 0}} {
		if got := mixedWords(signs[0], signs[1]); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// One step shows nothing of how steps vary: its interval is that of what is expected, and no overflow.
func TestHostOfOneStep(t *testing.T) {
	h := func(ms time.Duration) []*Host {
		d := []time.Duration{ms * time.Millisecond}
		return []*Host{{Passes: []int{0}, Walls: d, Operations: []Operation{{Kind: "range", Name: "schedule", Class: OfHost,
			Count: 1, Steps: d}}}}
	}
	r := CompareHost(h(10), h(12), Options{})
	for _, i := range []Interval{r.Wall, r.Rows[0].Interval} {
		if half := (i.High - i.Low) / 2; i.Delta != 2*time.Millisecond || i.Low+half != i.Delta || half <= 0 ||
			half > 10*time.Millisecond || r.Rows[0].Judged {
			t.Errorf("%+v, judged %v", i, r.Rows[0].Judged)
		}
	}
}

// Passes or layers show how times vary; without either a common shift is no finding.
func TestSteady(t *testing.T) {
	for _, c := range []struct {
		a, b, layers int
		want         bool
	}{{2, 2, 0, true}, {1, 2, 0, false}, {2, 1, 0, false}, {1, 1, 2, true}, {1, 1, 1, false}, {3, 3, 0, true}} {
		rows := []series{{class: Memory, a: values(c.a, 1e5, 0), b: values(c.b, 1e5, 0), layers: values(c.layers, 1, 0)}}
		if j := rulerOf(1e6, false).judgeAll(rows, floors{common: 1e-3}, true); j.steady != c.want {
			t.Errorf("%d and %d passes, %d layers: %v", c.a, c.b, c.layers, j.steady)
		}
	}
}

// Names that look the same when they are cut show where they differ, or have a number; others are cut alone.
func TestNamesThatLookTheSame(t *testing.T) {
	long := strings.Repeat("x", 100)
	for name, c := range map[string]struct{ names, want []string }{
		"short": {[]string{"f", "g"}, []string{"f", "g"}},
		"in the middle": {[]string{"gemm_" + long + "_a_" + long, "gemm_" + long + "_b_" + long},
			[]string{"gemm_xxxxx…a_" + long[:29], "gemm_xxxxx…b_" + long[:29]}},
		"by arguments": {[]string{"f<" + long + "1>", "f<" + long + "2>"}, []string{"f<xxxxxxxx…1>", "f<xxxxxxxx…2>"}},
		"numbered": {[]string{long + "a" + long + "1" + long, long + "a" + long + "2" + long, long + "b" + long + "1" + long},
			[]string{short(long) + " #1", short(long) + " #2", short(long) + " #3"}},
		"another's": {[]string{"void k", "k"}, []string{"void k…", "k…"}},
	} {
		b := briefsOf(slices.Concat(c.names, c.names))
		for i, n := range c.names {
			if got := b.of(n); got != c.want[i] {
				t.Errorf("%s: %q, want %q", name, got, c.want[i])
			}
		}
	}
}

// The headline says how little is known of noise where a side has one run.
func TestCaveat(t *testing.T) {
	for want, r := range map[string]Report{
		"; one pass a side, noise of 2% assumed": {A: Summary{Passes: 1, Runs: 1}, B: Summary{Passes: 1, Runs: 1},
			Floor: 0.02},
		"; one pass in A, noise of 0.75% assumed": {A: Summary{Passes: 1, Runs: 1}, B: Summary{Passes: 9, Runs: 1},
			Floor: 0.0075},
		"; one pass in B, noise of 1% assumed": {A: Summary{Passes: 9, Runs: 1}, B: Summary{Passes: 1, Runs: 1},
			Floor: 0.01},
		"; one run in A, noise of 1% assumed": {A: Summary{Passes: 9, Runs: 1}, B: Summary{Passes: 9, Runs: 2},
			Floor: 0.01},
		"; one run in B, noise of 1% assumed": {A: Summary{Passes: 9, Runs: 2}, B: Summary{Passes: 9, Runs: 1},
			Floor: 0.01},
		"; one run a side, noise of 1.25% given": {A: Summary{Passes: 9, Runs: 1}, B: Summary{Passes: 9, Runs: 1},
			Floor:     0.0125,
			FloorFrom: floorGiven},
	} {
		if got := r.caveat(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, runs := range []int{1, 2} {
		side := sideOf(slices.Repeat(plain(1).Runs, runs)...)
		if r := compareSides(t, side, side); strings.Contains(r.Text, "noise of 0.75% assumed") != (runs == 1) {
			t.Errorf("%d runs a side: %s", runs, r.Text)
		}
	}
}

// What is not clear is said with the change that would be.
func TestUnclear(t *testing.T) {
	row := func(name, found string) Row {
		return Row{Operator: name, Found: found, KernelA: 1000, KernelB: 3000, Interval: Interval{Delta: 7000}, Seen: 5000}
	}
	const clear = " +2.00 µs (clear from 5.00 µs)"
	const more = ". More passes or runs a side show smaller changes."
	for want, rows := range map[string][]Row{
		"": {row("a", "yes"), row("b", "not judged"), row("c", "")},
		"Not clear, as noise may explain it: a" + clear + more: {row("a", "not clear"), row("b", "yes")},
		"Not clear, as noise may explain it: a" + clear + ", b" + clear + ", c" + clear + " and 1 more" + more: {
			row("a", "not clear"), row("b", "not clear"), row("c", "not clear"), row("d", "not clear")},
	} {
		if got := Unclear(rows); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	h := &HostReport{Least: 1000, Rows: []HostRow{{Name: "a", Judged: true, Interval: Interval{Delta: 2000}, Seen: 5000},
		{Name: "b", Judged: true, Interval: Interval{Delta: 2000}, Seen: 5000}}}
	if got := h.unclear(1); got != "Not clear, as noise may explain it: a"+clear+more {
		t.Error(got)
	}
}

// Where no operator clearly became slower, the part of the step that did by most is looked at first, with the reason.
func TestSlowerStep(t *testing.T) {
	part := func(name string, significant bool, d time.Duration) Row {
		return Row{Operator: name, Text: name, Significant: significant, Interval: Interval{Delta: d}}
	}
	for want, c := range map[string]struct {
		scrambled bool
		parts     []Row
	}{
		"the step as a whole, +9.00 µs: no part is beyond noise": {false,
			[]Row{part("a", false, 9000), part("b", true, -5000)}},
		"b; no operator is beyond noise by itself": {false, []Row{part("a", true, 1000), part("b", true, 5000),
			part("c", true, 5000)}},
		"a; operators are not judged, as kernels carry the times of others": {true, []Row{part("a", true, 1000)}},
	} {
		m := millisecond()
		m.ch[1].side = sideOf(Run{Scrambled: c.scrambled})
		f := m.worst(&Report{Verdict: Slower, Delta: 9000, Waterfall: c.parts})
		if f.Evidence != want || f.Kind != finding.StepChanged || f.PerStep != 9000 {
			t.Errorf("%+v, want %s", f, want)
		}
	}
}

// What is said of shares, signs and names, at their edges.
func TestWordsOfFindings(t *testing.T) {
	long := strings.Repeat("x", nameWidth)
	for name, want := range map[string]string{"void f<int>(char)": "f<int>(char)", "<lambda>": "<lambda>", "f<1>": "f<1>",
		"(" + long: "(" + long[:26] + "…" + long[:14], "f <" + long: "f", "Memset (Device)": "Memset (Device)", long: long,
		long + "y": long[:27] + "…" + long[:13] + "y", "": ""} {
		if got := short(name); got != want {
			t.Errorf("%q is %q in short, want %q", name, got, want)
		}
	}
	for x, want := range map[float64]string{0.015: "+1.5%", -0.2: "-20.0%"} {
		if got := signed(x); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := percent(0.25); got != "25%" {
		t.Error(got)
	}
	for x, want := range map[time.Duration]int{-1: -1, 0: 0, 1: 1} {
		if got := sign(x); got != want {
			t.Errorf("%v: %d", x, got)
		}
	}
	for b, want := range map[float64]bool{95: true, 94: false, 105: true, 106: false} {
		if got := (&Row{LaunchesA: 100, LaunchesB: b}).asOften(); got != want {
			t.Errorf("100 and %v launches: %v", b, got)
		}
	}
	h := &HostReport{Least: 100}
	for _, c := range []struct {
		row  HostRow
		want bool
	}{{HostRow{Significant: true}, true}, {HostRow{Status: Renamed, Interval: Interval{B: 100}}, true},
		{HostRow{Status: Renamed, Interval: Interval{B: 99}}, false}, {HostRow{Interval: Interval{B: 100}}, false}} {
		if got := h.worth(&c.row); got != c.want {
			t.Errorf("%+v: %v", c.row, got)
		}
	}
}

// What findings say, by hand: a row is slower or faster, grew or shrank, one factor is A's work times the shift,
// another path has no time.
func TestFindingsByHand(t *testing.T) {
	c := millisecond()
	c.kinds.uniform, c.kinds.shift, c.sums = true, math.Log(1.02), [2]float64{8e5, 9e5}
	row := func(name string, class Class, change Change, a, b time.Duration) Row {
		return Row{Operator: name, Class: class, Status: change, Significant: true, KernelA: a, KernelB: b}
	}
	r := &Report{A: Summary{Graph: 1, Compiled: 0.3}, B: Summary{Compiled: 0.05}, Rows: []Row{
		row("rope", Memory, Unchanged, 10, 90_000), row("embed", Memory, Unchanged, 80_000, 10),
		row("idle", Waiting, Unchanged, 0, 70_000),
		row("between", Waiting, Unchanged, 60_000, 0), row("norm", Memory, New, 0, 50_000),
		row("router", Memory, Removed, 40_000, 0)}}
	c.findings(r)
	var got []string
	for _, f := range r.Findings {
		got = append(got, fmt.Sprintf("%s: %s %d", f.Kind, f.Text, f.PerStep))
	}
	want := "operator: rope is slower 89990\noperator: embed is faster -79990\nwaiting: idle grew 70000\nwaiting: " +
		"between shrank -60000\n" +
		"new: norm is new 50000\nremoved: router is gone -40000\nuniform: All kernels changed by one factor 16000\n" +
		"path: The sides launch kernels differently 0\npath: The sides run different shares of compiled code 0"
	if strings.Join(got, "\n") != want {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	for _, text := range []string{"all kernels take +2.0% (", "A launches 100% of its kernels by graph replays, B 0%",
		"a compiler wrote 30% of A's kernels and 5% of B's"} {
		if !slices.ContainsFunc(r.Findings, func(f finding.Finding) bool { return strings.Contains(f.Evidence, text) }) {
			t.Errorf("no finding says %q", text)
		}
	}
}

// Notes are about what was seen, and nothing else.
func TestNotesByHand(t *testing.T) {
	note := func(edit func(c *comparison, r *Report)) string {
		c := millisecond()
		c.runs = true
		r := &Report{Likeness: 1, Floor: 0.0075, FloorFrom: "given"}
		edit(c, r)
		c.notes(r)
		return strings.Join(r.Notes[1:], "\n")
	}
	steps := func(n int) *Side {
		run := Run{Trace: "x", Parts: []Part{MadePart("k", "k", Memory)}}
		for i := range 8 {
			d := time.Duration(100)
			if i < n {
				d = 300
			}
			run.AddPass(Pass{Index: i}, 1, d)
		}
		return sideOf(run)
	}
	for want, edit := range map[string]func(c *comparison, r *Report){
		"": func(c *comparison, r *Report) {
			c.ch[0] = &chosen{side: steps(0), passes: [][]int{{0, 1, 2, 3, 4, 5, 6, 7}}}
		},
		"A, x: passes are of two kinds: 3 of 8 take about 300 ns, the others 100 ns": func(c *comparison, r *Report) {
			c.ch[0] = &chosen{side: steps(3), passes: [][]int{{0, 1, 2, 3, 4, 5, 6, 7}}}
		},
		"records are missing: 1 launch is filled in from the other passes where rows are judged": func(c *comparison,
			r *Report) {
			c.filled = 1
		},
		"the compared passes are alike in 90% of their work; their kernels differ": func(c *comparison,
			r *Report) {
			r.Likeness = 0.9
		},
		"B is scaled by 0.5 to the tokens of A": func(c *comparison,
			r *Report) {
			c.scale = 0.5
		},
		"host: A has 12 steps, B 13 steps; floor 5.0% (assumed); at least 12 steps a side are needed": func(c *comparison,
			r *Report) {
			r.Host = &HostReport{StepsA: 12, StepsB: 13, Floor: 0.05, FloorFrom: "assumed", Rows: []HostRow{{Class: OfHost}}}
		},
	} {
		if got := note(edit); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := note(func(c *comparison, r *Report) { r.Host = &HostReport{Rows: []HostRow{{Class: Memory}}} }); got != "" {
		t.Errorf("operations of no host: %q", got)
	}
}

// An interval has a sign where it excludes 0; what is clearly slower or faster differs by more than the least.
func TestSignOfAnInterval(t *testing.T) {
	for i, want := range map[Interval]int{{Low: 1, High: 2}: 1, {Low: 0, High: 1}: 0, {Low: -2, High: -1}: -1,
		{Low: -1, High: 0}: 0, {Low: -1, High: 1}: 0} {
		if got := i.sign(); got != want {
			t.Errorf("%+v: %d", i, got)
		}
	}
	for d, want := range map[time.Duration][2]bool{10: {false, false}, 11: {true, false}, -10: {false, false},
		-11: {false, true}} {
		h := &HostReport{Rows: []HostRow{{Kind: "range", Significant: true, Interval: Interval{Delta: d}}}}
		if up, down := h.clear(10); [2]bool{up, down} != want {
			t.Errorf("%d: up %v, down %v", d, up, down)
		}
	}
}

// By hand: of four runs a side that differ by 1%, a shift of 1.67% is 2.228 deviations of 0.75% with ten degrees of
// freedom, which happens once in twenty.
func TestShiftOfRuns(t *testing.T) {
	if p := rulerOf(8, true).shiftTest(2.2281*0.0075, 0.01, 4, 4); math.Abs(p-0.05) > 1e-4 {
		t.Errorf("p %v", p)
	}
	if p := rulerOf(8, true).shiftTest(2.2281*math.Sqrt(1e-4*(1./2+1./6)+6.25e-6), 0.01, 2, 6); math.Abs(p-0.05) > 1e-4 {
		t.Errorf("of two and six runs p %v", p)
	}
}

// Further kinds of passes are compared as kinds of their own, and runs are the unit where both sides have several.
func TestOthersAndRuns(t *testing.T) {
	with := func(factor float64) Run {
		r := runOf(slices.Concat(repeated(6, use1{"attention", 10, 800}), repeated(6, use1{"conv", 40, 300 * factor}))...)
		for i := range r.Passes[6:] {
			r.Passes[6+i].Stage = layer.StagePrefill
		}
		return r
	}
	r := compareSides(t, sideOf(with(1)), sideOf(with(1.5)))
	if len(r.Others) != 1 || r.Others[0].A.Stage != layer.StagePrefill || r.Others[0].Verdict != Slower ||
		r.Others[0].Delta != 150*time.Microsecond || r.A.Wall != 800*time.Microsecond {
		t.Errorf("%s; others %+v", r.Text, r.Others)
	}
	for _, c := range []struct {
		a, b int
		runs bool
	}{{1, 1, false}, {3, 1, false}, {1, 3, false}, {2, 2, true}} {
		r := compareSides(t, sideOf(slices.Repeat([]Run{with(1)}, c.a)...), sideOf(slices.Repeat([]Run{with(1)}, c.b)...))
		if got := !strings.Contains(strings.Join(r.Notes, " "), "one run a side"); got != c.runs {
			t.Errorf("%d and %d runs: runs are the unit: %v", c.a, c.b, got)
		}
	}
	c := &chosen{side: sideOf(Run{Host: &Host{}, Passes: make([]Pass, 1)}, Run{Host: &Host{}}), passes: [][]int{{0}, nil}}
	if got := len(c.hosts()); got != 1 {
		t.Errorf("%d hosts of one run with a pass", got)
	}
	draft := Run{Models: []ModelName{{Draft: true}, {}}, Passes: []Pass{{Model: 0}, {Model: 1}, {Model: 2}, {Model: -1}}}
	for i, want := range []bool{true, false, false, false} {
		if got := identityOf(&draft, &draft.Passes[i]).draft; got != want {
			t.Errorf("pass %d drafts: %v", i, got)
		}
	}
	x, y := plain(1).Runs[0], plain(1).Runs[0]
	y.Clock = &Clock{Median: 1980}
	if joined := NewRun([]Run{x, y}); joined.Clock != y.Clock {
		t.Errorf("the clock of two files is %v", joined.Clock)
	}
	x.Clock = &Clock{Median: 1000}
	if joined := NewRun([]Run{x, y}); joined.Clock != x.Clock {
		t.Errorf("the clock of the first of two files is %v", joined.Clock)
	}
}

// The text has the kernels of each side, and what the host does.
func TestColumns(t *testing.T) {
	r := &Report{A: Summary{Wall: 1000}, Least: 10, Rows: []Row{{Operator: "rope", Judged: true,
		Interval: Interval{A: 1000, B: 1000},
		KernelA:  1000, KernelB: 1000, Kernels: []KernelDelta{{Name: "x", LaunchesA: 1, A: 1000},
			{Name: "y", LaunchesB: 1, B: 1000}}}},
		Host: &HostReport{Rows: []HostRow{{Kind: "range", Name: "schedule", Judged: true, CountA: 1, CountB: 2}}}}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"                      x\n", " → y\n", "schedule   range", "1.0 → 2.0"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q:\n%s", want, b.String())
		}
	}
}
