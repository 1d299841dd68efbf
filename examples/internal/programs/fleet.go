package programs

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/gate"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/fleet"
	"github.com/llmstrata/strata/trace"
)

// ChooseFleet picks the program by its first argument, and returns what is left.
func ChooseFleet(args []string) (app.Program, []string) {
	return app.Choose(args, fleetOf, fleetCommands)
}

var fleetCommands = map[string]func() app.Program{"reduce": reduce, "trend": trend}

// FleetCommands are the sub-commands of fleet.
func FleetCommands() []string { return slices.Sorted(maps.Keys(fleetCommands)) }

// fleetOptions are the flags of both programs.
type fleetOptions struct {
	recordings         *string
	shard              string
	keep, commit, date string
	strict, full       bool
	page               app.Page
}

func (o *fleetOptions) flags(fs *flag.FlagSet) {
	o.recordings = app.Recordings(fs, app.AllRecordings)
	fs.StringVar(&o.shard, "shard", "", "`I/N`: read every N-th file from number I on, counted from 0")
	fs.StringVar(&o.keep, "keep", "", "`DIR`: cache digests in DIR; skip files whose digest is up to date")
	fs.StringVar(&o.commit, "commit", "", "`COMMIT`: write it into the digests, for trends")
	fs.Func("date", "`DATE`: write it into the digests, for trends: 2026-01-31", func(s string) error {
		o.date = s
		for _, layout := range []string{time.DateOnly, time.DateTime, time.RFC3339} {
			if _, err := time.Parse(layout, s); err == nil {
				return nil
			}
		}
		return errors.New("want a date such as 2026-01-31 or 2026-01-31T12:00:00Z")
	})
	app.Strict(fs, &o.strict)
}

// Digest returns the program digest with fresh flags.
func Digest() app.Program {
	var o fleetOptions
	return app.Program{
		Name: "digest",
		Summary: "writes one line of JSON per GPU with its steps, operators, causes of idle time and collectives. `strata " +
			"fleet` combines them.",
		Args: "FILE|DIR...",
		Examples: []string{
			"digest runs/qwen --output ranks.ndjson",
			"digest runs/ --shard 3/64 --output shard-3.ndjson   # one of 64 jobs; strata fleet reduce joins them",
		},
		Common:  app.ModelFlags | app.FormatFlag | app.OutputFlag | app.ProgressFlag | app.MemoryFlag,
		Formats: []app.Format{app.NDJSON},
		Flags:   func(fs *flag.FlagSet) { o.flags(fs) },
		Run:     func(ctx context.Context, env *app.Env) error { return o.digest(ctx, env) },
	}
}

// fleetOf returns the program fleet with fresh flags.
func fleetOf() app.Program {
	var o fleetOptions
	return app.Program{
		Name: "fleet",
		Summary: "finds late, missing, damaged and duplicate ranks, when a rank fell behind, and why.\n" +
			"Reads folders, archives, patterns, traces and digests (.ndjson).",
		Args: "FILE|DIR...",
		Examples: []string{
			"fleet runs/                                  # all recordings below",
			"fleet runs/ --keep digests/ --format json    # read again only what is new",
			"fleet runs/qwen --recordings newest          # a tar or zip of ranks is read, too",
			"fleet reduce ranks*.ndjson                   # what strata digest wrote, on this machine or on others",
		},
		Common:  app.ModelFlags | app.FormatFlag | app.OutputFlag | app.ProgressFlag | app.MemoryFlag,
		Formats: []app.Format{app.Text, app.Markdown, app.JSON},
		FailOn:  []string{app.HealthIs},
		Flags:   func(fs *flag.FlagSet) { o.flags(fs); o.fullFlag(fs) },
		Run: func(ctx context.Context, env *app.Env) error {
			ranks, d, err := o.find(ctx, env)
			if err != nil {
				return err
			}
			defer ranks.Close()
			return o.report(ctx, env, ranks, d)
		},
	}
}

func (o *fleetOptions) fullFlag(fs *flag.FlagSet) {
	fs.BoolVar(&o.full, "full", false, "write every rank and step into the JSON (default: at most 2 MB)")
	o.page.Flags(fs)
}

// reduce returns the program fleet reduce with fresh flags.
func reduce() app.Program {
	var o fleetOptions
	return app.Program{
		Name:     "fleet reduce",
		Summary:  "combines digests of strata digest into the report of strata fleet: the same bytes as from the traces.",
		Args:     "FILE|DIR...",
		Examples: []string{"fleet reduce ranks*.ndjson", "fleet reduce ranks.ndjson --format json --full"},
		Common:   app.FormatFlag | app.OutputFlag,
		Formats:  []app.Format{app.Text, app.Markdown, app.JSON},
		FailOn:   []string{app.HealthIs},
		Flags:    o.fullFlag,
		Run: func(ctx context.Context, env *app.Env) error {
			return withDigests(ctx, env, func(ranks *strata.Ranks) error {
				return o.report(ctx, env, ranks, strata.DigestOptions{})
			})
		},
	}
}

// trend returns the program fleet trend.
func trend() app.Program {
	var page app.Page
	return app.Program{
		Name:     "fleet trend",
		Summary:  "shows since which run an operator takes another time, from digests with --date and --commit.",
		Args:     "FILE|DIR...",
		Examples: []string{"fleet trend nightly/*.ndjson", "fleet trend nightly/ --html trend.html"},
		Common:   app.FormatFlag | app.OutputFlag,
		Formats:  []app.Format{app.Text, app.JSON},
		Flags:    page.Flags,
		Run: func(ctx context.Context, env *app.Env) error {
			return withDigests(ctx, env, func(ranks *strata.Ranks) error {
				t, err := ranks.Trend(ctx)
				if err != nil {
					return err
				}
				if err := env.WriteHTML(&page, func(w io.Writer) error {
					return strata.WriteTrendHTML(w, t, ranks.Name)
				}); err != nil {
					return err
				}
				if env.Format == app.JSON {
					return env.WriteJSON(t)
				}
				return t.WriteText(env.Stdout)
			})
		},
	}
}

// withDigests finds the files of digests that are named, and no traces.
func withDigests(ctx context.Context, env *app.Env, do func(*strata.Ranks) error) error {
	ranks, err := strata.FindRanks(ctx, env.Args, strata.Options{})
	if errors.Is(err, trace.ErrNoTrace) {
		return fmt.Errorf("no digest (*.ndjson) found in %s (strata digest makes digests of traces)",
			strings.Join(env.Args, ", "))
	}
	if err != nil {
		return err
	}
	defer ranks.Close()
	if ranks.Files() > 0 {
		return app.Usagef("%s is a trace: strata digest makes digests of traces, and strata fleet reads both",
			ranks.Recordings[0].Files[0].Path)
	}
	return do(ranks)
}

// find looks for the files of the command line.
func (o *fleetOptions) find(ctx context.Context, env *app.Env) (*strata.Ranks, strata.DigestOptions, error) {
	var d strata.DigestOptions
	if len(env.Args) == 0 {
		return nil, d, app.Usagef("no file is named")
	}
	shard, shards := 0, 0
	if o.shard != "" {
		of, by, ok := strings.Cut(o.shard, "/")
		var errs [2]error
		shard, errs[0] = strconv.Atoi(of)
		shards, errs[1] = strconv.Atoi(by)
		if !ok || cmp.Or(errs[:]...) != nil || shards < 1 || shard < 0 || shard >= shards {
			return nil, d, app.Usagef("--shard %s: want I/N with I from 0 to N−1, as in 3/64", o.shard)
		}
	}
	env.Trace = env.Args[0] // the model's config is looked for beside it
	layers, err := env.LayerOptions()
	if err != nil {
		return nil, d, err
	}
	d = env.DigestOptions(layers)
	d.Shard, d.Shards, d.Commit, d.Date, d.Keep = shard, shards, o.commit, o.date, o.keep
	var once sync.Once
	d.Analyzed = func(_ context.Context, f trace.File, a *layer.Analysis) error {
		if a.Refused != nil { // of one rank, as all are of one model
			once.Do(func() { env.NoteRefused(f.Path, a) })
		}
		return nil
	}
	ranks, err := strata.FindRanks(ctx, env.Args, d.Open)
	if err != nil {
		return nil, d, err
	}
	if n := len(ranks.Recordings); *o.recordings == app.Newest && n > 1 {
		ranks.Recordings = ranks.Recordings[:1]
		env.Notef("1 of %d recordings: %s; --recordings all reads all", n, ranks.Recordings[0].Name)
	}
	return ranks, d, nil
}

func (o *fleetOptions) digest(ctx context.Context, env *app.Env) error {
	ranks, d, err := o.find(ctx, env)
	if err != nil {
		return err
	}
	defer ranks.Close()
	return ranks.EachRun(ctx, d, func(list []fleet.Rank) error {
		if o.strict {
			if err := app.Unread(fleet.OfRun(list)); err != nil {
				return err
			}
		}
		for i := range list {
			if r := &list[i]; r.Bad != "" {
				env.Notef("not read: %s: %s; the digest says so", r.File, r.Bad)
			}
		}
		return strata.WriteDigests(env.Stdout, list)
	})
}

// report combines and writes.
func (o *fleetOptions) report(ctx context.Context, env *app.Env, ranks *strata.Ranks, d strata.DigestOptions) error {
	r, err := ranks.Fleet(ctx, d, fleet.Options{Full: o.full})
	if err != nil {
		return err
	}
	if r.Ranks == 0 {
		err := fmt.Errorf("%w with GPU kernels in %s", trace.ErrNoTrace, ranks.Name)
		for i := range r.Runs {
			if bad := r.Runs[i].Bad; len(bad) > 0 {
				if filepath.Base(ranks.Name) == bad[0].File {
					return fmt.Errorf("%s: %s", ranks.Name, bad[0].Why)
				}
				return fmt.Errorf("%w: %s: %s", err, bad[0].File, bad[0].Why)
			}
		}
		return err
	}
	if o.strict {
		if err := app.Unread(r.Runs...); err != nil {
			return err
		}
	}
	if err := env.WriteHTML(&o.page, func(w io.Writer) error {
		return strata.WriteFleetHTML(w, r,
			ranks.Name)
	}); err != nil {
		return err
	}
	if env.Format == app.JSON {
		err = env.WriteJSON(r)
	} else {
		err = r.WriteText(env.Stdout, false)
	}
	if err != nil {
		return err
	}
	env.Judging(r.Health)
	return env.Judge(func(c app.Condition) gate.Check { return c.Untold("this program checks health only") })
}
