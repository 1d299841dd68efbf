package kernelexport

import (
	"context"
	"errors"
	"flag"
	"math"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage"
)

// Program returns the program with fresh flags.
func Program() app.Program { return program() }

// options are the program's own flags.
type options struct {
	stacks, module bool
	csvSafe        bool
}

// program describes kernel-export.
func program() app.Program {
	var o options
	return app.Program{
		Name:    "kernel-export",
		Summary: "writes one row for each kernel, memory copy and memory set of a trace: when and where it ran, its pass, layer and category, and what launched it.",
		Examples: []string{
			"kernel-export                                        # the demo trace as CSV",
			"kernel-export --trace x.json.gz --stacks --module    # with source lines and modules",
			"kernel-export --trace x.json.gz --format ndjson --output kernels.ndjson",
			"kernel-export --trace run.sqlite --device all        # the rows of every GPU",
		},
		Common:  app.AllFlags,
		Formats: []string{"csv", "ndjson"},
		Flags: func(fs *flag.FlagSet) {
			fs.BoolVar(&o.stacks, "stacks", false, "fill location: the Python source line that launched each activity (needs more memory)")
			fs.BoolVar(&o.module, "module", false, "fill module: the nn.Module path of each activity, outermost first (needs more memory)")
			fs.BoolVar(&o.csvSafe, "csv-safe", true, "in CSV, replace control characters in names, and put ' in front of one that a spreadsheet would run as a formula; false: names as recorded")
		},
		Run: func(ctx context.Context, env *app.Env) error { return export(ctx, env, o) },
	}
}

// export loads the trace and writes its rows.
func export(ctx context.Context, env *app.Env, o options) error {
	model, err := env.LayerOptions()
	if err != nil {
		return err
	}
	t, err := env.Load(ctx, trace.Options{}) // frames too: layers are found by their modules
	if err != nil {
		return err
	}
	a, err := env.AnalyzeTrace(ctx, t, model)
	if errors.Is(err, layer.ErrNoEvidence) || errors.Is(err, layer.ErrContradiction) {
		env.Notef("%v; passes and layers are those that the trace shows by itself", err) // the rows are worth having in any case
		a, err = env.AnalyzeTrace(ctx, t, layer.Options{})
	}
	if err != nil {
		return err
	}
	device := trace.NoDevice // all of them
	if env.Device != everyGPU {
		d, err := env.GPU(a)
		if err != nil {
			return err
		}
		device = d.ID
	} else if len(a.Devices) == 0 {
		return layer.ErrNoKernels
	}
	var w rowWriter = newCSV(env.Stdout, o.csvSafe)
	if env.Format == "ndjson" {
		w = newNDJSON(env.Stdout)
	}
	describe := newDescriber(t, o, a)
	index := 0
	var row Row
	for e := range t.Events(trace.LaneGPU) {
		if device != trace.NoDevice && e.Device() != device {
			continue
		}
		if index%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		describe.row(e, index, &row)
		if err := w.write(&row); err != nil {
			return err
		}
		index++
	}
	return w.flush()
}

// checkEvery is how many rows are written between two looks at the context.
const checkEvery = 4096

// everyGPU is the value of --device that writes the activities of all GPUs.
const everyGPU = "all"

// describer fills rows; it remembers what names mean.
type describer struct {
	opts      options
	analysis  *layer.Analysis
	sources   *triage.Sources
	canonical map[trace.NameID]string
}

// newDescriber returns a describer of t's activities.
func newDescriber(t *trace.Trace, o options, a *layer.Analysis) *describer {
	return &describer{opts: o, analysis: a, sources: triage.NewSources(t), canonical: map[trace.NameID]string{}}
}

// row fills r with everything about e.
func (d *describer) row(e trace.Event, index int, r *Row) {
	canonical, ok := d.canonical[e.NameID()]
	if !ok {
		canonical = classify.Canonical(e.Name())
		d.canonical[e.NameID()] = canonical
	}
	k := d.analysis.Of(e.ID())
	*r = Row{
		Index: index, Start: int64(e.Start()), Duration: e.Duration().Nanoseconds(),
		Device: int64(e.Device()), Stream: int64(e.Stream()), Kind: e.Kind().String(),
		Category: string(k.Category()), Name: e.Name(), Canonical: canonical,
		Correlation: uint64(e.Correlation()),
	}
	at := k.Place()
	r.Pass, r.Layer, r.Half, r.Stage = at.Pass, at.Layer, k.Half(), ""
	if at.Pass != layer.None {
		r.Stage = string(k.Device().Passes[at.Pass].Stage)
	}
	op, part, confidence := k.Operator()
	r.Operator, r.OperatorConfidence = string(op), math.Round(100*float64(confidence))/100
	if confidence > 0 {
		r.Part = string(part)
	}
	if e.IsReplay() {
		r.Graph = 1
	}
	if op := e.Op(); op.Valid() {
		r.CPUOp = op.Name()
	}
	if d.opts.stacks {
		r.Location = d.sources.Location(e)
		r.ModelLine = k.ModelLine().String()
	}
	if d.opts.module {
		r.Module = layer.ModulePath(e)
	}
}
