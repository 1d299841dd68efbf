package capture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// driver is what differs between servers. One method per thing a server is
// asked; none of them waits for files, and none sends a request twice that a
// server must get once.
type driver interface {
	// check refuses options the server does not have, before anything is
	// sent. The notes say which harmless ones are ignored.
	check(o Options) (notes []string, err error)
	// info asks the server what it is. The error is nil when the server can
	// be used.
	info(ctx context.Context) (ServerInfo, error)
	// start arms the profiler for one stage.
	start(ctx context.Context, s session) error
	// generate sends one request. It is called concurrently.
	generate(ctx context.Context, req request) (reply, error)
	// traits are the facts the run around the driver goes by.
	traits() traits
}

// traits of a server's profiler.
type traits struct {
	// ownDir: traces land in the folder the request names; else in one folder
	// fixed at launch, from which they are moved into the stage's.
	ownDir bool
	// selfStop: the window closes by itself after the number of steps that
	// was sent. Without it the window is as long as the requests are.
	selfStop bool
	// stopAgain: a second stop request does no harm. Where it does, one that
	// got no answer is not repeated.
	stopAgain bool
	// flushed: the answer to a stop request comes once the traces are written.
	flushed bool
	// mayBlock: some releases answer the start request when the window closes.
	mayBlock bool
	// rewrites: the file's name is fixed, so that a second run replaces the
	// first one's file.
	rewrites bool
	// needs is what the server must be launched with.
	needs string
}

// session is one window to open.
type session struct {
	stage Stage
	// steps is the number of passes to profile.
	steps int
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
	ignoreEOS bool
}

// reply is what a server said to one request. Counts are -1 where it did not
// say.
type reply struct {
	// text is the generated text, reasoning included.
	text string
	// tokens were generated, prompt went in, of which cached needed no
	// computing.
	tokens, prompt, cached int
}

// newDriver returns the driver for a known framework.
func newDriver(f Framework, c *client, o Options) (driver, error) {
	oa := openAI{c: c, o: o, model: o.Model}
	switch f {
	case FrameworkSGLang:
		return &sglang{c: c, o: o}, nil
	case FrameworkVLLM:
		return &vllm{openAI: &oa}, nil
	case FrameworkTensorRT:
		return &tensorRT{openAI: &oa}, nil
	case FrameworkTokenSpeed:
		return &tokenSpeed{openAI: &oa}, nil
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

// prefixNote says that a prefix is ignored.
func prefixNote(f Framework, o Options) []string {
	if o.ProfilePrefix == "" {
		return nil
	}
	return []string{"--profile-prefix is ignored: " + f.Title() + " names its traces itself"}
}

// refusedError marks a request that the server answered and did not carry out.
type refusedError struct{ error }

// Unwrap returns the reason.
func (e refusedError) Unwrap() error { return e.error }

// partialError marks a request that some of a server's workers refused, or all.
type partialError struct{ error }

// Unwrap returns the reason.
func (e partialError) Unwrap() error { return e.error }

// control sends a request to a profiler route. 2xx is not success: gateways
// answer 200 to a request they have refused, with success false in the body,
// and 206 when workers refused it, even when all did.
func control(ctx context.Context, c *client, path string, body any, timeout time.Duration) error {
	a, err := c.post(ctx, path, body, timeout)
	if err != nil {
		return err
	}
	var said struct {
		Success *bool             `json:"success"`
		Failed  []json.RawMessage `json:"failed"`
	}
	// Most servers answer with a sentence, or nothing.
	isJSON := json.Unmarshal(a.text, &said) == nil
	switch {
	case a.status == http.StatusPartialContent:
		return partialError{c.fail(http.MethodPost, path, a.status, a.text, fmt.Errorf("%d workers refused", max(len(said.Failed), 1)))}
	case isJSON && said.Success != nil && !*said.Success:
		return refusedError{c.fail(http.MethodPost, path, a.status, a.text, errors.New("refused"))}
	}
	return nil
}

// notInProgress recognises the answer to a stop request that came after the
// window had closed by itself. SGLang raises "Profiling is not in progress.
// Call /start_profile first." which its HTTP server turns into a 500.
func notInProgress(err error) bool { return says(err, "not in progress", "not running", "not started") }

// alreadyRunning recognises the answer to a start request while somebody
// else's window is open: "Profiling is already in progress. Call /stop_profile
// first.", or 409.
func alreadyRunning(err error) bool {
	return status(err) == http.StatusConflict || says(err, "already in progress", "already running")
}

func says(err error, phrases ...string) bool {
	var se *ServerError
	if !errors.As(err, &se) {
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
