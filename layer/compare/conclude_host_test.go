package compare

import (
	"testing"
	"time"
)

// The headline never has the other sign than an operation that clearly became slower, and only figures that are clear make one.
func TestHeadlineAndOperations(t *testing.T) {
	row := func(us, half float64) HostRow {
		at := func(us float64) time.Duration { return time.Duration(1e3 * us) }
		return HostRow{Judged: true, Interval: Interval{Delta: at(us), Low: at(us - half), High: at(us + half)}}
	}
	clear := func(us float64) HostRow { return row(us, 5) }
	vague := func(us float64) HostRow { return row(us, 500) }
	op := func(us float64) HostRow {
		r := clear(us)
		r.Kind, r.Significant = "range", true
		return r
	}
	for name, c := range map[string]struct {
		wall, step, gap HostRow
		ops             []HostRow
		want            HostConclusion
	}{
		"nothing is clear":                        {vague(-200), vague(-150), vague(-50), nil, HostSame},
		"faster":                                  {clear(-200), clear(-150), clear(-50), nil, HostFaster},
		"faster, an operation is slower":          {clear(-200), clear(-150), clear(-50), []HostRow{op(319)}, HostMixed},
		"a vague step, an operation is slower":    {vague(-200), vague(-150), vague(-50), []HostRow{op(319)}, HostMixed},
		"slower, between steps":                   {clear(200), clear(50), clear(150), []HostRow{op(120)}, HostBetween},
		"slower, in steps":                        {clear(200), clear(150), clear(50), []HostRow{op(-60)}, HostInStep},
		"a vague step that grows with operations": {vague(200), vague(150), vague(50), []HostRow{op(190)}, HostInStep},
		"operations both ways":                    {vague(20), vague(15), vague(5), []HostRow{op(190), op(-170)}, HostMixed},
		"too small to matter":                     {vague(20), vague(15), vague(5), []HostRow{op(20)}, HostSame},
	} {
		c.wall.Name, c.step.Name, c.gap.Name = FigureWall, FigureStep, FigureGap
		got := &HostReport{Figures: []HostRow{c.wall, c.step, c.gap}, Rows: c.ops}
		if conclusion := got.conclude(30 * time.Microsecond); conclusion != c.want {
			t.Errorf("%s: %q, want %q", name, conclusion, c.want)
		}
	}
}
