package capture_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/capture"
)

// wantError checks an error's kind and what its text says.
func wantError(t *testing.T, err, is error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", parts)
		return
	}
	if is != nil && !errors.Is(err, is) {
		t.Errorf("error is not %v: %v", is, err)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error does not say %q: %v", p, err)
		}
	}
}

type fault func(w http.ResponseWriter, r *http.Request, path string, n int) bool

// notFound answers one route with 404.
func notFound(path string, also func()) fault {
	return answers(path, http.StatusNotFound, `{"detail":"Not Found"}`, also)
}

// answers replaces one route's answer.
func answers(path string, status int, body string, also func()) fault {
	return func(w http.ResponseWriter, r *http.Request, p string, n int) bool {
		if p != path {
			return false
		}
		if also != nil {
			also()
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
		return true
	}
}

// hangs keeps one route silent until the client goes away, from its nth
// request on.
func hangs(path string, nth int) fault {
	return func(w http.ResponseWriter, r *http.Request, p string, n int) bool {
		if p != path || n < nth {
			return false
		}
		<-r.Context().Done()
		return true
	}
}

var all = []capture.Framework{capture.FrameworkSGLang, capture.FrameworkVLLM, capture.FrameworkTensorRT,
	capture.FrameworkTokenSpeed}

// launchWord is a word of the launch advice of each framework.
var launchWord = map[capture.Framework]string{
	capture.FrameworkSGLang: "sglang.launch_server", capture.FrameworkVLLM: "--profiler-config",
	capture.FrameworkTensorRT: "TLLM_TORCH_PROFILE_TRACE", capture.FrameworkTokenSpeed: "TokenSpeed server",
}

// stopTwice are the servers that take a second stop request without harm.
var stopTwice = map[capture.Framework]bool{capture.FrameworkSGLang: true, capture.FrameworkTokenSpeed: true}

func genPath(f capture.Framework) string {
	if f == capture.FrameworkSGLang {
		return "/generate"
	}
	return "/v1/chat/completions"
}

// TestRefused: nothing listens.
func TestRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	for _, f := range append(all, capture.FrameworkAuto) {
		dir := outDir(t)
		_, err = capture.Run(context.Background(), capture.Options{URL: addr, Framework: f, OutputDir: dir})
		wantError(t, err, nil, "http://"+addr, "refused")
		var se *capture.ServerError
		if !errors.As(err, &se) || se.Status != 0 || se.Endpoint == "" {
			t.Errorf("%s: %#v", f, err)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: the output folder was made for nothing", f)
		}
	}
	noLeaks(t)
}

// TestStartFaults: each way /start_profile can fail names server, endpoint,
// status and what the server needs; a window that may be open is closed.
func TestStartFaults(t *testing.T) {
	for _, f := range all {
		for _, c := range []struct {
			name  string
			fault fault
			parts []string
			stops int
		}{
			{"404", notFound("/start_profile", nil), []string{"404 Not Found", launchWord[f]}, 0},
			{"405", answers("/start_profile", 405, "", nil), []string{"405 Method Not Allowed", launchWord[f]}, 0},
			{"500", answers("/start_profile", 500, "boom\n\x1b[31m twice", nil),
				[]string{"500 Internal Server Error", "boom [31m twice", launchWord[f]}, 1},
			{"busy", answers("/start_profile", 500, "Profiling is already in progress. Call /stop_profile first.", nil),
				[]string{"another capture is running"}, 0},
			{"refused politely", answers("/start_profile", 200, `{"success": false, "message": "profiler is off"}`,
				nil), []string{"200 OK: refused", "profiler is off", launchWord[f]}, 0},
			{"redirect", answers("/start_profile", 307, "", nil), []string{"307", "redirects"}, 0},
		} {
			dir := outDir(t)
			s := newFake(t, f, dir)
			s.fault = c.fault
			_, err := run(t, context.Background(), s, quick(s, dir))
			wantError(t, err, nil, append(c.parts, s.URL+"/start_profile")...)
			if got := len(s.saw("/stop_profile")); got != c.stops {
				t.Errorf("%s %s: %d stop requests, want %d", f, c.name, got, c.stops)
			}
		}
	}
}

// TestStartHangs: the request is given up, and the profiler, which may be
// armed, is stopped.
func TestStartHangs(t *testing.T) {
	for _, f := range all {
		dir := outDir(t)
		s := newFake(t, f, dir)
		s.fault = func(w http.ResponseWriter, r *http.Request, p string, n int) bool {
			if p == "/start_profile" {
				s.mu.Lock()
				s.armed = true
				s.mu.Unlock()
			}
			return hangs("/start_profile", 1)(w, r, p, n)
		}
		o := quick(s, dir)
		o.Timeouts.Start = 30 * time.Millisecond
		_, err := run(t, context.Background(), s, o)
		wantError(t, err, context.DeadlineExceeded, "/start_profile", "no answer within 30ms")
	}
}

// TestProbeFailsMidway: a request fails after the profiler was armed; it is
// stopped, and both errors are reported if that fails too.
func TestProbeFailsMidway(t *testing.T) {
	for _, f := range all {
		for _, stopFails := range []bool{false, true} {
			dir := outDir(t)
			s := newFake(t, f, dir)
			s.fault = func(w http.ResponseWriter, r *http.Request, p string, n int) bool {
				switch {
				case p == genPath(f) && n >= 13, p == "/v1/completions":
					http.Error(w, "out of memory", 500)
				case p == "/stop_profile" && stopFails:
					s.mu.Lock()
					s.armed = false
					s.mu.Unlock()
					http.Error(w, "stop is broken", http.StatusServiceUnavailable)
				default:
					return false
				}
				return true
			}
			_, err := run(t, context.Background(), s, quick(s, dir))
			wantError(t, err, nil, "prefill request 3 of 5", "500 Internal Server Error", "out of memory")
			if stopFails {
				wantError(t, err, capture.ErrStillRunning, "/stop_profile: 503", "stop is broken")
			}
			want := 1
			if stopFails && stopTwice[f] {
				want = 2 // a gateway's answer: the server may not have seen it
			}
			if got := len(s.saw("/stop_profile")); got != want {
				t.Errorf("%s: stop requests = %d, want %d", f, got, want)
			}
		}
	}
}

// TestWarmupFails: nothing was armed, nothing is stopped.
func TestWarmupFails(t *testing.T) {
	dir := outDir(t)
	s := newFake(t, capture.FrameworkSGLang, "")
	s.fault = answers("/generate", 400, "prompt too long", nil)
	_, err := run(t, context.Background(), s, quick(s, dir))
	wantError(t, err, nil, "prefill request 1 of 10", "400 Bad Request", "prompt too long")
	if n := len(s.saw("/start_profile")) + len(s.saw("/stop_profile")); n != 0 {
		t.Errorf("%d profiler requests", n)
	}
}

// TestRequestHangs: a request that is never answered is given up after its
// timeout, and the profiler is stopped.
func TestRequestHangs(t *testing.T) {
	for _, f := range all {
		dir := outDir(t)
		s := newFake(t, f, dir)
		s.fault = hangs(genPath(f), 12)
		o := quick(s, dir)
		o.Timeouts.Request = 250 * time.Millisecond
		_, err := run(t, context.Background(), s, o)
		wantError(t, err, context.DeadlineExceeded, "prefill request 2 of 5", "no answer within 250ms")
		if len(s.saw("/stop_profile")) != 1 {
			t.Errorf("%s: not stopped", f)
		}
	}
}

// TestStopFails: a stop that is answered with an error is not repeated; the
// traces show whether it was carried out. SGLang answers with an error, with or
// without a text, after it has stopped by itself.
func TestStopFails(t *testing.T) {
	for _, f := range all {
		for _, written := range []bool{true, false} {
			dir := outDir(t)
			s := newFake(t, f, dir)
			s.fault = answers("/stop_profile", 500, "flush failed", func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				if s.armed && written {
					s.closeWindow()
				}
				s.armed = false
			})
			o := quick(s, dir)
			o.Workload, o.Decode.OutputLen, o.Timeouts.Quiet = capture.WorkloadPrefill, 3, 150*time.Millisecond
			res, err := run(t, context.Background(), s, o)
			if got := len(s.saw("/stop_profile")); got != 1 {
				t.Errorf("%s, written %v: %d stop requests, want 1", f, written, got)
			}
			if written {
				if err != nil || len(res.Files()) != 1 {
					t.Fatalf("%s: a complete trace lies there: %v, %+v", f, err, res)
				}
				// SGLang's window has closed by itself: nothing is wrong.
				if warned := len(res.Stages[0].Warnings) > 0; warned == (f == capture.FrameworkSGLang) {
					t.Errorf("%s: warnings %q", f, res.Stages[0].Warnings)
				}
				continue
			}
			wantError(t, err, capture.ErrIncomplete, "/stop_profile: 500", "flush failed")
			if f != capture.FrameworkSGLang {
				wantError(t, err, capture.ErrStillRunning)
			}
		}
	}
}

// TestStopByGateway: an answer of a gateway leaves open whether the server was
// asked. Only one that takes it is asked again.
func TestStopByGateway(t *testing.T) {
	for _, f := range all {
		dir := outDir(t)
		s := newFake(t, f, dir)
		s.fault = func(w http.ResponseWriter, r *http.Request, p string, n int) bool {
			if p == "/stop_profile" && n == 1 {
				if !stopTwice[f] { // it was passed on, and the answer was lost
					s.mu.Lock()
					s.closeWindow()
					s.mu.Unlock()
				}
				http.Error(w, "", http.StatusBadGateway)
				return true
			}
			return false
		}
		o := quick(s, dir)
		o.Workload = capture.WorkloadPrefill
		res, err := run(t, context.Background(), s, o)
		if err != nil || len(res.Files()) != 1 {
			t.Errorf("%s: %v", f, err)
		}
		want := map[bool]int{true: 2, false: 1}[stopTwice[f]]
		if got := len(s.saw("/stop_profile")); got != want {
			t.Errorf("%s: %d stop requests, want %d", f, got, want)
		}
	}
}

// TestStopSlow: the stop request is not answered in time, but the traces come.
func TestStopSlow(t *testing.T) {
	dir := outDir(t)
	s := newFake(t, capture.FrameworkVLLM, dir)
	s.fault = func(w http.ResponseWriter, r *http.Request, p string, n int) bool {
		if p != "/stop_profile" {
			return false
		}
		<-r.Context().Done() // the client has given up; now the flush ends
		s.mu.Lock()
		s.closeWindow()
		s.mu.Unlock()
		return true
	}
	o := quick(s, dir)
	o.Workload = capture.WorkloadDecode
	o.Timeouts.Stop = 20 * time.Millisecond
	res, err := capture.Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if w := res.Stages[0].Warnings; len(res.Files()) != 1 || len(w) != 1 ||
		!strings.Contains(w[0], "no answer within 20ms") {
		t.Errorf("files %v, warnings %q", res.Files(), w)
	}
	noLeaks(t)
}

// TestChatMissing: completions is used where chat is missing, refuses or
// answers nonsense, and from then on at once.
func TestChatMissing(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault fault
	}{
		{"404", notFound("/v1/chat/completions", nil)},
		{"400", answers("/v1/chat/completions", 400, "no chat template", nil)},
		{"HTML", answers("/v1/chat/completions", 200, "<html>", nil)},
		{"no choices", answers("/v1/chat/completions", 200, "{}", nil)},
	} {
		dir := outDir(t)
		s := newFake(t, capture.FrameworkVLLM, dir)
		s.fault = c.fault
		if _, err := run(t, context.Background(), s, quick(s, dir)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := len(s.saw("/v1/chat/completions")); got != 1 {
			t.Errorf("%s: chat was asked %d times", c.name, got)
		}
		got := s.saw("/v1/completions")
		if len(got) != 17 || got[10].Body["prompt"] != words(20, 40) || got[10].Body["seed"] != 20.0 ||
			got[10].Body["max_tokens"] != 1.0 {
			t.Errorf("%s: %d completions", c.name, len(got))
		}
	}
	dir := outDir(t)
	s := newFake(t, capture.FrameworkVLLM, dir)
	s.fault = func(w http.ResponseWriter, r *http.Request, p string, n int) bool {
		return answers("/v1/chat/completions", 404, "no chat", nil)(w, r, p, n) ||
			answers("/v1/completions", 200, "{", nil)(w, r, p, n)
	}
	_, err := run(t, context.Background(), s, quick(s, dir))
	wantError(t, err, nil, "/v1/chat/completions: 404", "no chat", "/v1/completions: 200 OK: not the JSON expected")
}

// TestModelList: empty and malformed lists say what to do; a model that was
// named makes them harmless.
func TestModelList(t *testing.T) {
	for _, body := range []string{"", "nonsense", "[]", "null", `{"data": []}`, `{"data": [null, 3, {"id": 7}]}`,
		`{"data": "x"}`} {
		dir := outDir(t)
		s := newFake(t, capture.FrameworkVLLM, dir)
		s.fault = answers("/v1/models", 200, body, nil)
		o := quick(s, dir)
		o.Workload = capture.WorkloadDecode
		_, err := run(t, context.Background(), s, o)
		wantError(t, err, nil, "/v1/models", "--model")
		if len(s.saw("/start_profile")) != 0 {
			t.Errorf("%q: armed all the same", body)
		}
		o.Model = "named"
		res, err := run(t, context.Background(), s, o)
		if err != nil || res.Info.Model != "named" || len(res.Notes) != 1 {
			t.Errorf("%q with a model named: %v", body, err)
		}
		if got := s.saw("/v1/chat/completions")[0].Body["model"]; got != "named" {
			t.Errorf("model sent = %v", got)
		}
	}
}

// TestServerInfoFaults: a server without usable information is captured all
// the same, and says so.
func TestServerInfoFaults(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
	}{{404, ""}, {500, "x"}, {200, "{"}, {200, "[1]"}, {200, "null"},
		{200, `{"tp_size": -3, "dp_size": 1e300, "pp_size": "two"}`}} {
		dir := outDir(t)
		s := newFake(t, capture.FrameworkSGLang, "")
		s.fault = answers("/server_info", c.status, c.body, nil)
		o := quick(s, dir)
		o.Workload = capture.WorkloadDecode
		res, err := run(t, context.Background(), s, o)
		if err != nil || len(res.Files()) != 1 {
			t.Errorf("%d %q: %v", c.status, c.body, err)
			continue
		}
		if len(res.Notes) == 0 && res.Stages[0].ServerArgs == "" {
			t.Errorf("%d %q: not reported", c.status, c.body)
		}
	}
}

// TestMalformedGenerate: SGLang answers something that is not JSON.
func TestMalformedGenerate(t *testing.T) {
	dir := outDir(t)
	s := newFake(t, capture.FrameworkSGLang, "")
	s.fault = answers("/generate", 200, "not json", nil)
	_, err := run(t, context.Background(), s, quick(s, dir))
	wantError(t, err, nil, "/generate: 200 OK: not the JSON expected", "not json")
}

// TestOptionErrors: what makes no sense is refused, all of it at once.
func TestOptionErrors(t *testing.T) {
	_, err := capture.Run(context.Background(), capture.Options{URL: "http://x", NumSteps: -1, Workload: "mixed",
		ProfilePrefix: "../../etc/x", ProbeRequests: -2, FirstIndex: -1, Prefill: capture.Shape{InputLen: 1 << 30}})
	wantError(t, err, nil, "no output folder", "num-steps", `workload "mixed": unknown word`, "--profile-prefix ../../etc/x",
		"probe-requests", "first-index", "want at most 4194304")
	for _, u := range []string{"", " ", "ftp://x", "http://", "://", "http://%zz"} {
		if _, err := capture.Run(context.Background(), capture.Options{URL: u, OutputDir: outDir(t)}); err == nil {
			t.Errorf("URL %q was accepted", u)
		}
	}
	for in, want := range map[string]string{"host:1": "http://host:1", "https://h/v1/": "https://h",
		"http://h:2/base/?q#f": "http://h:2/base"} {
		_, err := capture.Run(canceled(), capture.Options{URL: in, Framework: capture.FrameworkVLLM,
			OutputDir: outDir(t)})
		var se *capture.ServerError
		if !errors.As(err, &se) || se.Server != want {
			t.Errorf("%q: %v, want a request to %s", in, err, want)
		}
	}
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// TestCancel cancels at every stage of a run: the error is the context's, the
// profiler is stopped if it may have been armed, and Run comes back.
func TestCancel(t *testing.T) {
	for _, f := range all {
		for _, c := range []struct {
			name string
			// path and n: the request during which it is cancelled, without an
			// answer ever.
			path string
			n    int
			// phase: or the progress report.
			phase string
			armed bool
		}{
			{"before", "", 0, "info", false},
			{"info", map[bool]string{true: "/server_info", false: "/v1/models"}[f == capture.FrameworkSGLang], 1, "",
				false},
			{"first warm-up", genPath(f), 1, "", false},
			{"last warm-up", genPath(f), 10, "", false},
			{"start", "/start_profile", 1, "", true},
			{"arm delay", "", 0, "wait", true},
			{"first request", genPath(f), 11, "", true},
			{"last request", genPath(f), 15, "", true},
			{"stop", "/stop_profile", 1, "", true},
			{"traces", "", 0, "traces", true},
			{"decode start", "/start_profile", 2, "", true},
			{"inspect", "", 0, "check", true},
		} {
			dir := outDir(t)
			s := newFake(t, f, dir)
			ctx, cancel := context.WithCancel(context.Background())
			s.fault = func(w http.ResponseWriter, r *http.Request, p string, n int) bool {
				if p != c.path || n != c.n {
					return false
				}
				s.mu.Lock()
				switch p {
				case "/start_profile":
					s.armed = true
				case "/stop_profile":
					s.armed = false // it goes on writing when nobody listens
				}
				s.mu.Unlock()
				cancel()
				<-r.Context().Done()
				return true
			}
			o := quick(s, dir)
			o.ArmDelay = time.Millisecond
			if c.phase == "wait" {
				o.ArmDelay = time.Hour
			}
			o.Inspect = func(ctx context.Context, _ string) (capture.Found, error) { return capture.Found{}, ctx.Err() }
			o.Progress = func(p capture.Progress) {
				if p.Phase == c.phase {
					cancel()
				}
			}
			_, err := run(t, ctx, s, o)
			cancel()
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s, %s: %v, want the context's error", f, c.name, err)
			}
			starts, stops := len(s.saw("/start_profile")), len(s.saw("/stop_profile"))
			if c.armed && (starts == 0 || stops != starts) {
				t.Errorf("%s, %s: %d start and %d stop requests", f, c.name, starts, stops)
			}
			if !c.armed && starts+stops != 0 {
				t.Errorf("%s, %s: %d start and %d stop requests before anything was armed", f, c.name, starts, stops)
			}
		}
	}
}

// TestCancelCause: a cause given by the caller comes through.
func TestCancelCause(t *testing.T) {
	why := errors.New("the user has gone home")
	for _, phase := range []string{"info", "warmup", "start", "requests", "stop", "traces"} {
		dir := outDir(t)
		s := newFake(t, capture.FrameworkVLLM, dir)
		ctx, cancel := context.WithCancelCause(context.Background())
		o := quick(s, dir)
		o.Progress = func(p capture.Progress) {
			if p.Phase == phase {
				cancel(why)
			}
		}
		_, err := run(t, ctx, s, o)
		wantError(t, err, why)
		cancel(nil)
	}
}
