package compare

import (
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/layer"
)

// What gates on GPU work and on the step say together.
func TestTolerance(t *testing.T) {
	gate := func(o GateOutcome, estimate float64) Gate { return Gate{Outcome: o, Limit: 0.05, Estimate: estimate} }
	for _, c := range []struct {
		work, wall Gate
		want       GateOutcome
	}{
		{gate(GatePassed, 0), gate(GatePassed, 0), GatePassed},
		{gate(GateFailed, 0), gate(GatePassed, 0), GateFailed},
		{gate(GateUndecided, 0), gate(GateFailed, 0), GateFailed},
		{gate(GateUndecided, 0), gate(GatePassed, 0), GateUndecided},
		{gate(GatePassed, 0), gate(GateUndecided, 0.05), GateUndecided},
		{gate(GatePassed, 0), gate(GateUndecided, 0.049), GatePassed},
		{gate(GatePassed, 0), gate(GatePassed, 0.05), GatePassed},
	} {
		if got := (&Report{Gates: []Gate{c.work, c.wall}}).Tolerance(); got != c.want {
			t.Errorf("%+v and %+v: %s, want %s", c.work, c.wall, got, c.want)
		}
	}
	if got := new(Report).Tolerance(); got != GateUndecided {
		t.Errorf("without gates: %s, want it undecided", got)
	}
	if g := Tolerate(0.05); len(g) != 2 || g[0].form() != "work=5%" || g[1].form() != "5%" {
		t.Errorf("gates %+v", g)
	}
}

// Stages are compared by themselves; what one side alone has, and passes of other sizes, are named with why.
func TestByStage(t *testing.T) {
	of := func(stage layer.Stage, tokens int64, us float64) Run {
		r := runOf(repeated(6, use1{"attention", 10, us})...)
		for i := range r.Passes {
			r.Passes[i].Stage, r.Passes[i].Tokens, r.Passes[i].Batch = stage, tokens, tokens
		}
		return r
	}
	join := func(runs ...Run) *Side {
		for i := range runs {
			runs[i].Trace = string(rune('a' + i))
		}
		return sideOf(NewRun(runs))
	}
	a := join(of(layer.StageDecode, 8, 100), of(layer.StagePrefill, 512, 900), of(layer.StageCapture, 8, 50))
	b := join(of(layer.StageVerify, 8, 130), of(layer.StagePrefill, 1024, 1700), of(layer.StageMixed, 64, 50))
	got, err := ByStage(t.Context(), a, b, Options{Gates: Tolerate(0.05)})
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, s := range got {
		what := s.Why
		if s.Report != nil {
			what = string(s.Report.Verdict)
		}
		text = append(text, string(s.Stage)+": "+what)
	}
	want := []string{"prefill: not compared: ", "decode: not compared: ", "mixed: only in the new run",
		"capture: only in the old run"}
	for i, w := range want {
		if i >= len(text) || !strings.HasPrefix(text[i], w) {
			t.Fatalf("%q, want %q", text, want)
		}
	}
	if !strings.Contains(text[0], "the passes are of different sizes") {
		t.Error(text[0])
	}
	b = join(of(layer.StageDecode, 8, 130), of(layer.StagePrefill, 512, 900))
	if got, err = ByStage(t.Context(), a, b, Options{Gates: Tolerate(0.05)}); err != nil || len(got) != 3 ||
		got[0].Report == nil || got[0].Report.Verdict != Same || got[0].Report.Tolerance() != GatePassed ||
		got[1].Report == nil || got[1].Report.Verdict != Slower || got[1].Report.Tolerance() != GateFailed {
		t.Errorf("%v: %+v", err, got)
	}
}

// A kernel that runs under another name is recognised if it runs as often and as long, and both names are known.
func TestOtherKernel(t *testing.T) {
	c := &comparison{ruler: rulerOf(1e6, false), sameGPU: true}
	row := func(kernels ...KernelDelta) *Row {
		return &Row{Judged: true, Interval: Interval{A: 1e6, B: 1e6}, LaunchesA: 20, LaunchesB: 20, Kernels: kernels}
	}
	old, now := KernelDelta{Name: "old", LaunchesA: 20}, KernelDelta{Name: "now", LaunchesB: 20}
	both := KernelDelta{Name: "both", LaunchesA: 1, LaunchesB: 1}
	for name, x := range map[string]struct {
		row      *Row
		was, now string
	}{
		"two names": {row(old, both, now), "old", "now"},
		"renamed": {row(both, KernelDelta{Name: "now", Was: "old", Status: Renamed, LaunchesA: 20,
			LaunchesB: 20}), "old", "now"},
		"only gone": {row(old, both), "", ""},
		"only new":  {row(both, now), "", ""},
		"the same":  {row(both), "", ""},
		"the longest ones": {row(old, now, KernelDelta{Name: "older", LaunchesA: 1},
			KernelDelta{Name: "newer", LaunchesB: 1}), "old", "now"},
	} {
		if was, now := c.otherKernel(x.row); was != x.was || now != x.now {
			t.Errorf("%s: %q and %q, want %q and %q", name, was, now, x.was, x.now)
		}
	}
	for name, edit := range map[string]func(r *Row){
		"not judged": func(r *Row) { r.Judged = false }, "too small": func(r *Row) { r.A, r.B = 4999, 4999 },
		"longer": func(r *Row) { r.KernelB = 5000 }, "shorter": func(r *Row) { r.KernelA = 5000 },
		"more often": func(r *Row) { r.LaunchesB = 22 }, "less often": func(r *Row) { r.LaunchesB = 18 },
	} {
		r := row(old, now)
		edit(r)
		if was, now := c.otherKernel(r); was != "" || now != "" {
			t.Errorf("%s: %q and %q", name, was, now)
		}
	}
	r := row(old, now)
	r.A, r.B, r.KernelB, r.LaunchesB = 5000, 4000, 4999, 21
	if was, _ := c.otherKernel(r); was != "old" {
		t.Error("as large as a finding, nearly as long, nearly as often: not reported")
	}
	c.sameGPU = false
	if was, _ := c.otherKernel(row(old, now)); was != "" {
		t.Error("on another GPU")
	}
}

// A run without passes that match counts for nothing.
func TestRunWithoutPasses(t *testing.T) {
	other := runOf(repeated(4, use1{"conv", 3, 100})...)
	r := compareSides(t, sideOf(plain(1).Runs[0], plain(1.01).Runs[0], other),
		sideOf(plain(1).Runs[0], plain(1.02).Runs[0]))
	one := &chosen{side: sideOf(plain(1).Runs[0], other), passes: [][]int{{0}, {}}}
	if got := one.runTimes(); len(got) != 1 || got[0] <= 0 {
		t.Errorf("times of runs %v, want one", got)
	}
	for _, row := range r.Rows {
		if len(row.TimesA) != 2 || len(row.TimesB) != 2 {
			t.Errorf("%s: %v and %v, want two runs of each", row.Operator, row.TimesA, row.TimesB)
		}
	}
}

// On one pass a side a launch less may be a lost record, if both run the same kernels; if not, the row is work as any
// other.
func TestOneLaunchLess(t *testing.T) {
	a := runOf([]use1{{"attention", 320, 800}, {"down_proj", 320, 900}})
	same, other := runOf([]use1{{"attention", 320, 800}, {"down_proj", 319, 898}}),
		runOf([]use1{{"attention", 321, 810}, {"down_proj", 320, 900}})
	other.Parts[0].Name, other.Parts[0].Base, other.Parts[1].Name, other.Parts[1].Base = "x", "x", "y", "y"
	if r := compareSides(t, sideOf(a), sideOf(same)); r.Work.A >= r.Wall.A {
		t.Errorf("a record may be lost: work %v of %v", r.Work.A, r.Wall.A)
	}
	if r := compareSides(t, sideOf(a), sideOf(other)); r.Work.A != r.Wall.A || r.Work.B != r.Wall.B {
		t.Errorf("other kernels: %s", r.Text)
	}
}

func TestSummaryLine(t *testing.T) {
	s := Summary{Label: "new", Trace: "b.json", GPU: "H100", Date: "2026-01-02", Passes: 8, Stage: layer.StageDecode,
		Batch: -1, Tokens: -1, Wall: 7505 * time.Microsecond, Graph: 1, Compiled: 0.25}
	if want := "B: new, 8 decode passes, 7.50 ms each, 100% of its kernels in graph replays, 25% compiled, H100, " +
		"2026-01-02"; s.line("B") != want && s.line("B") != strings.Replace(want, "7.50", "7.51", 1) {
		t.Errorf("%q, want %q", s.line("B"), want)
	}
	s.Label, s.Batch, s.Commit = "", 0, "1f3a9c2"
	if got := s.line("A"); !strings.HasPrefix(got, "A: b.json, 8 decode passes (batch 0), ") ||
		!strings.HasSuffix(got, ", H100, 1f3a9c2, 2026-01-02") {
		t.Errorf("%q", got)
	}
}

// The step of a single pass is judged where nothing waits, and only there.
func TestStepOfOnePass(t *testing.T) {
	work := series{class: Memory, a: []float64{1e6}, b: []float64{1.5e6}}
	for waits, want := range map[float64]bool{0: true, 0.5: false, 1e5: false} {
		r := rulerOf(1e6, false).judgeWall(work, series{class: Waiting, a: []float64{waits}, b: []float64{waits}},
			0.0075)
		if r.judged != want {
			t.Errorf("waiting of %v ns: judged %v, want %v", waits, r.judged, want)
		}
	}
}

// A gate of the host judges the largest clear change for the worse, of operations of the host that are judged and
// have not only another name.
func TestHostTarget(t *testing.T) {
	row := func(us int, edit func(r *HostRow)) HostRow {
		d := time.Duration(us) * time.Microsecond
		r := HostRow{Class: OfHost, Judged: true, Significant: true,
			Interval: Interval{Delta: d, Low: d - 5000, High: d + 5000}}
		if edit != nil {
			edit(&r)
		}
		return r
	}
	small := row(40, nil)
	for name, c := range map[string]struct {
		rows []HostRow
		want GateOutcome
	}{
		"slower":     {[]HostRow{small, row(50, nil)}, GateFailed},
		"renamed":    {[]HostRow{row(90, func(r *HostRow) { r.Status = Renamed })}, GatePassed},
		"not judged": {[]HostRow{row(90, func(r *HostRow) { r.Judged = false })}, GatePassed},
		"a kernel":   {[]HostRow{row(90, func(r *HostRow) { r.Class = Memory })}, GatePassed},
		"faster":     {[]HostRow{row(-90, nil)}, GatePassed},
		"not clear": {[]HostRow{row(90, func(r *HostRow) { r.Significant, r.Low = false, -5000 })},
			GateUndecided},
		"clear before larger": {[]HostRow{row(900, func(r *HostRow) { r.Significant, r.Low = false, -5000 }), small},
			GateFailed},
		"nothing": {nil, GatePassed},
	} {
		r := &Report{Host: &HostReport{Wall: Interval{A: time.Millisecond}, StepsA: 40, StepsB: 40, StepsNeeded: 12,
			Rows: c.rows}}
		if g := r.judge(Gate{What: gateHost, Limit: 0.03}); g.Outcome != c.want {
			t.Errorf("%s: %s, want %s", name, g.Text, c.want)
		}
		r.Host.StepsB = 11
		if g := r.judge(Gate{What: gateHost, Limit: 0.03}); g.Outcome != GateUndecided || g.Known {
			t.Errorf("%s, eleven steps: %s", name, g.Text)
		}
	}
}

// A gate of an operator judges its kernel time, if the row is judged.
func TestOperatorTarget(t *testing.T) {
	r := &Report{Rows: []Row{{Operator: "rope"}, {Operator: "attention", Judged: true, KernelA: 1000, KernelB: 1100,
		Interval: Interval{A: 500, B: 500, Low: 80, High: 120}}}}
	for name, want := range map[string]GateOutcome{"attention": GateFailed, "operator:attention": GateFailed,
		"rope": GateUndecided,
		"norm": GateUndecided} {
		g := r.judge(Gate{What: name, Limit: 0.05})
		if g.Outcome != want || g.Known != (want == GateFailed) || name == "rope" &&
			!strings.Contains(g.Text, "rope is not judged") || name == "norm" &&
			!strings.Contains(g.Text, "neither side has norm") {
			t.Errorf("%s: %s, %s", name, g.Outcome, g.Text)
		}
	}
}
