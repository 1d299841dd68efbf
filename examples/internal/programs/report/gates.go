package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/gate"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/trace"
)

// condition is one --fail-on: what fails a report, and from where on.
type condition struct {
	name  string
	limit float64 // percent
	state trace.HealthStatus
	text  string // as the user wrote it
}

// conditions are what --fail-on knows, with an example each for messages.
var conditions = map[string]string{
	"host-caused": "host-caused 5%", "idle": "idle 20%", "exposed-comm": "exposed-comm 10%", "regression": "regression 3%", "coverage": "coverage 90%", "health": "health degraded",
}

// conditionList is --fail-on, which may be given several times.
type conditionList []condition

func (l *conditionList) String() string { return "" }

// Set accepts "host-caused 5%", with a space, = or : between.
func (l *conditionList) Set(text string) error {
	f := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" =:", r) })
	if len(f) == 0 || len(f) > 2 || conditions[f[0]] == "" {
		word := ""
		if len(f) > 0 {
			word = f[0]
		}
		var names, examples []string
		for n, e := range conditions {
			names, examples = append(names, n), append(examples, e)
		}
		slices.Sort(names)
		slices.Sort(examples)
		if near := app.Nearest(word, names); near != "" && near != word {
			return fmt.Errorf("no such condition: did you mean %q?", conditions[near])
		}
		return fmt.Errorf("want one of %s", strings.Join(examples, ", "))
	}
	c := condition{name: f[0], text: strings.Join(f, " ")}
	if len(f) == 1 {
		return fmt.Errorf("want a limit too, as in %q", conditions[c.name])
	}
	if c.name == "health" {
		if err := c.state.UnmarshalText([]byte(f[1])); err != nil || c.state != trace.HealthDegraded && c.state != trace.HealthUnusable {
			return fmt.Errorf("want health degraded or health unusable")
		}
	} else {
		v, err := strconv.ParseFloat(strings.TrimSuffix(f[1], "%"), 64)
		const most = 1000 // percent: a regression may be large
		if err != nil || !(v >= 0 && v <= most) {
			return fmt.Errorf("%s: want a percentage, as in %q", f[1], conditions[c.name])
		}
		c.limit = v
	}
	*l = append(*l, c)
	return nil
}

// gates are those that the comparison judges itself.
func (l conditionList) gates() ([]compare.Gate, error) {
	var out []compare.Gate
	for _, c := range l {
		if c.name != "regression" {
			continue
		}
		g, err := compare.ParseGate(strconv.FormatFloat(c.limit, 'f', -1, 64) + "%")
		if err != nil {
			return nil, app.Usagef("--fail-on: %w", err)
		}
		out = append(out, g)
	}
	return out, nil
}

// suite judges the conditions.
func (l conditionList) suite(r *strata.Report) *gate.Suite {
	s := &gate.Suite{Program: "report", Name: r.Name}
	regressions := 0
	for _, c := range l {
		check := c.judge(r, &regressions)
		check.Name = c.text
		if len(r.Traces) > 0 {
			check.Place.File = r.Traces[0]
		}
		s.Checks = append(s.Checks, check)
	}
	return s
}

func (c condition) judge(r *strata.Report, regressions *int) gate.Check {
	switch c.name {
	case "host-caused":
		if r.Verdict.Wall == 0 || r.Verdict.Host == "" {
			return untold("no step was found whose time the host could cost")
		}
		check := c.above(100*r.Verdict.HostShare, r.Verdict.HostText)
		if check.Verdict == gate.Passed && r.Verdict.Host == hostoverhead.Inconclusive {
			check.Verdict = gate.Inconclusive
		}
		return check
	case "idle":
		if r.Verdict.Wall == 0 {
			return untold("no step was found")
		}
		return c.above(100*float64(r.Verdict.Idle)/float64(r.Verdict.Wall), r.Verdict.Text)
	case "exposed-comm":
		return c.exposed(r)
	case "regression":
		if r.Against == nil || *regressions >= len(r.Against.Gates) {
			return untold("nothing to compare with: --against names an older run with passes of the same kind")
		}
		g := r.Against.Gates[*regressions]
		*regressions++
		check := gate.Check{Verdict: map[compare.Outcome]gate.Verdict{compare.Passed: gate.Passed, compare.Failed: gate.Failed, compare.Undecided: gate.Inconclusive}[g.Outcome],
			Limit: gate.Number(c.limit), Unit: "percent", Message: g.Text}
		if g.Known {
			check.Value = gate.Number(100 * g.Estimate)
		}
		return check
	case "coverage":
		share := 100 * r.Coverage.Share()
		check := gate.Check{Verdict: gate.Passed, Value: gate.Number(share), Limit: gate.Number(c.limit), Unit: "percent", Message: fmt.Sprintf("%.1f %% of the GPU time is in passes, wanted are at least %g %%", share, c.limit)}
		if share < c.limit {
			check.Verdict = gate.Failed
		}
		return check
	}
	check := gate.Check{Verdict: gate.Passed, Message: "the trace is " + r.Health.Status.String()}
	if r.Health.Status >= c.state {
		check.Verdict = gate.Failed
	}
	return check
}

// exposed judges the stage with most exposed communication.
func (c condition) exposed(r *strata.Report) gate.Check {
	if len(r.Passes) == 0 {
		return untold("no step was found")
	}
	worst, stage := 0.0, ""
	for _, e := range r.Exposure {
		if e.Category == string(classify.CategoryCommunication) && e.Share > worst {
			worst, stage = e.Share, e.Stage
		}
	}
	text := "no communication is exposed"
	if stage != "" {
		text = fmt.Sprintf("communication runs alone in %.1f %% of the %s steps", 100*worst, stage)
	}
	return c.above(100*worst, text)
}

// above fails what is more than the limit.
func (c condition) above(percent float64, text string) gate.Check {
	check := gate.Check{Verdict: gate.Passed, Value: gate.Number(percent), Limit: gate.Number(c.limit), Unit: "percent", Message: text}
	if percent > c.limit {
		check.Verdict = gate.Failed
	}
	return check
}

func untold(why string) gate.Check { return gate.Check{Verdict: gate.Inconclusive, Message: why} }

// benchmarks are the steps and operators for benchstat.
func benchmarks(env *app.Env, r *strata.Report) error {
	var values []gate.Benchmark
	for _, p := range r.Passes {
		values = append(values, gate.Benchmark{Name: "Step/stage=" + stage(string(p.Stage)), Value: float64(p.Wall), Unit: "ns/op"})
	}
	for _, o := range r.Operators {
		values = append(values, gate.Benchmark{Name: "Operator/stage=" + stage(string(o.Stage)) + "/layers=" + o.LayerType + "/name=" + o.Operator, Value: float64(o.Time), Unit: "ns/op"})
	}
	return gate.WriteBenchmarks(env.Stdout, []gate.Setting{{Key: "trace", Value: r.Name}, {Key: "gpu", Value: r.GPU}, {Key: "model", Value: r.Model}}, values)
}

func stage(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
