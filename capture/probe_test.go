package capture_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/capture"
)

// TestProbe sends the requests asked for, and nothing to the profiler.
func TestProbe(t *testing.T) {
	for _, f := range all {
		s := newFake(t, f, "")
		rep, err := capture.Probe(context.Background(),
			capture.Options{URL: s.URL, Framework: f, ProbeRequests: 4, ProbePrompt: "hello", ProbeMaxNewTokens: 8})
		if err != nil {
			t.Fatal(err)
		}
		if rep.Latency.Count != 4 || rep.Latency.P50Ms > rep.Latency.P95Ms || rep.Latency.MinMs > rep.Latency.MeanMs ||
			rep.Latency.MeanMs > rep.Latency.MaxMs {
			t.Errorf("%s: latency %+v", f, rep.Latency)
		}
		if len(rep.Samples) != 4 || rep.Samples[3].Output != "an answer" || rep.Samples[3].Tokens != 8 ||
			rep.Info.Model != "org/model" {
			t.Errorf("%s: %+v", f, rep)
		}
		if len(s.saw("/start_profile"))+len(s.saw("/stop_profile")) != 0 {
			t.Errorf("%s: the profiler was touched", f)
		}
		if got := s.saw(genPath(f)); len(got) != 4 {
			t.Errorf("%s: %d requests", f, len(got))
		}
	}
	if _, err := os.Stat("prefill"); err == nil {
		t.Error("a folder was made")
	}
	noLeaks(t)
}

// TestProbeFails keeps what was answered before.
func TestProbeFails(t *testing.T) {
	s := newFake(t, capture.FrameworkSGLang, "")
	s.fault = hangs("/generate", 3)
	o := quick(s, "")
	o.Timeouts.Request, o.ProbeRequests = 200*time.Millisecond, 5
	rep, err := capture.Probe(context.Background(), o)
	wantError(t, err, context.DeadlineExceeded, "probe request 3 of 5")
	if rep == nil || len(rep.Samples) != 2 || rep.Latency.Count != 2 {
		t.Errorf("report = %+v", rep)
	}
	noLeaks(t)
}

// TestAnswerForms: content as parts, reasoning, output_text and the rest.
func TestAnswerForms(t *testing.T) {
	for body, want := range map[string]string{
		`{"choices": [{"message": {"content": "plain"}}]}`: "plain",
		`{"choices": [{"message": {"content": [{"type": "text", "text": "two"}, {"type": "image_url"}, {"type": "text", "text": "parts"}]}}]}`: "two\nparts",
		`{"choices": [{"message": {"content": null, "reasoning_content": "thinking"}}]}`:                                                       "thinking",
		`{"choices": [{"message": {"content": "so", "reasoning": "hm"}}]}`:                                                                     "hm\nso",
		`{"choices": [{"text": "completion"}]}`:                                                                                                "completion",
		`{"choices": []}`:                                                                                                                      "",
		`{"choices": [{"message": {"content": {"text": ["deep", 1, {}]}}}]}`:                                                                   "",
	} {
		s := newFake(t, capture.FrameworkVLLM, "")
		s.fault = answers("/v1/chat/completions", 200, body, nil)
		rep, err := capture.Probe(context.Background(),
			capture.Options{URL: s.URL, Framework: capture.FrameworkVLLM, ProbeRequests: 1})
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		if d := cmp.Diff([]capture.Sample{{LatencyMs: rep.Samples[0].LatencyMs, Tokens: -1, Output: want}},
			rep.Samples); d != "" {
			t.Errorf("%s (-want +got):\n%s", body, d)
		}
	}
	s := newFake(t, capture.FrameworkSGLang, "")
	s.fault = answers("/generate", 200, `[{"text": "listed", "meta_info": {"completion_tokens": 3}}]`, nil)
	rep, err := capture.Probe(context.Background(),
		capture.Options{URL: s.URL, Framework: capture.FrameworkSGLang, ProbeRequests: 1})
	if err != nil || rep.Samples[0].Output != "listed" || rep.Samples[0].Tokens != 3 {
		t.Errorf("list answer: %+v, %v", rep, err)
	}
}
