package triage

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/gate"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage"
)

// Comparison is the JSON document of --compare-input.
type Comparison struct {
	Schema string `json:"schema"` // "strata.triage-compare/2"
	// Verdict is the worst of all stages.
	Verdict      compare.GateOutcome `json:"verdict"`
	TolerancePct float64             `json:"tolerance_pct"` // by how much a stage may get slower
	Old          []string            `json:"old"`           // traces
	New          []string            `json:"new"`           // traces of the newer run
	// Stages are those that a run has.
	Stages []compare.StageReport `json:"stages"`
}

// compareWith sets a run beside an older one, stage by stage.
func (o *options) compareWith(ctx context.Context, env *app.Env, now triage.Input, layers layer.Options) (*Comparison,
	error) {
	sources, _, err := read(ctx, env, o.compare, trace.Options{})
	if err != nil {
		return nil, err
	}
	old, err := triage.NewInput(ctx, sources, nil, layers)
	if err != nil {
		return nil, err
	}
	if err := oneGPU(env, &old); err != nil {
		return nil, err
	}
	c := &Comparison{Schema: "strata.triage-compare/2", TolerancePct: o.tolerance, Old: old.FormalPaths,
		New: now.FormalPaths}
	if i := slices.IndexFunc(env.FailOn.List, func(c app.Condition) bool { return c.Name == app.Regression }); i >= 0 {
		c.TolerancePct = env.FailOn.List[i].Limit
	}
	a, err := sideOf(ctx, old)
	if err != nil {
		return nil, err
	}
	b, err := sideOf(ctx, now)
	if err != nil {
		return nil, err
	}
	c.Stages, err = compare.ByStage(ctx, a, b, compare.Options{Gates: compare.Tolerate(c.TolerancePct / 100)})
	var verdicts []compare.GateOutcome
	for _, s := range c.Stages {
		if s.Report != nil {
			verdicts = append(verdicts, s.Report.Tolerance())
		}
	}
	for _, worst := range []compare.GateOutcome{compare.GateFailed, compare.GateUndecided, compare.GatePassed} {
		if c.Verdict == "" && slices.Contains(verdicts, worst) {
			c.Verdict = worst
		}
	}
	c.Verdict = cmp.Or(c.Verdict, compare.GateUndecided) // nothing is compared
	return c, err
}

// sideOf reduces the analyses of a run to what is compared: files of several ranks or stages are one run.
func sideOf(ctx context.Context, in triage.Input) (*compare.Side, error) {
	var files []compare.Run
	for i, a := range in.Formal {
		r, err := compare.Measure(ctx, a)
		if err != nil {
			return nil, err
		}
		r.Trace = cmp.Or(in.FormalPaths[i], r.Trace)
		files = append(files, *r)
	}
	return &compare.Side{Runs: []compare.Run{compare.NewRun(files)}}, nil
}

// write prints the comparison.
func (c *Comparison) write(env *app.Env) error {
	if env.Document() {
		return env.WriteJSON(c)
	}
	fmt.Fprintf(env.Stdout, "# Triage Comparison\n\nVerdict: %s (tolerance %s)\n", c.Verdict, table.Pct(c.TolerancePct, 1))
	for _, s := range c.Stages {
		fmt.Fprintf(env.Stdout, "\n## %s\n\n", s.Stage)
		if s.Report == nil {
			fmt.Fprintf(env.Stdout, "%s.\n", table.UpperFirst(s.Why))
			continue
		}
		write := s.Report.WriteText
		if env.Format == app.Markdown {
			write = s.Report.WriteMarkdown
		}
		if err := write(env.Stdout); err != nil {
			return err
		}
	}
	return nil
}

// check is whether a stage got slower, as a gate.
func (c *Comparison) check() gate.Check {
	return gate.Check{Name: "comparison with the older run", Verdict: app.GateVerdict(c.Verdict),
		Message: string(c.Verdict)}
}
