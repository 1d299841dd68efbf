package hostoverhead

import (
	"strings"
	"testing"
)

// A gap that no run shows has no figure: neither in the table, nor in the reason.
func TestUnknownGapHasNoFigure(t *testing.T) {
	none := &Run{Label: "old", SteadySteps: 1}
	some := &Run{Label: "new", SteadySteps: 2, GapUS: 5, gap: []float64{5}}
	for _, c := range []struct {
		a, b         *Run
		row, reason  string
		neverInTable string
	}{
		{none, none, "?  ?  ?  -", "inter-step gap unknown", "0.0"},
		{none, some, "?  5.0  ?  -", "inter-step gap unknown", "+5.0"},
		{some, none, "5.0  ?  ?  -", "inter-step gap unknown", "-5.0"},
		{some, some, "5.0  5.0  +0.0  +0.0", "inter-step gap +0.0 µs (p50)", "?"},
	} {
		r := compareRuns(c.a, c.b)
		var text strings.Builder
		if err := r.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		row := ""
		for line := range strings.Lines(text.String()) {
			if strings.HasPrefix(line, "inter-step gap") {
				row = strings.Join(strings.Fields(line), "  ")
			}
		}
		if !strings.Contains(row, "  "+c.row) || strings.Contains(row, c.neverInTable) ||
			!strings.Contains(r.Reason, c.reason) ||
			!strings.Contains(text.String(), "Per step (µs), "+c.a.Label+" ("+c.a.steady()+") and ") {
			t.Errorf("%s and %s: row %q, reason %q, want %q and %q\n%s", c.a.Label, c.b.Label, row, r.Reason, c.row,
				c.reason, text.String())
		}
	}
	if none.steady() != "1 steady step" || some.steady() != "2 steady steps" {
		t.Errorf("%s, %s", none.steady(), some.steady())
	}
	var text strings.Builder
	if err := none.WriteText(&text); err != nil || !strings.Contains(text.String(), "inter-step gap µs (p50)") {
		t.Fatal(err, text.String())
	}
	for line := range strings.Lines(text.String()) {
		if strings.HasPrefix(line, "inter-step gap") && strings.Fields(line)[4] != "?" {
			t.Errorf("one run: %q", line)
		}
	}
}
