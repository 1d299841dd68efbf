package hostdetect

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/published/host"
	"github.com/llmstrata/strata/trace"
)

// Program returns the program with fresh flags.
func Program() app.Program { return program() }

// options are the program's own flags.
type options struct {
	idle, launch, util float64
	noM3, jsonOnly     bool
	devices            *string
	comparable         bool
	handoff            bool
	gaps               int
}

// program describes host-detect.
func program() app.Program {
	var o options
	d := hostoverhead.DefaultThresholds()
	return app.Program{
		Name: "host-detect",
		Summary: "says whether the CPU is the bottleneck of a traced run (YES or NO), with the evidence, the reasons to doubt it, and where the GPU's idle time goes. It reads Nsight Systems exports (.sqlite, or .nsys-rep where nsys is installed) and torch.profiler traces. " +
			"YES means that at least two of the metrics that the trace can show crossed their thresholds, in the whole window or in the context or generation steps; docs/host-verdict.md explains them.",
		Examples: []string{
			"host-detect --trace run.sqlite",
			"host-detect --trace run.sqlite --format json > verdict.json",
			"host-detect --trace run.sqlite --devices merged --comparable --json-only    # the published detector's figures",
			"host-detect --trace TP-0-DECODE.trace.json.gz                               # the same from a torch trace",
		},
		Common:  app.TraceFlag | app.FormatFlag | app.OutputFlag | app.ProgressFlag | app.MemoryFlag,
		Formats: []string{"text", "json"},
		Flags: func(fs *flag.FlagSet) {
			fs.Float64Var(&o.idle, "gpu-idle-threshold", d.GPUIdle, "GPU idle `RATIO` above which M1 is crossed, in the whole window and in context steps")
			fs.Float64Var(&o.launch, "launch-threshold", d.LaunchOverhead, "launch overhead `RATIO` above which M2 is crossed, everywhere")
			fs.Float64Var(&o.util, "gpu-util-threshold", d.GPUUtilization, "GPU utilization `RATIO` below which M4 is crossed, in the whole window and in context steps")
			fs.BoolVar(&o.noM3, "no-m3", false, "leave host preparation (M3) out of the verdict")
			fs.BoolVar(&o.jsonOnly, "json-only", false, "the same as --format json")
			o.devices = app.Choice(fs, "devices", "each: every GPU by itself, the most idle one decides; merged: one union of all", "each", "merged")
			fs.BoolVar(&o.comparable, "comparable", false, "the published detector's figures exactly: API names as stored, devices merged, one window per phase")
			fs.BoolVar(&o.handoff, "handoff", false, "add optimization_handoff to the JSON: what to look at first")
			fs.IntVar(&o.gaps, "gaps", 10, "list this `NUMBER` of the longest gaps in the text report")
		},
		Run: func(ctx context.Context, env *app.Env) error { return detect(ctx, env, o) },
	}
}

// settings turns the flags into options of the analysis.
func (o options) settings() []hostoverhead.Option {
	aggregate, generation := hostoverhead.DefaultThresholds(), hostoverhead.DefaultGenerationThresholds()
	aggregate.GPUIdle, aggregate.LaunchOverhead, aggregate.GPUUtilization = o.idle, o.launch, o.util
	generation.LaunchOverhead = o.launch
	opts := []hostoverhead.Option{hostoverhead.WithThresholds(aggregate, aggregate, generation), hostoverhead.WithTopGaps(o.gaps)}
	if o.noM3 {
		opts = append(opts, hostoverhead.WithoutPrep())
	}
	if *o.devices == "merged" {
		opts = append(opts, hostoverhead.WithMergedDevices())
	}
	return opts
}

// published runs the published detector instead.
func published(ctx context.Context, env *app.Env, t *trace.Trace, o options) error {
	limits, generation := host.Default(), host.DefaultGeneration()
	limits.GPUIdle, limits.LaunchOverhead, limits.GPUUtilization = o.idle, o.launch, o.util
	generation.LaunchOverhead = o.launch
	r, err := host.Detect(ctx, t, host.Options{Thresholds: limits, Generation: generation, NoPrep: o.noM3})
	switch {
	case err != nil:
		return noKernels(env, t, o, err)
	case o.asJSON(env):
		return writeJSON(env.Stdout, r)
	}
	return r.WriteText(env.Stdout)
}

func (o options) asJSON(env *app.Env) bool { return env.Format == "json" || o.jsonOnly }

// noKernels writes an error as JSON where that is wanted and says why: a trace
// without kernels is a result for scripts.
func noKernels(env *app.Env, t *trace.Trace, o options, err error) error {
	if o.asJSON(env) && (errors.Is(err, hostoverhead.ErrNoKernels) || errors.Is(err, host.ErrNoKernels)) {
		if werr := writeJSON(env.Stdout, map[string]any{"error": err.Error(), "health": t.Health()}); werr != nil {
			return werr
		}
	}
	return err
}

func detect(ctx context.Context, env *app.Env, o options) error {
	if o.comparable && o.handoff {
		return app.Usagef("--handoff: the published detector (--comparable) has none")
	}
	if o.comparable {
		t, err := env.Load(ctx, trace.Options{})
		if err != nil {
			return err
		}
		return published(ctx, env, t, o)
	}
	a, err := env.LoadAnalysis(ctx, "")
	if err != nil {
		return err
	}
	opts := o.settings()
	v, err := hostoverhead.Detect(ctx, a, opts...)
	if err != nil {
		return noKernels(env, a.Trace(), o, err)
	}
	if o.asJSON(env) {
		if o.handoff {
			if v.Handoff, err = hostoverhead.NewHandoff(ctx, a, v, opts...); err != nil {
				return err
			}
		}
		out := document{Verdict: v}
		if out.DrillDown, err = hostoverhead.Drill(ctx, a, opts...); err != nil {
			return err
		}
		return writeJSON(env.Stdout, out)
	}
	if err := v.WriteText(env.Stdout); err != nil {
		return err
	}
	d, err := hostoverhead.Drill(ctx, a, opts...)
	if err != nil {
		return err
	}
	return d.WriteText(env.Stdout)
}

// document is the JSON output: the verdict's fields, and where the idle time
// goes.
type document struct {
	*hostoverhead.Verdict
	DrillDown *hostoverhead.DrillDown `json:"drill_down,omitempty"`
}

// writeJSON writes one indented document.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
