package triage

import (
	"flag"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/page"
	"github.com/llmstrata/strata/triage"
)

// html is --html: where to write the report for browsers, "" for nowhere.
type html string

// define adds the flag.
func (h *html) define(fs *flag.FlagSet) {
	app.OutputFile(fs, (*string)(h), "html", "also write a report for browsers to this `FILE`: one file that needs no network")
}

// write writes the report, with the comparison with an older run in front; c is nil where there is none.
func (h html) write(env *app.Env, r *triage.Report, c *triage.Comparison) error {
	if h == "" {
		return nil
	}
	return page.WriteFile(env, string(h), page.Triage(r, c))
}
