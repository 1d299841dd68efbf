package perfettomap

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/serve"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/perfetto"
	"github.com/llmstrata/strata/trace/event"
)

// Program returns the program with fresh flags, on the user's own machine.
func Program() app.Program { return program(machine{browser: app.FindBrowser()}) }

// options are the program's own flags.
type options struct {
	pass         int
	layers       layerList
	annotate     string
	minGap       time.Duration
	slice        string
	slicePasses  indexList
	redact       perfetto.Redaction
	open         bool
	openTimeout  time.Duration
	allRanks     bool
	keepMetadata bool
}

// program describes perfetto-map on the given machine.
func program(m machine) app.Program {
	var o options
	return app.Program{
		Name: "perfetto-map",
		Summary: "links passes and layers into the Perfetto UI, draws them into a copy of the trace, and cuts out a slice " +
			"to share.",
		Examples: []string{
			"perfetto-map --fwd-pass 2 --layers 2,3,7                              # time ranges; marks three layers",
			"perfetto-map --trace x.json.gz --annotate x.layers.json.gz --open     # the UI with passes and layers drawn in",
			"perfetto-map --trace x.json.gz --fwd-pass 2 --slice y.json.gz --redact all",
			"perfetto-map rank0.json.gz rank1.json.gz --annotate run.pftrace       # the ranks of a run beside each other",
		},
		Args:    "[FILE|DIR...]",
		Common:  app.AllFlags,
		Formats: []app.Format{app.Text, app.JSON},
		FailOn:  []string{app.CoverageLeft, app.HealthIs},
		Flags: func(fs *flag.FlagSet) {
			fs.IntVar(&o.pass, "fwd-pass", -1, "`N`: forward pass whose layers are listed (default: the steady one)")
			fs.Var(&o.layers, "layers", "`LIST`: layers to mark and link, e.g. 2,3,38, 4-7 or, counted from the end, -1")
			app.OutputFile(fs, &o.annotate, "annotate",
				"`FILE`: write a copy with tracks of passes, layers and gaps; .json.gz or .pftrace")
			fs.BoolVar(&o.allRanks, "all-ranks", false,
				"with --annotate and a directory: put all ranks into one copy")
			fs.DurationVar(&o.minGap, "min-gap", perfetto.DefaultGap,
				"`TIME`: shortest gap that --annotate draws")
			app.OutputFile(fs, &o.slice, "slice", "`FILE`: write a trace of the pass of --fwd-pass, or of its --layers")
			fs.Var(&o.slicePasses, "slice-passes", "`LIST`: passes that --slice keeps instead, e.g. 2-4")
			fs.Func("redact", "`LIST`: what --slice hides: paths, names, shapes, model-files, all", redacted(&o.redact))
			fs.BoolVar(&o.keepMetadata, "keep-metadata", false,
				"keep metadata: host, user and job names, environment, keys")
			fs.BoolVar(&o.open, "open", false, "open the Perfetto UI at the pass or the first of --layers")
			fs.DurationVar(&o.openTimeout, "open-timeout", serve.DefaultTimeout,
				"`TIME`: how long --open waits for the UI to fetch the trace")
		},
		Run: func(ctx context.Context, env *app.Env) error { return run(ctx, env, o, m) },
	}
}

// check refuses flags that do not go together.
func (o *options) check() error {
	switch {
	case o.pass < -1:
		return app.Usagef("--fwd-pass %d: want a pass number, or −1 for the steady one", o.pass)
	case o.slice == "" && o.redact != (perfetto.Redaction{}):
		return app.Usagef("--redact hides parts of a slice: --slice FILE is needed")
	case o.slice == "" && len(o.slicePasses) > 0:
		return app.Usagef("--slice-passes needs --slice FILE")
	case o.minGap <= 0:
		return app.Usagef("--min-gap %v: want a positive time", o.minGap)
	}
	return nil
}

func run(ctx context.Context, env *app.Env, o options, m machine) error {
	if err := o.check(); err != nil {
		return err
	}
	paths := env.Paths()
	if len(paths) > 1 || o.allRanks {
		return runRanks(ctx, env, o, paths)
	}
	if len(paths) == 1 {
		env.Trace = paths[0]
	}
	return runOne(ctx, env, o, m)
}

// runOne prints the map of one trace, and writes copies of it.
func runOne(ctx context.Context, env *app.Env, o options, m machine) error {
	// All lanes: the end of the time axis is the end of the last event of any.
	a, err := env.Analyze(ctx)
	if err != nil {
		return err
	}
	pm, err := perfetto.NewMap(a, o.pass, o.layers.indexList, "")
	if err != nil {
		return err
	}
	if o.annotate == "" && o.slice == "" && !o.open {
		if err := write(env, a, pm); err != nil {
			return err
		}
		return env.JudgeCoverage(*a)
	}
	files, err := newFiles(env, a, o)
	if err != nil {
		return err
	}
	defer files.remove()
	if o.annotate != "" {
		if err := files.annotate(ctx, env, a, o); err != nil {
			return err
		}
	}
	if o.slice != "" {
		if err := files.slice(ctx, env, a, pm, o); err != nil {
			return err
		}
	}
	var s *serve.Server
	if o.open {
		// The links of the output then also name the served trace.
		if s, err = serve.Start(files.served(), m.address); err != nil {
			return err
		}
		defer s.Close()
		if pm, err = perfetto.NewMap(a, o.pass, o.layers.indexList, s.URL()); err != nil {
			return err
		}
	}
	if err := write(env, a, pm); err != nil {
		return err
	}
	if s == nil {
		return env.JudgeCoverage(*a)
	}
	if f, ok := env.Stdout.(interface{ Flush() error }); ok {
		if err := f.Flush(); err != nil { // the tables are read while the UI loads
			return err
		}
	}
	return openUI(ctx, env, s, pm, o, m)
}

// kernels counts the GPU activities that are kernels, without copies and sets.
func kernels(a *layer.Device) int {
	n := 0
	for i := range a.NumKernels() {
		if a.Kernel(i).Event().Kind() == event.Kernel {
			n++
		}
	}
	return n
}

// write prints the map.
func write(env *app.Env, a *layer.Device, pm *perfetto.Map) error {
	if env.Document() {
		return env.WriteJSON(pm)
	}
	b := table.NewWriter(env.Stdout)
	b.Heading(1, "Passes and layers of %s in Perfetto", env.TraceName())
	anchors := ""
	if a.Anchor != "" {
		anchors = fmt.Sprintf(", anchor blocks: %d", a.NumAnchors)
	}
	b.Fact("GPU kernels", "%d%s", kernels(a), anchors)
	b.Fact("Profile", "%s, boundaries: %s", a.Analysis().Profile.Name, a.Analysis().Boundaries)
	for _, e := range a.Evidence {
		b.Item("%s by %s: %s", e.For, e.Kind, e.Detail)
	}
	if err := b.Flush(); err != nil {
		return err
	}
	return pm.WriteText(env.Stdout)
}
