package programs

import (
	"cmp"
	"strconv"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/gate"
	"github.com/llmstrata/strata/layer/compare"
)

// reportGates are those conditions that the comparison judges itself.
func reportGates(conditions []app.Condition) ([]compare.Gate, error) {
	var out []compare.Gate
	for _, c := range conditions {
		if c.Name != app.Regression {
			continue
		}
		g, err := compare.ParseGate(strconv.FormatFloat(c.Limit, 'f', -1, 64) + "%")
		if err != nil {
			return nil, app.Usagef("--fail-on: %w", err)
		}
		out = append(out, g)
	}
	return out, nil
}

// suite judges the conditions.
func suite(r *strata.Report, env *app.Env) *gate.Suite {
	s := &gate.Suite{Program: "report", Name: r.Name, AllowInconclusive: env.AllowInconclusive}
	regressions := 0
	for _, c := range env.FailOn.List {
		check := judge(r, c, &regressions)
		check.Name = c.Text
		if len(r.Traces) > 0 {
			check.Place.File = r.Traces[0]
		}
		s.Checks = append(s.Checks, check)
	}
	return s
}

// judge holds a condition against the report; regressions is how many gates of the comparison were used.
func judge(r *strata.Report, c app.Condition, regressions *int) gate.Check {
	switch c.Name {
	case app.HealthIs:
		return c.Health(r.Health)
	case app.CoverageLeft:
		return c.Coverage(float64(r.GPUTime), float64(r.InPasses))
	case app.Regression:
		if r.Against == nil || *regressions >= len(r.Against.Gates) {
			return c.Untold("nothing to compare with: --against names an older run with passes of the same kind")
		}
		check := app.GateCheck(&r.Against.Gates[*regressions])
		check.Limit = gate.Number(c.Limit)
		*regressions++
		return check
	}
	if len(r.Passes) == 0 || r.Wall == 0 {
		return c.Untold("no step was found")
	}
	switch c.Name {
	case app.HostCaused:
		if r.Host == "" {
			return c.Untold("no step was found whose time the host could cost")
		}
		return c.HostCaused(r.HostShare, r.Host == hostoverhead.Inconclusive, r.HostText)
	case app.Idle:
		return c.Check(100*float64(r.IdleTime)/float64(r.Wall), r.Verdict)
	case app.Floor:
		return c.AboveFloor(r.Analyses().Light)
	}
	return c.Exposed(r.Found(), true)
}

// benchmarks are the steps and operators for benchstat.
func benchmarks(env *app.Env, r *strata.Report) error {
	var values []gate.Benchmark
	for _, p := range r.Passes {
		values = append(values, gate.Benchmark{Name: "Step/stage=" + cmp.Or(string(p.Stage), "unknown"),
			Value: float64(p.Wall), Unit: "ns/op"})
	}
	for _, o := range r.Operators {
		values = append(values, gate.Benchmark{Name: "Operator/stage=" + cmp.Or(string(o.Stage), "unknown") + "/layers=" +
			o.LayerType + "/name=" + o.Operator, Value: float64(o.Time), Unit: "ns/op"})
	}
	return gate.WriteBenchmarks(env.Stdout, []gate.Setting{{Key: "trace", Value: r.Name}, {Key: "gpu", Value: r.GPU},
		{Key: "model", Value: r.Model}}, values)
}
