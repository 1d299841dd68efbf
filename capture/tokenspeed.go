package capture

import (
	"context"
	"fmt"

	"github.com/llmstrata/strata/internal/framework"
)

// tokenSpeed drives TokenSpeed. /start_profile takes the folder and a
// profile_id, from which the file's name is made; the window stays open until
// /stop_profile.
type tokenSpeed struct{ openAI }

func (d *tokenSpeed) traits() traits {
	return traits{
		ownDir: true, rewrites: true,
		needs: framework.TokenSpeed().Launch,
	}
}

func (d *tokenSpeed) check(o Options) ([]string, error) {
	return nil, sglangOnly(FrameworkTokenSpeed, o, "only by hand: run the prefill and the decode workload, each is captured into its own folder")
}

// info asks /readiness, which has no content worth keeping, and the model list.
func (d *tokenSpeed) info(ctx context.Context) (ServerInfo, error) {
	if _, err := d.c.get(ctx, "/readiness"); err != nil {
		if unreachable(err) || ctx.Err() != nil {
			return ServerInfo{}, err
		}
		info, merr := d.models(ctx, FrameworkTokenSpeed)
		if info.Note == "" {
			info.Note = fmt.Sprintf("not ready: %v", err)
		}
		return info, merr
	}
	return d.models(ctx, FrameworkTokenSpeed)
}

// tokenSpeedProfile is the body of /start_profile.
type tokenSpeedProfile struct {
	OutputDir    string   `json:"output_dir"`
	Activities   []string `json:"activities"`
	WithStack    bool     `json:"with_stack"`
	RecordShapes bool     `json:"record_shapes"`
	ProfileID    string   `json:"profile_id"`
}

func (d *tokenSpeed) start(ctx context.Context, s session) error {
	prefix := d.o.ProfilePrefix
	if prefix == "" {
		prefix = "profile"
	}
	return postStart(ctx, d.c, d.o, tokenSpeedProfile{
		OutputDir: s.dir, Activities: d.o.Activities, WithStack: true,
		ProfileID: prefix + "-" + string(s.stage),
	})
}

func (d *tokenSpeed) stop(ctx context.Context, cleanup bool) error {
	return postStop(ctx, d.c, d.o, cleanup)
}
