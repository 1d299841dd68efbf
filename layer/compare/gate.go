package compare

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Gate is a condition under which a comparison fails: something became slower by a share of side A's pass, or a row by a share of itself.
// In a [Report] it has what it said.
type Gate struct {
	// What is a row's operator, "wall" for the whole pass with waiting and idle time, "" for all GPU work of the pass.
	What string `json:"-"`
	// Gate is the condition as [ParseGate] reads it; [Compare] fills it in, and what follows.
	Gate string `json:"gate"`
	// Outcome is "pass", "fail" or "inconclusive"; programs exit with 0, 3 and 4 for them.
	Outcome string `json:"outcome"`
	// Limit is the relative increase that fails, above 0. Known says that the increase could be measured.
	Limit float64 `json:"limit"`
	Known bool    `json:"known"`
	// Estimate is the relative increase, Low and High its 95 % interval.
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Text     string  `json:"text"`
}

// The outcomes.
const (
	passed    = "pass"
	failed    = "fail"
	undecided = "inconclusive"
)

// errGate is wrapped by the errors of [ParseGate].
var errGate = errors.New("not a gate")

// ParseGate reads "3%", "wall=5%", "attention=5%" or "regression 3%".
func ParseGate(s string) (Gate, error) {
	text := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(s), "regression"))
	g := Gate{}
	if what, rest, ok := strings.Cut(text, "="); ok {
		g.What, text = strings.TrimSpace(what), strings.TrimSpace(rest)
	}
	number, ok := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !ok || err != nil || math.IsNaN(v) || v <= 0 || v > 1000 {
		return Gate{}, fmt.Errorf("%w: %q: want a share such as 3%%, wall=5%% or attention=5%%", errGate, s)
	}
	g.Limit = v / 100
	return g, nil
}

// form is what [ParseGate] reads.
func (g *Gate) form() string {
	s := strconv.FormatFloat(100*g.Limit, 'f', -1, 64) + "%"
	if g.What == "" {
		return s
	}
	return g.What + "=" + s
}

// judge holds the report against a gate: it fails where the estimate reaches the limit and the interval excludes zero, passes where the
// whole interval stays below the limit, and is undecided in between.
func (r *Report) judge(g Gate) Gate {
	out := Gate{What: g.What, Gate: g.form(), Outcome: undecided, Limit: g.Limit}
	i, base, ok := r.target(g)
	if !ok || base <= 0 {
		out.Text = fmt.Sprintf("%s: neither side has %s", out.Gate, g.What)
		return out
	}
	out.Known = true
	share := func(d time.Duration) float64 { return float64(d) / float64(base) }
	out.Estimate, out.Low, out.High = share(i.Delta), share(i.Low), share(i.High)
	switch {
	case out.Estimate >= g.Limit && out.Low > 0:
		out.Outcome = failed
	case out.High < g.Limit:
		out.Outcome = passed
	}
	out.Text = fmt.Sprintf("%s: %+.1f %% (%+.1f … %+.1f %%)", out.Gate, 100*out.Estimate, 100*out.Low, 100*out.High)
	if d := r.doubtful(); d != nil {
		out.Outcome = undecided
		out.Text += "; " + d.Text
	}
	return out
}

// target is the difference that a gate is about, and what it is relative to.
func (r *Report) target(g Gate) (Interval, time.Duration, bool) {
	switch g.What {
	case "":
		return r.Work, r.A.Wall, true
	case "wall":
		i := Interval{A: r.A.Wall, B: r.A.Wall + r.Delta, Delta: r.Delta}
		low, high := r.Work.Low-r.Work.Delta, r.Work.High-r.Work.Delta
		for _, row := range r.Rows {
			if !row.Judged || row.Operator == "" {
				low, high = low+min(0, -abs(row.Delta)), high+abs(row.Delta)
			}
		}
		i.Low, i.High = i.Delta+low, i.Delta+high
		return i, r.A.Wall, true
	}
	for _, row := range r.Rows {
		if row.Operator == g.What {
			if !row.Judged {
				return Interval{}, 0, false
			}
			return row.Interval, max(row.A, 1), true
		}
	}
	return Interval{}, 0, false
}
