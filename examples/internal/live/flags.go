package live

import (
	"cmp"
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

	flags               *flag.FlagSet // of the program
	framework, workload *string
	delay               seconds
	traceTimeout        seconds
	stopTimeout         seconds
	requestTimeout      seconds
	stableFor           seconds
	attach              seconds
	inspect             bool
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
	fs.Func("url", "`http://host:port`: server address; repeat it for each engine behind a gateway", s.address)
	s.ModelFlags(fs)
	fs.StringVar(&s.O.Model, "model", "", "`NAME`: model of OpenAI requests (default: the first of /v1/models)")
}

// ModelFlags are common to one server and to a matrix of them.
func (s *Settings) ModelFlags(fs *flag.FlagSet) {
	s.framework = fs.String("framework", "auto", "`NAME`: server: auto, sglang, vllm, tensorrt-llm or tokenspeed")
	s.RequestFlags(fs)
}

// RequestFlags are of every request, whatever the server.
func (s *Settings) RequestFlags(fs *flag.FlagSet) {
	s.flags = fs
	fs.Func("header", "`\"NAME: VALUE\"`: header of every request, e.g. Authorization; repeatable", s.header)
	s.requestTimeout = seconds(10 * time.Minute)
	fs.Var(&s.requestTimeout, "request-timeout", "`TIME`: limit of one request, in seconds or as 90s, 10m")
}

// FolderFlags say where the traces go.
func (s *Settings) FolderFlags(fs *flag.FlagSet) {
	fs.StringVar(&s.O.OutputDir, "output-dir", "", "`DIR`: folder of the traces; vLLM: its torch_profiler_dir")
	fs.StringVar(&s.O.ServerOutputDir, "server-output-dir", "",
		"`DIR`: the same folder as the server sees it (containers)")
}

// ProbeFlags shape probe and legacy requests.
func (s *Settings) ProbeFlags(fs *flag.FlagSet) {
	fs.IntVar(&s.O.ProbeRequests, "probe-requests", 3,
		"`NUMBER`: legacy requests, and the least number of prefill requests")
	fs.StringVar(&s.O.ProbePrompt, "probe-prompt", "",
		"`TEXT`: prompt of probe and legacy requests (default: a short question)")
	fs.IntVar(&s.O.ProbeMaxNewTokens, "probe-max-new-tokens", 64,
		"`NUMBER`: most tokens of a probe or legacy request")
}

// OnlyProbeFlags are those of a probe, in the published script's spelling too.
func (s *Settings) OnlyProbeFlags(fs *flag.FlagSet) {
	for _, name := range []string{"probe-requests", "requests"} {
		fs.IntVar(&s.O.ProbeRequests, name, 6, "`NUMBER`: requests to send")
	}
	for _, name := range []string{"probe-prompt", "prompt"} {
		fs.Func(name, "`TEXT`: prompt; repeatable, sent in turn (default: three built-in prompts)", func(text string) error {
			s.O.ProbePrompts = append(s.O.ProbePrompts, text)
			return nil
		})
	}
	for _, name := range []string{"probe-max-new-tokens", "max-tokens"} {
		fs.IntVar(&s.O.ProbeMaxNewTokens, name, 64, "`NUMBER`: most tokens of a request")
	}
	fs.Var(&s.requestTimeout, "timeout", "the same as --request-timeout")
}

// WindowFlags shape what is profiled.
func (s *Settings) WindowFlags(fs *flag.FlagSet) {
	s.workload = app.Choice(fs, "profile-workload", "`WORKLOAD`: what to profile", "both", "prefill", "decode",
		"legacy")
	fs.IntVar(&s.O.NumSteps, "num-steps", 5, "`NUMBER`: forward passes to profile")
	fs.IntVar(&s.O.WarmupSteps, "warmup-steps", 10, "`NUMBER`: passes of the same shape before profiling starts")
	fs.IntVar(&s.O.Prefill.InputLen, "prefill-input-len", 4090, "`WORDS`: length of a prefill prompt")
	fs.IntVar(&s.O.Prefill.OutputLen, "prefill-output-len", 1, "`TOKENS`: output of a prefill request")
	fs.IntVar(&s.O.Decode.InputLen, "decode-input-len", 1, "`WORDS`: length of a decode prompt")
	fs.IntVar(&s.O.Decode.OutputLen, "decode-output-len", 2048,
		"`TOKENS`: output of a decode request (SGLang; others: the steps and 1)")
	fs.BoolVar(&s.O.ProfileByStage, "profile-by-stage", false,
		"write one trace per stage (SGLang, --profile-workload legacy)")
	fs.BoolVar(&s.O.MergeProfiles, "merge-profiles", false,
		"also merge the ranks into one trace (SGLang)")
	off(fs, "no-profile-by-stage", &s.O.ProfileByStage)
	off(fs, "no-merge-profiles", &s.O.MergeProfiles)
	fs.StringVar(&s.O.ProfilePrefix, "profile-prefix", "",
		"`PREFIX`: start of the traces' names (SGLang; TokenSpeed: profile_id)")
	fs.IntVar(&s.O.StartStep, "start-step", 0, "`STEP`: first step of the window; 0: the next one (not every server)")
	s.delay = seconds(5 * time.Second)
	fs.Var(&s.delay, "probe-delay", "`TIME`: pause between arming the profiler and the first request")
	fs.IntVar(&s.O.FirstIndex, "first-index", 0, "`NUMBER`: index of the first prompt; 0: a new one, unknown to prefix "+
		"caches")
	fs.BoolVar(&s.O.IgnoreEOS, "ignore-eos", false,
		"ignore end-of-sequence tokens (a second try always does)")
	fs.IntVar(&s.O.Concurrency, "concurrency", 1, "`NUMBER`: requests in flight, the batch of a decode window")
	fs.Var(&s.attach, "attach", "`TIME`: profile existing traffic for this long; send no requests")
	fs.BoolVar(&s.O.NoRetry, "no-retry", false, "do not capture an invalid stage again")
	fs.Func("activities", "`LIST`: what to record, e.g. CPU,GPU (not vLLM) (default: CPU,GPU)", s.activities)
	optional(fs, &s.O.WithStack, "with-stack",
		"`true|false`: record stacks (SGLang, TokenSpeed) (default: as launched)")
	optional(fs, &s.O.RecordShapes, "record-shapes",
		"`true|false`: record shapes (SGLang, TokenSpeed) (default: true for SGLang)")
	fs.BoolVar(&s.O.Nsys, "nsys", false, "use cudaProfilerApi of a server under nsys; exports SQLite")
	s.WaitFlags(fs)
}

// WaitFlags say how traces are waited for and checked.
func (s *Settings) WaitFlags(fs *flag.FlagSet) {
	s.flags = fs
	fs.IntVar(&s.O.ExpectRanks, "ranks", 0, "`NUMBER`: traces to wait for per stage (default: as the server says)")
	s.traceTimeout, s.stopTimeout, s.stableFor = seconds(10*time.Minute), seconds(30*time.Minute),
		seconds(2*time.Second)
	fs.Var(&s.traceTimeout, "trace-timeout", "`TIME`: wait for complete traces after profiling stops")
	fs.Var(&s.stopTimeout, "stop-timeout", "`TIME`: wait for the answer to /stop_profile")
	fs.Var(&s.stableFor, "stable-for", "`TIME`: how long a file must keep its size to be complete")
	fs.BoolVar(&s.inspect, "inspect", true, "read each trace; report steps, GPU events and empty windows")
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
	if err := o.CheckValues(func(name string) bool { return s.flags.Lookup(name) != nil }); err != nil {
		return o, app.Usagef("%v", err)
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
	// 0 is the default of an option, -1 is none.
	o.WarmupSteps = cmp.Or(o.WarmupSteps, -1)
	if o.ArmDelay = time.Duration(s.delay); o.ArmDelay == 0 {
		o.ArmDelay = -1
	}
	o.Attach = time.Duration(s.attach)
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

// address adds an address: the first is the server's, the others are further engines.
func (s *Settings) address(text string) error {
	if s.O.URL == "" {
		s.O.URL = text
	} else {
		s.O.Workers = append(s.O.Workers, text)
	}
	return nil
}

// optional defines a bool that may be left open.
func optional(fs *flag.FlagSet, to **bool, name, usage string) {
	fs.BoolFunc(name, usage, func(text string) error {
		v, err := strconv.ParseBool(text)
		if err == nil {
			*to = &v
		}
		return err
	})
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

// header adds "Name: value". Values stay out of help and errors: they are secrets.
func (s *Settings) header(text string) error {
	name, value, ok := strings.Cut(text, ":")
	name = strings.TrimSpace(name)
	if !ok || name == "" {
		return fmt.Errorf("want \"Name: value\"")
	}
	if s.O.Header == nil {
		s.O.Header = http.Header{}
	}
	s.O.Header.Add(name, strings.TrimSpace(value))
	return nil
}

// activities replaces the list of what is recorded.
func (s *Settings) activities(text string) error {
	s.O.Activities = nil
	for p := range strings.SplitSeq(text, ",") {
		if p = strings.TrimSpace(p); p != "" {
			s.O.Activities = append(s.O.Activities, strings.ToUpper(p))
		}
	}
	return nil
}
