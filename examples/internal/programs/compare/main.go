package compare

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/atomicfile"
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/gate"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/profile"
)

// The values of --normalize.
const (
	asMeasured = "none"
	perToken   = "tokens"
)

// options are the program's own flags.
type options struct {
	baselines string // the directory of named ones
	named     bool   // --save is a name

	a, b              app.List
	failOn, allow     app.List
	aLabel, bLabel    string
	aConfig, bConfig  string
	normalize         string
	save, baseline    string
	replace           bool
	page              app.Page
	noise             string
	allowInconclusive bool
}

// Program returns compare with fresh flags.
func Program() app.Program {
	var o options
	return app.Program{
		Name: "compare",
		Summary: "compares two runs of a model by operator, also across versions, frameworks and GPUs. --fail-on makes it " +
			"a gate.",
		Args: "[A B | B]",
		Examples: []string{
			"compare before.json.gz after.json.gz                                         # A is the older run",
			"compare --a before.json.gz --b after.json.gz --a-config config.json",
			"compare --a run1.json.gz --a run2.json.gz --b run3.json.gz --b run4.json.gz   # several runs show how much runs " +
				"differ",
			"compare --b new.json.gz --save new.side.json                                  # keep a side, a few kB",
			"compare --b run.sqlite --device 0 --save gpu0.side.json                       # compare two GPUs of one trace: " +
				"save GPU 0, then",
			"compare --baseline gpu0.side.json --b run.sqlite --device 1",
			"compare --baseline old.side.json --b new.json.gz --fail-on 3% --fail-on operator:attention=5%",
		},
		RanksGPUs: true,
		Exits:     "3 a gate failed, 4 undecided or not comparable",
		Common:    app.DeviceFlag | app.FormatFlag | app.OutputFlag | app.ProgressFlag | app.MemoryFlag,
		Formats: []app.Format{app.Text, app.Markdown, app.JSON, app.CSV, app.HTML, app.JUnit, app.SARIF, app.Benchfmt,
			app.Prometheus},
		Flags: func(fs *flag.FlagSet) {
			fs.Var(&o.a, "a", "`FILE|DIR`: trace of side A; repeatable for several runs")
			fs.Var(&o.b, "b", "`FILE|DIR`: trace of side B; repeatable")
			fs.StringVar(&o.aLabel, "a-label", "", "`NAME`: label of side A (default: the file)")
			fs.StringVar(&o.bLabel, "b-label", "", "`NAME`: label of side B (default: the file)")
			fs.StringVar(&o.aConfig, "a-config", "", "`FILE`: config.json of side A's model")
			fs.StringVar(&o.bConfig, "b-config", "", "`FILE`: config.json of side B's model (default: side A's)")
			fs.StringVar(&o.normalize, "normalize", asMeasured,
				"`none|tokens`: tokens compares time per token if no passes have equal sizes")
			fs.Var(&o.failOn, "fail-on", "`GATE`: 3% or 'regression 3%' (step), work=3%, waiting=3%, host=3%, operator:attention=5%; repeatable; exit 3: failed, 4: undecided")
			fs.BoolVar(&o.allowInconclusive, "allow-inconclusive", false, "exit with 0 if a gate is undecided")
			fs.Var(&o.allow, "allow", "`DOUBT`: judge despite serving, clock, model, bimodal or work; repeatable")
			o.page.Flags(fs)
			app.OutputFile(fs, &o.save, "save", "`NAME`: save side B under this name, or in a file")
			fs.StringVar(&o.baseline, "baseline", "", "`NAME`: compare with what --save wrote")
			fs.StringVar(&o.baselines, "baselines", "",
				"`DIR`: folder of named baselines (default: $STRATA_BASELINES, or .strata)")
			fs.BoolVar(&o.replace, "replace", false, "let --save overwrite the file of --baseline")
			app.MayReplace(fs, "save", "baseline", "replace")
			fs.StringVar(&o.noise, "noise", "", "`PERCENT`: by how much equal runs differ (default: 0.75; 2 across GPUs)")
		},
		Run: func(ctx context.Context, env *app.Env) error { return run(ctx, env, &o) },
	}
}

// name takes the traces that are named without a flag: both sides, or B where a flag names A.
func (o *options) name(args []string) error {
	switch {
	case len(args) == 0:
	case len(o.b) > 0:
		return app.Usagef("side B is named twice: --b %s and %s", o.b[0], args[len(args)-1])
	case len(args) == 1:
		o.b = args
	case len(args) > 2 || len(o.a) > 0 || o.baseline != "":
		return app.Usagef("%d traces are named beside the flags: one a side, or --a and --b for several runs of one",
			len(args))
	default:
		o.a, o.b = args[:1], args[1:]
	}
	return nil
}

func run(ctx context.Context, env *app.Env, o *options) error {
	opts, err := o.compare()
	if err != nil {
		return err
	}
	if err := o.name(env.Args); err != nil {
		return err
	}
	if len(o.b) == 0 || len(o.a) == 0 && o.baseline == "" && o.save == "" {
		return app.Usagef("name a trace for each side, A and B (--a and --b for several runs of one), or --baseline FILE " +
			"for side A")
	}
	file := o.baselineFile(o.save)
	o.named = file != o.save
	o.save, o.baseline = file, o.baselineFile(o.baseline)
	b, drawnB, err := o.side(ctx, env, o.b, o.bLabel, cmp.Or(o.bConfig, o.aConfig))
	if err != nil {
		return err
	}
	if o.save != "" && len(o.a) == 0 && o.baseline == "" {
		if err := o.saveSide(env, b); err != nil {
			return err
		}
		env.Notef("side saved to %s", o.save)
		return nil
	}
	var a *compare.Side
	var drawnA *layer.Device
	if o.baseline != "" {
		a, err = load(o.baseline)
	} else {
		a, drawnA, err = o.side(ctx, env, o.a, o.aLabel, o.aConfig)
	}
	if err != nil {
		return err
	}
	if err := o.keep(env, b); err != nil {
		return err
	}
	r, err := compare.Compare(ctx, a, b, opts)
	switch {
	case errors.Is(err, compare.ErrNoMatch):
		return app.Usagef("%w", err)
	case err != nil:
		return err
	}
	page := func(w io.Writer) error { return strata.WriteCompareHTML(ctx, o.page.To(w), r, drawnA, drawnB) }
	if env.Trace == "" {
		env.Trace = o.b[0] // after which a page without a name is called
	}
	if err := env.WriteHTML(&o.page, page); err != nil {
		return err
	}
	checks := suite(r, o.allowInconclusive)
	if err := write(env, r, checks, page); err != nil {
		return err
	}
	return judged(r, checks)
}

// judged is the error with which the program ends: of the gates, and without any where the sides do not run the same
// work.
func judged(r *compare.Report, checks *gate.Suite) error {
	switch {
	case r.Verdict == compare.NotComparable:
		return app.Exitf(gate.ExitInconclusive, "%s", r.Text)
	case len(r.Gates) == 0:
		return nil
	}
	return checks.Err()
}

// compare turns the flags into options.
func (o *options) compare() (compare.Options, error) {
	var out compare.Options
	for _, s := range o.failOn {
		g, err := compare.ParseGate(s)
		if err != nil {
			return out, app.Usagef("--fail-on: %w", err)
		}
		out.Gates = append(out.Gates, g)
	}
	for _, s := range o.allow {
		var code compare.DoubtCode
		if err := code.UnmarshalText([]byte(s)); err != nil {
			return out, app.Usagef("--allow: %w: want one of %v", err, compare.DoubtCodes())
		}
		out.Allow = append(out.Allow, code)
	}
	switch o.normalize {
	case asMeasured:
	case perToken:
		out.PerToken = true
	default:
		return out, app.Usagef("--normalize %q: want none or tokens", o.normalize)
	}
	if err := o.readNoise(&out); err != nil {
		return out, err
	}
	return out, nil
}

// side measures the runs of one side. The GPU is that of its first run, for the page; nil where none is written.
func (o *options) side(ctx context.Context, env *app.Env, paths []string, label, config string) (*compare.Side,
	*layer.Device, error) {
	s := &compare.Side{Label: label}
	var drawn *layer.Device
	var c *profile.Config
	if config != "" {
		var err error
		if c, err = profile.ResolveConfig(config); err != nil {
			return nil, nil, err
		}
	}
	for _, path := range paths {
		rec, err := env.Open(ctx, path, strata.Options{AllRanks: true})
		if err != nil {
			return nil, nil, err
		}
		var files []compare.Run
		for i := range rec.Parts {
			runs, a, err := measured(ctx, env, &rec.Parts[i], c)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", rec.Parts[i].Shown(), err)
			}
			if drawn == nil && (o.page.Wanted() || env.Format == app.HTML) {
				drawn, _ = a.Device(nil) // a trace without GPU work has no timeline
			}
			files = append(files, runs...)
		}
		s.Runs = append(s.Runs, compare.NewRun(files))
	}
	return s, drawn, nil
}

// measured reduces one trace to its GPUs.
func measured(ctx context.Context, env *app.Env, part *strata.Part, config *profile.Config) ([]compare.Run,
	*layer.Analysis, error) {
	a, err := layer.Analyze(ctx, part.Trace, layer.Options{Config: config})
	if err != nil {
		return nil, nil, err
	}
	if a, err = env.OneGPU(a); err != nil {
		return nil, nil, err
	}
	var runs []compare.Run
	var host *compare.Host
	var unseen []string
	var errs [3]error // of the first part that fails, whichever ends first
	var parts sync.WaitGroup
	parts.Go(func() { runs, errs[0] = compare.MeasureGPUs(ctx, a) })
	parts.Go(func() {
		host, errs[1] = hostoverhead.Series(ctx, a)
		if errors.Is(errs[1], layer.ErrNoKernels) {
			errs[1] = nil
		}
	})
	parts.Go(func() { unseen, errs[2] = serving(ctx, part.Path, a) })
	parts.Wait()
	if err := cmp.Or(errs[:]...); err != nil {
		return nil, nil, err
	}
	for i := range runs {
		runs[i].Host, runs[i].Serving = host, unseen
	}
	return runs, a, nil
}

// serving says in what a trace does not show what its server does, by the server_args.json beside it; nothing without
// one.
func serving(ctx context.Context, path string, a *layer.Analysis) ([]string, error) {
	file := filepath.Join(filepath.Dir(path), framework.ServerArgsFile)
	if _, err := os.Stat(file); err != nil {
		return nil, nil // most traces have none
	}
	args, err := profile.LoadServerArgs(file)
	if err != nil {
		return nil, err
	}
	if args.Graphs == nil && args.Compile == nil {
		return nil, nil
	}
	v, err := hostoverhead.Analyze(ctx, []*layer.Analysis{a}, hostoverhead.Options{Server: args})
	if errors.Is(err, layer.ErrNoKernels) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var out []string
	for _, s := range v.Serving {
		out = append(out, s.Evidence)
	}
	return out, nil
}

// keep writes side B where --save asks for it, after all inputs are read.
func (o *options) keep(env *app.Env, b *compare.Side) error {
	if o.save == "" {
		return nil
	}
	if o.replace && o.baseline != "" {
		atomicfile.Release(o.baseline)
	}
	return o.saveSide(env, b)
}

// baselineFile is where a baseline is: a value with a slash or a file's ending is a file, another one is a name in
// the directory of baselines.
func (o *options) baselineFile(value string) string {
	ending := strings.TrimPrefix(filepath.Ext(value), ".")
	if value == "" || strings.ContainsAny(value, `/\`) || ending != "" && !isDigit(ending[0]) { // v0.12 is a name
		return value
	}
	return filepath.Join(cmp.Or(o.baselines, os.Getenv("STRATA_BASELINES"), ".strata"), value+".side.json")
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// saveSide writes a side with its origin. An existing file is replaced completely or not at all. A directory of named
// baselines is made, with a note.
func (o *options) saveSide(env *app.Env, s *compare.Side) error {
	if !slices.ContainsFunc(s.Runs, func(r compare.Run) bool { return len(r.Passes) > 0 }) {
		return fmt.Errorf("%s is not written: no forward pass was found in %s, so nothing could be compared with it",
			o.save, strings.Join(o.b, ", "))
	}
	out := *s
	out.Commit, out.Tool = commit(), tool()
	for _, path := range o.b { // of the newest recording, not of today: the same runs give the same file
		if info, err := os.Stat(path); err == nil {
			out.Date = max(out.Date, info.ModTime().UTC().Format(time.DateOnly))
		}
	}
	if dir := filepath.Dir(o.save); dir != "." {
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) && o.named {
			if err := os.MkdirAll(dir, 0o777); err != nil {
				return err
			}
			env.Notef("created %s for named baselines", dir)
		}
	}
	return atomicfile.Write(o.save, 0o666, out.Write)
}

// tool is the version of this program.
func tool() string {
	var b strings.Builder
	if app.WriteVersion(&b, "strata") != nil { // a Builder has no errors
		return ""
	}
	return strings.TrimSpace(b.String())
}

// commit is the one that a build server or the repository of the working directory names, "" where none does.
func commit() string {
	for _, name := range []string{"GITHUB_SHA", "CI_COMMIT_SHA"} {
		if v := os.Getenv(name); v != "" {
			return v
		}
	}
	head, err := atomicfile.ReadFile(filepath.Join(".git", "HEAD"))
	if err != nil {
		return ""
	}
	text := strings.TrimSpace(string(head))
	if ref, ok := strings.CutPrefix(text, "ref: "); ok {
		if head, err = atomicfile.ReadFile(filepath.Join(".git", filepath.FromSlash(ref))); err != nil {
			return ""
		}
		text = strings.TrimSpace(string(head))
	}
	const longest = 64 // a SHA-256
	return text[:min(len(text), longest)]
}

func load(path string) (*compare.Side, error) {
	f, err := atomicfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := compare.ReadSide(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// readNoise reads --noise.
func (o *options) readNoise(out *compare.Options) error {
	if o.noise == "" {
		return nil
	}
	const most = 50 // per cent
	v, err := strconv.ParseFloat(strings.TrimSuffix(o.noise, "%"), 64)
	if err != nil || !(v > 0 && v <= most) {
		return app.Usagef("--noise %q: want a percentage above 0, and %d at most", o.noise, most)
	}
	out.Floor = v / 100
	return nil
}
