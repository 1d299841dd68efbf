package capture

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"strings"
	"time"
)

// Shape is a request's size: words in, tokens out.
type Shape struct {
	// InputLen is in words of the synthetic prompt, one token each but for
	// the first with the tokenizers in use; OutputLen is in tokens.
	InputLen  int `json:"input_len"`
	OutputLen int `json:"output_len"`
}

// Timeouts bound every wait on a server and pace the watch over the output folder. A zero field has the default named.
type Timeouts struct {
	// Info bounds a request for server information; 10 s.
	Info time.Duration
	// Start bounds /start_profile; 60 s.
	Start time.Duration
	// Stop bounds /stop_profile; 30 min. vLLM answers when everything is written: its documentation speaks of 10
	// minutes, and users of 20 (vllm-project/vllm#22748).
	Stop time.Duration
	// Request bounds one workload request; 10 min.
	Request time.Duration
	// Traces bounds the wait for complete files after the profiler was stopped; 10 min.
	Traces time.Duration
	// Quiet ends that wait early: the server has answered the stop, as one does that has written its traces, and since
	// then no file has appeared or grown; 75 s. A network file system shows a new file after up to 60 s.
	Quiet time.Duration
	// Cleanup bounds the stop request after an error or a cancelled context; 15 s.
	Cleanup time.Duration
	// Slow is the least time that a profiled request gets, however quick the warm-up was; 1 min: a profiler's first
	// pass takes seconds to come up, and files of compiled kernels may be made.
	Slow time.Duration
	// Heartbeat is the time after which the last progress is repeated; 30 s.
	Heartbeat time.Duration
	// Detach is how long a cancelled run waits for the answer to a start or
	// stop request that is under way before it leaves the server to it; 1 s.
	Detach time.Duration

	// Poll is the time between two looks at the output folder; 500 ms.
	Poll time.Duration
	// Stable is how long a file must keep its size before its end is checked; 2 s.
	Stable time.Duration
	// Settle is how long no further file may appear before a set of unknown size counts as complete; 5 s.
	Settle time.Duration
}

// Found is what a caller saw in a trace; see [Options].Inspect. A count that was
// not made is -1, a text or time that is not known empty.
type Found struct {
	// Steps is the number of forward passes found, Stages the same by stage:
	// prefill, decode, mixed, verify, draft, unknown.
	Steps  int            `json:"steps"`
	Stages map[string]int `json:"stages,omitempty"`
	// PrefillTokens are the tokens that prefill passes computed, as far as they say; 0 when none does.
	PrefillTokens int64 `json:"prefill_tokens,omitempty"`
	// GPUEvents are kernels, copies and memsets; CPUEvents are all others.
	GPUEvents int64 `json:"gpu_events"`
	CPUEvents int64 `json:"cpu_events"`
	// Coverage is the share of the GPU activities that lie in passes, 0 to 1.
	Coverage float64 `json:"coverage"`
	// Ranked reports whether the file names its process: Rank of WorldSize.
	Ranked    bool `json:"ranked"`
	Rank      int  `json:"rank"`
	WorldSize int  `json:"world_size"`
	// Start and End are the first and the last event by the clock of the
	// machine that recorded them; zero when the file does not say.
	Start time.Time `json:"start,omitzero"`
	End   time.Time `json:"end,omitzero"`
	// Note is one sentence on the trace's health, may be empty.
	Note string `json:"note,omitempty"`
}

// Options say what to capture. The zero value of a field is its default; URL and OutputDir have none. What shapes a
// capture has a name in JSON, see [Result].
type Options struct {
	// URL is the server's address, "http://host:port"; without a scheme it is http, and a trailing /v1 is cut.
	URL string `json:"-"`
	// Workers are further engines to profile. Where URL is a gateway, requests go to it and its workers are profiled,
	// these or the ones that it lists; else requests go to all engines in turn. Nothing is sent to another host than
	// URL's or this one that is not named here.
	Workers []string `json:"-"`
	// Framework is the server; [FrameworkAuto]: found out.
	Framework Framework `json:"-"`
	// OutputDir is the folder for the traces on this machine. For vLLM it must be the server's torch_profiler_dir, for
	// TensorRT-LLM the folder of TLLM_TORCH_PROFILE_TRACE. It is created if need be.
	OutputDir string `json:"-"`
	// ServerOutputDir is OutputDir as the server sees it, when the two differ
	// (containers, mounts); default OutputDir, made absolute.
	ServerOutputDir string `json:"-"`

	// NumSteps is the number of forward passes to profile; 5.
	NumSteps int `json:"num_steps"`
	// WarmupSteps are run with the same shape before the profiler is armed;
	// 10. Negative: none.
	WarmupSteps int `json:"warmup_steps"`
	// Prefill defaults to 4090 in, 1 out; Decode to 1 in, 2048 out. Field by
	// field. A decode request generates NumSteps+1 tokens where the server does
	// not close the window by itself (all but SGLang), whatever OutputLen says.
	Prefill  Shape    `json:"prefill"`
	Decode   Shape    `json:"decode"`
	Workload Workload `json:"workload"`

	// ProfileByStage has the server write one trace per stage. SGLang only, and of use with "legacy" only: the other
	// workloads separate the stages themselves and turn it off.
	ProfileByStage bool `json:"profile_by_stage"`
	// MergeProfiles has the server merge all ranks into one more file. SGLang only.
	MergeProfiles bool `json:"merge_profiles"`
	// ProfilePrefix begins the trace's file name: SGLang, and TokenSpeed as part of profile_id. No separators.
	ProfilePrefix string `json:"profile_prefix"`
	// StartStep is the forward pass the window opens at; 0 is now. SGLang, TensorRT-LLM's routes, and vLLM where its
	// start request has delay_iterations.
	StartStep int `json:"start_step"`
	// WithStack and RecordShapes are sent to SGLang and TokenSpeed. nil: stacks as the server's default has them,
	// shapes with SGLang only. The others fix both at launch.
	WithStack    *bool `json:"with_stack"`
	RecordShapes *bool `json:"record_shapes"`
	// Activities defaults to CPU and GPU.
	Activities []string `json:"activities"`

	// ProbeRequests is the least number of prefill requests, and the number of legacy and probe requests; 3.
	ProbeRequests int `json:"probe_requests"`
	// ProbePrompt is the prompt of legacy requests, "" one of this package; ProbePrompts those of [Probe],
	// taken in turn; nil: ProbePrompt if that is set, else three of this package.
	ProbePrompt  string   `json:"probe_prompt"`
	ProbePrompts []string `json:"-"`
	// ProbeMaxNewTokens is their output length; 64.
	ProbeMaxNewTokens int `json:"probe_max_new_tokens"`
	// ArmDelay is waited between arming and the first request: the profiler of
	// another process needs a while to come up; 5 s. Negative: none.
	ArmDelay time.Duration `json:"-"`
	// FirstIndex is the number of the first profile_probe_<i>; 0 is one that no
	// other run has, so that no prefix cache knows the prompts.
	FirstIndex int `json:"-"`
	// Concurrency is the number of requests in flight; 1. A decode stage sends
	// as many requests, a prefill stage as many per step.
	Concurrency int `json:"concurrency"`
	// Nsys arms cudaProfilerApi ranges instead of the torch profiler, for a server that was launched under Nsight
	// Systems, and waits for its report.
	Nsys bool `json:"nsys,omitempty"`
	// Attach, when positive, profiles the traffic that is there for so long: nothing is sent but the profiler's
	// requests. The workload is then "legacy".
	Attach time.Duration `json:"attach_ns"`
	// IgnoreEOS asks the server to go on past an end-of-sequence token. The
	// second try of a window that was too short does so by itself.
	IgnoreEOS bool `json:"ignore_eos"`
	// NoRetry leaves a stage whose traces are not valid at that. Otherwise it is captured once more with what should
	// remove the cause: new prompts, a longer window, generation past the end of sequence.
	NoRetry bool `json:"-"`

	// ExpectRanks is the number of traces to wait for, per stage; 0 takes it from the server's information where that
	// has it (SGLang), and else accepts the set that has settled.
	ExpectRanks int `json:"ranks"`

	// Model is sent with OpenAI requests; default the first of /v1/models.
	Model string `json:"model"`
	// Header is added to every request, for example Authorization.
	Header http.Header `json:"-"`

	// Timeouts bound every wait and pace the watch over the folder.
	Timeouts Timeouts `json:"-"`

	// Inspect, when set, is called for each finished trace, or report of Nsight Systems. Its error is a
	// warning of the result: the file is there all the same.
	Inspect func(ctx context.Context, path string) (Found, error) `json:"-"`
	// Progress, when set, is called from one goroutine at a time, at least once per poll interval while traces are
	// waited for, but for the time it takes to read one to its end.
	Progress func(Progress) `json:"-"`

	// dry, when set, is called instead of sending a request that changes anything.
	dry func(c *client, method, path string, body []byte)
}

// Progress is a sign of life.
type Progress struct {
	// Stage is "" outside any.
	Stage Stage
	// Phase is detect, info, warmup, start, wait, requests, stop, traces, check or done. More may be added.
	Phase string
	// Message is one line for people.
	Message string
	// Elapsed is the time since the phase began.
	Elapsed time.Duration
	// Still is set where nothing is new: the phase goes on.
	Still bool
}

// defaultPrompt is the prompt of probe and legacy requests: short, and has any model answer with a few sentences.
const defaultPrompt = "Explain in three sentences what a GPU kernel is."

// defaults are the options where nothing is said. WarmupSteps and ArmDelay are 0 where they are negative.
var defaults = Options{
	Workload: WorkloadBoth, NumSteps: 5, WarmupSteps: 10, Prefill: Shape{4090, 1}, Decode: Shape{1, 2048},
	Activities: []string{"CPU", "GPU"}, ProbeRequests: 3, ProbePrompt: defaultPrompt, ProbeMaxNewTokens: 64,
	ArmDelay: 5 * time.Second, Concurrency: 1,
	Timeouts: Timeouts{
		Info: 10 * time.Second, Start: time.Minute, Stop: 30 * time.Minute, Request: 10 * time.Minute,
		Traces: 10 * time.Minute, Quiet: 75 * time.Second, Cleanup: 15 * time.Second, Slow: time.Minute,
		Heartbeat: 30 * time.Second, Detach: time.Second, Poll: 500 * time.Millisecond, Stable: 2 * time.Second,
		Settle: 5 * time.Second,
	},
}

// fill sets the exported fields of a struct that are zero to those of another one.
func fill(to, from reflect.Value) {
	for i := range to.NumField() {
		switch f := to.Field(i); {
		case f.Kind() == reflect.Struct:
			fill(f, from.Field(i))
		case f.CanSet() && f.IsZero():
			f.Set(from.Field(i))
		}
	}
}

// withDefaults fills in what is zero.
func (o Options) withDefaults() Options {
	if f, err := ParseFramework(string(o.Framework)); err == nil {
		o.Framework = f
	}
	if o.Nsys {
		o.Activities = []string{"CUDA_PROFILER"}
	}
	if o.Attach > 0 {
		o.Workload, o.WarmupSteps = WorkloadLegacy, -1
	}
	o.FirstIndex = cmp.Or(o.FirstIndex, freshIndex())
	fill(reflect.ValueOf(&o).Elem(), reflect.ValueOf(defaults))
	o.WarmupSteps, o.ArmDelay = max(o.WarmupSteps, 0), max(o.ArmDelay, 0)
	return o
}

// provenance is the part of options with their defaults that shapes a capture: what has a name in JSON.
func (o Options) provenance() Options {
	v := reflect.ValueOf(&o).Elem()
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.Tag.Get("json") == "-" {
			v.Field(i).SetZero()
		}
	}
	o.dry = nil
	return o
}

const (
	// maxConcurrency is more requests than a load generator has use for in a window
	// of a few passes; each has a connection.
	maxConcurrency = 4096
	// maxCount is more than any server takes: a prompt of as many words would be built in memory here.
	maxCount = 4 << 20
)

// validate reports every field that makes no sense.
func (o Options) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("capture: "+format, args...)) }
	if o.OutputDir == "" {
		bad("no output folder (OutputDir, --output-dir)")
	}
	if err := new(Workload).UnmarshalText([]byte(o.Workload)); err != nil {
		errs = append(errs, err)
	}
	if _, err := ParseFramework(string(o.Framework)); err != nil {
		errs = append(errs, err)
	}
	if err := o.CheckValues(func(string) bool { return true }); err != nil {
		bad("%w", err)
	}
	return join(errs...)
}

// CheckValues says which numbers and names are out of range, of the options that asked says yes to. Options are called
// as the flags for them.
func (o *Options) CheckValues(asked func(flag string) bool) error {
	var errs []error
	for _, n := range []struct {
		name           string
		v, least, most int
	}{
		{"num-steps", o.NumSteps, 1, maxCount}, {"warmup-steps", o.WarmupSteps, 0, math.MaxInt},
		{"prefill-input-len", o.Prefill.InputLen, 1, maxCount}, {"prefill-output-len", o.Prefill.OutputLen, 1, maxCount},
		{"decode-input-len", o.Decode.InputLen, 1, maxCount}, {"decode-output-len", o.Decode.OutputLen, 1, maxCount},
		{"probe-requests", o.ProbeRequests, 1, maxCount}, {"probe-max-new-tokens", o.ProbeMaxNewTokens, 1, maxCount},
		{"concurrency", o.Concurrency, 1, maxConcurrency}, {"start-step", o.StartStep, 0, math.MaxInt},
		{"first-index", o.FirstIndex, 0, math.MaxInt}, {"ranks", o.ExpectRanks, 0, maxWorld},
		{"attach", int(min(max(o.Attach, -1), 1)), 0, 1},
	} {
		switch {
		case !asked(n.name):
		case n.v < n.least:
			errs = append(errs, fmt.Errorf("--%s %d: want at least %d", n.name, n.v, n.least))
		case n.v > n.most:
			errs = append(errs, fmt.Errorf("--%s %d: want at most %d", n.name, n.v, n.most))
		}
	}
	if p := o.ProfilePrefix; strings.ContainsAny(p, `/\`) || p == "." || p == ".." {
		errs = append(errs, fmt.Errorf("--profile-prefix %s: part of a file name, not a path", p))
	}
	return join(errs...)
}

// unsupported refuses what the engine at hand has no field for, before anything is sent, and notes what is ignored.
func (t *target) unsupported(o *Options) (notes []string, err error) {
	for _, c := range []struct {
		set           bool
		flag, instead string
		fields        []Field
	}{
		{o.ProfileByStage, "profile-by-stage", "the prefill and decode workloads separate the stages without it",
			[]Field{FieldByStage}},
		{o.MergeProfiles, "merge-profiles", "merge the ranks' traces afterwards", []Field{FieldMerge}},
		{o.StartStep > 0, "start-step", "raise --warmup-steps instead", []Field{FieldStartStep, FieldDelayIterations}},
	} {
		if c.set && !t.takes(c.fields...) {
			return nil, fmt.Errorf("capture: --%s with %s: %w: %s", c.flag, t.con.Framework.Title(), ErrUnsupported, c.instead)
		}
	}
	if o.ProfileByStage && o.Workload != WorkloadLegacy {
		notes = append(notes, "profile_by_stage is off: the "+string(o.Workload)+
			" workload separates the stages itself (use --profile-workload legacy for the server's own)")
	}
	if o.ProfilePrefix != "" && !t.takes(FieldPrefix, FieldProfileID) {
		notes = append(notes, "--profile-prefix is ignored: "+t.con.Framework.Title()+" names its traces itself")
	}
	return notes, nil
}
