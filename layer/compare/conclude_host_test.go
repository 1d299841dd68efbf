package compare

import (
	"math/rand/v2"
	"testing"
	"time"
)

// The headline never has the other sign than an operation that clearly became slower, and only figures that are clear
// make one.
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
		"nothing is clear": {vague(-200), vague(-150), vague(-50), nil, HostSame},
		"faster":           {clear(-200), clear(-150), clear(-50), nil, HostFaster},
		"faster, an operation is slower": {clear(-200), clear(-150), clear(-50), []HostRow{op(319)},
			HostMixed},
		"a vague step, an operation is slower": {vague(-200), vague(-150), vague(-50), []HostRow{op(319)},
			HostMixed},
		"slower, between steps":                   {clear(200), clear(50), clear(150), []HostRow{op(120)}, HostBetween},
		"slower, in steps":                        {clear(200), clear(150), clear(50), []HostRow{op(-60)}, HostInStep},
		"a vague step that grows with operations": {vague(200), vague(150), vague(50), []HostRow{op(190)}, HostInStep},
		"operations both ways": {vague(20), vague(15), vague(5), []HostRow{op(190), op(-170)},
			HostMixed},
		"an operation is faster, no step is": {vague(0), vague(0), vague(0), []HostRow{op(-190)}, HostMixed},
		"an operation is slower, no step is": {vague(0), vague(0), vague(0), []HostRow{op(190)}, HostMixed},
		"a nanosecond counts":                {vague(.001), vague(.001), vague(.001), []HostRow{op(190)}, HostInStep},
		"a nanosecond between steps counts":  {vague(.001), vague(0), vague(.001), []HostRow{op(190)}, HostBetween},
		"an operation and a nanosecond less": {vague(-.001), vague(-.001), vague(-.001), []HostRow{op(-190)}, HostFaster},
		"a longer step, and a nanosecond":    {vague(.001), clear(100), vague(0), nil, HostInStep},
		"a shorter step, and a nanosecond":   {vague(-.001), clear(-100), vague(0), nil, HostFaster},
		"a shorter step, the same wall time": {vague(0), clear(-100), vague(0), nil, HostMixed},
		"too small to matter":                {vague(20), vague(15), vague(5), []HostRow{op(20)}, HostSame},
	} {
		c.wall.Name, c.step.Name, c.gap.Name = FigureWall, FigureStep, FigureGap
		got := &HostReport{Figures: []HostRow{c.wall, c.step, c.gap}, Rows: c.ops}
		if conclusion := got.conclude(30 * time.Microsecond); conclusion != c.want {
			t.Errorf("%s: %q, want %q", name, conclusion, c.want)
		}
	}
}

// Whatever the figures and operations are: a headline of one sign is above no clear operation that has only the
// other.
func TestHeadlineSign(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	row := func(name string) HostRow {
		d := time.Duration(1000 * (r.IntN(601) - 300))
		half := time.Duration(1000 * r.IntN(200))
		return HostRow{Kind: "range", Name: name, Judged: r.IntN(8) > 0, Significant: r.IntN(2) == 0,
			Interval: Interval{Delta: d, Low: d - half, High: d + half}}
	}
	const least = 30 * time.Microsecond
	seen := map[HostConclusion]int{}
	for range 20000 {
		h := &HostReport{Figures: []HostRow{row(FigureWall), row(FigureStep), row(FigureGap)}}
		for range r.IntN(3) {
			h.Rows = append(h.Rows, row("op"))
		}
		up, down := h.clear(least)
		c := h.conclude(least)
		seen[c]++
		wall := &h.Figures[0]
		switch c {
		case HostFaster:
			if up || wall.Delta > 0 {
				t.Fatalf("faster: up %v, %+v", up, h)
			}
		case HostBetween, HostInStep:
			if wall.Delta < 0 || down && !up && !(wall.Low > 0) {
				t.Fatalf("%s: down %v, %+v", c, down, h)
			}
		case HostSame:
			if up || down {
				t.Fatalf("same: up %v, down %v, %+v", up, down, h)
			}
		}
	}
	for _, c := range []HostConclusion{HostBetween, HostInStep, HostFaster, HostMixed, HostSame, HostInconclusive} {
		if seen[c] == 0 {
			t.Errorf("%s was never concluded", c)
		}
	}
}
