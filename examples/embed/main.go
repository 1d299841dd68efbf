// Embed analyses a profiled run in its own process, as a benchmark framework
// would, and writes a compact record of it: pass and layer times, the heaviest
// kernels, the host verdict. With an older record it is a regression check.
//
// What to copy into a framework is in the other files: record.go says what is
// kept, measure.go how it is computed with the library, and check.go compares
// two records. None of them uses anything but the public packages.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage"
)

func main() { app.Main(program()) }

// options are the program's own flags.
type options struct {
	previous string
	limits   Limits
}

// program describes embed.
func program() app.Program {
	var o options
	return app.Program{
		Name:    "embed",
		Summary: "analyses a profiled run in-process, as a benchmark framework would, and writes a JSON record: pass and layer times, the heaviest kernels, the host verdict. With --previous it fails if a figure got worse.",
		Examples: []string{
			"embed --trace profile-dir > today.json",
			"embed --trace profile-dir --previous yesterday.json    # exit code 1 when a pass or layer got slower",
		},
		Common: app.TraceFlag | app.ProgressFlag,
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&o.previous, "previous", "", "compare with the record in this `FILE`")
			fs.Float64Var(&o.limits.SlowerPct, "max-slower", 5, "`PERCENT` by which passes and layers may take longer")
			fs.Float64Var(&o.limits.IdlePoints, "max-idle", 5,
				"percentage `POINTS` of time by which the GPU may be idle longer")
		},
		Run: func(ctx context.Context, env *app.Env) error { return run(ctx, env, &o) },
	}
}

func run(ctx context.Context, env *app.Env, o *options) error {
	rec, err := measure(ctx, env)
	if err != nil {
		return err
	}
	if err := rec.WriteJSON(env.Stdout); err != nil {
		return err
	}
	if o.previous == "" {
		return nil
	}
	f, err := os.Open(o.previous)
	if err != nil {
		return err
	}
	defer f.Close()
	previous, err := ReadRecord(f)
	if err != nil {
		return fmt.Errorf("%s: %w", o.previous, err)
	}
	if worse := Check(previous, rec, o.limits); len(worse) > 0 {
		return fmt.Errorf("worse than %s: %s", o.previous, strings.Join(worse, "; "))
	}
	env.Notef("no worse than %s", o.previous)
	return nil
}

// measure takes the record of the trace that --trace names, or of the demo.
func measure(ctx context.Context, env *app.Env) (*Record, error) {
	if !env.Demo() {
		return MeasurePath(ctx, env.Trace)
	}
	t, err := env.Load(ctx, trace.Options{})
	if err != nil {
		return nil, err
	}
	in, err := triage.NewInput(ctx, []triage.Source{{Trace: t, Path: env.TraceName()}}, nil, layer.Options{})
	if err != nil {
		return nil, err
	}
	return Measure(ctx, in)
}
