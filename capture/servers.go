package capture

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"sync/atomic"

	"github.com/llmstrata/strata/capture/internal/pysource"
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

func (d *vllm) traits() traits {
	return traits{
		flushed: true,
		needs:   framework.VLLM().Launch,
	}
}

func (d *vllm) check(o Options) ([]string, error) {
	if err := sglangOnly(FrameworkVLLM, o, "the prefill and decode workloads separate the stages without it"); err != nil {
		return nil, err
	}
	return prefixNote(FrameworkVLLM, o), nil
}

func (d *vllm) info(ctx context.Context) (ServerInfo, error) { return d.models(ctx, FrameworkVLLM) }

func (d *vllm) start(ctx context.Context, _ session) error {
	return control(ctx, d.c, startPath, nil, d.o.Timeouts.Start)
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
//     wrote one: see [Override].
type tensorRT struct {
	*openAI
	// envWindow is set when there is no /start_profile to ask.
	envWindow atomic.Bool
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

// tensorRTProfile is the body of /start_profile. The number of steps is left
// out: the requests bound the window, and /stop_profile closes it.
type tensorRTProfile struct {
	OutputDir  string   `json:"output_dir"`
	Activities []string `json:"activities"`
}

func (d *tensorRT) start(ctx context.Context, s session) error {
	err := control(ctx, d.c, startPath, tensorRTProfile{s.dir, d.o.Activities}, d.o.Timeouts.Start)
	if status(err) == http.StatusUnprocessableEntity {
		// Refused before anything was done; a release that knows no such field.
		err = control(ctx, d.c, startPath, struct{}{}, d.o.Timeouts.Start)
	}
	return err
}

// tokenSpeed drives TokenSpeed. /start_profile takes the folder and a
// profile_id, from which the file's name is made; the window stays open until
// /stop_profile, which answers after the export. Its gateway answers 206 when
// workers refuse, even when all do.
type tokenSpeed struct{ *openAI }

func (d *tokenSpeed) traits() traits {
	return traits{
		ownDir: true, rewrites: true, stopAgain: true, flushed: true,
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
	body := tokenSpeedProfile{OutputDir: s.dir, Activities: d.o.Activities, WithStack: true, ProfileID: prefix + "-" + string(s.stage)}
	if d.o.WithStack != nil {
		body.WithStack = *d.o.WithStack
	}
	if d.o.RecordShapes != nil {
		body.RecordShapes = *d.o.RecordShapes
	}
	return control(ctx, d.c, startPath, body, d.o.Timeouts.Start)
}

// OverrideChanges says what [Override] did.
type OverrideChanges struct {
	// Stacks and Rank0 count the calls and conditions that were changed; 0
	// means all of them were as wanted.
	Stacks int `json:"with_stack_added"`
	Rank0  int `json:"rank0_added"`
	// PerRank is set when each rank writes a file of its own, so that no
	// condition on the rank is wanted.
	PerRank bool `json:"file_per_rank"`
}

// Sentinels of [Override].
var (
	// ErrNoProfilerCall: there is no torch_profiler = torch.profiler.profile(…).
	ErrNoProfilerCall = pysource.ErrNoProfilerCall
	// ErrNoTraceCondition: all ranks write one file, and there is no
	// enable_torch_trace = bool(torch_trace_path and profile_start_stop).
	ErrNoTraceCondition = pysource.ErrNoTraceCondition
	// ErrPython: the source is not what this small reader of Python
	// understands; the message says where.
	ErrPython = pysource.ErrPython
)

// Override rewrites TensorRT-LLM's py_executor.py: its profiler call gets
// with_stack=True, so that kernels can be led back to Python lines. In a
// release whose ranks all write one file, its switch also asks for rank 0; one
// that writes a file per rank keeps them all. Everything else stays byte by
// byte. A source that already is as wanted comes back unchanged.
//
// When a place is not found, the error wraps [ErrNoProfilerCall] or
// [ErrNoTraceCondition], or both.
func Override(src []byte) ([]byte, OverrideChanges, error) {
	out, ch, err := pysource.Override(src)
	return out, OverrideChanges(ch), err
}

// maxSource bounds the file read: the real one is some 450 kB.
const maxSource = 32 << 20

// OverrideFile is [Override] from the file source to the file output, which is
// replaced in one step. The source is only read; naming it as the output too is
// an error.
func OverrideFile(source, output string) (OverrideChanges, error) {
	fail := func(err error) (OverrideChanges, error) {
		return OverrideChanges{}, fmt.Errorf("capture: override: %w", err)
	}
	info, err := os.Stat(source)
	if err != nil {
		return fail(err)
	}
	if info.Size() > maxSource {
		return fail(fmt.Errorf("%s has %d bytes, more than a Python source", source, info.Size()))
	}
	out, err := os.Stat(output)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fail(err)
	case os.SameFile(info, out):
		return fail(fmt.Errorf("%s is the source; name another output", output))
	case out.IsDir():
		return fail(fmt.Errorf("%s is a folder; name a file", output))
	}
	src, err := os.ReadFile(source)
	if err != nil {
		return fail(err)
	}
	text, ch, err := Override(src)
	if err != nil {
		return ch, fmt.Errorf("%s: %w", source, err)
	}
	if err := replaceFile(output, text); err != nil {
		return fail(err)
	}
	return ch, nil
}
