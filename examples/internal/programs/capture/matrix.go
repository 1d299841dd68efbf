package capture

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/live"
	"github.com/llmstrata/strata/internal/atomicfile"
)

func matrixProgram() app.Program {
	var s live.Settings
	var plan string
	var restart, allowInvalid bool
	var outputDir string
	return app.Program{
		Name: "capture matrix",
		Summary: "captures one model from several servers, one after the other, and reports on each. A run that was cut " +
			"short goes on where\n" +
			"it was: what an entry's folder has of the same server and shape, and is not INVALID, is kept.\n" +
			"The plan is JSON: {\"title\": …, \"output_dir\": DIR, \"entries\": [{\"name\": …, \"framework\": …, \"url\": URL (or \"mapping_url\" and\n" +
			"\"formal_url\"), \"output_dir\": DIR (where the server fixes it; a pair has mapping and formal in it), " +
			"\"stages\": both|prefill|decode|legacy,\n" +
			"\"num_steps\", \"warmup_steps\", \"concurrency\", \"ranks\", \"model\"}]}. Paths are relative to the plan.\n" +
			"Each entry's folder gets capture.json beside the traces, probe.json (latency and answers) and triage.md.",
		Examples: []string{
			"capture matrix --plan plan.json > bundle.md    # all captures, one report per server, joined",
			"capture matrix --plan plan.json --restart      # capture everything anew",
		},
		Common:  app.FormatFlag | app.OutputFlag | app.ProgressFlag,
		Formats: []app.Format{app.Markdown, app.JSON},
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&plan, "plan", "", "`FILE`: plan of the servers and captures")
			fs.StringVar(&outputDir, "output-dir", "", "`DIR`: folder of the entries (default: the plan's output_dir)")
			fs.BoolVar(&allowInvalid, "allow-invalid", false,
				"end with 0 also where all that is wrong is an INVALID capture")
			fs.BoolVar(&restart, "restart", false, "forget what earlier runs captured")
			s.ModelFlags(fs)
			s.WindowFlags(fs)
			s.ProbeFlags(fs)
		},
		Run: func(ctx context.Context, env *app.Env) error {
			return allow(allowInvalid, runMatrix(ctx, env, &s, plan, outputDir, restart))
		},
	}
}

// runMatrix captures a plan and prints the reports, or the document.
func runMatrix(ctx context.Context, env *app.Env, s *live.Settings, plan, outputDir string, restart bool) error {
	if plan == "" {
		return app.Usagef("--plan is needed")
	}
	o, err := s.Options(env)
	if err != nil {
		return err
	}
	p, err := capture.LoadPlan(plan)
	if err != nil {
		return live.End(err)
	}
	p.OutputDir = cmp.Or(outputDir, p.OutputDir)
	b := &bundle{title: cmp.Or(p.Title, "Matrix"), files: map[string]string{}}
	m := capture.Matrix{
		Options: o, Restart: restart, Analyse: b.add, Probe: writeProbe,
		Log: func(line string) { env.Notef("%s", line) },
	}
	entries, err := m.Run(ctx, p)
	live.WarnIfRunning(ctx, env, err)
	for _, e := range entries {
		for _, c := range e.Captures {
			live.Notes(env, c)
		}
	}
	if ctx.Err() != nil {
		return live.End(err)
	}
	if env.Document() {
		doc := MatrixDocument{"strata.capture-matrix/2", p.Title, entries, b.files}
		if werr := env.WriteJSON(doc); werr != nil {
			return werr
		}
	} else if werr := b.write(env.Stdout); werr != nil {
		return fmt.Errorf("bundle: %w", werr)
	}
	return live.End(err)
}

// writeProbe leaves the answers of a server in its entry's folder.
func writeProbe(e capture.Entry, r *capture.ProbeReport) error {
	if err := os.MkdirAll(e.Dir, 0o777); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(e.Dir, "probe.json"), 0o666,
		func(w io.Writer) error { return app.WriteJSON(w, r) })
}
