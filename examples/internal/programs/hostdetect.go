package programs

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/gate"
	"github.com/llmstrata/strata/internal/published"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/fleet"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// mergedGPUs is the value of --devices that takes all GPUs as one.
const mergedGPUs = "merged"

// hostDetectOptions are the program's own flags.
type hostDetectOptions struct {
	share              float64
	idle, launch, util float64
	noM3, jsonOnly     bool
	devices            *string
	comparable         bool
	handoff            bool
	gaps               int
	serverArgs         string
	page               app.Page
	recordings         *string
	strict             bool
}

// hostShare is what --host-share is where it is not given: what [hostoverhead.Options] has.
const hostShare = 0.10

// HostDetect returns host-detect with fresh flags.
func HostDetect() app.Program {
	var o hostDetectOptions
	d := published.HostThresholds()
	return app.Program{
		Name: "host-detect",
		Summary: "bounds how much faster a run could be if the host cost nothing, and gives every idle nanosecond of the " +
			"GPU a cause, with doubts and next steps.\n" +
			"Reads every trace format of strata; a directory or pattern gives every rank. docs/host-verdict.md explains the " +
			"verdict.",
		Examples: []string{
			"host-detect --trace run.sqlite",
			"host-detect --trace run.sqlite --output verdict.json",
			"host-detect --trace traces/                                                 # every rank, and who the others " +
				"wait for",
			"host-detect --trace run.sqlite --devices merged --comparable --json-only    # the published detector's figures",
			"host-detect --trace TP-0-DECODE.trace.json.gz                               # a torch.profiler trace",
		},
		Common:  app.TraceFlag | app.FormatFlag | app.OutputFlag | app.ProgressFlag | app.MemoryFlag,
		Formats: []app.Format{app.Text, app.JSON},
		FailOn:  []string{app.HostCaused, app.HealthIs},
		Flags: func(fs *flag.FlagSet) {
			fs.Float64Var(&o.share, "host-share", hostShare, "`SHARE`: share of step time that the host must cause for YES")
			fs.Float64Var(&o.idle, "gpu-idle-threshold", d.GPUIdle,
				"`RATIO`: published M1: host-bound share of idle time (default: 0.3; generation 0.15)")
			fs.Float64Var(&o.launch, "launch-threshold", d.LaunchOverhead,
				"`RATIO`: published M2: launch share that counts as host bound")
			fs.Float64Var(&o.util, "gpu-util-threshold", d.GPUUtilization,
				"`RATIO`: published M4: least GPU utilization")
			fs.BoolVar(&o.noM3, "no-m3", false, "leave host preparation (M3) out of the published metrics")
			fs.BoolVar(&o.jsonOnly, "json-only", false,
				"the same as --format json")
			o.devices = app.Choice(fs, "devices", "`HOW`: judge each GPU, or all merged (for --comparable)", "each", mergedGPUs)
			fs.BoolVar(&o.comparable, "comparable", false,
				"print the published detector's exact figures")
			fs.BoolVar(&o.handoff, "handoff", false, "add optimization_handoff to the JSON")
			fs.StringVar(&o.serverArgs, "server-args", "",
				"`FILE`: server arguments as JSON (default: server_args.json beside the trace)")
			o.recordings = app.Recordings(fs, app.Newest)
			app.Strict(fs, &o.strict)
			o.page.Flags(fs)
			fs.IntVar(&o.gaps, "gaps", 10, "`NUMBER`: longest gaps to list")
		},
		Run: func(ctx context.Context, env *app.Env) error { return detectHost(ctx, env, o) },
	}
}

// published are the options of the published detector.
func (o hostDetectOptions) published() hostoverhead.PublishedOptions {
	limits, generation := published.HostThresholds(), published.GenerationThresholds()
	limits.GPUIdle, limits.LaunchOverhead, limits.GPUUtilization = o.idle, o.launch, o.util
	generation.LaunchOverhead = o.launch
	return hostoverhead.PublishedOptions{Thresholds: limits, Generation: generation, NoPrep: o.noM3}
}

// publishedHostSchema names the published detector's document.
const publishedHostSchema = "strata.host-published/1"

// publishedHost runs the published detector instead.
func publishedHost(ctx context.Context, env *app.Env, t *trace.Trace, o hostDetectOptions) error {
	r, err := published.DetectHost(ctx, t, o.published())
	switch {
	case err != nil:
		return noHostKernels(env, t, o, publishedHostSchema, err)
	case o.asJSON(env):
		return env.WriteJSON(PublishedHostDocument{publishedHostSchema, r})
	}
	return r.WriteText(env.Stdout)
}

// asJSON reports whether a document is wanted: by flag, or by the name of the file to write.
func (o hostDetectOptions) asJSON(env *app.Env) bool {
	return env.Document() || o.jsonOnly || strings.HasSuffix(strings.ToLower(env.Output), ".json")
}

// noHostKernels writes an error as JSON where that is wanted and says why: a trace
// without kernels is a result for scripts.
func noHostKernels(env *app.Env, t *trace.Trace, o hostDetectOptions, schema string, err error) error {
	if o.asJSON(env) && (errors.Is(err, layer.ErrNoKernels) || errors.Is(err, published.ErrNoHostKernels)) {
		if werr := env.WriteJSON(HostErrorDocument{schema, app.Plain(err), t.Health()}); werr != nil {
			return werr
		}
	}
	return err
}

// serving are the server's arguments: from --server-args, else from the server_args.json beside the trace; nil without
// either.
func (o hostDetectOptions) serving(env *app.Env) (*profile.ServerArgs, error) {
	path := o.serverArgs
	if path == "" {
		dir := env.Trace
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			dir = filepath.Dir(dir)
		}
		path = filepath.Join(dir, framework.ServerArgsFile)
		if _, err := os.Stat(path); err != nil || env.Demo() {
			return nil, nil
		}
	}
	return profile.LoadServerArgs(path)
}

func detectHost(ctx context.Context, env *app.Env, o hostDetectOptions) error {
	if o.comparable && o.handoff {
		return app.Usagef("--handoff: the published detector (--comparable) has none")
	}
	if !(o.share > 0 && o.share < 1) {
		return app.Usagef("--host-share %v: want a share between 0 and 1", o.share)
	}
	if o.comparable {
		t, err := env.Load(ctx, trace.Options{})
		if err != nil {
			return err
		}
		if err := publishedHost(ctx, env, t, o); err != nil {
			return err
		}
		return env.Judge(func(c app.Condition) gate.Check {
			return c.Untold("the published detector has no such figure: leave --comparable out")
		})
	}
	if *o.devices == mergedGPUs {
		env.Notef("--devices merged: the published metrics always merge all GPUs; the verdict is about each GPU by itself")
	}
	v, ranks, err := o.verdict(ctx, env)
	if err != nil {
		return err
	}
	if err := env.WriteHTML(&o.page, func(w io.Writer) error {
		return strata.WriteHostHTML(w, v, ranks, env.TraceName())
	}); err != nil {
		return err
	}
	for i := range v.Ranks { // the page draws more than is listed
		r := &v.Ranks[i]
		r.Top = r.Top[:min(len(r.Top), max(o.gaps, 0))]
	}
	if err := o.write(ctx, env, ranks, v); err != nil {
		return err
	}
	return env.Judge(func(c app.Condition) gate.Check {
		if v.Basis != finding.OfStep {
			return c.Untold("no step was found whose time the host could cost")
		}
		for i := range v.Ranks {
			if why := v.Ranks[i].IdleUnknown; why != "" {
				return c.Untold(why)
			}
		}
		h := v.Headroom
		return c.HostCaused(float64(h.HostNS)/float64(max(h.WallNS, 1)), v.Verdict == hostoverhead.Inconclusive,
			v.Summary)
	})
}

// verdict judges what is named. It returns the analyses that the page and the handoff need: of several ranks that of
// the one that decides, in its place, where one of these is asked for.
func (o hostDetectOptions) verdict(ctx context.Context, env *app.Env) (*hostoverhead.Verdict, []*layer.Analysis,
	error) {
	if o.page.Wanted() {
		o.gaps = max(o.gaps, strata.PageGaps)
	}
	settings := hostoverhead.Options{HostShare: o.share, Published: o.published(), TopGaps: &o.gaps}
	var err error
	if settings.Server, err = o.serving(env); err != nil {
		return nil, nil, err
	}
	var many *strata.Ranks
	if !env.Demo() {
		if many, err = env.FindRanks(ctx, []string{env.Trace}, *o.recordings); err != nil {
			return nil, nil, err
		}
	}
	if many != nil {
		defer many.Close()
		return o.ranks(ctx, env, many, settings)
	}
	ranks, labels, err := env.LoadRanks(ctx)
	if err != nil {
		return nil, nil, err
	}
	settings.Labels = labels
	v, err := hostoverhead.Analyze(ctx, ranks, settings)
	if errors.Is(err, layer.ErrNoKernels) {
		err = noHostKernels(env, ranks[0].Trace(), o, v.Schema, fmt.Errorf("%s: %w", env.TraceName(), err))
	}
	return v, ranks, err
}

// ranks judges each rank by itself and releases its trace.
func (o hostDetectOptions) ranks(ctx context.Context, env *app.Env, many *strata.Ranks,
	settings hostoverhead.Options) (*hostoverhead.Verdict, []*layer.Analysis, error) {
	layers, err := env.LayerOptions()
	if err != nil {
		return nil, nil, err
	}
	d := env.DigestOptions(layers)
	type judged struct {
		v *hostoverhead.Verdict
		a *layer.Analysis
	}
	var mu sync.Mutex
	byPath := map[string]judged{}
	keep := o.page.Wanted() || o.handoff // a page draws the rank that decides
	d.Analyzed = func(ctx context.Context, f trace.File, a *layer.Analysis) error {
		one := settings
		one.Labels = []string{app.RankLabel(f)}
		v, err := hostoverhead.Analyze(ctx, []*layer.Analysis{a}, one)
		if err != nil {
			return err
		}
		j := judged{v: v}
		if keep {
			j.a = a
		}
		mu.Lock()
		defer mu.Unlock()
		byPath[f.Path] = j
		return nil
	}
	var runs []fleet.Run
	if err := many.EachRun(ctx, d, func(list []fleet.Rank) error {
		runs = append(runs,
			fleet.OfRun(list))
		return nil
	}); err != nil {
		return nil, nil, err
	}
	if o.strict {
		if err := app.Unread(runs...); err != nil {
			return nil, nil, err
		}
	}
	var verdicts []*hostoverhead.Verdict
	var analyses []*layer.Analysis
	for i := range many.Recordings {
		for _, f := range many.Recordings[i].Files {
			if j, ok := byPath[f.Path]; ok {
				verdicts, analyses = append(verdicts, j.v), append(analyses, j.a)
			}
		}
	}
	for i := range runs {
		env.Judging(runs[i].Health)
		for _, f := range runs[i].Findings {
			env.Notef("%s: %s", f.Text, f.Evidence)
		}
	}
	if len(verdicts) == 0 {
		return nil, nil, fmt.Errorf("%s: %w", many.Name, layer.ErrNoKernels)
	}
	return hostoverhead.Join(verdicts, runs), analyses, nil
}

// write prints the verdict.
func (o hostDetectOptions) write(ctx context.Context, env *app.Env, ranks []*layer.Analysis,
	v *hostoverhead.Verdict) error {
	if err := v.Replay(ctx, ranks, nil); err != nil {
		return err
	}
	if !o.asJSON(env) {
		return v.WriteText(env.Stdout)
	}
	document := HostDetectDocument{Verdict: v}
	if o.handoff {
		run, err := hostoverhead.Breakdown(ctx, ranks[v.Ranks[v.Deciding].File], hostoverhead.BreakdownOptions{})
		if err != nil {
			return err
		}
		document.Handoff = (&hostoverhead.Comparison{Target: run}).Handoff(v)
	}
	return env.WriteJSON(document)
}
