package capture

import (
	"context"
	"flag"
	"fmt"

	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/live"
	"github.com/llmstrata/strata/internal/table"
)

func stopProgram() app.Program {
	var s live.Settings
	return app.Program{
		Name: "capture stop",
		Summary: "stops a server's profiler, once: the one that a killed capture into --output-dir has left on, or the " +
			"one at --url.\n" +
			"A server that was asked already is not asked again unless it accepts that; one that is gone has no profiler on. " +
			"The folder is free afterwards.",
		Examples: []string{
			"capture stop --output-dir runs/qwen          # after a capture into it was killed",
			"capture stop --url http://127.0.0.1:30000    # whoever has started it",
		},
		Common: app.ProgressFlag,
		Flags: func(fs *flag.FlagSet) {
			s.ServerFlags(fs)
			s.FolderFlags(fs)
		},
		Run: func(ctx context.Context, env *app.Env) error {
			o, err := s.Options(env)
			if err != nil {
				return err
			}
			if o.URL == "" && o.OutputDir == "" {
				return app.Usagef("--output-dir or --url is needed")
			}
			if err := capture.Stop(ctx, o); err != nil {
				return live.End(err)
			}
			what := "the profiler is off"
			if o.OutputDir != "" {
				what += "; capture collect --output-dir " + o.OutputDir + " takes its traces"
			}
			fmt.Fprintln(env.Stdout, what)
			return nil
		},
	}
}

func collectProgram() app.Program {
	var s live.Settings
	return app.Program{
		Name: "capture collect",
		Summary: "waits for the traces of a capture that was cut off after the server had been asked to stop, and checks " +
			"and files them as the\ncapture would have.",
		Exits:    exits,
		Examples: []string{"capture collect --output-dir runs/qwen"},
		Common:   app.FormatFlag | app.OutputFlag | app.ProgressFlag,
		Formats:  []app.Format{app.Text, app.JSON},
		Flags: func(fs *flag.FlagSet) {
			s.FolderFlags(fs)
			s.WaitFlags(fs)
		},
		Run: func(ctx context.Context, env *app.Env) error {
			o, err := s.Options(env)
			if err != nil {
				return err
			}
			if o.OutputDir == "" {
				return app.Usagef("--output-dir is needed")
			}
			r, err := capture.Collect(ctx, o)
			return finish(ctx, env, o, r, err)
		},
	}
}

func doctorProgram() app.Program {
	var s live.Settings
	return app.Program{
		Name: "capture doctor",
		Summary: "says what a server is, whether it can be profiled, and how it is launched for traces with stacks, " +
			"shapes and module frames.\nIt only asks: no request changes anything.",
		Examples: []string{"capture doctor --url http://127.0.0.1:8000 --output-dir /data/prof"},
		Common:   app.FormatFlag | app.OutputFlag | app.ProgressFlag,
		Formats:  []app.Format{app.Text, app.JSON},
		Flags: func(fs *flag.FlagSet) {
			s.ServerFlags(fs)
			s.FolderFlags(fs)
			s.WindowFlags(fs)
		},
		Run: func(ctx context.Context, env *app.Env) error {
			o, err := s.OptionsOfURL(env)
			if err != nil {
				return err
			}
			d, err := capture.Diagnose(ctx, o)
			if err != nil {
				return live.End(err)
			}
			if env.Document() {
				return env.WriteJSON(d)
			}
			b := table.NewWriter(env.Stdout)
			b.Heading(1, "%s at %s (%s)", d.Framework.Title(), d.Server, d.Evidence)
			b.Fact("Profiler routes", "%s", d.Profiler)
			for _, w := range d.Workers {
				b.Fact("Engine", "%s %s (%s)", w.URL, w.Role, w.Contract)
			}
			for _, f := range d.Findings {
				b.Item("%s", f)
			}
			b.Heading(2, "Launch")
			b.Fact("For times", "%s", d.Formal)
			b.Fact("For sources", "%s", d.Mapping)
			b.Fact("For --nsys", "%s", d.Nsys)
			return b.Flush()
		},
	}
}
