package capture_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/capture"
)

// TestDryRun: the requests are those that a run sends, and none is sent; a
// server that is not there will do when it is named.
func TestDryRun(t *testing.T) {
	for _, f := range all {
		dir := outDir(t)
		s := newFake(t, f, dir)
		o := quick(s, dir)
		planned, err := capture.DryRun(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		calls := planned.Calls
		for _, c := range s.calls {
			if c.Method != http.MethodGet {
				t.Errorf("%s: %s %s was sent", f, c.Method, c.Path)
			}
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the folder was made", f)
		}
		s.calls = nil
		if _, err := run(t, context.Background(), s, o); err != nil {
			t.Fatal(err)
		}
		want := changes(s.calls)
		var got []call
		for _, c := range calls {
			g := call{Method: c.Method, Path: c.Path}
			if c.Body != "" {
				if err := json.Unmarshal([]byte(c.Body), &g.Body); err != nil {
					t.Error(err)
				}
			}
			got = append(got, g)
		}
		if d := cmp.Diff(want, changes(got)); d != "" {
			t.Errorf("%s: sent and announced (-want +got):\n%s", f, d)
		}
		s.Close()
		if planned, err := capture.DryRun(context.Background(), o); err != nil || len(planned.Calls) != len(got) {
			t.Errorf("%s: without the server: %+v, %v", f, planned, err)
		}
	}
}

// TestConcurrency: so many requests are in flight together, and no more.
func TestConcurrency(t *testing.T) {
	for _, f := range []capture.Framework{capture.FrameworkSGLang, capture.FrameworkVLLM} {
		dir := outDir(t)
		s := newFake(t, f, dir)
		o := judged(s, dir)
		o.Concurrency, o.WarmupSteps = 4, -1
		now, most := make(chan struct{}, 100), 0
		s.fault = func(w http.ResponseWriter, r *http.Request, p string, n int) bool {
			if p != genPath(f) {
				return false
			}
			now <- struct{}{}
			for range 200 { // until all four are here
				s.mu.Lock()
				most = max(most, len(now))
				full := most >= 4
				s.mu.Unlock()
				if full {
					break
				}
				time.Sleep(time.Millisecond)
			}
			s.mu.Lock()
			var c call
			for _, x := range s.calls { // this one: others are under way
				if x.Path == p {
					c, n = x, n-1
				}
				if n == 0 {
					break
				}
			}
			s.mu.Unlock()
			s.answer(w, c)
			<-now
			return true
		}
		res, err := run(t, context.Background(), s, o)
		if err != nil || most != 4 || res.Stages[0].Load.Requests != 20 || res.Stages[1].Load.Requests != 4 {
			t.Errorf("%s: %v, %d in flight, %+v", f, err, most, res)
		}
	}
}

// TestAttach profiles the traffic that is there and sends none.
func TestAttach(t *testing.T) {
	for _, f := range all {
		dir := outDir(t)
		s := newFake(t, f, dir)
		o := judged(s, dir)
		o.Attach = 20 * time.Millisecond
		o.Progress = func(p capture.Progress) {
			if p.Phase == "wait" {
				s.mu.Lock()
				s.generate("somebody else's", 3, false)
				s.mu.Unlock()
			}
		}
		res, err := run(t, context.Background(), s, o)
		if err != nil || res.Verdict != capture.Valid || res.Stages[0].StepsFound != 3 || len(s.saw(genPath(f))) != 0 {
			t.Errorf("%s: %v, %+v, requests %v", f, err, res, s.paths())
		}
	}
}

// TestSecrets: the password of an address, the key of a header and the keys a
// server reports are in no file, error, note or progress line.
func TestSecrets(t *testing.T) {
	const word, key, theirs = "pa55word-xyz", "key-1234567", "sk-theirs-777888"
	for _, f := range all {
		dir := outDir(t)
		s := newFake(t, f, dir)
		var auth []string
		info := map[bool]string{true: "/server_info", false: "/v1/models"}[f == capture.FrameworkSGLang]
		s.fault = func(w http.ResponseWriter, r *http.Request, p string, n int) bool {
			s.mu.Lock()
			auth = append(auth, r.Header.Get("Authorization"))
			s.mu.Unlock()
			switch p {
			case info:
				reply(w, map[string]any{
					"model_path": "org/model", "tokenizer_path": "org/tok", "tp_size": 1, "api_key": theirs,
					"max_total_tokens": 4096, "data": []any{map[string]any{"id": "org/model"}},
					"argv":    []any{"serve", "--api-key", theirs, "--port", "8000"},
					"command": "serve --api-key " + theirs + " --port 8000",
					"env":     map[string]any{"HF_TOKEN": "hf_" + theirs},
					"nested":  []any{map[string]any{"admin_api_keys": []any{theirs}}},
				})
			case "/stop_profile":
				http.Error(w, "no way, "+r.Header.Get("Authorization")+" with Bearer "+theirs, 500)
				s.mu.Lock()
				s.armed = false
				s.mu.Unlock()
			default:
				return false
			}
			return true
		}
		var said strings.Builder
		o := judged(s, dir)
		o.URL = strings.Replace(s.URL, "http://", "http://me:"+word+"@", 1) + "/v1?token=" + key
		o.Header = http.Header{"X-Api-Key": {key}}
		o.Workload, o.Timeouts.Quiet = capture.WorkloadPrefill, 30*time.Millisecond
		o.Progress = func(p capture.Progress) { said.WriteString(p.Message + "\n") }
		res, err := capture.Run(context.Background(), o)
		if err == nil {
			t.Fatalf("%s: the stop was to fail", f)
		}
		text, _ := json.Marshal(res)
		said.Write(text)
		said.WriteString(err.Error())
		for _, secret := range []string{word, key, theirs} {
			if strings.Contains(said.String(), secret) || contains(t, dir, secret) {
				t.Errorf("%s: %s is reported:\n%s", f, secret, said.String())
			}
		}
		if len(auth) == 0 || !strings.HasPrefix(auth[0], "Basic ") {
			t.Errorf("%s: the password was not sent: %q", f, auth)
		}
		if !strings.Contains(said.String(), "no way") {
			t.Errorf("%s: the server's words are gone: %s", f, said.String())
		}
	}
	// server_args.json of a capture that works.
	dir := outDir(t)
	s := newFake(t, capture.FrameworkSGLang, "")
	s.fault = answers("/server_info", 200, `{"tp_size": 1, "tokenizer_path": "org/tok", "max_total_num_tokens": 7, "launch": ["x", "--api-key", "`+theirs+`", "--tp", "1"], "line": "--admin-api-key=`+theirs+` --tp 1"}`, nil)
	o := judged(s, dir)
	if _, err := run(t, context.Background(), s, o); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "decode", "server_args.json"))
	if err != nil || strings.Contains(string(got), theirs) || !strings.Contains(string(got), "org/tok") ||
		!strings.Contains(string(got), "--tp 1") || !strings.Contains(string(got), `"max_total_num_tokens": 7`) {
		t.Errorf("server_args.json = %s, %v", got, err)
	}
	for _, u := range []string{"http://me:" + word + "@[bad", "ftp://me:" + word + "@host",
		"http://me:" + word + "@host:port/x"} {
		if _, err := capture.Run(context.Background(), capture.Options{URL: u, OutputDir: dir}); err == nil ||
			strings.Contains(err.Error(), word) {
			t.Errorf("%v", err)
		}
	}
}

// TestNobodyThere: an address where nothing listens, and errors beside each other, which name the package once.
func TestNobodyThere(t *testing.T) {
	_, err := capture.Run(t.Context(), capture.Options{URL: "http://127.0.0.1:1", OutputDir: t.TempDir()})
	wantError(t, err, capture.ErrNoServer, "connection refused", "is this its address")
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and answers nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	_, err = capture.Run(t.Context(), capture.Options{URL: "http://" + silent.Addr().String(), OutputDir: t.TempDir(),
		Timeouts: capture.Timeouts{Info: 50 * time.Millisecond}})
	wantError(t, err, capture.ErrNoServer, "no answer within 50ms")
	_, err = capture.Run(t.Context(), capture.Options{URL: "http://x", Workload: "x"})
	if err == nil || strings.Count(err.Error(), "capture: ") != 1 {
		t.Errorf("%v, want the package once", err)
	}
}

// TestUnauthorized: a server that wants a key says so, and not that it is
// unknown.
func TestUnauthorized(t *testing.T) {
	for _, f := range []capture.Framework{capture.FrameworkAuto, capture.FrameworkSGLang, capture.FrameworkVLLM} {
		dir := outDir(t)
		s := newFake(t, capture.FrameworkSGLang, "")
		s.fault = func(w http.ResponseWriter, r *http.Request, p string, n int) bool {
			http.Error(w, `{"error": "Unauthorized"}`, http.StatusUnauthorized)
			return true
		}
		o := quick(s, dir)
		o.Framework = f
		_, err := run(t, context.Background(), s, o)
		wantError(t, err, nil, "401 Unauthorized", "the server wants a key", "--header")
		if strings.Contains(err.Error(), "--framework") {
			t.Errorf("%v", err)
		}
	}
}

// TestDiagnose: what it is, whether it can be profiled, how it is launched; and
// nothing but questions.
func TestDiagnose(t *testing.T) {
	for _, c := range []struct {
		f              capture.Framework
		version, paths string
		profiler       string
		mapping        string
	}{
		{capture.FrameworkSGLang, "", `{"/start_profile": {"get": {}, "post": {}}}`, "yes", "--disable-cuda-graph"},
		{capture.FrameworkVLLM, "0.14.1", `{"/start_profile": {"post": {}}}`, "yes",
			`--profiler-config '{"profiler": "torch"`},
		{capture.FrameworkVLLM, "0.11.0", `{"/v1/models": {"get": {}}}`, "no", `"torch_profiler_dir": "/data/prof"`},
		{capture.FrameworkTensorRT, "1.2.0", "", "unknown", "TLLM_TORCH_PROFILE_TRACE=/data/prof/trace.json "},
		{capture.FrameworkTokenSpeed, "", "", "unknown", "TOKENSPEED_PROFILER_DIR=/data/prof"},
	} {
		s := newFake(t, c.f, "")
		s.fault = func(w http.ResponseWriter, r *http.Request, p string, n int) bool {
			switch {
			case p == "/openapi.json" && c.paths != "":
				w.Write([]byte(`{"paths": ` + c.paths + `}`))
			case p == "/version" && c.version != "":
				w.Write([]byte(`{"version": "` + c.version + `"}`))
			default:
				return false
			}
			return true
		}
		d, err := capture.Diagnose(context.Background(),
			capture.Options{URL: s.URL, Framework: c.f, OutputDir: "/data/prof"})
		if err != nil {
			t.Fatalf("%s: %v", c.f, err)
		}
		if d.Profiler != c.profiler || !strings.Contains(d.Mapping, c.mapping) || d.Formal == "" ||
			len(d.Findings) == 0 {
			t.Errorf("%s %s: %+v", c.f, c.version, d)
		}
		for _, x := range s.calls {
			if x.Method != http.MethodGet || strings.HasSuffix(x.Path, "_profile") {
				t.Errorf("%s: %s %s has effects", c.f, x.Method, x.Path)
			}
		}
	}
}
