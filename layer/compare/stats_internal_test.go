package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
)

func near(x, y float64) bool { return math.Abs(x-y) <= 1e-9*max(1, math.Abs(x), math.Abs(y)) }

// TestResidualIsThatOfTheMatrix: the sum of squares around the best mean of a process whose neighbours correlate by rho
// is x'Vx − (1'Vx)²/1'V1, where V is the inverse of the matrix of correlations: here found by elimination. Series are
// divided by their median.
func TestResidualIsThatOfTheMatrix(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 8))
	for range 50 {
		x := make([]float64, 3+rng.IntN(6))
		for i := range x {
			x[i] = 10 + rng.Float64()
		}
		rho := rng.Float64() * 0.9
		n := len(x)
		m := make([][]float64, n) // the matrix, beside it the values and ones
		for i := range m {
			m[i] = make([]float64, n+2)
			for k := range n {
				m[i][k] = math.Pow(rho, math.Abs(float64(i-k)))
			}
			m[i][n], m[i][n+1] = x[i], 1
		}
		for i := range n {
			for k := range n {
				if k == i {
					continue
				}
				f := m[k][i] / m[i][i]
				for j := range m[k] {
					m[k][j] -= f * m[i][j]
				}
			}
		}
		var xx, x1, ones float64
		for i := range n {
			v, w := m[i][n]/m[i][i], m[i][n+1]/m[i][i]
			xx, x1, ones = xx+x[i]*v, x1+v, ones+w
		}
		scale := median(x) * median(x)
		got, information := processOf(x).residual(rho)
		if want := (xx - x1*x1/ones) / scale; math.Abs(got/want-1) > 1e-6 || !near(information, ones) {
			t.Errorf("%d values, %.2f: %v and %v, want %v and %v", n, rho, got, information, want, ones)
		}
	}
	if processOf([]float64{1, 2}).n != 0 || processOf([]float64{2, 2, 2}).n != 0 || processOf([]float64{0, 0, 1}).n != 0 {
		t.Error("a process of two values, of equal ones or of mostly none")
	}
}

// TestCorrelationOfOperations: the steps of an operation resemble one another as far as two runs of it agree. Where
// operations do not differ, or are fewer than twelve, all have the common correlation.
func TestCorrelationOfOperations(t *testing.T) {
	for _, c := range []struct {
		operations int
		one, other float64 // correlation of even and of odd ones
		own        bool    // each has its own
	}{{12, 0.5, 0.9, true}, {11, 0.5, 0.9, false}, {12, 0.7, 0.7, false}, {40, 0.7, 0.7, false}} {
		rng := rand.New(rand.NewPCG(7, 7))
		h := &hostComparison{ruler: rulerOf(0, false), ops: map[opKey]*hostOp{}}
		steps := func(rho float64) []float64 {
			x, out := rng.NormFloat64(), make([]float64, 500)
			for i := range out {
				x = rho*x + math.Sqrt(1-rho*rho)*rng.NormFloat64()
				out[i] = 100 + x
			}
			return out
		}
		for i := range c.operations {
			rho := []float64{c.one, c.other}[i%2]
			h.keys = append(h.keys, opKey{name: fmt.Sprint(i)})
			h.ops[h.keys[i]] = &hostOp{series: series{a: steps(rho), b: steps(rho)}}
		}
		h.correlate()
		common := h.inertia.rho
		if common <= c.one-0.03 || common >= c.other+0.03 || !near(h.effective, (1-common)/(1+common)) {
			t.Errorf("%+v: a common correlation of %v, %v steps count for one", c, common, h.effective)
		}
		for i, k := range h.keys {
			want, within := common, 0.
			if c.own {
				want, within = []float64{c.one, c.other}[i%2], 0.16
			}
			got := h.ops[k].series.inertia
			// of a thousand steps the variance of a correlation is (1 − ρ²)/1000
			if one := (1 - common*common) / 1000; math.Abs(got.rho-want) > within || got.variance > 4*one ||
				c.operations < hostOperations && !near(got.variance, one) {
				t.Errorf("%+v: operation %d has %+v, want %v", c, i, got, want)
			}
		}
	}
	three, two := processOf([]float64{1, 2, 3}), processOf([]float64{1, 2})
	if three.n != 3 || two != (process{}) || processOf([]float64{0, 0, 9, 0, 0}) != (process{}) {
		t.Errorf("%+v of three steps, %+v of two: three show a correlation", three, two)
	}
}

// TestVarianceOfMeans: of one value it is 1, of two (1 + rho)/2, of independent ones 1/n; of none it is not known.
func TestVarianceOfMeans(t *testing.T) {
	for _, c := range []struct {
		rho  float64
		n    int
		want float64
	}{{0.5, 0, 0}, {0.5, 1, 1}, {0.5, 2, 0.75}, {0, 4, 0.25}, {0.2, 3, (3 + 4*0.2 + 2*0.04) / 9}} {
		if got := meanVariance(c.rho, c.n); !near(got, c.want) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestRobustStatistics: medians, values that are drawn in, those that jump, and what they add to the variance of a
// mean.
func TestRobustStatistics(t *testing.T) {
	for _, c := range []struct {
		values       []float64
		median, mean float64 // of all, and with jumps drawn in
	}{{nil, 0, 0}, {[]float64{7}, 7, 7}, {[]float64{4, 1}, 2.5, 2.5}, {[]float64{9, 1, 2}, 2, (1 + 2 + 2 + 3*1.4826) / 3},
		{[]float64{0, 0, 5}, 0, 0}, {[]float64{5, 5, 9}, 5, 19.0 / 3}} {
		if got := median(c.values); got != c.median {
			t.Errorf("median of %v: %v", c.values, got)
		}
		if got := typicalStep(c.values); !near(got, c.mean) {
			t.Errorf("typical step of %v: %v, want %v", c.values, got, c.mean)
		}
	}
	for _, c := range []struct{ values, want []float64 }{
		{[]float64{10, 11, 12, 99, 12, 11, 10}, []float64{10, 11, 12, 12, 12, 11, 10}},
		{[]float64{99, 11, 12, 13, 11, 12, 99}, []float64{11, 11, 12, 13, 11, 12, 12}},
		{[]float64{10, 12, 99, 99, 14, 12, 10, 11}, []float64{10, 12, 13, 13, 14, 12, 10, 11}}, {nil, nil},
	} {
		if got := calm(c.values); !slices.Equal(got, c.want) {
			t.Errorf("%v without jumps: %v, want %v", c.values, got, c.want)
		}
	}
	for _, c := range []struct {
		values []float64
		runs   bool
		want   float64
	}{{[]float64{1, 9}, false, 5}, {[]float64{1, 2, 9}, false, 2}, {[]float64{1, 2, 9}, true, 4}} { // runs do not jump
		if got := (ruler{runs: c.runs}).location(c.values); !near(got, c.want) {
			t.Errorf("the typical one of %v (runs: %t): %v, want %v", c.values, c.runs, got, c.want)
		}
	}
	if got := standardError([]float64{1, 3}); !near(got, 1) {
		t.Errorf("standard error %v, want 1", got)
	}
	if got := deviation([]float64{1, 3}); !near(got, math.Sqrt2) {
		t.Errorf("deviation %v", got)
	}
	x := []float64{9, 10, 11, 99} // the median deviation is 1
	drawn := deviation([]float64{9, 10, 11, 10.5 + 3*1.4826})
	if got, want := jumps(x), (deviation(x)*deviation(x)-drawn*drawn)/4; !near(got, want) || jumps(x[:1]) != 0 ||
		jumps(x[:3]) != 0 {
		t.Errorf("jumps add %v, want %v", got, want)
	}
}

// TestSpreadOfBothSides: the squares of both, each relative to its median, by 1 + 2 degrees of freedom; of what waits
// relative to the pass.
func TestSpreadOfBothSides(t *testing.T) {
	s := series{class: Memory, a: []float64{9, 11}, b: []float64{19, 20, 21}}
	if got, want := spread(s, 100), (2*0.01+2*0.0025)/3; !near(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if s.class = Waiting; !near(spread(s, 100), 4*0.0001/3) {
		t.Errorf("of waiting: %v", spread(s, 100))
	}
	if s.a = []float64{5}; !near(spread(s, 100), 2*0.0001/2) || spread(series{a: s.a}, 100) != 0 {
		t.Errorf("of one value a side: %v", spread(s, 100))
	}
	s = series{class: Memory, a: []float64{0, 0, 1}, b: []float64{1, 1, 1, 1, 1}}
	if got := spread(s, 100); got != 0 {
		t.Errorf("a side that mostly lacks it: %v", got)
	}
}

// TestCommonShift: eight rows that take twice as long share a factor of two; five are too few, and so are those of less
// than half of the time. Rows that wait, and those of one side, say nothing.
func TestCommonShift(t *testing.T) {
	k := ruler{pass: 1000}
	all := func(Class) bool { return true }
	row := func(a, b float64) series { return series{class: Memory, a: []float64{a}, b: []float64{b}} }
	var rows []series
	for i := range 6 {
		rows = append(rows, row(10, 20))
		want := 0.0
		if i == 5 {
			want = math.Log(2)
		}
		if got := k.shift(rows, all); !near(got, want) {
			t.Errorf("%d rows: %v, want %v", i+1, got, want)
		}
	}
	wait := series{class: Waiting, a: []float64{900}, b: []float64{900}}
	if got := k.shift(append(slices.Clone(rows), wait, row(0, 900), row(900, 0)), all); !near(got, math.Log(2)) {
		t.Errorf("with waiting and rows of one side: %v", got)
	}
	other := row(90, 90) // as much as the six others
	if other.other = true; !near(k.shift(append(slices.Clone(rows), other), all), math.Log(2)) {
		t.Error("other kernels of half of the time")
	}
	if other.a[0] = 91; k.shift(append(slices.Clone(rows), other), all) != 0 {
		t.Error("other kernels of more than half of the time")
	}
	// a row of half of the pass counts as one of a twentieth: one against six of 1.5%
	if got := k.shift(append(slices.Clone(rows), row(500, 500)), all); !near(got, math.Log(2)) {
		t.Errorf("with a large row that did not change: %v", got)
	}
	if got := k.shift(rows, func(c Class) bool { return c == Latency }); got != 0 {
		t.Errorf("of a class without rows: %v", got)
	}
}

// TestRowsOfOneSide: in half of the passes of one side and in none of the other.
func TestRowsOfOneSide(t *testing.T) {
	for _, c := range []struct {
		a, b []float64
		want Change
	}{
		{[]float64{0, 0}, []float64{0, 1}, New}, {[]float64{0, 1}, []float64{0, 0}, Removed},
		{[]float64{0, 0}, []float64{0, 0, 1}, Unchanged},
		{[]float64{0, 0.5}, []float64{1, 1}, Unchanged}, {nil, []float64{1}, New}, {[]float64{1}, nil, Removed},
		{nil, nil, Unchanged},
	} {
		if got := oneSided(series{a: c.a, b: c.b}); got != c.want {
			t.Errorf("%v and %v: %q, want %q", c.a, c.b, got, c.want)
		}
	}
}

// TestFilledIn: of eight launches, two may be lost.
func TestFilledIn(t *testing.T) {
	for n, want := range map[int]float64{5: 1, 6: 8.0 / 6, 7: 8.0 / 7, 8: 1, 9: 1} {
		if got := fill(n, 8); got != want {
			t.Errorf("%d of 8 launches: %v, want %v", n, got, want)
		}
	}
}

// TestFloorOfWaiting: what waits a fifth of the pass differs between runs by a fifth of its own floor, beside that of
// all.
func TestFloorOfWaiting(t *testing.T) {
	f := floors{common: 0.3, host: 0.7, waits: 2}
	s := series{class: Waiting, a: []float64{10, 10}, b: []float64{30}}
	if got := f.of(&s, 100); !near(got, 0.5) || f.of(&s, 0) != 0.3 {
		t.Errorf("%v, want 0.5", got)
	}
	if f.of(&series{class: OfHost}, 100) != 0.7 || f.of(&series{class: Memory}, 100) != 0.3 {
		t.Error("the floors of the host and of GPU work")
	}
}

// TestShortNames: cut at arguments where they are too long, then in the middle; names that then look alike are shown
// from where they differ, or numbered.
func TestShortNames(t *testing.T) {
	ten := "abcdefghij"
	long := strings.Repeat(ten, 4)
	for _, c := range [][2]string{{"void k(int)", "k(int)"}, {"k<" + long + ">", "k"}, {long + "ab", long + "ab"},
		{long + "abc", long[:27] + "…" + long[29:] + "abc"},
		{"<" + long + "ab", ("<" + long)[:27] + "…" + (long + "ab")[28:]}} {
		if got := short(c[0]); got != c[1] {
			t.Errorf("%s is cut to %q, want %q", c[0], got, c[1])
		}
	}
	a, b := long+long+"x"+long+"1", long+long+"y"+long+"1"
	got := briefsOf([]string{b, a, a, "other"})
	if len(got) != 2 || got[a] != ten+"…x"+long[:30] || got[b] != ten+"…y"+long[:30] || got.of("other") != "other" {
		t.Errorf("two that differ in the middle: %v", got)
	}
	a, b, c := long+"x"+long+"1"+long, long+"x"+long+"2"+long, long+"y"+long+long
	if got := briefsOf([]string{a, b, c}); got[a] != short(a)+" #1" || got[b] != short(a)+" #2" || got[c] != short(a)+
		" #3" {
		t.Errorf("three of which two still look alike: %v", got)
	}
}

// TestTablesByHand: what is printed of a comparison, reckoned by hand.
func TestTablesByHand(t *testing.T) {
	us := func(a, b float64) Interval {
		x, y := time.Duration(a*1e3), time.Duration(b*1e3)
		return Interval{A: x, B: y, Delta: y - x, Low: y - x - 1000, High: y - x + 2000}
	}
	r := Report{Text: "the answer", Delta: 20 * time.Microsecond,
		A: Summary{Trace: "old.json", Passes: 2, Stage: layer.StageDecode, Batch: 3, Tokens: 3, Wall: 200 * time.Microsecond,
			Graph:    0.5,
			Compiled: 0.251, GPU: "g", Commit: "c"},
		B: Summary{Label: "new", Trace: "x.json"},
		Rows: []Row{
			{Operator: "same", Interval: us(100, 110), KernelA: 100_000, KernelB: 110_000, Judged: true, Found: "yes",
				LaunchesA: 2, LaunchesB: 3.4},
			{Operator: "other", Interval: us(50, 40), KernelA: 60_000, KernelB: 40_000, Found: NotClear, Seen: 9000},
			{Operator: "fresh", Interval: Interval{B: 7000, Delta: 7000}, KernelB: 7000, Judged: true, Found: "new"},
			{Operator: "tiny", Interval: Interval{A: 49, B: 49}}, {Operator: "small", Interval: Interval{A: 50}},
		},
		Waterfall: []Row{{Operator: "kernels", Interval: us(150, 160), Judged: true, Found: "yes"}, {Operator: "none"}},
		Host: &HostReport{Least: 1000, Rows: []HostRow{{Name: "launch", Kind: "runtime", Interval: us(4, 5), Judged: true,
			CountA: 1.26,
			CountB: 2, Seen: 3000}, {Name: "wait", Kind: "op", Interval: us(9, 9)}}},
		Findings: []finding.Finding{{Evidence: "found"}}, Left: []string{"left"}, Notes: []string{"note"},
		Gates: []Gate{{Outcome: "pass", Text: "gate"}}, Doubts: []finding.Finding{{Evidence: "doubt"}},
	}
	text, markdown := &strings.Builder{}, &strings.Builder{}
	if err := r.WriteText(text); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteMarkdown(markdown); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"A: old.json, 2 decode passes (batch 3, 3 tokens), 200 µs each, 50% of its kernels in graph replays, 25% " +
			"compiled, g, c", "B: new",
		"same 100.0 110.0 10.0 +10.0 10.0 9.0 … 12.0 yes 2 → 3", "other 50.0 40.0 -10.0 -20.0 -20.0 not clear",
		"fresh 0.0 7.0 7.0 7.0 new",
		"small 0.1 0.0 0.0 +0.0 0.0", "= pass 200.0 220.0 20.0 +10.0", "kernels 150.0 160.0 10.0 9.0 … 12.0 yes",
		"Not clear, as noise may explain it: other -20.0 µs (clear from 9.00 µs). More passes or runs a side show smaller " +
			"changes.",
		"launch runtime 4.0 5.0 1.0 0.0 … 3.0 not clear 1.3 → 2.0", "wait op 9.0 9.0 0.0 not judged 0.0 → 0.0",
		"- pass: gate",
	} {
		if lines := shown(text.String()); !slices.Contains(lines, want) {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
	if lines := shown(markdown.String()); !slices.Contains(lines, "- doubt") || !slices.Contains(lines, "- and 2 more") ||
		slices.Contains(lines, "- left") || !slices.Contains(lines, "### the answer") {
		t.Errorf("of four notes two are shown:\n%s", markdown)
	}
	if strings.Contains(text.String(), "tiny") || strings.Contains(text.String(), "none") {
		t.Errorf("rows below 0.05 µs are shown:\n%s", text)
	}
	// What takes as long on both sides needs no second column; four rows that may be noise are three and one more; a
	// step that takes nothing has no per cent of it.
	same := Report{Rows: []Row{{Operator: "a", Interval: us(1, 2), KernelA: 1000, KernelB: 2000}}}
	for i := range 4 {
		same.Rows = append(same.Rows, Row{Operator: fmt.Sprint("r", i), Interval: us(1, 3), KernelA: 1000, KernelB: 3000,
			Found: NotClear, Seen: 5000})
	}
	text.Reset()
	if err := same.WriteText(text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Operator A (µs) B (µs) B − A % 95% interval Found Launches Kernel",
		"a 1.0 2.0 1.0 +100.0", "= pass 0.0 0.0 0.0",
		"Not clear, as noise may explain it: r0 +2.00 µs (clear from 5.00 µs), r1 +2.00 µs (clear from 5.00 µs), r2 +2.00 µs (clear from 5.00"} {
		if !slices.ContainsFunc(shown(text.String()), func(line string) bool { return strings.HasPrefix(line, want) }) {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
	if !strings.Contains(text.String(), "and 1 more.") {
		t.Errorf("the fourth is not counted:\n%s", text)
	}
}

// shown are the lines of a text, each blank of any width as one.
func shown(text string) (lines []string) {
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return lines
}

// TestOverlappedRows: kernels that take a twentieth longer or shorter than their part of the step, but for waiting.
func TestOverlappedRows(t *testing.T) {
	for _, c := range []struct {
		part, kernel time.Duration
		want         bool
	}{{100, 95, false}, {100, 94, true}, {95, 100, false}, {94, 100, true}, {0, 0, false}} {
		for side := range 2 {
			r := Row{Interval: Interval{A: c.part, B: 7}, KernelA: c.kernel, KernelB: 7}
			if side == 1 {
				r = Row{Interval: Interval{A: 7, B: c.part}, KernelA: 7, KernelB: c.kernel}
			}
			if got := r.Overlapped(); got != c.want {
				t.Errorf("%v of %v: %t", c.kernel, c.part, got)
			}
			if r.Class = Waiting; r.Overlapped() {
				t.Error("waiting is overlapped")
			}
		}
	}
}

// TestJudgedRows: ten passes a side whose rows take 100 and 110; what one side lacks, what waits and what is between
// GPUs is judged where there are passes enough.
func TestJudgedRows(t *testing.T) {
	k := rulerOf(1000, false)
	times := func(n int, v float64) []float64 { return slices.Repeat([]float64{v}, n) }
	for _, c := range []struct {
		name           string
		s              series
		shift          float64
		judged, enough bool
		delta          float64
		sure           int // 1: a difference, −1: none
	}{
		{"a row", series{class: Memory, a: times(10, 100), b: times(10, 110)}, 0, true, true, 10, 1},
		{"by the common factor", series{class: Memory, a: times(10, 100), b: times(10, 110)}, math.Log(1.1), true, true, 10,
			-1},
		{"equal", series{class: Memory, a: times(10, 100), b: times(10, 100)}, 0, true, true, 0, -1},
		{"one pass", series{class: Memory, a: times(1, 100), b: times(1, 200)}, 0, true, true, 100, 1},
		{"no passes", series{class: Memory, b: times(10, 100)}, 0, false, false, 100, -1},
		{"no time", series{class: Memory, a: times(2, 0), b: times(2, 0)}, 0, false, false, 0, -1},
		{"new", series{class: Memory, a: times(2, 0), b: times(2, 9)}, 0, true, true, 9, -1},
		{"waiting of four passes", series{class: Waiting, a: times(4, 100), b: times(9, 500)}, 0, false, false, 400, -1},
		{"waiting of five passes", series{class: Waiting, a: times(5, 100), b: times(5, 500)}, 0, true, true, 400, 1},
		{"waiting where none was", series{class: Waiting, a: times(5, 0), b: times(5, 500)}, 0, true, true, 500, 1},
		{"a transfer of one pass", series{class: Transfer, a: times(1, 100), b: times(2, 500)}, 0, false, false, 400, -1},
		{"a transfer of two passes", series{class: Transfer, a: times(2, 100), b: times(2, 500)}, 0, true, true, 400, 1},
		{"the host of eleven steps", series{class: OfHost, a: times(12, 100), b: times(11, 500)}, 0, false, false, 400, -1},
		{"the host of twelve steps", series{class: OfHost, a: times(12, 100), b: times(12, 500)}, 0, true, true, 400, 1},
		{"the host where it did not", series{class: OfHost, a: times(12, 0), b: times(12, 500)}, 0, false, true, 500, -1},
	} {
		r := k.judge(c.s, c.shift, 0.0075)
		if r.judged != c.judged || r.enough != c.enough || r.delta != c.delta || (c.sure > 0) != (r.p < 0.05) {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
	if r := (ruler{}).judge(series{a: times(2, 1), b: times(2, 1)}, 0, 0); r.judged || r.p != 1 {
		t.Errorf("a pass of no time: %+v", r)
	}
	waits := func(n int) series { return series{class: Waiting, a: times(n, 100), b: times(n, 100)} }
	work := func(n int, b float64) series { return series{class: Memory, a: times(n, 900), b: times(n, b)} }
	for _, c := range []struct {
		name        string
		work, waits series
		judged      bool
		delta       float64
		sure        bool
	}{
		{"five passes", work(5, 1300), waits(5), true, 400, true},
		{"four passes", work(4, 1300), waits(4), false, 400, false},
		{"one pass a side", work(1, 1300), waits(1), false, 400, false},
		{"equal", work(5, 900), waits(5), true, 0, false},
		{"one pass without waiting", work(1, 1300), series{a: times(1, 0), b: times(1, 0)}, true, 400, true},
	} {
		if r := k.judgeWall(c.work, c.waits, 0.0075); r.judged != c.judged || r.delta != c.delta || c.sure != (r.p < 0.01) ||
			r.se <= 0 {
			t.Errorf("the step, %s: %+v", c.name, r)
		}
	}
}

// TestPassesInWords: nothing is said of what is not known; no tokens are known, too.
func TestPassesInWords(t *testing.T) {
	for _, c := range []struct {
		id    identity
		want  string
		known int
	}{
		{identity{stage: layer.StageUnknown, batch: -1, tokens: -1}, "2 passes", 0},
		{identity{stage: layer.StageDecode, batch: -1, tokens: 1}, "2 decode passes (1 token)", 2},
		{identity{stage: layer.StageDecode, batch: 0, tokens: 0}, "2 decode passes (batch 0, 0 tokens)", 3},
	} {
		if got := c.id.passes(2); got != c.want || c.id.known() != c.known || c.id.hasTokens() != (c.id.tokens > 0) {
			t.Errorf("%+v: %q, %d known; want %q, %d", c.id, got, c.id.known(), c.want, c.known)
		}
	}
}

// TestPointOfATrend: the mean of the complete passes of a stage that another one follows, of one operator or of all.
func TestPointOfATrend(t *testing.T) {
	pass := func(stage layer.Stage, one, two time.Duration) Pass {
		return Pass{Stage: stage, Followed: true, Parts: []PartTime{{Part: 0, Time: one}, {Part: 1, Time: two}}}
	}
	first, last, cut := pass(layer.StageDecode, 90, 90), pass(layer.StageDecode, 90, 90), pass(layer.StageDecode, 90, 90)
	first.First, last.Followed, cut.Partial = true, false, "cut"
	run := TrendRun{Run: Run{Parts: []Part{{Operator: "x"}, {Operator: "y"}},
		Passes: []Pass{first, pass(layer.StageDecode, 10, 1),
			pass(layer.StagePrefill, 50, 50), pass(layer.StageDecode, 20, 4), cut, last}}}
	for _, c := range []struct {
		operator string
		stage    layer.Stage
		want     time.Duration
	}{{"", layer.StageDecode, 17}, {"x", layer.StageDecode, 15}, {"y", layer.StageDecode, 2}, {"z", layer.StageDecode, 0},
		{"", layer.StagePrefill, 100},
		{"", layer.StageMixed, 0}} {
		if got := run.point(c.operator, []layer.Stage{c.stage}); got.Time != c.want {
			t.Errorf("%q in %s: %v, want %v", c.operator, c.stage, got.Time, c.want)
		}
	}
}

// TestCaveats: what shows how runs differ.
func TestCaveats(t *testing.T) {
	for _, c := range []struct {
		a, b Summary
		wait float64
		from string
		want string
	}{
		{Summary{Passes: 1, Runs: 1}, Summary{Passes: 1, Runs: 1}, 0, "", "; one pass a side, noise of 0.75% assumed"},
		{Summary{Passes: 1, Runs: 1}, Summary{Passes: 2, Runs: 1}, 0.12, "", "; one pass in A, noise of 0.75% assumed " +
			"(idle time 12%)"},
		{Summary{Passes: 2, Runs: 1}, Summary{Passes: 1, Runs: 1}, 0.005, "", "; one pass in B, noise of 0.75% assumed " +
			"(idle time 0.5%)"},
		{Summary{Passes: 2, Runs: 2}, Summary{Passes: 2, Runs: 1}, 0, "", "; one run in B, noise of 0.75% assumed"},
		{Summary{Passes: 2, Runs: 1}, Summary{Passes: 2, Runs: 2}, 0, floorGiven, "; one run in A, noise of 0.75% given"},
		{Summary{Passes: 2, Runs: 1}, Summary{Passes: 2, Runs: 1}, 0, "", "; one run a side, noise of 0.75% assumed"},
	} {
		r := Report{A: c.a, B: c.b, Floor: 0.0075, WaitFloor: c.wait, FloorFrom: c.from}
		if got := r.caveat(); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestSomePasses: of six passes of one side, which are of two kinds, three are as those of the other side.
func TestSomePasses(t *testing.T) {
	usual, two := []float64{10, 10, 10, 10, 10, 10}, []float64{10, 10, 20, 20, 10, 20}
	for _, c := range []struct {
		a, b []float64
		n    int
		ok   bool
	}{{usual, two, 3, true}, {two, usual, 3, true}, {usual, usual, 0, false}, {two, two, 0, false},
		{usual, two[:5], 0, false},
		{[]float64{20, 20, 20, 20, 20, 20}, two, 3, true}, {usual, []float64{5, 5, 10, 10, 10, 10, 10, 10}, 2, true}} {
		if n, of, ok := some(c.a, c.b); n != c.n || ok != c.ok || ok && of != max(len(c.a), len(c.b)) {
			t.Errorf("%v and %v: %d of %d, %t", c.a, c.b, n, of, ok)
		}
	}
	for class, want := range map[Class]bool{Memory: true, Latency: true, Transfer: false, Waiting: false, OfHost: false} {
		s := series{class: class, a: usual, b: two} // half of the passes: the mean moves by 5
		if got := mixed(s, 5/minShare); got != want {
			t.Errorf("single passes of class %v are tested: %t", class, got)
		}
		if mixed(s, 5.1/minShare) {
			t.Errorf("class %v: less than a finding is tested", class)
		}
	}
}

// TestSentencesOfTheHost: a renamed operation did not change.
func TestSentencesOfTheHost(t *testing.T) {
	r := HostRow{Name: "new", Was: "old", Status: Renamed, Interval: Interval{A: 2000, B: 3000, Delta: 1000}}
	if got := r.sentence(); got != "host: new was old: same place, as often, as long (3.00 µs)" {
		t.Error(got)
	}
	if r.Status = Unchanged; !strings.HasPrefix(r.sentence(), "host: new") || strings.Contains(r.sentence(), "old") {
		t.Error(r.sentence())
	}
}

// TestCountsInWords: a mean that is whole to a twentieth has no decimals.
func TestCountsInWords(t *testing.T) {
	for x, want := range map[float64]string{2: "2", 2.04: "2", 1.96: "2", 2.06: "2.1", 1.94: "1.9", 2.5: "2.5"} {
		if got, _ := countText(x); got != want {
			t.Errorf("%v: %q, want %q", x, got, want)
		}
	}
}

// TestPassesOfTwoFiles: those of the second file are numbered on.
func TestPassesOfTwoFiles(t *testing.T) {
	of := func(trace string, indices ...int) Run {
		r := Run{Trace: trace}
		for _, i := range indices {
			r.Passes = append(r.Passes, Pass{Index: i})
		}
		return r
	}
	r := NewRun([]Run{of("a", 0), of("b", 0, 3), of("c", 1)})
	var got []string
	for _, p := range r.Passes {
		got = append(got, fmt.Sprint(p.Index, p.Trace))
	}
	if text := strings.Join(got, " "); text != "0 1b 4b 6c" {
		t.Errorf("passes %q", text)
	}
}

// TestTypicalGap: a pause of the server is in the mean of an operation, and not in the gap between its steps.
func TestTypicalGap(t *testing.T) {
	h := &hostComparison{ruler: rulerOf(1, false), ops: map[opKey]*hostOp{}}
	for key, want := range map[opKey]time.Duration{{FigureKind, FigureGap}: 10, {FigureKind, FigureStep}: 40} {
		h.ops[key] = &hostOp{series: series{class: OfHost, a: []float64{10, 10, 10, 130}, b: []float64{30, 30, 30, 30}}}
		if r := h.row(key); r.A != want || r.B != 30 || r.Delta != 30-want {
			t.Errorf("%s: %+v, want %d ns in A", key.name, r.Interval, want)
		}
	}
	for runs, want := range map[int]int{1: 3, 2: 1} {
		h := hostComparison{ruler: rulerOf(0, runs > 1)}
		x := h.unit([]time.Duration{3, 1, 2})
		if len(x) != want || want == 1 && x[0] != 2 || len(h.unit(nil)) != 0 {
			t.Errorf("%d runs a side: %v count, want %d", runs, x, want)
		}
	}
}

// TestPassesThatTheWindowCuts: a last pass that runs less than 99.5% of the kernels of another one, and hardly others.
func TestPassesThatTheWindowCuts(t *testing.T) {
	for _, c := range []struct {
		own, others int
		want        bool
	}{{199, 0, false}, {198, 0, true}, {20, 0, true}, {19, 1, true}, {94, 5, false}, {95, 5, true}} {
		sigs := []signature{{{"k", 200}}, {{"k", 200}}, {{"k", c.own}, {"other", c.others}}}
		if got := isCut(&Run{Passes: make([]Pass, 3)}, sigs, 2); got != c.want {
			t.Errorf("%d kernels of 200 and %d others: cut %v, want %v", c.own, c.others, got, c.want)
		}
		if isCut(&Run{Passes: make([]Pass, 4)}, append(sigs, sigs[0]), 2) {
			t.Errorf("%d kernels of 200: a pass in the middle is cut", c.own)
		}
	}
}

// TestPathsOfARow: a change of idle time is explained by graphs that most kernels of one side alone are in.
func TestPathsOfARow(t *testing.T) {
	for _, c := range []struct {
		a, b float64
		want string
	}{{0.5, 0.6, "eager → graph"}, {0.6, 0.5, "graph → eager"}, {0.5, 0.5, ""}, {0.6, 0.7, ""}, {0.4, 0.3, ""},
		{0, 1, "eager → graph"}} {
		var ch [2]*chosen
		for i, graph := range []float64{c.a, c.b} {
			ch[i] = &chosen{side: &Side{Runs: []Run{{Passes: []Pass{{Graph: graph}}}}}, passes: [][]int{{0}}}
		}
		m := &comparison{ch: ch}
		if got := m.because(&Row{Operator: rowIdle, Class: Waiting, KernelB: 1000}, 0); got != c.want {
			t.Errorf("%v and %v of the kernels in graphs: %q, want %q", c.a, c.b, got, c.want)
		}
	}
	for sum, want := range map[[2]int]string{{1, 1}: "grew", {-1, -1}: "shrank", {1, 0}: "more", {-1, 0}: "less"} {
		if got := mixedWords(sum[0], sum[1]); !strings.Contains(got, " "+want+" ") {
			t.Errorf("changes %d and work %d: %q lacks %q", sum[0], sum[1], got, want)
		}
	}
}

// TestFloorsOfTheStep: they are known where they are known of more than half of the time that is bound by memory. What
// takes less than its floor counts for what it takes.
func TestFloorsOfTheStep(t *testing.T) {
	of := func(floor time.Duration, own float64) rowTimes {
		return rowTimes{exclusive: []float64{own}, work: Work{Floor: floor}}
	}
	for _, c := range []struct {
		rows  [3]rowTimes
		class Class
		want  time.Duration
		known bool
	}{
		{[3]rowTimes{of(1, 3), of(0, 2), of(9, 100)}, Latency, 1, true},
		{[3]rowTimes{of(1, 3), of(0, 3), of(9, 100)}, Latency, 0, false},
		{[3]rowTimes{of(1, 3), of(0, 3), of(9, 1)}, Memory, 2, true},
		{[3]rowTimes{of(0, 3), of(0, 3), of(0, 1)}, Memory, 0, false},
	} {
		m := &comparison{rows: &rowSet{names: []string{"x", "y", "z"}, class: []Class{Memory, Memory, c.class}},
			parts: [2][]rowTimes{c.rows[:], c.rows[:]}}
		if a, b, known := m.floors(); a != c.want || b != c.want || known != c.known {
			t.Errorf("%+v: floors %v and %v, known %v; want %v", c.rows, a, b, known, c.want)
		}
	}
}

// TestManyKindsOfPasses: of sixty-six kinds of passes that have nothing in common, sixty-four are groups, and the
// others are in the last of them.
func TestManyKindsOfPasses(t *testing.T) {
	var run Run
	for i := range 66 {
		run.Parts = append(run.Parts, MadePart(fmt.Sprint("row", i), fmt.Sprint("k", i), Memory))
		run.Passes = append(run.Passes, Pass{Index: i, Tokens: 8, Wall: 1000,
			Parts: []PartTime{{Part: i, Count: 1, Time: 1000, Exclusive: 1000}}})
	}
	groups, cut := groupPasses([2]*Side{{Runs: []Run{run}}, {Runs: []Run{{}}}})
	if n := len(groups); n != 64 || len(cut) != 0 || len(groups[63].passes) != 3 {
		t.Errorf("%d groups, %d cut, want 64", n, len(cut))
	}
}

// TestMostFrequentCount: of equally frequent ones the larger.
func TestMostFrequentCount(t *testing.T) {
	for _, c := range []struct {
		counts       []int
		value, times int
	}{{nil, 0, 0}, {[]int{3}, 3, 1}, {[]int{2, 1, 2, 1}, 2, 2}, {[]int{1, 1, 2}, 1, 2}} {
		if value, times := mode(c.counts); value != c.value || times != c.times {
			t.Errorf("%v: %d, %d times", c.counts, value, times)
		}
	}
}

// TestOneValueIsEnough: work of one pass is judged against one or several, and against none it is not.
func TestOneValueIsEnough(t *testing.T) {
	for _, n := range [][2]int{{1, 1}, {1, 3}, {3, 1}, {0, 3}, {3, 0}} {
		s := series{class: Memory, a: slices.Repeat([]float64{5}, n[0]), b: slices.Repeat([]float64{5}, n[1])}
		if got, want := rulerOf(100, false).judge(s, 0, .01).judged, n[0] > 0 && n[1] > 0; got != want {
			t.Errorf("%d values against %d: judged %v, want %v", n[0], n[1], got, want)
		}
	}
}
