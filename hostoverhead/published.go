package hostoverhead

import (
	"context"
	"errors"
	"fmt"

	"github.com/llmstrata/strata/internal/published"
	"github.com/llmstrata/strata/trace"
)

// PublishedOptions are those of the published detector; the zero value is its default.
type PublishedOptions = published.HostOptions

// detectPublished runs the published detector; nil where it sees no kernels, as it does not count replays without their
// kernels.
func detectPublished(ctx context.Context, t *trace.Trace, o *Options) (*published.HostReport, error) {
	r, err := published.DetectHost(ctx, t, o.Published)
	if errors.Is(err, published.ErrNoHostKernels) {
		return nil, nil
	}
	return r, err
}

// disagreement says in one sentence why the published detector answers otherwise, "" where it does not.
func (v *Verdict) disagreement() string {
	p := v.published
	if p == nil || Answer(p.Verdict) == v.Verdict {
		return ""
	}
	return fmt.Sprintf("The published metrics say %s by how long the GPU is idle (%s of the window) and how long "+
		"launch calls take, not by why it is idle; host overhead is %s of %s.",
		p.Verdict, percent(float64(p.Metrics.GPUIdle)), percent(v.Headroom.Share), v.Basis.Span())
}
