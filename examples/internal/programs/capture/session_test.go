package capture

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/examples/internal/live"
)

// TestInterruptedFlush: Ctrl-C while the server writes ends the capture and
// sends no second stop; collect takes the trace and judges it.
func TestInterruptedFlush(t *testing.T) {
	s, dir := newServer(t), apptest.ProfileFolder(t)
	inner := s.Config.Handler
	ctx, cancel := context.WithCancel(t.Context())
	written := make(chan struct{})
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/stop_profile" || ctx.Err() != nil {
			inner.ServeHTTP(w, r)
			return
		}
		cancel()
		<-r.Context().Done()
		inner.ServeHTTP(httptest.NewRecorder(), r) // it goes on when nobody listens
		close(written)
	})
	got := apptest.RunContext(ctx, t, captureProgram(),
		append(apptest.FastLive, "--url", s.URL, "--output-dir", dir, "--profile-workload", "decode", "--num-steps",
			"1")...)
	if got.Code != live.ExitInterrupted || !strings.Contains(got.Stderr, "capture collect --output-dir "+dir) {
		t.Errorf("exit code %d, stderr %s", got.Code, got.Stderr)
	}
	<-written
	if s.Stops != 1 {
		t.Errorf("%d stop requests", s.Stops)
	}
	got = apptest.MustRun(t, collectProgram(), "--output-dir", dir, "--stable-for", "5ms")
	if !strings.HasSuffix(got.Stdout, "\nVerdict: VALID\n") {
		t.Errorf("collect: %s", got.Stdout)
	}
	for _, p := range []app.Program{collectProgram(), stopProgram()} {
		if got := apptest.Run(t, p, "--output-dir", dir); got.Code != 1 ||
			!strings.Contains(got.Stderr, "no run has left") {
			t.Errorf("%s: exit code %d, stderr %s", p.Name, got.Code, got.Stderr)
		}
		if got := apptest.Run(t, p); got.Code != 2 {
			t.Errorf("%s without flags: exit code %d", p.Name, got.Code)
		}
	}
	got = apptest.MustRun(t, stopProgram(), "--url", s.URL)
	if s.Stops != 2 || !strings.Contains(got.Stdout, "the profiler is off") {
		t.Errorf("%d stop requests, %s", s.Stops, got.Stdout)
	}
}

// TestDryRunProgram prints the requests and sends none.
func TestDryRunProgram(t *testing.T) {
	s, dir := newServer(t), apptest.ProfileFolder(t)
	args := append(apptest.FastLive, "--url", s.URL, "--output-dir", dir, "--dry-run")
	got := apptest.MustRun(t, captureProgram(), args...)
	for _, part := range []string{"prefill  warmup    POST    /generate       {\"sampling_params\":{\"max_new_tokens\":1,",
		"prefill  start     POST    /start_profile  {\"output_dir\":\"" + dir, "decode   stop      POST    /stop_profile"} {
		if !strings.Contains(got.Stdout, part) {
			t.Errorf("stdout does not say %q:\n%s", part, got.Stdout)
		}
	}
	if len(s.Starts)+s.Stops != 0 {
		t.Errorf("%d starts, %d stops", len(s.Starts), s.Stops)
	}
	var doc struct{ Calls []capture.Call }
	got = apptest.MustRun(t, captureProgram(), append(args, "--format", "json")...)
	if err := json.Unmarshal([]byte(got.Stdout), &doc); err != nil || len(doc.Calls) != 10+1+5+1+1+1+1+1 {
		t.Errorf("%v, %d calls", err, len(doc.Calls))
	}
}

// TestDoctor says how the server is launched.
func TestDoctor(t *testing.T) {
	s := newServer(t)
	if doc := apptest.MustRun(t, doctorProgram(), "--url", s.URL, "--format", "json").Stdout; !strings.Contains(doc,
		`"schema": "strata.capture-doctor/2"`) {
		t.Errorf("%.200s", doc)
	}
	got := apptest.MustRun(t, doctorProgram(), "--url", s.URL)
	for _, part := range []string{"SGLang at " + s.URL, "1 trace per window is expected",
		"For sources: python -m sglang.launch_server --model-path Qwen/Qwen3-8B --disable-cuda-graph"} {
		if !strings.Contains(got.Stdout, part) {
			t.Errorf("stdout does not say %q:\n%s", part, got.Stdout)
		}
	}
	if len(s.Starts)+s.Stops != 0 {
		t.Error("the profiler was touched")
	}
}

// TestPair captures one server twice: with stacks, and without.
func TestPair(t *testing.T) {
	s, dir := newServer(t), apptest.ProfileFolder(t)
	got := apptest.MustRun(t, captureProgram(), append(apptest.FastLive, "--url", s.URL, "--mapping-url", s.URL,
		"--output-dir", dir, "--num-steps", "1", "--profile-workload", "decode", "--format", "json")...)
	var doc struct{ Mapping, Formal capture.Result }
	if err := json.Unmarshal([]byte(got.Stdout), &doc); err != nil || doc.Mapping.Verdict != capture.Valid ||
		doc.Formal.Verdict != capture.Valid {
		t.Errorf("%v in %s", err, got.Stdout)
	}
	if len(s.Starts) != 2 || s.Starts[0]["with_stack"] != true || s.Starts[1]["with_stack"] != false {
		t.Errorf("starts %v", s.Starts)
	}
}

// TestOldFlags: command lines of the scripts that this replaces are taken.
func TestOldFlags(t *testing.T) {
	s, dir := newServer(t), apptest.ProfileFolder(t)
	apptest.MustRun(t, captureProgram(), append(apptest.FastLive, "--url", s.URL, "--output-dir", dir, "--num-steps", "1",
		"--profile-workload", "decode",
		"--profile-by-stage", "--no-profile-by-stage", "--no-merge-profiles", "--framework", "sgl")...)
	if got := s.Starts[0]; got["profile_by_stage"] != false || got["merge_profiles"] != false {
		t.Errorf("start %v", got)
	}
	got := apptest.MustRun(t, probeProgram(), "--url", s.URL, "--requests", "3", "--max-tokens", "8", "--timeout", "5",
		"--prompt", "one", "--prompt", "two")
	var r capture.ProbeReport
	if err := json.Unmarshal([]byte(got.Stdout), &r); err != nil || r.Latency.Count != 3 || r.MaxTokens != 8 ||
		len(r.Prompts) != 2 || !r.Success || !r.AllNonEmpty || r.Source != "/generate" {
		t.Errorf("%v: %s", err, got.Stdout)
	}
	got = apptest.MustRun(t, probeProgram(), "--url", s.URL)
	if err := json.Unmarshal([]byte(got.Stdout), &r); err != nil || r.Latency.Count != 6 || len(r.Prompts) != 3 {
		t.Errorf("%v: %s", err, got.Stdout)
	}
}

// TestMatrixArtefacts: each entry has its probe.
func TestMatrixArtefacts(t *testing.T) {
	s, dir := newServer(t), apptest.ProfileFolder(t)
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(filepath.Dir(dir), name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("plan.json", `{"output_dir": "out", "entries": [{"name": "one", "url": "`+s.URL+
		`", "stages": "decode", "num_steps": 1}]}`)
	apptest.MustRun(t, matrixProgram(), append(apptest.FastLive, "--plan",
		filepath.Join(filepath.Dir(dir), "plan.json"))...)
	var r capture.ProbeReport
	text, err := os.ReadFile(filepath.Join(dir, "one", "probe.json"))
	if err != nil || json.Unmarshal(text, &r) != nil || !r.Success {
		t.Errorf("%v: %s", err, text)
	}
}
