package triage

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/live"
	"github.com/llmstrata/strata/internal/atomicfile"
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/gate"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

// Values of flags: the server is found, fusions are found by words, the overlap table is the published script's.
const (
	auto        = "auto"
	keyword     = "keyword"
	asPublished = "published"
)

// options are the program's own flags.
type options struct {
	input, mapping, formal string
	compare, catalog       string
	framework, pid         string
	model                  string
	tp                     int
	kernelLimit            int
	overlapLimit           int
	minShare               float64
	fuseMode, overlapMode  *string
	tolerance              float64
	force                  bool
	pprof                  string
	page                   app.Page
	server                 server
}

// Program returns the program with fresh flags.
func Program() app.Program {
	o := &options{}
	return app.Program{
		Name: "triage",
		Summary: "shows where GPU time goes, by source line, which work is exposed, and which fused kernels are unused.\n" +
			"Three tables per stage: kernels, overlap (P1 first), fusions. docs/triage.md explains each number.",
		Args: "[FILE|DIR]",
		Examples: []string{
			"triage --input profile-dir                                    # one rank, one trace per stage",
			"triage --mapping-input graph-off-dir --formal-input real-dir  # source lines from one run, time from the other",
			"triage --input new-dir --compare-input old-dir                # exit code 3 when a stage got slower, 4 when it " +
				"cannot be decided",
			"triage --url http://127.0.0.1:30000 --output-dir runs/qwen     # profile a running server, then report on it",
			"triage --mapping-url http://127.0.0.1:30001 --formal-url http://127.0.0.1:30000 --output-dir runs/pair",
			"triage --input x.trace.json.gz --pprof gpu.pb.gz && go tool pprof -top gpu.pb.gz",
		},
		Common: app.AllFlags, SumsGPUs: true,
		Formats: []app.Format{app.AutoFormat, app.Text, app.Markdown, app.JSON},
		FailOn:  []string{app.ExposedComm, app.Waiting, app.Regression, app.HealthIs},
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&o.input, "input", "", "`FILE|DIR`: the same as --trace")
			fs.StringVar(&o.mapping, "mapping-input", "",
				"`FILE|DIR`: trace with CUDA graphs off, read for source lines")
			fs.BoolVar(&o.force, "force-mapping", false,
				"use --mapping-input even if model or GPU seem to differ")
			fs.StringVar(&o.formal, "formal-input", "", "`FILE|DIR`: trace of the real setup, read for time")
			fs.StringVar(&o.framework, "framework", "",
				"`SERVER`: sglang, vllm, trtllm, tokenspeed or pytorch (default: auto)")
			fs.StringVar(&o.model, "model", "", "`NAME`: model (default: from server_args.json)")
			fs.IntVar(&o.tp, "tp", 0, "`SIZE`: tensor-parallel size (default: the trace's)")
			fs.StringVar(&o.pid, "pid-substring", "", "`TEXT`: only work of processes with it in id, label or name")
			fs.IntVar(&o.kernelLimit, "kernel-table-limit", 0, "`N`: kernel rows per stage (default: all)")
			fs.IntVar(&o.overlapLimit, "overlap-table-limit", 5, "`N`: rows of the overlap table; 0: all")
			fs.Float64Var(&o.minShare, "min-share", 1, "`PERCENT`: hide rows below this share of the stage's GPU time")
			o.fuseMode = app.Choice(fs, "fuse-mode", "`HOW`: find fusions by", "chain", keyword)
			o.overlapMode = app.Choice(fs, "overlap-mode",
				"`HOW`: rows of the overlap table", "exposure", asPublished)
			fs.StringVar(&o.compare, "compare-input", "", "`FILE|DIR`: older run to compare with")
			fs.Float64Var(&o.tolerance, "tolerance", 5,
				"`PERCENT`: by how much a stage may be slower (--compare-input)")
			fs.StringVar(&o.catalog, "catalog", "", "`WORD`: print known fused paths with this word, or all")
			o.page.Flags(fs)
			app.OutputFile(fs, &o.pprof, "pprof", "`FILE`: also write GPU time as a pprof profile")
		},
		More:      o.server.define,
		MoreTitle: "Flags of a live capture, with --url",
		Run:       o.run,
	}
}

// settings returns the options of an analysis.
func (o *options) settings() (triage.Options, error) {
	opts := triage.Options{MinSharePct: o.minShare, KernelLimit: o.kernelLimit, OverlapLimit: o.overlapLimit,
		Model: o.model, TPSize: o.tp, Process: o.pid}
	if o.minShare <= 0 {
		opts.MinSharePct = -1
	}
	if o.overlapLimit <= 0 {
		opts.OverlapLimit = -1
	}
	if o.framework == auto {
		o.framework = ""
	}
	if o.framework != "" {
		f, ok := framework.ByName(framework.All(), o.framework)
		if !ok {
			return opts, app.Usagef("--framework %q is none of sglang, vllm, trtllm, tokenspeed, pytorch", o.framework)
		}
		opts.Framework = f.Name
	}
	return opts, nil
}

// formalPath returns the path of the trace to read for time, "" for the demo.
func (o *options) formalPath(env *app.Env) (string, error) {
	const command = "triage" // the published script had one sub-command, of this name
	if len(env.Args) > 0 && env.Args[0] == command {
		if _, err := os.Stat(command); err != nil {
			env.Args = env.Args[1:]
		}
	}
	paths := table.Known(append([]string{env.Trace, o.input, o.formal}, env.Args...)...)
	if err := o.server.check(env, len(paths) > 0, o.mapping); err != nil {
		return "", err
	}
	switch {
	case len(paths) > 1:
		return "", app.Usagef("give one of --input, --formal-input, --trace and an argument, not several")
	case len(paths) == 1:
		return paths[0], nil
	case o.mapping != "" && o.server.url == "":
		return "", app.Usagef("--mapping-input needs --formal-input")
	}
	return "", nil
}

func (o *options) run(ctx context.Context, env *app.Env) error {
	if o.catalog != "" {
		return printCatalog(env, o.catalog)
	}
	opts, err := o.settings()
	if err != nil {
		return err
	}
	path, err := o.formalPath(env)
	if err != nil {
		return err
	}
	env.Trace = cmp.Or(path, o.server.settings.O.OutputDir) // the model's config is looked for beside it
	if err := env.RefusePublished(); err != nil {
		return err
	}
	layers, err := env.LayerOptions()
	if err != nil {
		return err
	}
	layers.ForceMapping = o.force
	in, err := o.load(ctx, env, path, layers)
	if err != nil {
		return err
	}
	report, err := triage.Analyze(ctx, in, opts)
	if err != nil {
		return err
	}
	for _, h := range report.Health {
		env.Judging(h.Status)
	}
	if err := report.Replay(ctx, in.Formal, nil); err != nil {
		return err
	}
	report.Capture = o.server.validity
	noteFolders(env, in)
	if report.MappingRefused != "" {
		env.Notef("--mapping-input is not used: %s; --force-mapping uses it all the same", report.MappingRefused)
	}
	// the published script prints empty tables
	if len(report.Stages) == 0 && *o.fuseMode != keyword && live.Invalid(report.Capture) == nil {
		return fmt.Errorf("%s: %w", in.FormalPaths[0], layer.ErrNoKernels)
	}
	profile := report.WriteProfile
	if *o.fuseMode == keyword {
		if report, err = withKeywords(ctx, in, report, opts); err != nil {
			return err
		}
	}
	if *o.overlapMode == asPublished {
		report = withPublishedOverlap(report, opts)
	}
	if err := o.writePprof(env, profile); err != nil {
		return err
	}
	var compared Comparison
	if o.compare != "" {
		c, err := o.compareWith(ctx, env, in, layers)
		if err != nil {
			return err
		}
		compared = *c
	}
	if err := o.writeHTML(ctx, env, report, compared.Stages, in); err != nil {
		return err
	}
	if o.compare != "" {
		err = compared.write(env)
	} else {
		err = write(env, report)
	}
	if err != nil {
		return err
	}
	if err := o.server.invalid(); err != nil {
		return err
	}
	var checks []gate.Check
	if o.compare != "" {
		checks = append(checks, compared.check())
	}
	return env.Judge(func(c app.Condition) gate.Check {
		switch {
		case c.Name != app.Regression:
			return judge(c, report)
		case o.compare == "":
			return c.Untold("nothing to compare with: --compare-input names an older run")
		}
		return compared.check()
	}, checks...)
}

// write prints the report.
func write(env *app.Env, report *triage.Report) error {
	switch {
	case env.Document():
		return env.WriteJSON(report)
	case env.Format == app.Text:
		return report.WriteText(env.Stdout, env.Width)
	}
	return report.WriteMarkdown(env.Stdout)
}

// judge checks a condition against the report.
func judge(c app.Condition, r *triage.Report) gate.Check {
	return c.Exposed(r.Findings, slices.ContainsFunc(r.Stages,
		func(s triage.StageReport) bool { return s.Exposure.WallNS > 0 }))
}

// load reads what the report is made of, of the GPUs that --device names.
func (o *options) load(ctx context.Context, env *app.Env, path string, layers layer.Options) (triage.Input, error) {
	in, err := o.loadAll(ctx, env, path, layers)
	if err == nil {
		err = oneGPU(env, &in)
	}
	return in, err
}

// loadAll reads the mapping traces, and the formal ones of a server, a file or the
// demo.
func (o *options) loadAll(ctx context.Context, env *app.Env, path string, layers layer.Options) (triage.Input, error) {
	var mapping, formal []triage.Source
	var server, ours triage.Server
	var err error
	if o.mapping != "" {
		// On ROCm the args of the launch calls name the kernels that a graph
		// capture recorded.
		if mapping, server, err = read(ctx, env, o.mapping,
			trace.Options{Args: []event.Kind{event.Runtime}}); err != nil {
			return triage.Input{}, err
		}
	}
	switch {
	case o.server.url != "":
		return o.server.capture(ctx, env, o.framework, layers, mapping)
	case path != "":
		formal, ours, err = read(ctx, env, path, trace.Options{})
	default:
		var t *trace.Trace
		t, err = env.Load(ctx, trace.Options{})
		formal = []triage.Source{{Trace: t, Path: env.TraceName()}}
	}
	if err != nil {
		return triage.Input{}, err
	}
	env.Step("finding passes and layers", 0, 0)
	in, err := triage.NewInput(ctx, formal, mapping, layers)
	for i, a := range in.Formal {
		env.NoteRefused(in.FormalPaths[i], a)
	}
	if in.Server = ours; ours == (triage.Server{}) {
		in.Server = server
	}
	return in, err
}

// oneGPU leaves of the traces that are read for time the GPU of --device.
func oneGPU(env *app.Env, in *triage.Input) (err error) {
	for i := range in.Formal {
		if in.Formal[i], err = env.OneGPU(in.Formal[i]); err != nil {
			return err
		}
	}
	return nil
}

// noteFolders says where the name of a file or its folder names another stage than its passes: they are reported as
// what they are.
func noteFolders(env *app.Env, in triage.Input) {
	for i, path := range in.FormalPaths {
		named := layer.Stage(framework.ReadFileName(framework.All(), path).Stage)
		if i >= len(in.Formal) || named == "" || len(in.Formal[i].Devices) == 0 {
			continue
		}
		count, of := map[layer.Stage]int{}, 0
		for _, p := range in.Formal[i].Devices[0].Passes {
			if p.Stage != "" && p.Stage != layer.StageUnknown {
				count[p.Stage]++
				of++
			}
		}
		if of > 0 && count[named] == 0 {
			env.Notef("note: %s is named %s, and none of its %d passes is: they are reported as what they are", path,
				named, of)
		}
	}
}

// read opens the traces at a path and what their server said beside them.
func read(ctx context.Context, env *app.Env, path string, o trace.Options) ([]triage.Source, triage.Server, error) {
	rec, server, err := env.OpenServed(ctx, []string{path}, strata.Options{Trace: o})
	if err != nil {
		return nil, server, err
	}
	return live.Sources(rec), server, nil
}

// writePprof writes --pprof.
func (o *options) writePprof(env *app.Env, profile func(io.Writer) error) error {
	if o.pprof == "" {
		return nil
	}
	if err := atomicfile.Write(o.pprof, 0o666, profile); err != nil {
		return err
	}
	env.Notef("wrote %s; read it with: go tool pprof -top %s", o.pprof, o.pprof)
	return nil
}

// writeHTML writes --html, with the comparison with an older run before it.
func (o *options) writeHTML(ctx context.Context, env *app.Env, r *triage.Report, against []compare.StageReport,
	in triage.Input) error {
	var d *layer.Device
	if len(in.Formal) > 0 && len(in.Formal[0].Devices) > 0 {
		d = &in.Formal[0].Devices[0]
	}
	return env.WriteHTML(&o.page, func(w io.Writer) error { return strata.WriteTriageHTML(ctx, w, r, against, d) })
}
