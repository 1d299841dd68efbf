package programs

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/published"
	"github.com/llmstrata/strata/internal/view"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// layerBreakdownOptions are the program's own flags.
type layerBreakdownOptions struct {
	pass, layer, compare int
	mapping              string
	plan, force          bool
}

// LayerBreakdown returns layer-breakdown with fresh flags.
func LayerBreakdown() app.Program {
	var o layerBreakdownOptions
	return app.Program{
		Name:    "layer-breakdown",
		Summary: "lists the kernels of one decoder layer with operators, shapes and sources, and compares two layers.",
		Examples: []string{
			"layer-breakdown --layer 1                                        # of the demo trace",
			"layer-breakdown --trace x.json.gz --config config.json --fwd-pass 2 --layer 3 --compare-layer 4",
			"layer-breakdown --trace decode.json.gz --mapping-input capture.json.gz --layer 5 --format compute-flow",
			"layer-breakdown --plan --config config.json                      # the operators of a model, no trace",
		},
		Common:  app.AllFlags,
		Formats: []app.Format{app.Text, app.ComputeFlow, app.JSON},
		FailOn:  []string{app.CoverageLeft, app.HealthIs},
		Flags: func(fs *flag.FlagSet) {
			fs.IntVar(&o.pass, "fwd-pass", 0, "`NUMBER`: forward pass (default: the steady one)")
			fs.IntVar(&o.layer, "layer", 0,
				"`LAYER`: number of the layer, -1 the last of a pass without a start (default: typical)")
			fs.IntVar(&o.compare, "compare-layer", 0, "`LAYER`: layer of the same pass to compare with")
			fs.StringVar(&o.mapping, "mapping-input", "",
				"`FILE`: eager or graph-capture trace of the model: shapes and modules")
			fs.BoolVar(&o.force, "force-mapping", false,
				"use --mapping-input even if model or GPU seem to differ")
			fs.BoolVar(&o.plan, "plan", false, "print the operators of the model in --config; read no trace")
		},
		Run: func(ctx context.Context, env *app.Env) error { return runLayerBreakdown(ctx, env, &o) },
	}
}

func runLayerBreakdown(ctx context.Context, env *app.Env, o *layerBreakdownOptions) error {
	if o.plan {
		return writePlan(env)
	}
	model, err := env.LayerOptions()
	if err != nil {
		return err
	}
	if o.mapping != "" {
		if model.Mapping, err = mapping(ctx, env, o.mapping, model); err != nil {
			return fmt.Errorf("--mapping-input: %w", err)
		}
	}
	model.ForceMapping = o.force
	t, err := env.Load(ctx, trace.Options{})
	if err != nil {
		return err
	}
	an, err := env.AnalyzeTrace(ctx, t, model)
	if err != nil {
		return err
	}
	a, err := env.GPU(an)
	if err != nil {
		return err
	}
	if err := a.Align(ctx); err != nil {
		return err
	}
	if reason := a.MappingRefused(); reason != "" {
		env.Notef("--mapping-input is not used: %s; --force-mapping uses it all the same", reason)
	}
	pass := a.Steady.Pass
	if env.Given("fwd-pass") || pass == trace.None {
		pass = o.pass
	}
	detail, first := view.NewDetail, typicalLayer
	if env.Boundaries == published.AnchorOpens {
		detail, first = published.Detail, firstLayer
	}
	if !env.Given("layer") {
		o.layer = first(a, pass)
	}
	d, err := detail(a, pass, o.layer)
	if err != nil {
		return err
	}
	if env.Given("compare-layer") {
		other, err := detail(a, pass, o.compare)
		if err != nil {
			return fmt.Errorf("--compare-layer: %w", err)
		}
		d.Diff = view.DiffOf(d, other)
	}
	if err := writeBreakdown(env, an, d); err != nil {
		return err
	}
	return env.JudgeCoverage(*a)
}

// typicalLayer is the layer of median time of the type that takes most of a pass; the first where the window cuts all.
func typicalLayer(a *layer.Device, pass int) int {
	if t, err := view.NewTimeline(a, pass); err == nil {
		for _, l := range t.Typical() {
			return l.Index
		}
	}
	return firstLayer(a, pass)
}

// firstLayer is what the first layer of a pass is called: 0, unless the window cuts it off.
func firstLayer(a *layer.Device, pass int) int {
	if pass < 0 || pass >= len(a.Passes) || a.Passes[pass].NumLayers == 0 {
		return 0
	}
	f := &a.Passes[pass]
	return f.LayerNumber(f.FirstLayer)
}

// mapping analyses the trace of --mapping-input.
func mapping(ctx context.Context, env *app.Env, path string, model layer.Options) (*layer.Analysis, error) {
	// The names of captured kernels are in the args of HIP launch calls.
	t, err := env.LoadFile(ctx, path, trace.Options{Args: []event.Kind{event.Runtime}})
	if err != nil {
		return nil, err
	}
	a, err := layer.Analyze(ctx, t, model)
	if errors.Is(err, layer.ErrContradiction) { // the kernels of another model may still match
		return layer.Analyze(ctx, t, layer.Options{})
	}
	return a, err
}

// writeBreakdown prints the detail of a layer.
func writeBreakdown(env *app.Env, an *layer.Analysis, d *view.Detail) error {
	switch {
	case env.Document():
		return env.WriteJSON(d)
	case env.Format == app.ComputeFlow:
		return d.WriteComputeFlow(env.Stdout, app.Architecture(an))
	}
	return d.WriteText(env.Stdout)
}

// writePlan prints what the model computes, read off its config.
func writePlan(env *app.Env) error {
	if env.Config == "" {
		return fmt.Errorf("--plan: needs the model's config.json: give --config FILE")
	}
	c, err := profile.ResolveConfig(env.Config)
	if err != nil {
		return err
	}
	p := c.Plan()
	switch {
	case env.Document():
		return env.WriteJSON(p)
	case env.Format == app.ComputeFlow:
		return fmt.Errorf("--plan: --format compute-flow needs a trace; use text or json")
	}
	return view.WritePlan(env.Stdout, p)
}
