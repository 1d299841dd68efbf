package programs

import (
	"context"
	"flag"
	"io"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/view"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// layerTimelineOptions are the program's own flags.
type layerTimelineOptions struct {
	pass        int
	allPasses   bool
	gpu, mode   string
	tp, ep      int
	page        app.Page
	parallelism profile.Parallelism
}

// LayerTimeline returns layer-timeline with fresh flags.
func LayerTimeline() app.Program {
	var o layerTimelineOptions
	return app.Program{
		Name:    "layer-timeline",
		Summary: "lists the forward passes and decoder layers of a trace with their cost, and each type of layer.",
		Examples: []string{
			"layer-timeline                                                   # the demo trace",
			"layer-timeline --trace x.json.gz --config config.json --fwd-pass 2",
			"layer-timeline --trace x.json.gz --boundaries anchor-opens       # the numbers of layer_timeline_analyzer.py",
		},
		Common:  app.AllFlags,
		Formats: []app.Format{app.Text, app.JSON},
		FailOn:  []string{app.CoverageLeft, app.HealthIs},
		Flags: func(fs *flag.FlagSet) {
			fs.IntVar(&o.pass, "fwd-pass", 0, "`NUMBER`: forward pass to print (default: the steady one)")
			fs.BoolVar(&o.allPasses, "show-all-passes", false,
				"print every row of the table of passes (default: the first 32)")
			fs.StringVar(&o.gpu, "gpu-type", "", "`NAME`: GPU in the header (default: the trace's)")
			fs.IntVar(&o.tp, "tp", 0, "`SIZE`: tensor-parallel size in the header (default: the trace's)")
			fs.IntVar(&o.ep, "ep", 0, "`SIZE`: expert-parallel size in the header (default: the trace's)")
			fs.StringVar(&o.mode, "serving-mode", "", "`TEXT`: serving mode in the header, e.g. decode")
			o.page.Flags(fs)
		},
		Run: func(ctx context.Context, env *app.Env) error { return runLayerTimeline(ctx, env, &o) },
	}
}

// LayerTimelineDocument is the JSON output: the timeline and what the header says.
type LayerTimelineDocument struct {
	*view.Timeline
	Architecture *profile.ArchSummary `json:"architecture,omitempty"` // the model, by its config
	TP           profile.Size         `json:"tp"`                     // tensor-parallel size
	EP           profile.Size         `json:"ep"`                     // expert-parallel size
	GPUType      string               `json:"gpu_type,omitempty"`     // --gpu-type as given
	ServingMode  string               `json:"serving_mode,omitempty"` // --serving-mode as given
}

func runLayerTimeline(ctx context.Context, env *app.Env, o *layerTimelineOptions) error {
	a, err := env.Analyze(ctx)
	if err != nil {
		return err
	}
	par, err := env.Parallelism(a.Analysis(), "", o.tp, o.ep)
	if err != nil {
		return err
	}
	o.parallelism = par
	pass := trace.None
	if env.Given("fwd-pass") {
		pass = o.pass
	}
	t, err := view.NewTimeline(a, pass)
	if err != nil {
		return err
	}
	t.Trace = env.TraceName()
	if err := env.WriteHTML(&o.page, func(w io.Writer) error {
		return strata.WriteLayersHTML(ctx, w, a, pass, env.TraceName())
	}); err != nil {
		return err
	}
	arch := app.Architecture(a.Analysis())
	if env.Document() {
		err = env.WriteJSON(LayerTimelineDocument{t, arch, par.TP, par.EP, o.gpu, o.mode})
	} else {
		err = t.WriteText(env.Stdout, view.TextOptions{Arch: arch, Facts: o.facts(), MaxPasses: o.maxPasses()})
	}
	if err != nil {
		return err
	}
	return env.JudgeCoverage(*a)
}

// facts are the header's values about the deployment.
func (o *layerTimelineOptions) facts() [][2]string {
	return [][2]string{{"Parallel sizes", o.parallelism.String()}, {"GPU type", o.gpu}, {"Serving mode", o.mode}}
}

// maxPasses is how many rows the table of passes may have; a terminal shows about 32 at once.
func (o *layerTimelineOptions) maxPasses() int {
	if o.allPasses {
		return 0
	}
	return 32
}
