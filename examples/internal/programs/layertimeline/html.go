package layertimeline

import (
	"context"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/page"
	"github.com/llmstrata/strata/internal/lightpage"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/roofline"
)

// writeHTML writes --html, a page with the layers of the given pass, trace.None for
// the steady one.
func (o *options) writeHTML(ctx context.Context, env *app.Env, a *layer.Device, pass int) error {
	if o.html == "" {
		return nil
	}
	r, err := page.Timeline(a, pass, env.TraceName(), o.lines()...)
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
	return page.WriteFile(env, o.html, r)
}
