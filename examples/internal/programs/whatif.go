package programs

import (
	"context"
	"flag"
	"fmt"
	"slices"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/hostoverhead/replay"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/triage"
)

// WhatIf returns the program with fresh flags.
func WhatIf() app.Program {
	var list []replay.Edit
	return app.Program{
		Name: "what-if",
		Summary: "predicts the step time after one change: a cause of idle time removed, the host one step ahead, all " +
			"launches in one graph,\n" +
			"a faster kernel, or fused kernels. Changes that the trace cannot support are refused with a reason " +
			"(docs/what-if.md).",
		Examples: []string{
			"what-if --trace run.json.gz                                # what the findings of strata host lead to",
			"what-if --trace run.json.gz --edit overlap --edit graphs",
			"what-if --trace run.json.gz --edit sync=aten::item --edit 'kernel=gemm*0.5'",
		},
		Args:    "[FILE]",
		Common:  app.TraceFlag | app.FormatFlag | app.OutputFlag | app.ProgressFlag | app.MemoryFlag,
		Formats: []app.Format{app.Text, app.JSON},
		Flags: func(fs *flag.FlagSet) {
			fs.Func("edit", "`EDIT`: see docs/what-if.md; N is a name, F a factor: cause=N, sync=N, kernel=N*F, "+
				"overlap, graphs, fuse=N+N*F, chain=N, kernels-of=FILE; repeatable", func(text string) error {
				e, err := replay.Parse(text)
				if err == nil {
					list = append(list, e)
				}
				return err
			})
		},
		Run: func(ctx context.Context, env *app.Env) error { return runWhatIf(ctx, env, list) },
	}
}

func runWhatIf(ctx context.Context, env *app.Env, list []replay.Edit) error {
	if len(env.Args) > 1 {
		return app.Usagef("one FILE, not %d", len(env.Args))
	}
	if len(env.Args) == 1 {
		env.Trace = env.Args[0]
	}
	a, err := env.LoadAnalysis(ctx, "")
	if err != nil {
		return err
	}
	if len(a.Devices) == 0 {
		return fmt.Errorf("%s: %w", env.TraceName(), a.NoKernels())
	}
	d := &a.Devices[0]
	isChain := func(e replay.Edit) bool { return e.Kind == replay.Chain }
	var chains *triage.Report
	if list == nil || slices.ContainsFunc(list, isChain) {
		in := triage.Input{Formal: []*layer.Analysis{a}, FormalPaths: []string{env.TraceName()}}
		if chains, err = triage.Analyze(ctx, in, triage.Options{}); err != nil {
			return err
		}
	}
	if list == nil {
		v, err := hostoverhead.Analyze(ctx, []*layer.Analysis{a}, hostoverhead.Options{})
		if err != nil {
			return err
		}
		r := &v.Ranks[v.Deciding]
		list = append(r.Edits(), chains.Edits()...)
		for i := range a.Devices {
			if a.Devices[i].ID == r.Device {
				d = &a.Devices[i]
			}
		}
	}
	for i := range list {
		if isChain(list[i]) {
			list[i] = chains.Edit(list[i].Name)
		}
		if list[i].Kind != replay.Times {
			continue
		}
		other, err := env.LoadAnalysis(ctx, list[i].Name)
		if err != nil {
			return err
		}
		if len(other.Devices) == 0 {
			return fmt.Errorf("%s: %w", list[i].Name, other.NoKernels())
		}
		list[i] = list[i].From(&other.Devices[0])
	}
	r := replay.Report{Schema: replay.Schema, Trace: env.TraceName(), Device: int(d.ID)}
	if r.Gains, err = replay.Analyze(ctx, d, list); err != nil {
		return err
	}
	if env.Document() {
		return env.WriteJSON(r)
	}
	return r.WriteText(env.Stdout)
}
