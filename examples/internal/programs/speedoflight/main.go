package speedoflight

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/choose"
	"github.com/llmstrata/strata/internal/gate"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/profile/hardware"
	"github.com/llmstrata/strata/trace"
)

// Program returns the program with fresh flags.
func Program() app.Program { return program() }

// options are the program's own flags.
type options struct {
	device, devices, cache string
	html                   string
	tokens, batch, kv      int64
	prefill, ranks         bool
	tp, ep                 int
}

// program describes speed-of-light.
func program() app.Program {
	var o options
	return app.Program{
		Name:    "speed-of-light",
		Summary: "says what each forward pass should take: weights, cache and arithmetic of its operators against what the GPU can do, and where the rest of the time goes.",
		Examples: []string{
			"speed-of-light --trace x.json.gz --config config.json",
			"speed-of-light --trace x.json.gz --config config.json --tokens 32 --kv-len 4096   # where the trace does not tell them",
			"speed-of-light --trace run --all-ranks                                           # tells what collectives wait",
			"speed-of-light --config config.json --device H200 --tokens 32 --kv-len 4096 --tp 4   # no trace: a plan",
		},
		Common:  app.TraceFlag | app.ModelFlags | app.FormatFlag | app.OutputFlag | app.ProgressFlag | app.MemoryFlag,
		Formats: []string{"text", "markdown", "json"},
		FailOn:  []string{app.Floor, app.HealthIs},
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&o.device, "device", app.Busiest, "which GPU of the trace, its `NUMBER`, or the NAME of one to reckon with, such as H100 or MI300X; "+app.Busiest+": the one with most GPU time")
			fs.StringVar(&o.devices, "device-file", "", "`FILE` with further GPUs, in the form of profile/hardware/gpus.tsv")
			fs.StringVar(&o.cache, "kv-dtype", "", "`TYPE` of the key-value cache, such as fp8; default: that of the activations")
			fs.Int64Var(&o.tokens, "tokens", 0, "`NUMBER` of tokens of a pass, where the trace does not tell")
			fs.Int64Var(&o.batch, "batch", 0, "`NUMBER` of requests of a pass; default: as many as tokens, or 1 with --prefill")
			fs.Int64Var(&o.kv, "kv-len", 0, "`NUMBER` of tokens that a request's attention sees, where the trace does not tell")
			fs.BoolVar(&o.prefill, "prefill", false, "the tokens are prefilled, not decoded")
			fs.BoolVar(&o.ranks, "all-ranks", false, "read the other ranks of the run beside --trace, too: they divide a collective into transfer and waiting")
			app.HTMLFile(fs, &o.html)
			fs.IntVar(&o.tp, "tp", 0, "tensor-parallel `SIZE`; default: the trace's, else 1")
			fs.IntVar(&o.ep, "ep", 0, "expert-parallel `SIZE`; default: 1")
		},
		Run: func(ctx context.Context, env *app.Env) error { return run(ctx, env, &o) },
	}
}

func run(ctx context.Context, env *app.Env, o *options) error {
	opts, err := o.roofline()
	if err != nil {
		return err
	}
	r, a, err := report(ctx, env, o, opts)
	if err != nil {
		return err
	}
	err = env.WriteHTML(o.html, func(w io.Writer) error {
		var d *layer.Device
		if a != nil && len(a.Devices) > 0 {
			d = &a.Devices[0]
		}
		return strata.WriteLightHTML(ctx, w, r, d, env.TraceName())
	})
	if err != nil {
		return err
	}
	if err := write(env, r); err != nil {
		return err
	}
	return env.Judge(func(c app.Condition) gate.Check {
		var passes []app.PassFloor
		for _, p := range r.Typical() {
			passes = append(passes, app.PassFloor{Stage: string(p.Stage), Wall: p.Wall, Floor: p.Floor})
		}
		return c.AboveFloor(passes)
	})
}

// write prints the report.
func write(env *app.Env, r *roofline.Report) error {
	switch env.Format {
	case "json":
		return env.WriteJSON(r)
	case "markdown":
		return r.WriteMarkdown(env.Stdout)
	}
	return r.WriteText(env.Stdout)
}

// report plans where no trace is named and the tokens of a pass are; there is no analysis then.
func report(ctx context.Context, env *app.Env, o *options, opts roofline.Options) (*roofline.Report, *layer.Analysis, error) {
	if env.Demo() && env.Config != "" && o.tokens > 0 {
		c, err := profile.LoadConfig(env.Config)
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
	t, err := env.Load(ctx, trace.Options{})
	if err != nil {
		return nil, nil, err
	}
	a, err := env.AnalyzeTrace(ctx, t, model)
	if err != nil {
		return nil, nil, err
	}
	if o.ranks {
		if opts.Ranks, err = others(ctx, env, a, model); err != nil {
			return nil, nil, err
		}
	}
	r, err := roofline.Analyze(ctx, a, opts)
	if errors.Is(err, roofline.ErrNoConfig) {
		err = fmt.Errorf("%w (--config FILE)", err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", env.TraceName(), err)
	}
	return r, a, nil
}

// others analyses the recordings of the other ranks beside that of a, of its stage.
func others(ctx context.Context, env *app.Env, a *layer.Analysis, model layer.Options) ([]*layer.Analysis, error) {
	path := a.Trace().Meta().Path
	if path == "" {
		return nil, app.Usagef("--all-ranks: want --trace with a file of the run, or its directory")
	}
	files, err := trace.ListFiles(filepath.Dir(path), strata.Formats()...)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(files, func(f trace.File) bool { return filepath.Base(f.Path) == filepath.Base(path) })
	var out []*layer.Analysis
	for _, f := range choose.Files(filepath.Dir(path), files, true) {
		if at < 0 || f.Rank == files[at].Rank || f.Stage != files[at].Stage {
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
		out = append(out, other)
	}
	if len(out) == 0 {
		env.Notef("--all-ranks: no other rank lies beside %s", path)
	}
	return out, nil
}

// roofline turns the flags into options.
func (o *options) roofline() (roofline.Options, error) {
	out := roofline.Options{CacheDType: o.cache, Seen: o.kv, TP: o.tp, EP: o.ep}
	if n, err := strconv.ParseInt(o.device, 10, 32); err == nil && n >= 0 {
		id := trace.DeviceID(n)
		out.On = &id
	} else if o.device != app.Busiest {
		out.Device = o.device
	}
	for name, n := range map[string]int64{"tokens": o.tokens, "batch": o.batch, "kv-len": o.kv, "tp": int64(o.tp), "ep": int64(o.ep)} {
		const most = 1 << 30
		if n < 0 || n > most {
			return out, app.Usagef("--%s %d: want a number from 0 to %d", name, n, most)
		}
	}
	if o.devices != "" {
		f, err := os.Open(o.devices)
		if err != nil {
			return out, err
		}
		defer f.Close()
		if out.GPUs, err = hardware.Load(f); err != nil {
			return out, fmt.Errorf("%s: %w", o.devices, err)
		}
	}
	if o.tokens == 0 {
		return out, nil
	}
	load := o.load()
	out.Load = &load
	return out, nil
}

// load is the pass that the flags describe.
func (o *options) load() roofline.Load {
	if o.prefill {
		requests := max(o.batch, 1)
		each := max(o.tokens/requests, 1)
		return roofline.Prefill(requests, each, max(o.kv-each, 0))
	}
	requests := o.batch
	if requests == 0 {
		requests = o.tokens
	}
	l := roofline.Decode(requests, o.kv)
	l.Tokens = o.tokens
	return l
}
