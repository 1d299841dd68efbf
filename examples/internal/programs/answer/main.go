package answer

import (
	"context"
	"flag"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/gate"
)

// options are the program's own flags.
type options struct {
	app.Reckoning
	question *Question
	allRanks bool
	against  string
}

// Program returns the program with fresh flags.
func Program() app.Program {
	var o options
	return app.Program{
		Name: "answer",
		Summary: "answers a question about a trace in one document: validity, findings, model, passes, layers, kernels, " +
			"overlap, fusions,\nhost verdict, floors, next commands. Each unknown field has its reason.",
		Args: "[FILE|DIR...]",
		Examples: []string{
			"answer x.json.gz                                     # why is it slow?",
			"answer x.json.gz --question host --format json",
			"answer new.json.gz --against old.json.gz --question regress",
			"answer runs/qwen --question ranks --budget 8k",
		},
		Common:  app.AllFlags,
		Formats: []app.Format{app.AutoFormat, app.Text, app.Markdown, app.JSON},
		FailOn:  []string{app.HealthIs},
		Flags: func(fs *flag.FlagSet) {
			o.question = app.Choice(fs, "question", "`WORD`: the question", Questions()...)
			fs.BoolVar(&o.allRanks, "all-ranks", false,
				"read every rank of a directory (default: the lowest; --question ranks: all)")
			fs.StringVar(&o.against, "against", "", "`FILE|DIR`: older run to compare with; --question regress needs it")
			o.Register(fs)
		},
		Run: func(ctx context.Context, env *app.Env) error { return o.run(ctx, env) },
	}
}

func (o *options) run(ctx context.Context, env *app.Env) error {
	paths, opts := env.Paths(), Options{Question: *o.question, TP: o.TP, EP: o.EP}
	var err error
	if opts.Report, err = env.ReportOptions(ctx, paths, &o.Reckoning, o.against); err != nil {
		return err
	}
	rec, server, err := env.OpenServed(ctx, paths,
		strata.Options{AllRanks: o.allRanks || opts.Question == Ranks})
	if err != nil {
		return err
	}
	opts.Report.Server = server
	env.Step("analysing", 0, 0)
	a, err := Make(ctx, rec, opts)
	if err != nil {
		return err
	}
	if err := app.WriteParts(env, a, (*Answer).WriteText); err != nil {
		return err
	}
	env.Judging(a.Validity.Health)
	if err := env.Judge(func(c app.Condition) gate.Check { return c.Health(a.Validity.Health) }); err != nil {
		return err
	}
	if a.Conclusion == CannotTell && !env.AllowInconclusive {
		return app.Exitf(app.ExitInconclusive, "undecided: %s", a.Why)
	}
	return nil
}
