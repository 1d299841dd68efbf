package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Driver is what differs between servers. One method per thing a server is
// asked; none of them waits for files, and none sends a request twice that a
// server must get once.
type Driver interface {
	// Check refuses options the server does not have, before anything is
	// sent. The notes say which harmless ones are ignored.
	Check(o Options) (notes []string, err error)
	// Info asks the server what it is. The error is nil when the server can
	// be used.
	Info(ctx context.Context) (Info, error)
	// Start arms the profiler for one stage.
	Start(ctx context.Context, s Session) error
	// Generate sends one request. It is called concurrently.
	Generate(ctx context.Context, req Request) (Reply, error)
	// Traits are the facts the run around the driver goes by.
	Traits() Traits
}

// Traits of a server's profiler.
type Traits struct {
	// OwnDir: traces land in the folder the request names; else in one folder
	// fixed at launch, from which they are moved into the stage's.
	OwnDir bool
	// SelfStop: the window closes by itself after the number of steps that
	// was sent. Without it the window is as long as the requests are.
	SelfStop bool
	// StopAgain: a second stop request does no harm. Where it does, one that
	// got no answer is not repeated.
	StopAgain bool
	// Flushed: the answer to a stop request comes once the traces are written.
	Flushed bool
	// MayBlock: some releases answer the start request when the window closes.
	MayBlock bool
	// Rewrites: the file's name is fixed, so that a second run replaces the
	// first one's file.
	Rewrites bool
	// Needs is what the server must be launched with.
	Needs string
}

// Session is one window to open.
type Session struct {
	// Stage names it: prefill, decode, legacy.
	Stage string
	// Steps is the number of passes to profile.
	Steps int
	// Dir is the folder for the traces as the server sees it.
	Dir string
	// ByStage is the option after the workload had its say.
	ByStage bool
}

// Request is one generation.
type Request struct {
	// Prompt is the text, Seed the sampling's.
	Prompt string
	Seed   int
	// MaxTokens are generated at most, past an end of sequence with IgnoreEOS.
	MaxTokens int
	IgnoreEOS bool
}

// Reply is what a server said to one request. Counts are -1 where it did not
// say.
type Reply struct {
	// Text is the generated text, reasoning included.
	Text string
	// Tokens were generated, Prompt went in, of which Cached needed no
	// computing.
	Tokens, Prompt, Cached int
}

// Open returns the driver for a known framework.
func Open(k Kind, c *Client, o Options) (Driver, error) {
	oa := openAI{c: c, o: o, model: o.Model}
	switch k {
	case SGLang:
		return &sglang{c: c, o: o}, nil
	case VLLM:
		return &vllm{openAI: &oa}, nil
	case TensorRT:
		return &tensorRT{openAI: &oa}, nil
	case TokenSpeed:
		return &tokenSpeed{openAI: &oa}, nil
	}
	return nil, fmt.Errorf("capture: no driver for framework %q", k)
}

// unsupported is the error for an option a server does not have.
func unsupported(k Kind, flag, why string) error {
	if why != "" {
		why = ": " + why
	}
	return fmt.Errorf("capture: --%s with %s: %w%s", flag, k.Title(), ErrUnsupported, why)
}

// sglangOnly refuses the options only SGLang has.
func sglangOnly(k Kind, o Options, byStageWhy string) error {
	switch {
	case o.ProfileByStage:
		return unsupported(k, "profile-by-stage", byStageWhy)
	case o.MergeProfiles:
		return unsupported(k, "merge-profiles", "merge the ranks' traces afterwards")
	case o.StartStep > 0:
		return unsupported(k, "start-step", "raise --warmup-steps instead")
	}
	return nil
}

// prefixNote says that a prefix is ignored.
func prefixNote(k Kind, o Options) []string {
	if o.ProfilePrefix == "" {
		return nil
	}
	return []string{"--profile-prefix is ignored: " + k.Title() + " names its traces itself"}
}

// Control sends a request to a profiler route. 2xx is not success: gateways
// Answer 200 to a request they have refused, with success false in the body,
// and 206 when workers refused it, even when all did.
func Control(ctx context.Context, c *Client, path string, body any, timeout time.Duration) error {
	a, err := c.Post(ctx, path, body, timeout)
	if err != nil {
		return err
	}
	var said struct {
		Success *bool             `json:"success"`
		Failed  []json.RawMessage `json:"failed"`
	}
	// Most servers answer with a sentence, or nothing.
	isJSON := json.Unmarshal(a.Text, &said) == nil
	switch {
	case a.Status == http.StatusPartialContent:
		return PartialError{c.Fail(http.MethodPost, path, a.Status, a.Text, fmt.Errorf("%d workers refused", max(len(said.Failed), 1)))}
	case isJSON && said.Success != nil && !*said.Success:
		return RefusedError{c.Fail(http.MethodPost, path, a.Status, a.Text, errors.New("refused"))}
	}
	return nil
}

// NotInProgress recognises the answer to a stop request that came after the
// window had closed by itself. SGLang raises "Profiling is not in progress.
// Call /start_profile first." which its HTTP server turns into a 500.
func NotInProgress(err error) bool { return says(err, "not in progress", "not running", "not started") }

// AlreadyRunning recognises the answer to a start request while somebody
// else's window is open: "Profiling is already in progress. Call /stop_profile
// first.", or 409.
func AlreadyRunning(err error) bool {
	return Status(err) == http.StatusConflict || says(err, "already in progress", "already running")
}

func says(err error, phrases ...string) bool {
	var se *Error
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
