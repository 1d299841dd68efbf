package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
)

// TestExpectedSpread: what passes of a row are expected to vary by before any is seen. Two layers that change by
// 0.1 and 0.3 have a mean of 0.2 with a standard error of 0.1.
func TestExpectedSpread(t *testing.T) {
	one, two := []float64{1}, []float64{1, 1}
	for _, c := range []struct {
		s    series
		want float64
	}{
		{series{class: Memory, a: two, b: two, single: true, layers: []float64{0.1, 0.3}}, 0.005},
		{series{class: Memory, a: two, b: one, single: true}, 0.015},
		{series{class: Memory, a: one, b: two, single: true}, 0.015},
		{series{class: Memory, a: one, b: one}, 0.005}, {series{class: Memory, a: one, b: one, layers: []float64{0.1}},
			0.005},
		{series{class: Memory, a: one, b: one, single: true, layers: []float64{0.1, 0.3}}, 0.3},
		{series{class: Memory, a: one, b: one, layers: []float64{0.001, 0.003}}, 0.005},
		{series{class: Transfer, a: two, b: two}, 0.02}, {series{class: Waiting, a: two, b: two}, 0.02},
		{series{class: Latency, a: two, b: two}, 0.005},
	} {
		if got := (ruler{}).prior(c.s); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v: %v, want %v", c.s, got, c.want)
		}
	}
}

// TestLimitsOfGates: a share above 0 and of up to 1000%.
func TestLimitsOfGates(t *testing.T) {
	for text, want := range map[string]float64{"1000%": 10, "1000.1%": 0, "0%": 0, "-1%": 0, "0.5%": 0.005, "nan%": 0,
		"3":                    0,
		"regression work = 3%": 0.03} {
		g, err := ParseGate(text)
		if (err == nil) != (want > 0) || math.Abs(g.Limit-want) > 1e-12 {
			t.Errorf("%q: %v, %v; want %v", text, g.Limit, err, want)
		}
	}
}

// TestOrderOfRows: operators as in a model, then categories.
func TestOrderOfRows(t *testing.T) {
	for i, name := range opname.All {
		if got := orderOf(name); got != i {
			t.Errorf("%s is at %d, want %d", name, got, i)
		}
	}
	if got := orderOf("gemm"); got != len(opname.All) {
		t.Errorf("a category is at %d, want %d", got, len(opname.All))
	}
}

// TestPartsOfTwoFiles: a kernel of another class, category or operator is another part.
func TestPartsOfTwoFiles(t *testing.T) {
	own := Part{Name: "k", Operator: "o", Category: "gemm", Class: Memory}
	for what, c := range map[string]struct {
		change func(*Part)
		parts  int
	}{
		"nothing": {func(*Part) {}, 1}, "the base": {func(p *Part) { p.Base = "x" }, 1},
		"the name":     {func(p *Part) { p.Name = "x" }, 2},
		"the operator": {func(p *Part) { p.Operator = "x" }, 2}, "the category": {func(p *Part) { p.Category = "x" }, 2},
		"the class": {func(p *Part) { p.Class = Latency }, 2},
	} {
		other := own
		c.change(&other)
		r := NewRun([]Run{{Trace: "a", Parts: []Part{own}}, {Trace: "b", Parts: []Part{other}}})
		if len(r.Parts) != c.parts {
			t.Errorf("%s differs: %d parts, want %d", what, len(r.Parts), c.parts)
		}
	}
}

// TestListsOfAReport: sixty rows, twenty operations of the host, forty findings, and how many more there are; a list of
// one is shown.
func TestListsOfAReport(t *testing.T) {
	for n, want := range map[int][3]int{1: {1, 1, 1}, 20: {20, 20, 20}, 21: {21, 20, 21}, 40: {40, 20, 40}, 41: {41,
		20, 40},
		61: {60, 20, 40}} {
		r := Report{Host: &HostReport{}}
		for i := range n {
			r.Rows = append(r.Rows, Row{Operator: fmt.Sprint("row", i), Interval: Interval{A: 1000}})
			r.Host.Rows = append(r.Host.Rows, HostRow{Name: fmt.Sprint("host", i), Judged: true})
			r.Findings = append(r.Findings, finding.Finding{Evidence: fmt.Sprint("found", i)})
		}
		var b strings.Builder
		if err := r.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		for i, word := range []string{"row", "host", "found"} {
			got := 0
			for k := range n {
				got += min(1, strings.Count(b.String()+"\n", fmt.Sprint(word, k)))
			}
			if got != want[i] {
				t.Errorf("of %d, %d of %s are shown, want %d", n, got, word, want[i])
			}
		}
		if first := strings.Count(b.String(), "Look first at"); first != 1 {
			t.Errorf("%d lines of what to look at first of %d rows", first, n)
		}
		if more := n - 40; (more > 0) != strings.Contains(b.String(), fmt.Sprintf("and %d more", more)) {
			t.Errorf("of %d findings: %s", n, b.String())
		}
	}
}

// TestFloorOfAPair: of twelve operations six take e^d times as long, and six as much less: squares of a normal variable
// are cut at 4, and the floor f is where their mean is that of d²/v, v = 2f² and what steps vary by. Two that take
// twice and half as long count as 4, however far off, and their own floor is without them.
func TestFloorOfAPair(t *testing.T) {
	below := math.Erf(math.Sqrt2) // of a normal variable, the part between −2 and 2
	at := math.Exp(-2) / math.Sqrt(2*math.Pi)
	second, fourth := below-4*at, 3*(below-4*at)-16*at // its square and fourth power there
	cut := second + 4*(1-below)
	known := second * second * 2 / (fourth + 16*(1-below) - cut*cut)
	for _, c := range []struct {
		d   float64
		far bool
	}{{0.05, false}, {0.05, true}, {0.02, false}, {0.5, false}, {0, false}} {
		a, b := &Host{}, &Host{}
		add := func(ratio float64) {
			one := server(40, fmt.Sprint("op", len(a.Operations)), 1e6, 1, 0, false)
			other := server(40, one.Operations[0].Name, 1e6*math.Exp(ratio), 1, 0, false)
			a.Walls, b.Walls = one.Walls, other.Walls
			a.Operations, b.Operations = append(a.Operations, one.Operations...), append(b.Operations, other.Operations...)
		}
		for range 6 {
			add(c.d)
			add(-c.d)
		}
		if c.far {
			add(math.Ln2)
			add(-math.Ln2)
		}
		h := &hostComparison{ruler: rulerOf(0, false), sides: [2][]*Host{{a}, {b}}, noise: floors{host: hostFloor}}
		h.collect()
		h.correlate()
		h.pass = 1e9
		own, _ := h.variance(h.ops[h.keys[0]].series, 0)
		n := h.between()
		v := c.d * c.d / cut
		if c.far {
			v = c.d * c.d / (cut - (4-cut)/6)
		}
		f := math.Sqrt((v - own) / 2)
		switch {
		case c.d > 0.1:
			f = 2 * hostFloor
		case c.d == 0:
			f = floorLeast
		}
		v = own + 2*f*f
		near := func(what string, got, want float64) {
			t.Helper()
			if math.Abs(got-want) > 1e-3*want {
				t.Errorf("%+v: %s %v, want %v", c, what, got, want)
			}
		}
		near("operations", float64(n), float64(len(a.Operations)))
		near("floor", h.noise.host, f)
		near("degrees of freedom", h.floorDF, known*4*math.Pow(f, 4)*float64(n)/(v*v))
		first, last := h.ops[h.keys[0]].series, h.ops[h.keys[n-1]].series
		if c.d < 0.1 {
			near("floor of the first", first.floor, f)
		}
		if c.far {
			f = math.Sqrt(f*f - (4-cut)*v/(2*second*float64(n)))
			near("floor of the last", last.floor, f)
			near("degrees of freedom of the last", last.floorDF, known*4*math.Pow(f, 4)*float64(n)/(v*v))
		}
	}
}

// TestStatusOfKernels: a kernel that one side lacks is new or removed, one that both have neither.
func TestStatusOfKernels(t *testing.T) {
	side := func(kernels ...string) *Side {
		run := Run{GPU: "a", Health: trace.HealthOK}
		for i := range 8 {
			run.Parts = append(run.Parts, MadePart(fmt.Sprint("row", i), fmt.Sprint("k", i), Memory))
		}
		for _, name := range kernels {
			run.Parts = append(run.Parts, MadePart("row0", name, Memory))
		}
		for i := range 5 {
			run.AddPass(Pass{Index: i, Stage: finding.StageDecode, Batch: 8, Tokens: 8, Graph: 1}, 1,
				slices.Repeat([]time.Duration{time.Millisecond}, len(run.Parts))...)
		}
		return &Side{Runs: []Run{run}}
	}
	for _, c := range []struct {
		a, b []string
		want string
	}{
		{nil, []string{"other_attention"}, "k0  other_attention new"},
		{[]string{"other_attention"}, nil, "k0  other_attention removed"},
		{[]string{"other_attention"}, []string{"other_attention"}, "k0  other_attention "},
	} {
		r, err := Compare(t.Context(), side(c.a...), side(c.b...), Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range r.Rows {
			if row.Operator == "row0" {
				for _, k := range row.Kernels {
					got = append(got, k.Name+" "+string(k.Status))
				}
			}
		}
		slices.Sort(got)
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%q and %q: %q, want %q", c.a, c.b, text, c.want)
		}
	}
}

// TestRowsOfDoubts: each reason to doubt a comparison has its own text.
func TestRowsOfDoubts(t *testing.T) {
	for i := range doubtTable {
		if got := doubtTable[i].code.row(); got != &doubtTable[i] {
			t.Errorf("%s has the text of %s", doubtTable[i].code, got.code)
		}
	}
}

// TestPartsThatAreJudged: time that is not recorded makes no other part harder to find in traces that have none.
func TestPartsThatAreJudged(t *testing.T) {
	c := comparison{rows: &rowSet{}}
	intact := c.tests()
	if c.rows.names = []string{rowLost}; intact != c.tests()-1 {
		t.Errorf("%d parts are judged of intact traces, %d of others", intact, c.tests())
	}
}
