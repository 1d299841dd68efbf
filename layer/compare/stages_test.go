package compare

import (
	"strings"
	"testing"

	"github.com/llmstrata/strata/layer"
)

// What gates on GPU work and on the step say together.
func TestTolerance(t *testing.T) {
	gate := func(o string, estimate float64) Gate { return Gate{Outcome: o, Limit: 0.05, Estimate: estimate} }
	for _, c := range []struct {
		work, wall Gate
		want       string
	}{
		{gate(passed, 0), gate(passed, 0), passed},
		{gate(failed, 0), gate(passed, 0), failed},
		{gate(undecided, 0), gate(failed, 0), failed},
		{gate(undecided, 0), gate(passed, 0), undecided},
		{gate(passed, 0), gate(undecided, 0.05), undecided},
		{gate(passed, 0), gate(undecided, 0.049), passed},
		{gate(passed, 0), gate(passed, 0.05), passed},
	} {
		if got := (&Report{Gates: []Gate{c.work, c.wall}}).Tolerance(); got != c.want {
			t.Errorf("%+v and %+v: %s, want %s", c.work, c.wall, got, c.want)
		}
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
	want := []string{"prefill: not compared: ", "decode: not compared: ", "mixed: only in the new run", "capture: only in the old run"}
	for i, w := range want {
		if i >= len(text) || !strings.HasPrefix(text[i], w) {
			t.Fatalf("%q, want %q", text, want)
		}
	}
	if !strings.Contains(text[0], "the passes are of different sizes") {
		t.Error(text[0])
	}
	b = join(of(layer.StageDecode, 8, 130), of(layer.StagePrefill, 512, 900))
	if got, err = ByStage(t.Context(), a, b, Options{Gates: Tolerate(0.05)}); err != nil || len(got) != 3 || got[0].Report == nil || got[0].Report.Verdict != Same || got[0].Report.Tolerance() != passed ||
		got[1].Report == nil || got[1].Report.Verdict != Slower || got[1].Report.Tolerance() != failed {
		t.Errorf("%v: %+v", err, got)
	}
}

// A kernel that runs under another name is told where it runs as often and as long, and both names are known.
func TestOtherKernel(t *testing.T) {
	c := &comparison{p: defaultParams(), sameGPU: true, pass: 1e6}
	row := func(kernels ...KernelDelta) *Row {
		return &Row{Judged: true, Interval: Interval{A: 1e6, B: 1e6}, LaunchesA: 20, LaunchesB: 20, Kernels: kernels}
	}
	old, now := KernelDelta{Name: "old", LaunchesA: 20}, KernelDelta{Name: "now", LaunchesB: 20}
	both := KernelDelta{Name: "both", LaunchesA: 1, LaunchesB: 1}
	for name, x := range map[string]struct {
		row      *Row
		was, now string
	}{
		"two names":        {row(old, both, now), "old", "now"},
		"renamed":          {row(both, KernelDelta{Name: "now", Was: "old", Status: Renamed, LaunchesA: 20, LaunchesB: 20}), "old", "now"},
		"only gone":        {row(old, both), "", ""},
		"only new":         {row(both, now), "", ""},
		"the same":         {row(both), "", ""},
		"the longest ones": {row(old, now, KernelDelta{Name: "older", LaunchesA: 1}, KernelDelta{Name: "newer", LaunchesB: 1}), "old", "now"},
	} {
		if was, now := c.otherKernel(x.row); was != x.was || now != x.now {
			t.Errorf("%s: %q and %q, want %q and %q", name, was, now, x.was, x.now)
		}
	}
	for name, edit := range map[string]func(r *Row){
		"not judged": func(r *Row) { r.Judged = false }, "too small": func(r *Row) { r.A, r.B = 4999, 4999 }, "longer": func(r *Row) { r.KernelB = 5000 }, "shorter": func(r *Row) { r.KernelA = 5000 },
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
		t.Error("as large as a finding, nearly as long, nearly as often: not told")
	}
	c.sameGPU = false
	if was, _ := c.otherKernel(row(old, now)); was != "" {
		t.Error("on another GPU")
	}
}

// A run without passes that match counts for nothing.
func TestRunWithoutPasses(t *testing.T) {
	other := runOf(repeated(4, use1{"conv", 3, 100})...)
	r := compareSides(t, sideOf(plain(1).Runs[0], plain(1.01).Runs[0], other), sideOf(plain(1).Runs[0], plain(1.02).Runs[0]))
	for _, row := range r.Rows {
		if len(row.TimesA) != 2 || len(row.TimesB) != 2 {
			t.Errorf("%s: %v and %v, want two runs of each", row.Operator, row.TimesA, row.TimesB)
		}
	}
}

// On one pass a side a launch less may be a lost record, if both run the same kernels; if not, the row is work as any other.
func TestOneLaunchLess(t *testing.T) {
	a := runOf([]use1{{"attention", 320, 800}, {"down_proj", 320, 900}})
	same, other := runOf([]use1{{"attention", 320, 800}, {"down_proj", 319, 898}}), runOf([]use1{{"attention", 321, 810}, {"down_proj", 320, 900}})
	other.Kernels[0].Name, other.Kernels[0].Base, other.Kernels[1].Name, other.Kernels[1].Base = "x", "x", "y", "y"
	if r := compareSides(t, sideOf(a), sideOf(same)); r.Work.A >= r.Wall.A {
		t.Errorf("a record may be lost: work %v of %v", r.Work.A, r.Wall.A)
	}
	if r := compareSides(t, sideOf(a), sideOf(other)); r.Work.A != r.Wall.A || r.Work.B != r.Wall.B {
		t.Errorf("other kernels: %s", r.Text)
	}
}
