package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
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
		{"work may be less", 0, 0, 0, 0, -30 * µs, 0, false, Inconclusive, "neither clearly something nor clearly"},
		{"work may be more", 0, 0, 0, 0, 0, 30 * µs, false, Inconclusive, "neither clearly something nor clearly"},
		{"waiting of few passes", 0, 0, 30 * µs, 0, 0, 0, false, Inconclusive, "needs 5 passes a side to be judged"},
		{"waiting that varies", 0, 0, 30 * µs, 0, 0, 0, true, Inconclusive, "which varies too much"},
		{"half of it is waiting", 0, 0, 30 * µs, 1, 0, 0, true, Inconclusive, "neither clearly something nor clearly"},
		{"half of it, few passes", 0, 0, 30 * µs, 1, 0, 0, false, Inconclusive, "neither clearly something nor clearly"},
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
		"2 decode passes of batch 0 and 1 token": {stage: layer.StageDecode, tokens: 1},
		"2 passes of 5 tokens":                   {stage: layer.StageUnknown, batch: -1, tokens: 5}} {
		if got := l.passes(2); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Operators of one fused kernel are one row; a residual addition ties nothing together.
func TestTogether(t *testing.T) {
	got := together([]string{"gate_up_proj+activation", "activation", "input_norm+residual_add",
		"post_norm+residual_add", "rope"})
	for row, want := range map[string]string{"activation": "gate_up_proj+activation", "rope": "rope",
		"input_norm+residual_add": "input_norm", "post_norm+residual_add": "post_norm"} {
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
		want, text       string
	}{
		{"", 50, 70, 90, failed, ""}, {"", 49, 70, 90, failed, ""}, {"", 10, 49, 88, undecided, ""},
		{"", 10, 50, 90, failed, ""}, {"", -9, 20, 49, passed, ""}, {"", 0, 25, 50, undecided, ""},
		{"", 0, 50, 100, undecided, "below 5.0% cannot be detected: gate GPU work with work=5%"},
		{"", 1, 50, 99, failed, ""}, {"", 50, 150, 250, failed, ""}, {"work", 0, 50, 100, undecided, ""}, {"work", 1, 51, 101, failed, ""},
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
	if joined.Health != "degraded" || strings.Count(notes, ": the recording is degraded") != 1 {
		t.Errorf("%s: %s", joined.Health, notes)
	}
	for _, h := range []*hostComparison{{}, {ruler: rulerOf(1, true)}} {
		if got := h.independent(); got != 1 {
			t.Errorf("steps of no operation count for %v", got)
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

// Copies are a part of the waterfall, and no small operators.
func TestPartsOfTheWaterfall(t *testing.T) {
	for _, c := range []struct {
		row   string
		class Class
		want  string
	}{{"rope", Memory, "kernels"}, {"rope", Latency, "small operators"}, {rowCopies, Latency, "copies and fills"},
		{"all_reduce", Transfer, "exposed communication"}, {rowWaiting, Waiting, "waiting for ranks"},
		{rowIdle, Waiting, "between kernels"}, {rowBetween, Waiting, "between steps"}, {"schedule", OfHost, "between kernels"}} {
		if got := partOf(c.row, c.class); got != c.want {
			t.Errorf("%s, %s is a part of %q, want %s", c.row, c.class, got, c.want)
		}
	}
	for floor, want := range map[time.Duration]string{0: "0.0", 14: "1.4", 99: "9.9", 100: "10", 994: "99"} {
		if got := ofPeak(floor, 1000); got != want {
			t.Errorf("%d of 1000 is %s%% of peak, want %s", floor, got, want)
		}
	}
}

// A category is not judged that has an operator's kernels on one side alone: it runs as many of them, and lost records
// hide of which operator some are.
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
		{New, 1, 3, "k is new: 3 ns a pass"}, {Removed, 3, 1, "k is gone: 3 ns a pass before"},
	} {
		if got := sentence("k", c.status, c.a, c.b, "pass"); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	r := &Report{Rows: []Row{{Operator: "tiny", Interval: Interval{A: 1, B: 3, Delta: 2}},
		{Operator: "fresh", Interval: Interval{B: 3, Delta: 3}}}}
	var b strings.Builder
	if err := r.table(1).WriteText(&b); err != nil || !strings.Contains(b.String(), "+200.0") ||
		!strings.Contains(b.String(), "1 other") {
		t.Errorf("%v\n%s", err, b.String())
	}
	b.Reset()
	if err := r.table(2).WriteText(&b); err != nil || strings.Contains(b.String(), "Inf") {
		t.Errorf("%v\n%s", err, b.String())
	}
	for n, want := range map[int]string{textLimits.list: "", textLimits.list + 1: "and 1 more"} {
		b.Reset()
		err := (&Report{Notes: slices.Repeat([]string{"x"}, n), Gates: slices.Repeat([]Gate{{Text: "y"}}, n)}).WriteText(&b)
		if err != nil || strings.Count(b.String(), "and 1 more") != 2*len(want)/len("and 1 more") || n > 41 {
			t.Errorf("%d notes: %v\n%s", n, err, b.String())
		}
	}
	for name, want := range map[string]string{
		"short/path/to/a.py: forward": "short/path/to/a.py: forward",
		"/usr/lib/python3.12/dist-packages/very/long/folder/layers/linear.py: forward":    "…/very/long/folder/layers/linear.py: forward",
		"no folder at all but a name that is longer than a table's column is for .py: f":  "no folder at all but a name that is longer than a table's column is for .py: f",
		"/a/folder/name.py: of a function/with slashes that is longer than what is there": "…/name.py: of a function/with slashes that is longer than what is there",
	} {
		if got := tail(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
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
		{"half of the difference", []Row{{Class: Waiting, Interval: Interval{Delta: 5 * µs}}}, 10 * µs, nil, Same, finding.NoKind, 0},
		{"little waiting", []Row{{Class: Waiting, Interval: Interval{Delta: 5*µs - 1}}}, 5 * µs, nil, Same, finding.NoKind, 0},
		{"less than what is found", []Row{{Class: Waiting, Interval: Interval{Delta: 6 * µs}}}, 6 * µs,
			[]finding.Finding{{Kind: finding.OperatorChanged, Size: finding.Size{PerStep: 6 * µs}}}, Slower, finding.OperatorChanged, 6 * µs},
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
	for want, signs := range map[string][2]int{"GPU work became less beyond noise, and the step did not": {-1, -1},
		"what changed beyond noise takes more time in sum, but GPU work as a whole does not": {1, -1}} {
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
