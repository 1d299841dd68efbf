package programs

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/gate"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage"
)

// reportOptions are the program's own flags.
type reportOptions struct {
	app.Reckoning
	all, strict bool
	page        app.Page
	against     string
	recordings  *string
}

// Report returns the program with fresh flags.
func Report() app.Program {
	var o reportOptions
	return app.Program{
		Name: "report",
		Summary: "reports on a trace of LLM inference: health, verdict, findings ranked by time with fix and next " +
			"command,\nthen passes, operators and their floors, exposed time and fusions.",
		Args: "[FILE|DIR...]",
		Examples: []string{
			"report x.json.gz                                   # the model's config.json is looked for beside it",
			"report x.json.gz --config config.json --html x.html   # the same as a self-contained page",
			"report prefill.json.gz decode.json.gz              # several files, a directory or a pattern",
			"report runs/qwen --format json | jq .findings",
			"report x.json.gz --format issue                    # 40 lines of Markdown for a GitHub issue, nothing private",
			"report new.json.gz --against old.json.gz --fail-on 'regression 3%' --fail-on 'health degraded' --format junit " +
				"--output strata.xml",
		},
		Common:  app.AllFlags,
		Formats: []app.Format{app.Text, app.Markdown, app.JSON, app.Issue, app.Benchfmt},
		FailOn: []string{app.HostCaused, app.Idle, app.ExposedComm, app.Waiting, app.Regression, app.CoverageLeft,
			app.Floor, app.HealthIs},
		Flags: func(fs *flag.FlagSet) {
			fs.BoolVar(&o.all, "all", false, "print all rows (default: the largest findings and operators, the first passes)")
			o.page.Flags(fs)
			o.input(fs)
		},
		Obsolete: []app.Obsolete{{Name: "all-ranks", Note: "is the rule: every rank of a folder is read"}},
		Run:      func(ctx context.Context, env *app.Env) error { return o.run(ctx, env) },
	}
}

// input defines the flags that say what the report is of.
func (o *reportOptions) input(fs *flag.FlagSet) {
	o.recordings = app.Recordings(fs, app.Newest)
	app.Strict(fs, &o.strict)
	fs.StringVar(&o.against, "against", "", "`FILE|DIR`: older run to compare with")
	o.Register(fs)
}

func (o *reportOptions) run(ctx context.Context, env *app.Env) error {
	judged, err := reportGates(env.FailOn.List)
	if err != nil {
		return err
	}
	r, err := o.analyzed(ctx, env, judged)
	if err != nil {
		return err
	}
	if err := env.WriteHTML(&o.page, r.WriteHTML); err != nil {
		return err
	}
	checks := suite(r, env)
	if err := o.write(env, r, checks); err != nil {
		return err
	}
	if err := env.Judged(*checks); err != nil || r.Health != trace.HealthUnusable || len(env.FailOn.List) > 0 {
		return err
	}
	text := "no GPU time in " + r.Name
	if len(r.Findings) > 0 {
		do := strings.TrimSuffix(r.Findings[0].Do, ".")
		text += " (" + strings.ToLower(do[:1]) + do[1:] + ")"
	}
	return app.Shown(errors.New(text))
}

// write prints the report in the format asked for, and after text the results of its conditions.
func (o *reportOptions) write(env *app.Env, r *strata.Report, checks *gate.Suite) error {
	switch {
	case env.Document():
		return env.WriteJSON(r)
	case env.Format == app.Issue:
		return r.WriteIssue(env.Stdout, app.Version())
	case env.Format == app.Benchfmt:
		return benchmarks(env, r)
	}
	text := strata.ReportText{Width: env.Width, Color: env.Color, Markdown: env.Format == app.Markdown, All: o.all}
	if err := r.WriteText(env.Stdout, text); err != nil || text.Markdown || len(checks.Checks) == 0 {
		return err
	}
	fmt.Fprintln(env.Stdout, "\nConditions")
	for i := range checks.Checks {
		fmt.Fprintf(env.Stdout, "  %-12s %s\n", checks.Checks[i].Verdict, checks.Checks[i].Text())
	}
	return nil
}

// analyzed reports on what is named: on all ranks of a recording, or on the files of one.
func (o *reportOptions) analyzed(ctx context.Context, env *app.Env, judged []compare.Gate) (*strata.Report, error) {
	paths := env.Paths()
	opts, err := env.ReportOptions(ctx, paths, &o.Reckoning, o.against)
	if err != nil {
		return nil, err
	}
	opts.Gates = judged
	ranks, err := env.FindRanks(ctx, paths, *o.recordings)
	if err != nil {
		return nil, err
	}
	if ranks != nil {
		defer ranks.Close()
		if opts.Server, err = triage.ReadBeside(ranks.Recordings[0].Files[0].Path); err != nil {
			return nil, err
		}
		r, err := ranks.Report(ctx, env.DigestOptions(opts.Layers), opts)
		if err != nil {
			return nil, err
		}
		env.Judging(r.Health)
		if o.strict {
			if err := app.Unread(r.Ranks.Runs...); err != nil {
				return nil, err
			}
		}
		return r, nil
	}
	rec, server, err := env.OpenServed(ctx, paths, strata.Options{})
	if err != nil {
		return nil, err
	}
	opts.Server = server
	env.Step("analysing", 0, 0)
	return strata.Analyze(ctx, rec, opts)
}
