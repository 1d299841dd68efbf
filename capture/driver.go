package capture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// driver is what differs between servers. One method per thing a server is
// asked; none of them waits for files.
type driver interface {
	// check refuses options the server does not have, before anything is
	// sent. The notes say which harmless ones are ignored.
	check(o Options) (notes []string, err error)
	// info asks the server what it is. The error is nil when the server can
	// be used.
	info(ctx context.Context) (ServerInfo, error)
	// start arms the profiler for one stage.
	start(ctx context.Context, s session) error
	// stop disarms it. A profiler that has stopped by itself is no error.
	stop(ctx context.Context, cleanup bool) error
	// generate sends one request.
	generate(ctx context.Context, req request) (Answer, error)
	// traits are the facts the run around the driver goes by.
	traits() traits
}

// traits of a server's profiler.
type traits struct {
	// ownDir: traces land in the folder the request names; else in one folder
	// fixed at launch, from which they are moved into the stage's.
	ownDir bool
	// selfStop: the window closes after num_steps.
	selfStop bool
	// mayBlock: some releases answer the start request when the window closes.
	mayBlock bool
	// rewrites: the file's name is fixed, so that a second run replaces the
	// first one's file.
	rewrites bool
	// needs is what the server must be launched with.
	needs string
}

// session is one armed window.
type session struct {
	stage Stage
	// dir is the folder for the traces as the server sees it.
	dir string
	// byStage is the option after the workload had its say.
	byStage bool
}

// request is one generation.
type request struct {
	prompt    string
	maxTokens int
	seed      int
}

// Answer is what a server said to one request.
type Answer struct {
	// Text is the generated text, reasoning included.
	Text string
	// Tokens is the number of tokens generated as the server counted them, -1
	// when it does not say.
	Tokens int
}

// newDriver returns the driver for a known framework.
func newDriver(f Framework, c *client, o Options) (driver, error) {
	oa := openAI{c: c, o: o, model: o.Model}
	switch f {
	case FrameworkSGLang:
		return &sglang{c: c, o: o}, nil
	case FrameworkVLLM:
		return &vllm{openAI: oa}, nil
	case FrameworkTensorRT:
		return &tensorRT{openAI: oa}, nil
	case FrameworkTokenSpeed:
		return &tokenSpeed{openAI: oa}, nil
	}
	return nil, fmt.Errorf("capture: no driver for framework %q", f)
}

// unsupported is the error for an option a server does not have.
func unsupported(f Framework, flag, why string) error {
	if why != "" {
		why = ": " + why
	}
	return fmt.Errorf("capture: --%s with %s: %w%s", flag, f.Title(), ErrUnsupported, why)
}

// sglangOnly refuses the options only SGLang has.
func sglangOnly(f Framework, o Options, byStageWhy string) error {
	switch {
	case o.ProfileByStage:
		return unsupported(f, "profile-by-stage", byStageWhy)
	case o.MergeProfiles:
		return unsupported(f, "merge-profiles", "merge the ranks' traces afterwards")
	case o.StartStep > 0:
		return unsupported(f, "start-step", "raise --warmup-steps instead")
	}
	return nil
}

// postStart sends a start request. Gateways answer 200 to a request they have
// refused, with success false in the body.
func postStart(ctx context.Context, c *client, o Options, body any) error {
	const path = "/start_profile"
	text, err := c.post(ctx, path, body, o.Timeouts.Start)
	if err != nil {
		return err
	}
	var reply struct {
		Success *bool `json:"success"`
	}
	if json.Unmarshal(text, &reply) == nil && reply.Success != nil && !*reply.Success {
		return &ServerError{Method: http.MethodPost, Server: c.base, Endpoint: path, Status: http.StatusOK, Body: excerpt(text), Err: errors.New("refused")}
	}
	return nil
}

// notInProgress recognises the answer to a stop request that came after the
// window had closed by itself. SGLang raises "Profiling is not in progress.
// Call /start_profile first." which its HTTP server turns into a 500.
func notInProgress(err error) bool { return says(err, "not in progress", "not running", "not started") }

// alreadyRunning recognises the answer to a start request while somebody
// else's window is open: "Profiling is already in progress. Call /stop_profile
// first."
func alreadyRunning(err error) bool { return says(err, "already in progress", "already running") }

func says(err error, phrases ...string) bool {
	se, ok := err.(*ServerError)
	if !ok {
		return false
	}
	body := strings.ToLower(se.Body)
	for _, p := range phrases {
		if strings.Contains(body, p) {
			return true
		}
	}
	return false
}
