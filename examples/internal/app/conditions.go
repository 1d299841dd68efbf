package app

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/gate"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/trace"
)

// failOn is the flag of conditions.
const failOn = "fail-on"

// The conditions that --fail-on knows. A program lists in [Program.FailOn] those that it can judge.
const (
	HostCaused = "host-caused" // the host causes more than a share of the steps' time
	Idle       = "idle"        // the GPU does nothing for more than a share of the steps' time
	// data moves between GPUs and nothing else runs for more than a share of a stage's steps
	ExposedComm  = "exposed-comm"
	Waiting      = "waiting"    // collectives wait for other ranks for more than a share of a stage's steps
	Regression   = "regression" // slower than another run by more than a share
	CoverageLeft = "coverage"   // less than a share of the GPU time is in passes
	Floor        = "floor"      // what a pass has to take is less than a share of what it takes
	HealthIs     = "health"     // the trace is degraded, or unusable
)

// conditionExamples has one of each, for help and messages.
var conditionExamples = map[string]string{
	HostCaused: "host-caused 5%", Idle: "idle 20%", ExposedComm: "exposed-comm 10%", Waiting: "waiting 5%",
	Regression: "regression 3%", CoverageLeft: "coverage 90%", Floor: "floor 40%", HealthIs: "health degraded",
}

// Condition is one --fail-on: what fails a run, and from where on.
type Condition struct {
	Name  string
	Limit float64            // percent
	State trace.HealthStatus // of HealthIs: from which on
	Text  string             // as the user wrote it
}

// Conditions is --fail-on, which may be given several times.
type Conditions struct {
	List    []Condition
	allowed []string
}

// failOnFlags defines --fail-on and --allow-inconclusive.
func (p Program) failOnFlags(fs *flag.FlagSet, env *Env) {
	env.FailOn = Conditions{allowed: p.FailOn}
	fs.Var(&env.FailOn, failOn, "`CONDITION`: exit 3 if met, 4 if undecided; repeatable: '"+
		strings.Join(env.FailOn.examples(), "', '")+"'")
	fs.BoolVar(&env.AllowInconclusive, "allow-inconclusive", false, "exit with 0 if a condition is undecided")
}

func (l *Conditions) examples() (out []string) {
	for _, name := range l.allowed {
		out = append(out, conditionExamples[name])
	}
	return out
}

// String implements flag.Value.
func (l *Conditions) String() string { return "" }

// Set accepts "host-caused 5%", with a space, = or : between.
func (l *Conditions) Set(text string) error {
	f := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" =:", r) })
	if len(f) == 0 || len(f) > 2 || !slices.Contains(l.allowed, f[0]) {
		return l.unknown(f)
	}
	c := Condition{Name: f[0], Text: strings.Join(f, " ")}
	if len(f) == 1 {
		return fmt.Errorf("want a limit too, as in %q", conditionExamples[c.Name])
	}
	if c.Name == HealthIs {
		if c.State = trace.HealthStatus(f[1]); c.State != trace.HealthDegraded && c.State != trace.HealthUnusable {
			return fmt.Errorf("want health degraded or health unusable")
		}
	} else {
		v, err := strconv.ParseFloat(strings.TrimSuffix(f[1], "%"), 64)
		const most = 1000 // percent: a regression may be large
		if err != nil || !(v >= 0 && v <= most) {
			return fmt.Errorf("%s: want a percentage, as in %q", f[1], conditionExamples[c.Name])
		}
		c.Limit = v
	}
	l.List = append(l.List, c)
	return nil
}

// unknown words the error of a condition that the program does not have.
func (l *Conditions) unknown(words []string) error {
	if len(words) == 0 {
		return fmt.Errorf("want one of %s", strings.Join(l.examples(), ", "))
	}
	if _, other := conditionExamples[words[0]]; other && len(words) <= 2 {
		return fmt.Errorf("this program cannot judge %s, strata report may: want one of %s", words[0],
			strings.Join(l.examples(), ", "))
	}
	if near := Nearest(words[0], l.allowed); near != "" && near != words[0] {
		return fmt.Errorf("no such condition: did you mean %q?", conditionExamples[near])
	}
	return fmt.Errorf("want one of %s", strings.Join(l.examples(), ", "))
}

// Check holds what was found, in percent, against the limit: more fails.
func (c Condition) Check(percent float64, text string) gate.Check {
	check := gate.Check{Name: c.Text, Verdict: gate.Passed, Value: gate.Number(percent), Limit: gate.Number(c.Limit),
		Unit: gate.Percent, Message: text}
	if percent > c.Limit {
		check.Verdict = gate.Failed
	}
	return check
}

// AtLeast is [Condition.Check] where less fails.
func (c Condition) AtLeast(percent float64, text string) gate.Check {
	check := c.Check(percent, text)
	check.Verdict = gate.Passed
	if percent < c.Limit {
		check.Verdict = gate.Failed
	}
	return check
}

// Untold is the check of a condition that cannot be decided.
func (c Condition) Untold(why string) gate.Check {
	return gate.Check{Name: c.Text, Verdict: gate.Inconclusive, Message: why}
}

// Health judges HealthIs.
func (c Condition) Health(s trace.HealthStatus) gate.Check {
	check := gate.Check{Name: c.Text, Verdict: gate.Passed, Message: "the trace is " + string(s)}
	if s.Compare(c.State) >= 0 {
		check.Verdict = gate.Failed
	}
	return check
}

// Coverage judges CoverageLeft: by the time of all GPU work, and of that in passes.
func (c Condition) Coverage(all, inPasses float64) gate.Check {
	if all <= 0 {
		return c.Untold("there is no GPU work")
	}
	share := 100 * inPasses / all
	return c.AtLeast(share, fmt.Sprintf("%.1f%% of the GPU time is in passes, wanted are at least %g%%", share,
		c.Limit))
}

// Exposed judges ExposedComm and Waiting by the finding with the largest share of its steps. steps says whether any
// step was found.
func (c Condition) Exposed(list []finding.Finding, steps bool) gate.Check {
	kind, what := finding.ExposedCommunication, "exposed communication"
	if c.Name == Waiting {
		kind, what = finding.RankWait, "waiting for other ranks"
	}
	if !steps {
		return c.Untold("no step was found")
	}
	var worst finding.Finding
	for _, f := range list {
		if f.Kind == kind && f.Share > worst.Share {
			worst = f
		}
	}
	text := "no " + what
	if worst.Share > 0 {
		text = fmt.Sprintf("%s: %.1f%% %s (%s)", what, 100*worst.Share, worst.Of.Title(), worst.Stage.Info().Step)
	}
	check := c.Check(100*worst.Share, text)
	check.Place.Within = worst.Where
	return check
}

// HostCaused judges HostCaused by the host's share of the steps; unsure says that what is unknown could change the
// answer.
func (c Condition) HostCaused(share float64, unsure bool, text string) gate.Check {
	check := c.Check(100*share, text)
	if check.Verdict == gate.Passed && unsure {
		check.Verdict = gate.Inconclusive
	}
	return check
}

// AboveFloor judges Floor by the representative pass that is furthest above what it has to take; r may be nil.
func (c Condition) AboveFloor(r *roofline.Report) gate.Check {
	least, stage := math.Inf(1), layer.StageUnknown
	if r != nil {
		for _, p := range r.Typical() {
			if share := float64(p.Floor) / float64(p.Wall); p.HasFloor() && share < least {
				least, stage = share, p.Stage
			}
		}
	}
	switch {
	case r != nil && r.Assumed:
		return c.Untold("floors rest on an assumed model: pass --config " + r.Model)
	case math.IsInf(least, 1):
		return c.Untold("no pass has a floor of most of its GPU time: that needs the model's config.json, the GPU and the " +
			"tokens of a pass")
	}
	return c.AtLeast(100*least, fmt.Sprintf("what a %s pass has to take is %.1f%% of what it takes, wanted are at "+
		"least %g%%", stage, 100*least, c.Limit))
}

// JudgeCoverage is [Env.Judge] for programs that judge only the condition CoverageLeft, of these GPUs.
func (e *Env) JudgeCoverage(gpus ...layer.Device) error {
	var all, inPasses time.Duration
	for i := range gpus {
		all += gpus[i].Time
		inPasses += gpus[i].InPasses
	}
	return e.Judge(func(c Condition) gate.Check { return c.Coverage(float64(all), float64(inPasses)) })
}

// Judge checks the conditions of the command line against what the program found. It returns the error that the
// program ends with, nil if no condition is met. judge judges all conditions but HealthIs, which the traces that were
// read decide. The program's own checks are judged in any case.
func (e *Env) Judge(judge func(Condition) gate.Check, own ...gate.Check) error {
	s := gate.Suite{AllowInconclusive: e.AllowInconclusive, Checks: own}
	for _, c := range e.FailOn.List {
		if c.Name == HealthIs {
			s.Checks = append(s.Checks, c.Health(*e.worst()))
		} else {
			s.Checks = append(s.Checks, judge(c))
		}
	}
	return e.Judged(s)
}

// GateVerdict is the verdict of a gate of a comparison.
func GateVerdict(o compare.GateOutcome) gate.Verdict {
	switch o {
	case compare.GatePassed:
		return gate.Passed
	case compare.GateFailed:
		return gate.Failed
	}
	return gate.Inconclusive
}

// GateCheck is the check of a gate of a comparison.
func GateCheck(g *compare.Gate) gate.Check {
	check := gate.Check{Name: g.Gate, Verdict: GateVerdict(g.Outcome), Message: g.Text, Unit: gate.Percent,
		Limit: gate.Number(100 * g.Limit)}
	if g.Known {
		check.Value = gate.Number(100 * g.Estimate)
	}
	return check
}
