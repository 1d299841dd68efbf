package capture

import (
	"context"

	"github.com/llmstrata/strata/internal/framework"
)

// vllm drives vLLM. Facts used, from its sources and documentation (profiling.md,
// entrypoints/serve/profile/api_router.py, profiler/wrapper.py):
//
//   - /start_profile exists only on servers launched with a torch profiler
//     folder: --profiler-config since 0.13, VLLM_TORCH_PROFILER_DIR before.
//     Traces go there; the request cannot choose.
//   - Recent releases take an optional body and refuse keys they do not know,
//     so none is sent.
//   - /stop_profile answers when all files are written, minutes later.
//   - Names: rank<n>.<time>.pt.trace.json.gz, since 0.13 with dp<n>_pp<n>_tp<n>…
//     before rank; the front end may add one without a rank. A
//     profiler_out_<n>.txt beside them is no trace.
//   - In releases that build the profiler once (vllm-project/vllm#45987), the
//     second start/stop of a server's life writes nothing.
type vllm struct{ openAI }

func (d *vllm) traits() traits {
	return traits{needs: framework.VLLM().Launch}
}

func (d *vllm) check(o Options) ([]string, error) {
	if err := sglangOnly(FrameworkVLLM, o, "the prefill and decode workloads separate the stages without it"); err != nil {
		return nil, err
	}
	return prefixNote(FrameworkVLLM, o), nil
}

// prefixNote says that a prefix is ignored.
func prefixNote(f Framework, o Options) []string {
	if o.ProfilePrefix == "" {
		return nil
	}
	return []string{"--profile-prefix is ignored: " + f.Title() + " names its traces itself"}
}

func (d *vllm) info(ctx context.Context) (ServerInfo, error) { return d.models(ctx, FrameworkVLLM) }

func (d *vllm) start(ctx context.Context, _ session) error {
	return postStart(ctx, d.c, d.o, nil)
}

func (d *vllm) stop(ctx context.Context, cleanup bool) error { return postStop(ctx, d.c, d.o, cleanup) }
