package capture

import (
	"context"

	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/examples/internal/live"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/triage"
)

// triageEntry makes the report of one entry: of its single or formal capture,
// read against its mapping capture where there is one.
func triageEntry(ctx context.Context, e capture.Entry) (*triage.Report, error) {
	var formal, mapping *capture.Result
	for _, c := range e.Captures {
		if c.Role == capture.RoleMapping {
			mapping = c
		} else {
			formal = c
		}
	}
	in, err := live.Input(ctx, formal, mapping, nil, layer.Options{})
	if err != nil {
		return nil, err
	}
	return triage.Analyze(ctx, in, triage.Options{Framework: e.Framework.Title()})
}
