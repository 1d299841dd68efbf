package live

import (
	"flag"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/examples/internal/app"
)

// Settings are the flags that end up in capture.Options. The zero value of an
// option is its default there, so flags start at the defaults here and are
// checked before they are handed on.
type Settings struct {
	// O is filled in by the flags; a program may add what has no flag.
	O capture.Options

	framework, workload *string
	header              headers
	delay               seconds
	traceTimeout        seconds
	stopTimeout         seconds
	requestTimeout      seconds
	stableFor           seconds
	attach              seconds
	activities          commas
	inspect, probe      bool
}

// Framework reads a server's name: wrong usage where it is none.
func Framework(name string) (capture.Framework, error) {
	f, err := capture.ParseFramework(name)
	if err != nil {
		return "", app.Usagef("%s", strings.TrimPrefix(err.Error(), "capture: "))
	}
	return f, nil
}

// ServerFlags are needed to talk to a server.
func (s *Settings) ServerFlags(fs *flag.FlagSet) {
	fs.Var(urls{&s.O}, "url", "address of the server, `http://host:port`; repeat it to name each engine of a deployment: where the first is a gateway, requests go through it")
	s.ModelFlags(fs)
	fs.StringVar(&s.O.Model, "model", "", "`NAME` to send with OpenAI requests; empty: the first of /v1/models")
}

// ModelFlags are common to one server and to a matrix of them.
func (s *Settings) ModelFlags(fs *flag.FlagSet) {
	s.framework = fs.String("framework", "auto", "the server's `NAME`, in any usual spelling: auto, sglang, vllm, tensorrt-llm (tllm), tokenspeed (ts)")
	s.RequestFlags(fs)
}

// RequestFlags are of every request, whatever the server.
func (s *Settings) RequestFlags(fs *flag.FlagSet) {
	fs.Var(&s.header, "header", "`\"Name: value\"` added to every request, such as an Authorization; may be repeated")
	s.requestTimeout = seconds(10 * time.Minute)
	fs.Var(&s.requestTimeout, "request-timeout", "longest `TIME` for one request, in seconds or as 90s, 10m")
}

// FolderFlags say where the traces go.
func (s *Settings) FolderFlags(fs *flag.FlagSet) {
	fs.StringVar(&s.O.OutputDir, "output-dir", "", "`DIR` for the traces; vLLM: its torch_profiler_dir")
	fs.StringVar(&s.O.ServerOutputDir, "server-output-dir", "",
		"the same `DIR` as the server sees it, where that differs (containers)")
}

// ProbeFlags shape probe and legacy requests.
func (s *Settings) ProbeFlags(fs *flag.FlagSet, requests string) {
	s.probe = true
	fs.IntVar(&s.O.ProbeRequests, "probe-requests", 3, "`NUMBER` of "+requests)
	fs.StringVar(&s.O.ProbePrompt, "probe-prompt", "",
		"`TEXT` of probe and legacy requests; empty: a short question about GPUs")
	fs.IntVar(&s.O.ProbeMaxNewTokens, "probe-max-new-tokens", 64,
		"`NUMBER` of tokens a probe or legacy request may generate")
}

// OnlyProbeFlags are those of a probe, in the published script's spelling too.
func (s *Settings) OnlyProbeFlags(fs *flag.FlagSet) {
	s.probe = true
	for _, name := range []string{"probe-requests", "requests"} {
		fs.IntVar(&s.O.ProbeRequests, name, 6, "`NUMBER` of requests")
	}
	for _, name := range []string{"probe-prompt", "prompt"} {
		fs.Var((*list)(&s.O.ProbePrompts), name, "`TEXT` to send; may be repeated, the texts are sent in turn; not given: three of this program's")
	}
	for _, name := range []string{"probe-max-new-tokens", "max-tokens"} {
		fs.IntVar(&s.O.ProbeMaxNewTokens, name, 64, "`NUMBER` of tokens a request may generate")
	}
	fs.Var(&s.requestTimeout, "timeout", "the same as --request-timeout")
}

// WindowFlags shape what is profiled.
func (s *Settings) WindowFlags(fs *flag.FlagSet) {
	s.workload = app.Choice(fs, "profile-workload", "what to profile, a `WORKLOAD` of", "both", "prefill", "decode",
		"legacy")
	fs.IntVar(&s.O.NumSteps, "num-steps", 5, "`NUMBER` of forward passes to profile")
	fs.IntVar(&s.O.WarmupSteps, "warmup-steps", 10, "`NUMBER` of passes of the same shape before the profiler is armed")
	fs.IntVar(&s.O.Prefill.InputLen, "prefill-input-len", 4090, "`WORDS` of a prefill prompt")
	fs.IntVar(&s.O.Prefill.OutputLen, "prefill-output-len", 1, "`TOKENS` a prefill request generates")
	fs.IntVar(&s.O.Decode.InputLen, "decode-input-len", 1, "`WORDS` of a decode prompt")
	fs.IntVar(&s.O.Decode.OutputLen, "decode-output-len", 2048,
		"`TOKENS` a decode request generates (SGLang; the others one per step and one more)")
	fs.BoolVar(&s.O.ProfileByStage, "profile-by-stage", false,
		"have the server write one trace per stage (SGLang, with --profile-workload legacy)")
	fs.BoolVar(&s.O.MergeProfiles, "merge-profiles", false,
		"have the server merge the ranks into one more trace (SGLang)")
	off(fs, "no-profile-by-stage", &s.O.ProfileByStage)
	off(fs, "no-merge-profiles", &s.O.MergeProfiles)
	fs.StringVar(&s.O.ProfilePrefix, "profile-prefix", "",
		"`PREFIX` of the traces' names (SGLang; TokenSpeed as profile_id)")
	fs.IntVar(&s.O.StartStep, "start-step", 0, "`STEP` at which the window opens; 0: at once (SGLang, TensorRT-LLM's routes, vLLM with delay_iterations)")
	s.delay = seconds(5 * time.Second)
	fs.Var(&s.delay, "probe-delay", "`TIME` between arming the profiler and the first request, in seconds or as 5s, 1m")
	fs.IntVar(&s.O.FirstIndex, "first-index", 0, "`NUMBER` of the first prompt (profile_probe_N); 0: one that no other run has, so that no prefix cache knows the prompts")
	fs.BoolVar(&s.O.IgnoreEOS, "ignore-eos", false,
		"ask the server to generate on past an end-of-sequence token (a second try does)")
	fs.IntVar(&s.O.Concurrency, "concurrency", 1, "`NUMBER` of requests in flight: the batch of a decode window")
	fs.Var(&s.attach, "attach", "profile the traffic that is there for this `TIME` and send no requests")
	fs.BoolVar(&s.O.NoRetry, "no-retry", false, "leave a stage that is not valid at that; else it is captured once more with what should remove the cause")
	fs.Var(&s.activities, "activities", "what to record, a `LIST` of CPU, GPU and what else the server knows (SGLang, TensorRT-LLM, TokenSpeed); empty: CPU,GPU")
	fs.Var(optional{&s.O.WithStack}, "with-stack",
		"have stacks recorded, `true or false` (SGLang, TokenSpeed; others at launch); not given: as the server has it")
	fs.Var(optional{&s.O.RecordShapes}, "record-shapes",
		"have shapes recorded, `true or false` (SGLang, TokenSpeed; others at launch); not given: SGLang yes")
	fs.BoolVar(&s.O.Nsys, "nsys", false, "arm cudaProfilerApi ranges, for a server launched under Nsight Systems (capture doctor prints the line); the report is exported to SQLite, which host reads")
	s.WaitFlags(fs)
}

// WaitFlags say how traces are waited for and checked.
func (s *Settings) WaitFlags(fs *flag.FlagSet) {
	fs.IntVar(&s.O.ExpectRanks, "ranks", 0, "`NUMBER` of traces to wait for per stage; 0: as the server says, else until no more appear")
	s.traceTimeout, s.stopTimeout, s.stableFor = seconds(10*time.Minute), seconds(30*time.Minute),
		seconds(2*time.Second)
	fs.Var(&s.traceTimeout, "trace-timeout", "longest `TIME` to wait for complete traces once the profiler is stopped")
	fs.Var(&s.stopTimeout, "stop-timeout", "longest `TIME` to wait for /stop_profile, which vLLM answers when all is written")
	fs.Var(&s.stableFor, "stable-for", "`TIME` a file must keep its size before its end is checked")
	fs.BoolVar(&s.inspect, "inspect", true, "read each trace and report steps, GPU events and an empty window")
}

// OptionsOfURL is [Settings.Options] of a program that needs --url.
func (s *Settings) OptionsOfURL(env *app.Env) (capture.Options, error) {
	o, err := s.Options(env)
	if err == nil && o.URL == "" {
		err = app.Usagef("--url is needed")
	}
	return o, err
}

// Options checks the flags, wrong usage first.
func (s *Settings) Options(env *app.Env) (capture.Options, error) {
	o := s.O
	for _, c := range []struct {
		name   string
		n, min int
		used   bool
	}{
		{"num-steps", o.NumSteps, 1, s.workload != nil}, {"warmup-steps", o.WarmupSteps, 0, s.workload != nil},
		{"prefill-input-len", o.Prefill.InputLen, 1, s.workload != nil},
		{"prefill-output-len", o.Prefill.OutputLen, 1, s.workload != nil},
		{"decode-input-len", o.Decode.InputLen, 1, s.workload != nil},
		{"decode-output-len", o.Decode.OutputLen, 1, s.workload != nil},
		{"start-step", o.StartStep, 0, true}, {"first-index", o.FirstIndex, 0, true}, {"ranks", o.ExpectRanks, 0, true},
		{"concurrency", o.Concurrency, 1, s.workload != nil},
		{"probe-requests", o.ProbeRequests, 1, s.probe}, {"probe-max-new-tokens", o.ProbeMaxNewTokens, 1, s.probe},
	} {
		if c.used && c.n < c.min {
			return o, app.Usagef("--%s %d: want at least %d", c.name, c.n, c.min)
		}
	}
	if s.framework != nil {
		var err error
		if o.Framework, err = Framework(*s.framework); err != nil {
			return o, err
		}
	}
	if s.workload != nil {
		o.Workload = capture.Workload(*s.workload)
	}
	if strings.ContainsAny(o.ProfilePrefix, `/\`) {
		return o, app.Usagef("--profile-prefix %s: part of a file name, not a path", o.ProfilePrefix)
	}
	// 0 is the default of an option, -1 is none.
	if o.WarmupSteps == 0 {
		o.WarmupSteps = -1
	}
	if o.ArmDelay = time.Duration(s.delay); o.ArmDelay == 0 {
		o.ArmDelay = -1
	}
	o.Header = http.Header(s.header)
	o.Attach = time.Duration(s.attach)
	o.Activities = s.activities
	o.Timeouts.Traces, o.Timeouts.Stop, o.Timeouts.Request = time.Duration(s.traceTimeout),
		time.Duration(s.stopTimeout), time.Duration(s.requestTimeout)
	wait := &o.Timeouts
	wait.Stable = time.Duration(s.stableFor)
	if wait.Stable > 0 {
		wait.Poll = min(500*time.Millisecond, max(wait.Stable/4, time.Millisecond))
		wait.Settle = min(5*time.Second, 2*wait.Stable+wait.Stable/2)
	}
	if s.inspect {
		o.Inspect = inspector(env)
	}
	o.Progress = reporter(env)
	return o, nil
}

// seconds is a duration given as plain seconds, as the original scripts do, or
// with a unit.
type seconds time.Duration

func (s *seconds) String() string { return time.Duration(*s).String() }

// Set accepts 5, 0.5, 5s and 10m, not less than nothing.
func (s *seconds) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		f, ferr := strconv.ParseFloat(text, 64)
		if ferr != nil || f != f || f > 1e9 {
			return fmt.Errorf("want seconds or a time with a unit, such as 90s or 10m")
		}
		d = time.Duration(f * float64(time.Second))
	}
	if d < 0 {
		return fmt.Errorf("want no negative time")
	}
	*s = seconds(d)
	return nil
}

// urls is a repeated flag: the first address is the server's, the others are further engines.
type urls struct{ o *capture.Options }

func (u urls) String() string { return "" }

// Set adds one.
func (u urls) Set(text string) error {
	if u.o.URL == "" {
		u.o.URL = text
		return nil
	}
	u.o.Workers = append(u.o.Workers, text)
	return nil
}

// optional is a bool that may be left open.
type optional struct{ to **bool }

func (o optional) String() string { return "" }

// IsBoolFlag allows the flag without a value.
func (o optional) IsBoolFlag() bool { return true }

// Set accepts what a bool flag does.
func (o optional) Set(text string) error {
	v, err := strconv.ParseBool(text)
	if err == nil {
		*o.to = &v
	}
	return err
}

// off is the flag that the published scripts have for switching another off.
func off(fs *flag.FlagSet, name string, to *bool) {
	fs.BoolFunc(name, "the same as --"+strings.TrimPrefix(name, "no-")+"=false, for old command lines",
		func(text string) error {
			v, err := strconv.ParseBool(text)
			*to = *to && !v
			return err
		})
}

// headers is a repeated flag "Name: value". Values stay out of help and errors:
// they are secrets.
type headers http.Header

func (h *headers) String() string { return "" }

func (h *headers) Set(text string) error {
	name, value, ok := strings.Cut(text, ":")
	name = strings.TrimSpace(name)
	if !ok || name == "" {
		return fmt.Errorf("want \"Name: value\"")
	}
	if *h == nil {
		*h = headers{}
	}
	http.Header(*h).Add(name, strings.TrimSpace(value))
	return nil
}

// commas is a list with commas.
type commas []string

func (c *commas) String() string { return strings.Join(*c, ",") }

// Set replaces the list.
func (c *commas) Set(text string) error {
	*c = nil
	for _, p := range strings.Split(text, ",") {
		if p = strings.TrimSpace(p); p != "" {
			*c = append(*c, strings.ToUpper(p))
		}
	}
	return nil
}

// list is a flag that may be repeated.
type list []string

func (l *list) String() string { return strings.Join(*l, ", ") }

func (l *list) Set(text string) error {
	*l = append(*l, text)
	return nil
}
