package capture

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/examples/internal/live"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// newServer leaves real traces: the extend one after a prefill window, the
// decode one after a decode window.
func newServer(t *testing.T) *apptest.LiveServer {
	return apptest.NewLiveServer(t, testdata.Shared(t, "traces/torch/sglang-qwen3-8b-extend-eager-mi300.json.gz"),
		testdata.Shared(t, "traces/torch/sglang-qwen3-8b-decode-graph-mi300.json.gz"))
}

// TestCapture takes a server to traces that load, with their steps counted.
func TestCapture(t *testing.T) {
	s, dir := newServer(t), apptest.ProfileFolder(t)
	got := apptest.MustRun(t, captureProgram(), append(apptest.FastLive, "--url", s.URL, "--output-dir", dir, "--format",
		"json", "--num-steps", "1")...)
	var doc struct {
		Framework string             `json:"framework"`
		Files     []string           `json:"files"`
		Info      capture.ServerInfo `json:"server_info"`
		Stages    []capture.StageResult
	}
	if err := json.Unmarshal([]byte(got.Stdout), &doc); err != nil {
		t.Fatalf("%v in %s", err, got.Stdout)
	}
	want := []string{filepath.Join(dir, "prefill", "17.1-TP-0.trace.json.gz"),
		filepath.Join(dir, "decode", "17.2-TP-0.trace.json.gz")}
	if d := cmp.Diff(want, doc.Files); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	if doc.Framework != "sglang" || doc.Info.Model != "Qwen/Qwen3-8B" {
		t.Errorf("framework %s, info %+v", doc.Framework, doc.Info)
	}
	for i, f := range doc.Files {
		tr, err := trace.Open(context.Background(), f, trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		st := doc.Stages[i]
		if n := int64(tr.Len(event.LaneGPU)); n == 0 || st.Traces[0].Found == nil ||
			st.Traces[0].Found.GPUEvents != n || st.Empty {
			t.Errorf("%s: %d GPU events, stage %+v", f, n, st)
		}
		if st.StepsAsked != 1 || st.StepsFound < 1 || st.Verdict != capture.Valid {
			t.Errorf("%s: %d steps asked, %d found", st.Stage, st.StepsAsked, st.StepsFound)
		}
	}
	if s.Starts[0]["num_steps"] != 2.0 || s.Stops != 2 {
		t.Errorf("start %v, %d stops", s.Starts[0], s.Stops)
	}
}

// TestText shows the summary for people, notes apart.
func TestText(t *testing.T) {
	s, dir := newServer(t), apptest.ProfileFolder(t)
	got := apptest.MustRun(t, captureProgram(), append(apptest.FastLive, "--url", s.URL, "--output-dir", dir,
		"--profile-workload", "decode", "--inspect=false", "--profile-by-stage", "--progress")...)
	for _, part := range []string{"SGLang at " + s.URL + " (Qwen/Qwen3-8B, TP 1)",
		"decode: UNCHECKED; 1 trace; 5 steps asked;", filepath.Join(dir, "decode", "17.1-TP-0.trace.json.gz"),
		"server_args.json"} {
		if !strings.Contains(got.Stdout, part) {
			t.Errorf("stdout does not say %q:\n%s", part, got.Stdout)
		}
	}
	for _, part := range []string{"note: profile_by_stage is off", "warning: decode: the model stopped after 4 tokens",
		"decode: arming the profiler", "decode: request 1 of 1"} {
		if !strings.Contains(got.Stderr, part) {
			t.Errorf("stderr does not say %q:\n%s", part, got.Stderr)
		}
	}
}

// TestErrors: one line, and the exit code.
func TestErrors(t *testing.T) {
	s, dir := newServer(t), apptest.ProfileFolder(t)
	s.Broken = true
	base := slices.Clip(append(apptest.FastLive, "--url", s.URL, "--output-dir", dir))
	plan := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(plan, []byte(`{"output_dir": "x"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		p    app.Program
		args []string
		code int
		says string
	}{
		{captureProgram(), nil, 2, "--url and --output-dir are needed"},
		{captureProgram(), append(base, "--num-steps", "0"), 2, "--num-steps 0: want at least 1"},
		{captureProgram(), append(base, "--probe-delay", "-1"), 2, "no negative time"},
		{captureProgram(), append(base, "--probe-delay", "soon"), 2, "want seconds"},
		{captureProgram(), append(base, "--profile-workload", "mixed"), 2, "want one of both, prefill, decode, legacy"},
		{captureProgram(), append(base, "--profile-prefix", "../x"), 2, "not a path"},
		{captureProgram(), append(base, "--header", "secret"), 2, `want "Name: value"`},
		{captureProgram(), append(base, "--framework", "vllm", "--model", "m", "--merge-profiles"), 1,
			"--merge-profiles with vLLM: not supported"},
		{captureProgram(), append(base, "--trace-timeout", "50ms"), live.ExitIncomplete,
			"no prefill trace from " + s.URL},
		{probeProgram(), nil, 2, "--url is needed"},
		{probeProgram(), []string{"--url", s.URL, "--probe-requests", "0"}, 2, "--probe-requests 0"},
		{matrixProgram(), nil, 2, "--plan is needed"},
		{matrixProgram(), []string{"--plan", plan}, 1, "no entries"},
	} {
		got := apptest.Run(t, c.p, c.args...)
		if got.Code != c.code || !strings.Contains(got.Stderr, c.says) ||
			strings.Contains(got.Stderr, "capture: capture:") {
			t.Errorf("%s %v: exit code %d, stderr %q; want %d, %q", c.p.Name, c.args, got.Code, got.Stderr, c.code,
				c.says)
		}
	}
}

// TestInterrupt: the profiler is stopped, or a message says that it was not.
func TestInterrupt(t *testing.T) {
	for _, stopFails := range []bool{false, true} {
		s := newServer(t)
		inner := s.Config.Handler
		ctx, cancel := context.WithCancel(t.Context())
		s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/stop_profile" && stopFails {
				http.Error(w, "no", http.StatusServiceUnavailable)
				return
			}
			inner.ServeHTTP(w, r)
			if r.URL.Path == "/start_profile" {
				cancel()
			}
		})
		got := apptest.RunContext(ctx, t, captureProgram(),
			append(apptest.FastLive, "--url", s.URL, "--output-dir", apptest.ProfileFolder(t))...)
		want := map[bool]int{false: live.ExitInterrupted, true: live.ExitStillRunning}[stopFails]
		if got.Code != want || !strings.HasSuffix(got.Stderr, "capture: interrupted\n") || got.Stdout != "" {
			t.Errorf("exit code %d, stdout %q, stderr %q", got.Code, got.Stdout, got.Stderr)
		}
		if told := strings.Contains(got.Stderr, "the profiler may still be running"); told != stopFails ||
			s.Armed != stopFails {
			t.Errorf("stop fails %v: told %v, armed %v; stderr %s", stopFails, told, s.Armed, got.Stderr)
		}
	}
}

// TestEmptyWindow: a trace of the host only is not valid, and the message says what to do.
func TestEmptyWindow(t *testing.T) {
	s := newServer(t)
	s.Decode = testdata.Shared(t, "traces/torch/cpu-only-rank-34.pt.trace.json.gz")
	got := apptest.Run(t, captureProgram(), append(apptest.FastLive, "--url", s.URL, "--output-dir",
		apptest.ProfileFolder(t), "--profile-workload", "decode", "--format", "json")...)
	if got.Code != live.ExitInvalid || !strings.Contains(got.Stderr, "no GPU event and 16 host events") ||
		!strings.Contains(got.Stderr, "--activities CPU,GPU") || !strings.Contains(got.Stdout, `"empty_window": true`) {
		t.Errorf("exit code %d, stderr %s", got.Code, got.Stderr)
	}
	if !json.Valid([]byte(got.Stdout)) {
		t.Errorf("stdout is no JSON: %s", got.Stdout)
	}
}

// TestProbe prints latency and answers.
func TestProbe(t *testing.T) {
	s := newServer(t)
	got := apptest.MustRun(t, probeProgram(), "--url", s.URL, "--probe-requests", "2")
	var r capture.ProbeReport
	if err := json.Unmarshal([]byte(got.Stdout), &r); err != nil || r.Latency.Count != 2 ||
		r.Samples[1].Output != "four" || r.Samples[1].Tokens != 4 {
		t.Errorf("%v: %s", err, got.Stdout)
	}
	got = apptest.MustRun(t, probeProgram(), "--url", s.URL, "--probe-requests", "2", "--format", "text")
	if !strings.Contains(got.Stdout, "2 answers: mean") || !strings.Contains(got.Stdout, `"four"`) {
		t.Errorf("text: %s", got.Stdout)
	}
}

// TestChoose: the first argument picks the program.
func TestChoose(t *testing.T) {
	for arg, want := range map[string]string{"probe": "capture probe", "matrix": "capture matrix",
		"stop": "capture stop", "collect": "capture collect", "doctor": "capture doctor", "capture": "capture"} {
		if p, rest := Choose([]string{arg, "-h"}); p.Name != want || len(rest) != 1 {
			t.Errorf("%s: %s, %v", arg, p.Name, rest)
		}
	}
	if p, rest := Choose([]string{"--url", "x"}); p.Name != "capture" || len(rest) != 2 {
		t.Errorf("flags: %s, %v", p.Name, rest)
	}
	for _, p := range []app.Program{captureProgram(), probeProgram(), matrixProgram(), stopProgram(), collectProgram(),
		doctorProgram()} {
		if got := apptest.Run(t, p, "-h"); got.Code != 0 || !strings.Contains(got.Stdout, p.Examples[0]) {
			t.Errorf("%s -h: exit code %d", p.Name, got.Code)
		}
	}
}
