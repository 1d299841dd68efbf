package capture_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/capture"
)

// words is the prompt the contract asks for.
func words(i, n int) string {
	return strings.Join(append([]string{fmt.Sprintf("profile_probe_%d", i)},
		strings.Fields(strings.Repeat("profile ", n-1))...), " ")
}

// changes are the requests that change anything. The id that is made for a window is checked and replaced.
func changes(calls []call) []call {
	var out []call
	for _, c := range calls {
		if c.Method == http.MethodGet {
			continue
		}
		if id, ok := c.Body["profile_id"].(string); ok && regexp.MustCompile(`^[0-9]{10}\.[0-9]{6}$`).MatchString(id) {
			c.Body = maps.Clone(c.Body)
			c.Body["profile_id"] = "made"
		}
		out = append(out, c)
	}
	return out
}

// TestSGLangContract checks every request of the default workload, field by
// field and in order.
func TestSGLangContract(t *testing.T) {
	dir := outDir(t)
	s := newFake(t, capture.FrameworkSGLang, "")
	s.ranks = 2
	o := quick(s, dir)
	o.Prefill, o.Decode = capture.Shape{}, capture.Shape{} // the contract's own
	res, err := run(t, context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}

	gen := func(i, words_, tokens int) call {
		return call{"POST", "/generate", map[string]any{
			"text": words(i, words_),
			"sampling_params": map[string]any{"sampling_seed": float64(i), "temperature": 0.0,
				"max_new_tokens": float64(tokens)},
			"stream": false,
		}}
	}
	start := func(stage string) call {
		return call{"POST", "/start_profile", map[string]any{
			"output_dir": filepath.Join(dir, stage), "num_steps": 6.0, "activities": []any{"CPU", "GPU"},
			"profile_by_stage": false, "merge_profiles": false, "record_shapes": true,
			"profile_id": "made", "profile_stages": []any{stage}, "shape_discovery": true, "roofline_annotations": true,
		}}
	}
	stop := call{"POST", "/stop_profile", nil}
	var want []call
	for i := range 10 {
		want = append(want, gen(10+i, 4090, 1))
	}
	want = append(want, start("prefill"))
	for i := range 5 {
		want = append(want, gen(20+i, 4090, 1))
	}
	want = append(want, stop, gen(25, 1, 10), start("decode"), gen(26, 1, 2048), stop)
	if d := cmp.Diff(want, changes(s.calls)); d != "" {
		t.Errorf("requests (-want +got):\n%s", d)
	}

	var got []string
	for _, st := range res.Stages {
		got = append(got, fmt.Sprintf("%s asked %d sent %d expected %d ranks %v warm-up %d capture %d", st.Stage,
			st.StepsAsked, st.StepsSent, st.Expected, st.Ranks, st.Warmup.Requests, st.Load.Requests))
	}
	wantStages := []string{
		"prefill asked 5 sent 6 expected 2 ranks [TP-0 TP-1] warm-up 10 capture 5",
		"decode asked 5 sent 6 expected 2 ranks [TP-0 TP-1] warm-up 1 capture 1",
	}
	if d := cmp.Diff(wantStages, got); d != "" {
		t.Errorf("stages (-want +got):\n%s", d)
	}
	for _, st := range []string{"prefill", "decode"} {
		var doc map[string]any
		b, err := os.ReadFile(filepath.Join(dir, st, "server_args.json"))
		if err != nil || json.Unmarshal(b, &doc) != nil {
			t.Fatalf("server_args.json of %s: %v", st, err)
		}
		if doc["model_path"] != "org/model" || doc["tp_size"] != 2.0 {
			t.Errorf("server_args.json of %s = %v", st, doc)
		}
		if strings.Contains(string(b), "sk-secret") {
			t.Errorf("server_args.json holds the server's API key")
		}
	}
	if res.Info.Model != "org/model" || res.Info.TP != 2 || res.Info.Version != "0.5.4" {
		t.Errorf("server info = %+v", res.Info)
	}
}

// TestSGLangOptions checks the optional payload keys.
func TestSGLangOptions(t *testing.T) {
	dir := outDir(t)
	s := newFake(t, capture.FrameworkSGLang, "")
	yes, no := true, false
	o := quick(s, dir)
	o.Workload, o.ProfilePrefix, o.StartStep = capture.WorkloadDecode, "exp1", 7
	o.WithStack, o.RecordShapes, o.NumSteps, o.IgnoreEOS = &yes, &no, 3, true
	o.ServerOutputDir = dir // as given
	o.ProfileByStage = true // off with a separated workload
	o.WarmupSteps = -1
	res, err := run(t, context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"output_dir": filepath.Join(dir, "decode"), "num_steps": 4.0, "activities": []any{"CPU", "GPU"},
		"profile_by_stage": false, "merge_profiles": false, "profile_prefix": "exp1", "start_step": 7.0,
		"with_stack": true, "record_shapes": false, "profile_id": "made", "profile_stages": []any{"decode"},
	}
	if d := cmp.Diff(want, changes(s.saw("/start_profile"))[0].Body); d != "" {
		t.Errorf("payload (-want +got):\n%s", d)
	}
	gen := s.saw("/generate")
	if len(gen) != 1 || gen[0].Body["sampling_params"].(map[string]any)["ignore_eos"] != true {
		t.Errorf("requests without warm-up = %v", gen)
	}
	if len(res.Notes) != 1 || !strings.Contains(res.Notes[0], "profile_by_stage is off") {
		t.Errorf("notes = %q", res.Notes)
	}
}

// TestSGLangByStage has the server separate the stages, with merged traces.
func TestSGLangByStage(t *testing.T) {
	dir := outDir(t)
	s := newFake(t, capture.FrameworkSGLang, "")
	s.ranks = 2
	s.write = func(out, _ string) {
		for r := range 2 {
			for _, half := range []string{"EXTEND", "DECODE"} {
				writeTrace(t, filepath.Join(out, fmt.Sprintf("17.5-TP-%d-%s.trace.json.gz", r, half)), traceText(1, r))
			}
		}
		writeTrace(t, filepath.Join(out, "merged-17.5.trace.json.gz"), traceText(1, 0))
	}
	o := quick(s, dir)
	o.Workload, o.ProfileByStage, o.MergeProfiles = capture.WorkloadLegacy, true, true
	res, err := run(t, context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	body := s.saw("/start_profile")[0].Body
	if body["profile_by_stage"] != true || body["merge_profiles"] != true || body["output_dir"] != dir {
		t.Errorf("payload = %v", body)
	}
	if got := len(res.Files()); got != 5 || res.Stages[0].Expected != 4 {
		t.Errorf("%d files, %d expected: %v", got, res.Stages[0].Expected, res.Files())
	}
	if got := s.saw("/generate"); len(got) != 4 ||
		got[1].Body["text"] != "Explain in three sentences what a GPU kernel is." {
		t.Errorf("legacy requests = %v", got)
	}
}

// TestVLLMContract: no body on the profiler routes, the fixed folder, traces
// moved below the stage's name, the OpenAI payload.
func TestVLLMContract(t *testing.T) {
	dir := outDir(t)
	s := newFake(t, capture.FrameworkVLLM, dir)
	s.ranks = 2
	o := quick(s, dir)
	o.ExpectRanks, o.ProfilePrefix = 2, "exp1"
	res, err := run(t, context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"/start_profile", "/stop_profile"} {
		got := s.saw(p)
		if len(got) != 2 {
			t.Errorf("%s called %d times, want once per stage", p, len(got))
		}
		for _, c := range got {
			if c.Body != nil {
				t.Errorf("%s with body %v: recent releases refuse unknown keys", p, c.Body)
			}
		}
	}
	chats := s.saw("/v1/chat/completions")
	if len(chats) != 10+5+1+1 {
		t.Errorf("%d requests, want 17", len(chats))
	}
	want := map[string]any{
		"model": "org/model", "messages": []any{map[string]any{"role": "user", "content": words(20, 40)}},
		"max_tokens": 1.0, "temperature": 0.0, "seed": 20.0, "stream": false,
	}
	if d := cmp.Diff(want, chats[10].Body); d != "" {
		t.Errorf("first captured prefill (-want +got):\n%s", d)
	}
	if got := chats[16].Body["max_tokens"]; got != 6.0 {
		t.Errorf("decode asks for %v tokens, want 6: one by the prompt's pass, one by each of 5 steps", got)
	}
	for i, st := range []string{"prefill", "decode"} {
		for r := range 2 {
			name := filepath.Join(dir, st, fmt.Sprintf("dp0_pp0_tp%d_dcp0_ep0_rank%d.17591%d.pt.trace.json.gz", r, r,
				i+1))
			if got := res.Stages[i].Traces[r]; got.Path != name ||
				got.Rank != fmt.Sprintf("DP-0 PP-0 TP-%d rank %d", r, r) {
				t.Errorf("%s trace %d = %+v, want %s", st, r, got, name)
			}
			if _, err := os.Stat(name); err != nil {
				t.Error(err)
			}
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.json.gz")); len(left) > 0 {
		t.Errorf("left in the server's folder: %v", left)
	}
	var doc map[string]any
	b, _ := os.ReadFile(filepath.Join(dir, "decode", "server_args.json"))
	if json.Unmarshal(b, &doc) != nil || doc["framework"] != "vllm" || doc["model"] != "org/model" {
		t.Errorf("server_args.json = %s", b)
	}
	if len(res.Notes) != 1 || !strings.Contains(res.Notes[0], "--profile-prefix is ignored") {
		t.Errorf("notes = %q", res.Notes)
	}
}

// TestTensorRTContract: one fixed file name, rewritten per stage, and an
// earlier run's file under it.
func TestTensorRTContract(t *testing.T) {
	dir := outDir(t)
	s := newFake(t, capture.FrameworkTensorRT, dir)
	res, err := run(t, context.Background(), s, quick(s, dir))
	if err != nil {
		t.Fatal(err)
	}
	for i, st := range []string{"prefill", "decode"} {
		got, err := os.ReadFile(filepath.Join(dir, st, "trace.json"))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(traceText(i+1, 0)), string(got)); d != "" {
			t.Errorf("%s (-want +got):\n%s", st, d)
		}
		if res.Stages[i].Stage != capture.Stage(st) {
			t.Errorf("stage %d is %s", i, res.Stages[i].Stage)
		}
	}
	// Once more: the names are taken.
	res, err = run(t, context.Background(), s, quick(s, dir))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := filepath.Base(res.Stages[0].Traces[0].Path), "trace.1.json"; got != want {
		t.Errorf("second run's trace is %s, want %s", got, want)
	}
}

// TestTensorRTBody: the folder is named, and a release that knows no such field
// is asked again with an empty body.
func TestTensorRTBody(t *testing.T) {
	dir := outDir(t)
	s := newFake(t, capture.FrameworkTensorRT, dir)
	s.fault = func(w http.ResponseWriter, r *http.Request, p string, n int) bool {
		return p == "/start_profile" && n == 1 && answers(p, 422, `{"detail":"body required"}`, nil)(w, r, p, n)
	}
	if _, err := run(t, context.Background(), s, quick(s, dir)); err != nil {
		t.Fatal(err)
	}
	if got := s.saw("/start_profile"); len(got) != 3 || got[0].Body["output_dir"] != filepath.Join(dir, "prefill") ||
		got[1].Body == nil || len(got[1].Body) != 0 {
		t.Errorf("start requests = %v", got)
	}
}

// TestTensorRTEnvWindow: without /start_profile one stage can be captured by
// the window that the environment opens.
func TestTensorRTEnvWindow(t *testing.T) {
	dir := outDir(t)
	s := newFake(t, capture.FrameworkTensorRT, dir)
	o := quick(s, dir)
	o.Workload = capture.WorkloadDecode
	s.fault = notFound("/start_profile", func() {
		// The window opens by itself and leaves its file.
		writeTrace(t, filepath.Join(dir, "trace.json"), traceText(1, 0))
	})
	res, err := run(t, context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Files()) != 1 || len(s.saw("/stop_profile")) != 0 {
		t.Errorf("files %v, stops %d", res.Files(), len(s.saw("/stop_profile")))
	}
	if w := res.Stages[0].Warnings; len(w) != 1 || !strings.Contains(w[0], "TLLM_PROFILE_START_STOP") {
		t.Errorf("warnings = %q", w)
	}
}

// TestTokenSpeedContract checks the payload and the profile_id.
func TestTokenSpeedContract(t *testing.T) {
	dir := outDir(t)
	s := newFake(t, capture.FrameworkTokenSpeed, "")
	o := quick(s, dir)
	o.ProfilePrefix = "exp1"
	res, err := run(t, context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	got := s.saw("/start_profile")
	for i, st := range []string{"prefill", "decode"} {
		want := map[string]any{
			"output_dir": filepath.Join(dir, st), "activities": []any{"CPU", "GPU"},
			"with_stack": true, "record_shapes": false, "profile_id": "exp1-" + st,
		}
		if d := cmp.Diff(want, got[i].Body); d != "" {
			t.Errorf("%s payload (-want +got):\n%s", st, d)
		}
	}
	if d := cmp.Diff([]string{filepath.Join(dir, "prefill", "exp1-prefill-TP-0.trace.json.gz"),
		filepath.Join(dir, "decode", "exp1-decode-TP-0.trace.json.gz")}, res.Files()); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	if p := s.paths(); p[0] != "/readiness" || p[1] != "/v1/models" {
		t.Errorf("asked %v first", p[:2])
	}
	// The same names again, in place: replaced files are this run's.
	if _, err := run(t, context.Background(), s, o); err != nil {
		t.Error(err)
	}
}

// TestUnsupportedOptions: an option the server lacks is an error before
// anything is sent, and the harmless ones are notes.
func TestUnsupportedOptions(t *testing.T) {
	for _, f := range []capture.Framework{capture.FrameworkVLLM, capture.FrameworkTensorRT,
		capture.FrameworkTokenSpeed} {
		for name, set := range map[string]func(*capture.Options){
			"profile-by-stage": func(o *capture.Options) { o.ProfileByStage = true },
			"merge-profiles":   func(o *capture.Options) { o.MergeProfiles = true },
			"start-step":       func(o *capture.Options) { o.StartStep = 3 },
		} {
			dir := outDir(t)
			s := newFake(t, f, dir)
			o := quick(s, dir)
			set(&o)
			_, err := run(t, context.Background(), s, o)
			wantError(t, err, capture.ErrUnsupported, "--"+name, f.Title())
			if len(changes(s.calls)) != 0 {
				t.Errorf("%s --%s: requests were sent: %v", f, name, s.paths())
			}
		}
	}
}

// TestDetect finds each server out, and the hint in the path first.
func TestDetect(t *testing.T) {
	for _, f := range []capture.Framework{capture.FrameworkSGLang, capture.FrameworkVLLM, capture.FrameworkTokenSpeed} {
		s := newFake(t, f, "")
		d, err := capture.Detect(context.Background(), s.URL, "/data/run7", capture.Options{})
		if err != nil || d != f {
			t.Errorf("Detect(%s) = %+v, %v", f, d, err)
		}
	}
	s := newFake(t, capture.FrameworkVLLM, "")
	d, err := capture.Detect(context.Background(), s.URL, "/data/vllm-and-more/trt-llm_qwen/x", capture.Options{})
	if err != nil || d != capture.FrameworkTensorRT || len(s.calls) != 0 {
		t.Errorf("Detect by path = %+v, %v, requests %v", d, err, s.paths())
	}
	s.fault = notFound("/v1/models", nil)
	_, err = capture.Detect(context.Background(), s.URL, "/data/x", capture.Options{})
	wantError(t, err, nil, "no known server at "+s.URL, "--framework")
	noLeaks(t)
}

// TestProgress: every phase reports, and each wait shows a sign of life.
func TestProgress(t *testing.T) {
	dir := outDir(t)
	s := newFake(t, capture.FrameworkSGLang, "")
	o := quick(s, dir)
	o.Framework = capture.FrameworkAuto
	o.ArmDelay = 1
	seen := map[string]bool{}
	o.Progress = func(p capture.Progress) {
		if p.Message == "" || p.Elapsed < 0 {
			t.Errorf("empty progress %+v", p)
		}
		seen[p.Phase] = true
	}
	if _, err := run(t, context.Background(), s, o); err != nil {
		t.Fatal(err)
	}
	for _, phase := range []string{"detect", "info", "warmup", "start", "wait", "requests", "stop", "traces", "done"} {
		if !seen[phase] {
			t.Errorf("no progress of phase %s; seen %v", phase, seen)
		}
	}
}
