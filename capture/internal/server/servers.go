package server

import (
	"context"
	"fmt"
	"net/http"

	"github.com/llmstrata/strata/internal/framework"
)

// vllm drives vLLM. Facts used, from its sources (vllm/config/profiler.py,
// vllm/profiler/wrapper.py, the profile route's api_router.py):
//
//   - The profiler routes exist only on servers launched with a profiler:
//     --profiler-config since 0.13, VLLM_TORCH_PROFILER_DIR to 0.15. Traces go
//     to the folder fixed there; the request cannot choose.
//   - The routes read no body, and a coming release reads one of other keys, so
//     none is sent.
//   - The workers' stop writes the traces, and /stop_profile awaits it. A
//     second one may end the server (vllm-project/vllm#51676): it is sent once.
//   - max_iterations of the launch bounds a window; without it the window is as
//     long as the requests are.
//   - A schedule (wait_iterations, warmup_iterations) and max_iterations in
//     some releases record only the first window of a server's life
//     (vllm-project/vllm#45987, #51839).
type vllm struct{ *openAI }

func (d *vllm) Traits() Traits {
	return Traits{
		Flushed: true,
		Needs:   framework.VLLM().Launch,
	}
}

func (d *vllm) Check(o Options) ([]string, error) {
	if err := sglangOnly(VLLM, o, "the prefill and decode workloads separate the stages without it"); err != nil {
		return nil, err
	}
	return prefixNote(VLLM, o), nil
}

func (d *vllm) Info(ctx context.Context) (Info, error) { return d.models(ctx, VLLM) }

func (d *vllm) Start(ctx context.Context, _ Session) error {
	return Control(ctx, d.c, StartPath, nil, d.o.StartTimeout)
}

// tensorRT drives TensorRT-LLM (trtllm-serve, PyTorch backend). Facts used, from
// py_executor.py and the pull request that added the routes
// (NVIDIA/TensorRT-LLM#13872):
//
//   - /start_profile takes output_dir, num_steps, start_step and activities in
//     recent releases. Before them the trace's path is fixed at launch by
//     TLLM_TORCH_PROFILE_TRACE, the window by TLLM_PROFILE_START_STOP=<a>-<b>,
//     counted in executor iterations, and opens once in the server's life.
//   - Since #13536 each rank writes a file of its own, the rank before the last
//     dot of the name: trace.json becomes trace-rank-0.json. Before, all ranks
//     wrote one: see capture.Override.
type tensorRT struct{ *openAI }

func (d *tensorRT) Traits() Traits {
	return Traits{
		Rewrites: true,
		Needs:    framework.TensorRTLLM().Launch,
	}
}

func (d *tensorRT) Check(o Options) ([]string, error) {
	if err := sglangOnly(TensorRT, o, "the prefill and decode workloads separate the stages without it"); err != nil {
		return nil, err
	}
	return prefixNote(TensorRT, o), nil
}

func (d *tensorRT) Info(ctx context.Context) (Info, error) {
	return d.models(ctx, TensorRT)
}

// tensorRTProfile is the body of /start_profile. The number of steps is left
// out: the requests bound the window, and /stop_profile closes it.
type tensorRTProfile struct {
	OutputDir  string   `json:"output_dir"`
	Activities []string `json:"activities"`
}

func (d *tensorRT) Start(ctx context.Context, s Session) error {
	err := Control(ctx, d.c, StartPath, tensorRTProfile{s.Dir, d.o.Activities}, d.o.StartTimeout)
	if Status(err) == http.StatusUnprocessableEntity {
		// Refused before anything was done; a release that knows no such field.
		err = Control(ctx, d.c, StartPath, struct{}{}, d.o.StartTimeout)
	}
	return err
}

// tokenSpeed drives TokenSpeed. /start_profile takes the folder and a
// profile_id, from which the file's name is made; the window stays open until
// /stop_profile, which answers after the export. Its gateway answers 206 when
// workers refuse, even when all do.
type tokenSpeed struct{ *openAI }

func (d *tokenSpeed) Traits() Traits {
	return Traits{
		OwnDir: true, Rewrites: true, StopAgain: true, Flushed: true,
		Needs: framework.TokenSpeed().Launch,
	}
}

func (d *tokenSpeed) Check(o Options) ([]string, error) {
	return nil, sglangOnly(TokenSpeed, o, "only by hand: run the prefill and the decode workload, each is captured into its own folder")
}

// Info asks /readiness, which has no content worth keeping, and the model list.
func (d *tokenSpeed) Info(ctx context.Context) (Info, error) {
	if _, err := d.c.Get(ctx, "/readiness"); err != nil {
		if Unreachable(err) || ctx.Err() != nil {
			return Info{}, err
		}
		info, merr := d.models(ctx, TokenSpeed)
		if info.Note == "" {
			info.Note = fmt.Sprintf("not ready: %v", err)
		}
		return info, merr
	}
	return d.models(ctx, TokenSpeed)
}

// tokenSpeedProfile is the body of /start_profile.
type tokenSpeedProfile struct {
	OutputDir    string   `json:"output_dir"`
	Activities   []string `json:"activities"`
	WithStack    bool     `json:"with_stack"`
	RecordShapes bool     `json:"record_shapes"`
	ProfileID    string   `json:"profile_id"`
}

func (d *tokenSpeed) Start(ctx context.Context, s Session) error {
	prefix := d.o.ProfilePrefix
	if prefix == "" {
		prefix = "profile"
	}
	body := tokenSpeedProfile{OutputDir: s.Dir, Activities: d.o.Activities, WithStack: true, ProfileID: prefix + "-" + s.Stage}
	if d.o.WithStack != nil {
		body.WithStack = *d.o.WithStack
	}
	if d.o.RecordShapes != nil {
		body.RecordShapes = *d.o.RecordShapes
	}
	return Control(ctx, d.c, StartPath, body, d.o.StartTimeout)
}
