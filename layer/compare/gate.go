package compare

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/vocabulary"
)

// Gate is a condition under which a comparison fails: something became slower by a share of side A's step, or a row
// by a share of itself. In a [Report] it has what it said.
type Gate struct {
	// What is judged: "" the time of the step; "work" all GPU work, "waiting" all waiting and idle time, "host"
	// the largest change of an operation of the host, each as a share of the step; "operator:NAME" or NAME a row.
	What string `json:"-"`
	// Gate is the condition as [ParseGate] reads it; [Compare] fills it in, and what follows.
	Gate string `json:"gate"`
	// Outcome is what it said; programs exit with 0, 3 and 4 for the three.
	Outcome GateOutcome `json:"outcome"`
	// Limit is the relative increase that fails, above 0. Known says that the increase could be measured.
	Limit float64 `json:"limit"`
	Known bool    `json:"known"`
	// Estimate is the relative increase, Low and High its 95% interval.
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Text     string  `json:"text"`
}

// What gates judge.
const (
	gateStep     = ""
	gateWall     = "wall" // the step, as it was called before it was the default
	gateWork     = "work"
	gateWaiting  = "waiting"
	gateHost     = "host"
	gateOperator = "operator:"
)

// GateOutcome is what a gate said.
type GateOutcome string

// The outcomes of gates.
const (
	GatePassed    GateOutcome = "pass"
	GateFailed    GateOutcome = "fail"
	GateUndecided GateOutcome = "inconclusive"
)

// UnmarshalText refuses words that are no outcome of a gate.
func (o *GateOutcome) UnmarshalText(text []byte) error {
	return vocabulary.Set(o, "outcome", text, GatePassed, GateFailed, GateUndecided)
}

// errGate is wrapped by the errors of [ParseGate].
var errGate = errors.New("not a gate")

// ParseGate reads "3%" or "regression 3%" (the step; a space, = or : between), "work=3%", "waiting=3%", "host=3%" or
// "operator:attention=5%".
// "wall=3%" is "3%", and a name alone is an operator's, as they were written before.
func ParseGate(s string) (Gate, error) {
	text := strings.TrimSpace(s)
	if rest, ok := strings.CutPrefix(text, "regression"); ok {
		text = strings.TrimLeft(rest, " =:")
	}
	g := Gate{}
	if what, rest, ok := strings.Cut(text, "="); ok {
		g.What, text = strings.TrimSpace(what), strings.TrimSpace(rest)
	}
	number, ok := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !ok || err != nil || math.IsNaN(v) || v <= 0 || v > 1000 {
		return Gate{}, fmt.Errorf("%w: %q: want a share such as 3%%, work=3%%, host=3%% or operator:attention=5%%",
			errGate, s)
	}
	g.Limit = v / 100
	return g, nil
}

// step reports whether the gate is about the step.
func (g *Gate) step() bool { return g.What == gateStep || g.What == gateWall }

// form is what [ParseGate] reads.
func (g *Gate) form() string {
	s := strconv.FormatFloat(100*g.Limit, 'f', -1, 64) + "%"
	if g.What == "" {
		return s
	}
	return g.What + "=" + s
}

// judge holds the report against a gate: it fails where the estimate reaches the limit and the interval excludes
// zero, passes where the full interval stays below the limit, and is undecided in between. The step's time has no
// power where waiting varies: then it is undecided, unless the full interval is beyond the limit.
func (r *Report) judge(g Gate) Gate {
	out := Gate{What: g.What, Gate: g.form(), Outcome: GateUndecided, Limit: g.Limit}
	i, base, of, why := r.target(g)
	if why == "" && base <= 0 {
		why = "side A took no time"
	}
	if why != "" {
		out.Text = fmt.Sprintf("%s: %s", out.Gate, why)
		return out
	}
	out.Known = true
	share := func(d time.Duration) float64 { return float64(d) / float64(base) }
	out.Estimate, out.Low, out.High = share(i.Delta), share(i.Low), share(i.High)
	out.Text = fmt.Sprintf("%s: %+.1f%% of %s (%+.1f … %+.1f%%)", out.Gate, 100*out.Estimate, of, 100*out.Low,
		100*out.High)
	least := share(i.High-i.Low) / 2
	switch {
	case out.Low >= out.Limit:
		out.Outcome = GateFailed
	case out.High < out.Limit:
		out.Outcome = GatePassed
	case g.step() && least >= out.Limit:
		narrower := Gate{What: gateWork, Limit: g.Limit}
		out.Text += fmt.Sprintf("; changes of the step below %.1f%% cannot be detected: gate GPU work with %s, or record "+
			"more passes", 100*least, narrower.form())
	case out.Estimate >= out.Limit && out.Low > 0:
		out.Outcome = GateFailed
	}
	if d := r.doubtful(); d != nil {
		out.Outcome = GateUndecided
		out.Text += "; " + d.Evidence
	}
	return out
}

// ofStep is what the gates of a step, and of its parts, are relative to.
const ofStep = "step time"

// target is the difference that a gate is about, and what it is relative to, in words too, or why it cannot be judged.
func (r *Report) target(g Gate) (i Interval, base time.Duration, of, why string) {
	switch g.What {
	case gateStep, gateWall:
		return r.Wall, r.A.Wall, ofStep, ""
	case gateWork:
		return r.Work, r.A.Wall, ofStep, ""
	case gateWaiting:
		i := Interval{A: r.Wall.A - r.Work.A, B: r.Wall.B - r.Work.B, Delta: r.Wall.Delta - r.Work.Delta}
		half := (r.Wall.High - r.Wall.Low) / 2
		i.Low, i.High = i.Delta-half, i.Delta+half
		if !r.WallJudged {
			why = "too few passes to judge waiting and idle time"
		}
		return i, r.A.Wall, ofStep, why
	case gateHost:
		i, base, why = r.hostTarget(g.Limit)
		return i, base, ofStep, why
	}
	name := strings.TrimPrefix(g.What, gateOperator)
	for _, row := range r.Rows {
		if row.Operator != name {
			continue
		}
		if !row.Judged {
			why = name + " is not judged"
		}
		i := row.Interval
		i.A, i.B, i.Delta = row.KernelA, row.KernelB, row.kernelDelta()
		return i, max(row.KernelA, 1), "its time in A", why
	}
	why = "neither side has " + name
	return
}

// hostTarget is the largest clear change for the worse of an operation of the host, else the largest that may be one.
func (r *Report) hostTarget(limit float64) (worst Interval, base time.Duration, why string) {
	if r.Host == nil {
		why = "operations of the host were not measured on both sides"
		return
	}
	if min(r.Host.StepsA, r.Host.StepsB) < r.Host.StepsNeeded {
		why = fmt.Sprintf("operations of the host need %d steps a side, there are %d and %d",
			r.Host.StepsNeeded, r.Host.StepsA, r.Host.StepsB)
		return
	}
	clear := false
	for i := range r.Host.Rows {
		row := &r.Host.Rows[i]
		if row.Class != OfHost || !row.Judged || row.Status == Renamed {
			continue
		}
		if is := row.Significant && row.Delta > 0; is && !clear || is == clear && row.Delta > worst.Delta {
			worst, clear = row.Interval, is
		}
	}
	if !clear && float64(worst.Delta) < limit*float64(r.Host.Wall.A) { // nothing that large
		worst.Low, worst.High = worst.Delta, worst.Delta
	}
	return worst, r.Host.Wall.A, ""
}
