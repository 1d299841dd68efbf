package hostcompare

import "testing"

// The headline never has the other sign than an operation that clearly became slower, and only figures that are clear make one.
func TestHeadlineAndOperations(t *testing.T) {
	clear := func(us float64) Delta { return Delta{DeltaUS: us, CI95US: &[2]float64{us - 5, us + 5}} }
	vague := func(us float64) Delta { return Delta{DeltaUS: us, CI95US: &[2]float64{us - 500, us + 500}} }
	op := func(status string, us float64) Delta { return Delta{Kind: opRange, Status: status, DeltaUS: us} }
	for name, c := range map[string]struct {
		wall, step, gap Delta
		ops             []Delta
		want            string
	}{
		"nothing is clear":                        {vague(-200), vague(-150), vague(-50), nil, conclusionNone},
		"faster":                                  {clear(-200), clear(-150), clear(-50), nil, conclusionFaster},
		"faster, an operation is slower":          {clear(-200), clear(-150), clear(-50), []Delta{op(statusRegression, 319)}, conclusionMixed},
		"a vague step, an operation is slower":    {vague(-200), vague(-150), vague(-50), []Delta{op(statusNew, 319)}, conclusionMixed},
		"slower, between steps":                   {clear(200), clear(50), clear(150), []Delta{op(statusRegression, 120)}, conclusionGap},
		"slower, in steps":                        {clear(200), clear(150), clear(50), []Delta{op(statusImproved, -60)}, conclusionStep},
		"a vague step that grows with operations": {vague(200), vague(150), vague(50), []Delta{op(statusRegression, 190)}, conclusionStep},
		"operations both ways":                    {vague(20), vague(15), vague(5), []Delta{op(statusRegression, 190), op(statusImproved, -170)}, conclusionMixed},
		"too small to matter":                     {vague(20), vague(15), vague(5), []Delta{op(statusRegression, 20)}, conclusionNone},
	} {
		got := &Comparison{Baseline: &Run{WallUSPerStep: 1000, SteadySteps: 40}, Target: &Run{WallUSPerStep: 1000, SteadySteps: 40}, Deltas: c.ops}
		got.conclude(c.wall, c.step, c.gap, 0.03, 12)
		if got.Conclusion != c.want {
			t.Errorf("%s: %q, want %q", name, got.Conclusion, c.want)
		}
	}
}
