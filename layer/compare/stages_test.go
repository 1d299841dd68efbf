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
