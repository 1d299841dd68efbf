package capture

import (
	"context"
	"net/http"

	"github.com/llmstrata/strata/internal/framework"
)

// tensorRT drives TensorRT-LLM (trtllm-serve, PyTorch backend). Facts used, from
// py_executor.py and the pull request that added the routes
// (NVIDIA/TensorRT-LLM#13872):
//
//   - The trace's path is fixed at launch by TLLM_TORCH_PROFILE_TRACE, the
//     window by TLLM_PROFILE_START_STOP=<a>-<b>, counted in executor
//     iterations. Before ranks had files of their own all of them wrote this
//     one: see [Override].
//   - /start_profile and /stop_profile exist in recent releases only. Without
//     them the window opens by itself, once in the server's life.
type tensorRT struct {
	openAI
	// envWindow is set when there is no /start_profile to ask.
	envWindow bool
}

func (d *tensorRT) traits() traits {
	return traits{
		rewrites: true,
		needs:    framework.TensorRTLLM().Launch,
	}
}

func (d *tensorRT) check(o Options) ([]string, error) {
	if err := sglangOnly(FrameworkTensorRT, o, "the prefill and decode workloads separate the stages without it"); err != nil {
		return nil, err
	}
	return prefixNote(FrameworkTensorRT, o), nil
}

func (d *tensorRT) info(ctx context.Context) (ServerInfo, error) {
	return d.models(ctx, FrameworkTensorRT)
}

func (d *tensorRT) start(ctx context.Context, _ session) error {
	err := postStart(ctx, d.c, d.o, nil)
	if status(err) == http.StatusUnprocessableEntity {
		// Releases whose handler wants a body take an empty one.
		err = postStart(ctx, d.c, d.o, struct{}{})
	}
	return err
}

func (d *tensorRT) stop(ctx context.Context, cleanup bool) error {
	return postStop(ctx, d.c, d.o, cleanup)
}
