package layertimeline

import (
	"context"
	"io"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/roofline"
)

// writeHTML writes --html, a page with the layers of the given pass, trace.None for the steady one.
func (o *options) writeHTML(ctx context.Context, env *app.Env, a *layer.Device, pass int) error {
	return env.WriteHTML(&o.page, func(w io.Writer) error {
		var light *roofline.Report
		if a.Analysis().Config != nil { // what passes should take needs the model
			var err error
			if light, err = roofline.Analyze(ctx, a.Analysis(), roofline.Options{On: &a.ID}); err != nil {
				return err
			}
		}
		return strata.WriteLayersHTML(ctx, w, a, pass, light, env.TraceName())
	})
}
