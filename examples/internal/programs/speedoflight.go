package programs

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/gate"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/fleet"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// speedOfLightOptions are the program's own flags.
type speedOfLightOptions struct {
	app.Reckoning
	device string
	page   app.Page
	ranks  bool
}

// SpeedOfLight returns speed-of-light with fresh flags.
func SpeedOfLight() app.Program {
	var o speedOfLightOptions
	return app.Program{
		Name:    "speed-of-light",
		Summary: "compares each forward pass with the GPU's roofline and shows where the rest of the time goes.",
		Examples: []string{
			"speed-of-light --trace x.json.gz --config config.json",
			"speed-of-light --trace x.json.gz --config config.json --tokens 32 --kv-len 4096   # where the trace lacks them",
			"speed-of-light --trace run --all-ranks                                           # separates transfer from waiting",
			"speed-of-light --config config.json --device H200 --tokens 32 --kv-len 4096 --tp 4   # no trace: a plan",
		},
		Common:  app.TraceFlag | app.ModelFlags | app.FormatFlag | app.OutputFlag | app.ProgressFlag | app.MemoryFlag,
		Formats: []app.Format{app.Text, app.Markdown, app.JSON},
		FailOn:  []string{app.Floor, app.HealthIs},
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&o.device, "device", app.Busiest,
				"`GPU`: its number, or a model to compute for, e.g. H100")
			o.Register(fs)
			fs.Func("device-name", "`NAME`: the same as --gpu", func(name string) error { return fs.Set("gpu", name) })
			fs.BoolVar(&o.ranks, "all-ranks", false, "also read the other ranks, to separate transfer from waiting")
			o.page.Flags(fs)
		},
		Run: func(ctx context.Context, env *app.Env) error { return runSpeedOfLight(ctx, env, &o) },
	}
}

func runSpeedOfLight(ctx context.Context, env *app.Env, o *speedOfLightOptions) error {
	opts, err := o.roofline()
	if err != nil {
		return err
	}
	r, a, err := floors(ctx, env, o, opts)
	if err != nil {
		return err
	}
	err = env.WriteHTML(&o.page, func(w io.Writer) error {
		var d *layer.Device
		if a != nil && len(a.Devices) > 0 {
			d = &a.Devices[0]
		}
		return strata.WriteLightHTML(ctx, w, r, d, env.TraceName())
	})
	if err != nil {
		return err
	}
	if env.Document() {
		err = env.WriteJSON(r)
	} else {
		err = r.WriteText(env.Stdout)
	}
	if err != nil {
		return err
	}
	return env.Judge(func(c app.Condition) gate.Check { return c.AboveFloor(r) })
}

// floors plans where no trace is named and the tokens of a pass are; there is no analysis then.
func floors(ctx context.Context, env *app.Env, o *speedOfLightOptions, opts roofline.Options) (*roofline.Report,
	*layer.Analysis, error) {
	if env.Demo() && env.Config != "" && o.Tokens > 0 {
		c, err := profile.ResolveConfig(env.Config)
		if err != nil {
			return nil, nil, err
		}
		if opts.Device == "" {
			return nil, nil, app.Usagef("--device: a plan needs the name of a GPU, such as --device H100")
		}
		r, err := roofline.Plan(ctx, c, opts)
		return r, nil, err
	}
	model, err := env.LayerOptions()
	if err != nil {
		return nil, nil, err
	}
	env.ReadsRanks = o.ranks
	t, err := env.Load(ctx, trace.Options{})
	if err != nil {
		return nil, nil, err
	}
	a, err := env.AnalyzeTrace(ctx, t, model)
	if err != nil {
		return nil, nil, err
	}
	if len(a.Devices) == 0 && a.Config == nil {
		return nil, nil, fmt.Errorf("%s: %w", env.TraceName(), a.NoKernels())
	}
	var others []fleet.Rank
	if o.ranks {
		if others, err = otherDevices(ctx, env, a, model); err != nil {
			return nil, nil, err
		}
	}
	opts.Assume, opts.Waits = true, fleet.Waits([]*layer.Analysis{a}, others)[0]
	r, err := roofline.Analyze(ctx, a, opts)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", env.TraceName(), err)
	}
	return r, a, nil
}

// otherDevices are digests of the recordings of the other ranks beside that of a, of its stage. Each trace is
// released before the next one is read.
func otherDevices(ctx context.Context, env *app.Env, a *layer.Analysis, model layer.Options) ([]fleet.Rank, error) {
	path := a.Trace().Meta().Path
	if meta := a.Trace().Meta(); path == "" || meta.Shown() != path { // what an archive was unpacked to is gone
		return nil, app.Usagef("--all-ranks: want --trace with a file of the run, or its directory")
	}
	root := env.Trace
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		root = filepath.Dir(path)
	}
	files, err := trace.ListFiles(root, strata.Formats()...)
	if err != nil {
		return nil, err
	}
	var own trace.File
	var mates []trace.File
	for _, r := range trace.Recordings(root, files) {
		if at := slices.IndexFunc(r.Files, func(f trace.File) bool { return f.Path == filepath.Clean(path) }); at >= 0 {
			own, mates = r.Files[at], r.Files
		}
	}
	var out []fleet.Rank
	for _, f := range mates {
		if f.Rank == own.Rank || f.Stage != own.Stage {
			continue
		}
		t, err := env.LoadFile(ctx, f.Path, trace.Options{})
		if err != nil {
			return nil, err
		}
		other, err := env.AnalyzeTrace(ctx, t, model)
		if err != nil {
			return nil, err
		}
		out = append(out, fleet.Recorded(other)...)
	}
	if len(out) == 0 {
		env.Notef("--all-ranks: no other rank lies beside %s", path)
	}
	return out, nil
}

// roofline turns the flags into options.
func (o *speedOfLightOptions) roofline() (roofline.Options, error) {
	out, err := o.Options()
	if n, bad := strconv.ParseInt(o.device, 10, 32); bad == nil && n >= 0 {
		id := trace.DeviceID(n)
		out.On = &id
	} else if o.device != app.Busiest {
		out.Device = o.device
	}
	return out, err
}
