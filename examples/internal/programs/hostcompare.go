package programs

import (
	"cmp"
	"context"
	"flag"
	"fmt"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/gate"
	"github.com/llmstrata/strata/layer"
	layercompare "github.com/llmstrata/strata/layer/compare"
)

// hostCompareOptions are the program's own flags.
type hostCompareOptions struct {
	baseline, target           string
	baselineLabel, targetLabel string
	tp, gaps                   int
	failOn                     string
	gate                       layercompare.Gate // of failOn
	allow                      bool
}

// HostCompare returns host-compare with fresh flags.
func HostCompare() app.Program {
	var o hostCompareOptions
	return app.Program{
		Name: "host-compare",
		Summary: "compares the host operations of two runs step by step, and whether time is lost between or within " +
			"steps. With one trace it breaks its steps down.",
		Args: "[BASELINE TARGET | FILE]",
		Examples: []string{
			"host-compare old.sqlite new.sqlite",
			"host-compare --baseline old.sqlite --target new.sqlite",
			"host-compare --baseline old.sqlite --target new.sqlite --tp-size 8 --format json",
			"host-compare --baseline old.sqlite --target new.sqlite --fail-on 3%   # exit code 3 for a regression",
			"host-compare --trace run.sqlite --gaps 20    # one run: what its steps are made of, its longest gaps",
		},
		Common:   app.TraceFlag | app.DeviceFlag | app.FormatFlag | app.OutputFlag | app.ProgressFlag | app.MemoryFlag,
		SumsGPUs: true, Judges: true,
		Formats: []app.Format{app.Text, app.JSON},
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&o.baseline, "baseline", "", "`FILE`: trace of the run to compare with")
			fs.StringVar(&o.target, "target", "", "`FILE`: trace of the run to judge")
			fs.StringVar(&o.baselineLabel, "baseline-label", "baseline", "`NAME`: label of the baseline")
			fs.StringVar(&o.targetLabel, "target-label", "target", "`NAME`: label of the target")
			fs.IntVar(&o.tp, "tp-size", 0, "`SIZE`: ranks to divide summed times by (default: the GPUs in the trace)")
			fs.StringVar(&o.failOn, "fail-on", "", "`LIMIT`: 'regression 3%': exit 3 if an operation is slower by 3% of a "+
				"step, 4 undecided")
			fs.BoolVar(&o.allow, "allow-inconclusive", false, "exit with 0 if --fail-on is undecided")
			fs.IntVar(&o.gaps, "gaps", 10, "`NUMBER`: longest gaps of a single run to list")
		},
		Obsolete: []app.Obsolete{{Name: "mock", Note: "is the rule here: without a trace the built-in demo is shown"}},
		Run:      func(ctx context.Context, env *app.Env) error { return runHostCompare(ctx, env, o) },
	}
}

// name takes the traces that are named without a flag: the two to compare, or the one to break down.
func (o *hostCompareOptions) name(env *app.Env) error {
	switch {
	case len(env.Args) == 0:
	case len(env.Args) > 2 || env.Trace != "" || o.baseline != "" || o.target != "":
		return app.Usagef("more traces are named than two: %s, and the flags'", env.Args[0])
	case len(env.Args) == 1:
		env.Trace = env.Args[0]
	default:
		o.baseline, o.target = env.Args[0], env.Args[1]
	}
	env.Args = nil
	return nil
}

func runHostCompare(ctx context.Context, env *app.Env, o hostCompareOptions) error {
	if err := o.name(env); err != nil {
		return err
	}
	if env.Trace != "" && (o.baseline != "" || o.target != "") {
		return app.Usagef("--trace breaks one run down; --baseline and --target compare two")
	}
	if o.failOn != "" && (o.baseline == "" || o.target == "") {
		return app.Usagef("--fail-on compares --baseline and --target")
	}
	var err error
	if o.gate, err = layercompare.ParseGate(o.failOn); o.failOn != "" && (err != nil || o.gate.What != "") {
		return app.Usagef("--fail-on %q: want a share of a step such as 3%%", o.failOn)
	}
	if o.baseline != "" && o.target != "" {
		return compareHostRuns(ctx, env, o)
	}
	return singleHostRun(ctx, env, o)
}

// check holds a comparison against --fail-on.
func (o *hostCompareOptions) check(env *app.Env, c *hostoverhead.Comparison) error {
	if o.failOn == "" {
		return nil
	}
	check := gate.Check{Name: o.failOn + " of a step", Verdict: gate.Passed}
	slower := c.Regressions(o.gate.Limit)
	switch {
	case c.Conclusion == layercompare.HostInconclusive:
		check.Verdict, check.Message = gate.Inconclusive, c.Reason
	case len(slower) > 0:
		check.Verdict = gate.Failed
		check.Message = fmt.Sprintf("%s %s %+.1f µs a step", slower[0].Op, slower[0].Status, slower[0].DeltaUS)
	}
	check.Place.File = o.target
	return env.Judged(gate.Suite{Name: o.baseline + " → " + o.target, Checks: []gate.Check{check},
		AllowInconclusive: o.allow})
}

// loadHostRun reads a run, or the GPU of it that --device names.
func loadHostRun(ctx context.Context, env *app.Env, path string) (*layer.Analysis, error) {
	a, err := env.LoadAnalysis(ctx, path)
	if err != nil {
		return nil, err
	}
	if len(a.Devices) == 0 {
		return nil, fmt.Errorf("%s: %w", cmp.Or(path, env.TraceName()), a.NoKernels())
	}
	return env.OneGPU(a)
}

func compareHostRuns(ctx context.Context, env *app.Env, o hostCompareOptions) error {
	a, err := loadHostRun(ctx, env, o.baseline)
	if err != nil {
		return err
	}
	b, err := loadHostRun(ctx, env, o.target)
	if err != nil {
		return err
	}
	sizeA, err := env.KnownTP(a, o.baseline, o.tp)
	if err != nil {
		return err
	}
	sizeB, err := env.KnownTP(b, o.target, o.tp)
	if err != nil {
		return err
	}
	c, err := hostoverhead.Compare(ctx, a, b, hostoverhead.BreakdownOptions{
		Labels: [2]string{o.baselineLabel, o.targetLabel}, TPSizes: [2]int{sizeA, sizeB}, Ranks: o.tp})
	if err != nil {
		return err
	}
	if err := writeHostCompare(ctx, env, o, b, c); err != nil {
		return err
	}
	return o.check(env, c)
}

// writeHostCompare prints a comparison; b is the target.
func writeHostCompare(ctx context.Context, env *app.Env, o hostCompareOptions, b *layer.Analysis,
	c *hostoverhead.Comparison) error {
	if env.Document() {
		v, err := hostoverhead.Analyze(ctx, []*layer.Analysis{b}, hostoverhead.Options{TopGaps: &o.gaps})
		if err != nil {
			return err
		}
		return env.WriteJSON(HostCompareDocument{"strata.host-compare/1", c, c.Handoff(v)})
	}
	return c.WriteText(env.Stdout)
}

// singleHostRun breaks one run down: --trace, or the one of --baseline and --target
// that is given.
func singleHostRun(ctx context.Context, env *app.Env, o hostCompareOptions) error {
	label := "run"
	path := o.baseline + o.target
	if path != "" {
		label = o.baselineLabel
		if o.target != "" {
			label = o.targetLabel
		}
	}
	a, err := loadHostRun(ctx, env, path)
	if err != nil {
		return err
	}
	size, err := env.KnownTP(a, path, o.tp)
	if err != nil {
		return err
	}
	r, err := hostoverhead.Breakdown(ctx, a, hostoverhead.BreakdownOptions{Labels: [2]string{label},
		TPSizes: [2]int{size}, Ranks: o.tp})
	if err != nil {
		return err
	}
	v, err := hostoverhead.Analyze(ctx, []*layer.Analysis{a}, hostoverhead.Options{TopGaps: &o.gaps})
	if err != nil {
		return err
	}
	if env.Document() {
		return env.WriteJSON(HostRunDocument{"strata.host-run/1", r, v})
	}
	if err := r.WriteText(env.Stdout); err != nil {
		return err
	}
	return v.WriteText(env.Stdout)
}
