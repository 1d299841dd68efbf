package layertimeline

import (
	"context"
	"flag"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/page"
	"github.com/llmstrata/strata/internal/lightpage"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/roofline"
)

// html is --html: where to write the report for browsers, "" for nowhere.
type html string

// define adds the flag.
func (h *html) define(fs *flag.FlagSet) {
	app.OutputFile(fs, (*string)(h), "html", "also write a report for browsers to this `FILE`: one file that needs no network")
}

// write writes the report with the layers of the given pass, layer.None for
// the steady one. header is what the text output says about the deployment.
func (h html) write(ctx context.Context, env *app.Env, a *layer.Device, pass int, header []string) error {
	if h == "" {
		return nil
	}
	r, err := page.Timeline(a, pass, env.TraceName(), header...)
	if err != nil {
		return err
	}
	if a.Analysis().Config != nil { // what passes should take needs the model
		light, err := roofline.Analyze(ctx, a.Analysis(), roofline.Options{On: &a.ID})
		if err != nil {
			return err
		}
		r.Sections = append(r.Sections, lightpage.Sections(light)...)
		r.Notes = append(r.Notes, light.Notes...)
	}
	return page.WriteFile(env, string(h), r)
}
