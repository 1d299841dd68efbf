package programs

import (
	"context"
	"encoding/json"
	"flag"
	"math"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

// kernelExportOptions are the program's own flags.
type kernelExportOptions struct {
	app.Reckoning
	stacks, module bool
	csvSafe        bool
}

// KernelExport returns kernel-export with fresh flags.
func KernelExport() app.Program {
	var o kernelExportOptions
	return app.Program{
		Name:    "kernel-export",
		Summary: "writes one row per kernel, copy and memory set: time, stream, pass, layer, operator, floor and launch.",
		Examples: []string{
			"kernel-export                                        # the demo trace as CSV",
			"kernel-export --trace x.json.gz --stacks --module    # with source lines and modules",
			"kernel-export --trace x.json.gz --format ndjson --output kernels.ndjson",
			"kernel-export --trace run.sqlite --device all        # the rows of every GPU",
		},
		Common:  app.AllFlags,
		AllGPUs: true,
		Formats: []app.Format{app.CSV, app.NDJSON},
		FailOn:  []string{app.CoverageLeft, app.HealthIs},
		Flags: func(fs *flag.FlagSet) {
			fs.BoolVar(&o.stacks, "stacks", false, "fill location, the Python source line of each launch (more memory)")
			fs.BoolVar(&o.module, "module", false, "fill module, the nn.Module path of each activity (more memory)")
			o.Register(fs)
			fs.BoolVar(&o.csvSafe, "csv-safe", true, "put ' before CSV names that a spreadsheet would run as a formula")
		},
		Run: func(ctx context.Context, env *app.Env) error { return exportKernels(ctx, env, o) },
	}
}

// exportKernels loads the trace and writes its rows.
func exportKernels(ctx context.Context, env *app.Env, o kernelExportOptions) error {
	model, err := env.LayerOptions()
	if err != nil {
		return err
	}
	t, err := env.Load(ctx, trace.Options{}) // frames too: layers are found by their modules
	if err != nil {
		return err
	}
	a, err := env.AnalyzeAnyway(ctx, t, model)
	if err != nil {
		return err
	}
	device := trace.DeviceID(trace.None) // all of them
	gpus := a.Devices
	if env.Device != app.AllGPUs {
		d, err := env.GPU(a)
		if err != nil {
			return err
		}
		device, gpus = d.ID, []layer.Device{*d}
	} else if len(a.Devices) == 0 {
		return a.NoKernels()
	}
	var write func(*ExportedRow) error
	flush := func() error { return nil }
	if env.Format == app.NDJSON {
		enc := json.NewEncoder(env.Stdout)
		enc.SetEscapeHTML(false) // kernel names are full of < and >
		write = func(r *ExportedRow) error { return enc.Encode(r) }
	} else {
		w := newCSV(env.Stdout, o.csvSafe)
		write, flush = w.write, w.Flush
	}
	describe := newDescriber(o, a)
	if err := describe.costs(ctx, env, device); err != nil {
		return err
	}
	index := 0
	var row ExportedRow
	for e := range t.Events(event.LaneGPU) {
		if device != trace.None && e.Device() != device {
			continue
		}
		if index%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		describe.row(e, index, &row)
		if err := write(&row); err != nil {
			return err
		}
		index++
	}
	if err := flush(); err != nil {
		return err
	}
	return env.JudgeCoverage(gpus...)
}

// checkEvery is how many rows are written between two looks at the context.
const checkEvery = 4096

// describer fills rows; it remembers what names mean.
type describer struct {
	opts      kernelExportOptions
	analysis  *layer.Analysis
	source    func(trace.Event) string
	canonical map[trace.NameID]string
	launches  map[string][2]string // grid and block by recorded configuration
	cost      map[trace.DeviceID]*roofline.Report
	inside    trace.Event // the innermost frame of the last activity that was asked for
	module    string      // the modules around it
}

// newDescriber returns a describer of an analysis' activities.
func newDescriber(o kernelExportOptions, a *layer.Analysis) *describer {
	return &describer{opts: o, analysis: a, source: triage.Sources(a), canonical: map[trace.NameID]string{},
		launches: map[string][2]string{}, cost: map[trace.DeviceID]*roofline.Report{}}
}

// costs counts what operators have to do on one GPU, or on all of them.
func (d *describer) costs(ctx context.Context, env *app.Env, device trace.DeviceID) error {
	opts, err := d.opts.Options()
	if err != nil {
		return err
	}
	for i := range d.analysis.Devices {
		on := d.analysis.Devices[i].ID
		if device != trace.None && on != device {
			continue
		}
		opts.On, opts.Kernels = &on, true
		r, err := roofline.Analyze(ctx, d.analysis, opts)
		if err != nil {
			return err
		}
		d.cost[on] = r
		if r.GPU == nil && d.analysis.Config != nil {
			env.Notef("GPU %d: %s: no floors", on, r.GPUWhy)
		}
	}
	return nil
}

// launch splits a recorded configuration into grid and block.
func (d *describer) launch(config string) (grid, block string) {
	l, ok := d.launches[config]
	if !ok {
		grid, block, _ := strings.Cut(strings.ReplaceAll(config, ",", "x"), "|")
		l = [2]string{grid, block}
		d.launches[config] = l
	}
	return l[0], l[1]
}

// work fills in what the kernel's operator has to do.
func (d *describer) work(k layer.Kernel, r *ExportedRow) {
	r.Tokens = -1
	if r.Pass != trace.None {
		r.Tokens = k.Device().Passes[r.Pass].Tokens
	}
	report := d.cost[k.Device().ID]
	if report == nil {
		return
	}
	c, ok := report.Cost(k)
	if !ok {
		return
	}
	r.M, r.N, r.K, r.Bytes, r.Floor, r.Bound = c.M, c.N, c.K, c.Bytes, c.Floor.Nanoseconds(), c.Bound
	r.FloorBasis = c.Basis.String()
	r.GFLOP, r.PeakShare = roundedCost(c.GFLOP, 1e6), roundedCost(c.PeakShare, 1e4)
}

// roundedCost cuts digits that mean nothing.
func roundedCost(f, to float64) float64 { return math.Round(f*to) / to }

// row fills r with everything about e.
func (d *describer) row(e trace.Event, index int, r *ExportedRow) {
	canonical, ok := d.canonical[e.NameID()]
	if !ok {
		canonical = classify.Canonical(e.Name())
		d.canonical[e.NameID()] = canonical
	}
	k := d.analysis.Of(e.ID())
	*r = ExportedRow{
		Index: index, Start: int64(e.Start()), Duration: e.Duration().Nanoseconds(),
		Device: int64(e.Device()), Stream: int64(e.Stream()), Kind: e.Kind().String(),
		Category: string(k.Category()), Name: e.Name(), Canonical: canonical,
		Correlation: uint64(e.Data().Correlation),
	}
	at := k.Place()
	r.Pass, r.Layer, r.Half, r.Stage = at.Pass, at.Layer, k.Half(), ""
	if at.Pass != trace.None {
		fp := &k.Device().Passes[at.Pass]
		r.Stage = string(fp.Stage)
		if fp.FromEnd && at.Layer != trace.None {
			r.Layer, r.LayerFromEnd = trace.None, -fp.LayerNumber(at.Layer)
		}
	}
	op, part, confidence := k.Operator()
	r.Operator, r.OperatorConfidence = string(op), roundedCost(float64(confidence), 100)
	if confidence > 0 {
		r.Part = part.String()
	}
	r.Grid, r.Block = d.launch(e.Shape())
	d.work(k, r)
	r.Link = e.Link().String()
	if e.IsReplay() {
		r.Graph = 1
	}
	if op := e.Op(); op.Valid() {
		r.CPUOp = op.Name()
	}
	if d.opts.stacks {
		r.Location = d.source(e)
		r.ModelLine = k.ModelLine().String()
	}
	if d.opts.module {
		if f := e.Frame(); f != d.inside { // the kernels of a replay have one launch
			d.inside, d.module = f, layer.ModulePath(e)
		}
		r.Module = d.module
	}
}
