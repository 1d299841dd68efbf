package capture_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/capture"
)

// judged is quick with traces that are read.
func judged(s *fake, dir string) capture.Options {
	s.rich = true
	o := quick(s, dir)
	o.Inspect = inspectRich
	o.FirstIndex = 0
	o.Timeouts.Quiet = 300 * time.Millisecond
	return o
}

// outcomes are the checks of a stage by name.
func outcomes(s capture.StageResult) map[capture.CheckName]capture.Outcome {
	m := map[capture.CheckName]capture.Outcome{}
	for _, c := range s.Checks {
		m[c.Name] = c.Outcome
	}
	return m
}

// TestValid: each framework, both stages, in old and in later releases: VALID
// at the first try, with the steps asked for in the window and no more than
// two beyond them, and a second run computes its prompts.
func TestValid(t *testing.T) {
	for _, f := range all {
		for _, later := range []bool{false, true} {
			dir := outDir(t)
			s := newFake(t, f, dir)
			s.later = later
			o := judged(s, dir)
			o.Decode.OutputLen = 2048
			for try := range 2 {
				res, err := run(t, context.Background(), s, o)
				if err != nil || res.Verdict != capture.Valid {
					t.Fatalf("%s, run %d: %v, %+v", f, try, err, res)
				}
				for _, st := range res.Stages {
					if st.Tries != 1 || st.StepsFound < 5 || st.StepsFound > 7 {
						t.Errorf("%s %s later %v: %d steps at try %d, %v", f, st.Stage, later, st.StepsFound, st.Tries,
							st.StageMix)
					}
					if st.Stage == capture.StagePrefill && (st.Load.CachedTokens != 0 || st.Load.PromptTokens < 5*30) {
						t.Errorf("%s run %d: %d of %d prompt tokens were cached", f, try, st.Load.CachedTokens,
							st.Load.PromptTokens)
					}
				}
			}
		}
	}
}

// TestManifest: capture.json holds what the result does: verdict, checks, files
// with sizes and sums, settings, server, no null list.
func TestManifest(t *testing.T) {
	dir := outDir(t)
	s := newFake(t, capture.FrameworkSGLang, "")
	s.ranks = 2
	res, err := run(t, context.Background(), s, judged(s, dir))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, capture.ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	var doc capture.Result
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Schema != "strata.capture/1" || doc.Verdict != capture.Valid || doc.Options.NumSteps != 5 ||
		doc.Info.Version != "0.5.4" || len(doc.Stages) != 2 {
		t.Errorf("manifest = %s", text)
	}
	for i, st := range doc.Stages {
		for j, tr := range st.Traces {
			want := res.Stages[i].Traces[j]
			if info, err := os.Stat(tr.Path); err != nil || info.Size() != tr.Bytes || tr.Path != want.Path {
				t.Errorf("trace %+v: %v", tr, err)
			}
		}
	}
	if strings.Contains(string(text), "null,") && strings.Contains(string(text), `"traces": null`) {
		t.Errorf("null list in %s", text)
	}
}

// TestCachedPrompts: prompts that the prefix cache knows are no prefill; the
// second try has others. The server's count shows it, or else the passes do.
func TestCachedPrompts(t *testing.T) {
	for _, noCount := range []bool{false, true} {
		dir := outDir(t)
		s := newFake(t, capture.FrameworkSGLang, "")
		s.noCount = noCount
		o := judged(s, dir)
		o.Workload, o.FirstIndex = capture.WorkloadPrefill, 7
		if _, err := run(t, context.Background(), s, o); err != nil {
			t.Fatal(err)
		}
		o.NoRetry = true
		res, err := run(t, context.Background(), s, o)
		wantError(t, err, capture.ErrInvalid, "195 of 200 prompt tokens came from the prefix cache")
		if res == nil || res.Verdict != capture.Invalid {
			t.Fatalf("result %+v", res)
		}
		o.NoRetry = false
		res, err = run(t, context.Background(), s, o)
		if err != nil || res.Verdict != capture.Valid || res.Stages[0].Tries != 2 || len(res.Stages[0].Rejected) != 1 {
			t.Errorf("count left out %v: second try: %v, %+v", noCount, err, res)
		}
		if _, err := os.Stat(filepath.Join(dir, res.Stages[0].Rejected[0])); err != nil {
			t.Errorf("the first try's trace: %v", err)
		}
	}
}

// TestShortWindow: a model that stops early makes the window too short; the
// second try goes on past the end of sequence.
func TestShortWindow(t *testing.T) {
	for _, f := range all {
		dir := outDir(t)
		s := newFake(t, f, dir)
		s.eos = 3
		o := judged(s, dir)
		o.Workload = capture.WorkloadDecode
		o.NoRetry = true
		res, err := run(t, context.Background(), s, o)
		wantError(t, err, capture.ErrInvalid, "3 of 5 steps in the window",
			"5 decode steps need max_tokens ≥ 6: --decode-output-len 6")
		failed := slices.DeleteFunc(res.Stages[0].Checks, func(c capture.Check) bool { return c.Outcome != capture.Fail })
		if len(failed) != 1 || failed[0].Name != capture.CheckSteps || !strings.Contains(failed[0].Fix, "max_tokens ≥ 6") {
			t.Errorf("failed checks %+v", failed)
		}
		o.NoRetry = false
		res, err = run(t, context.Background(), s, o)
		if err != nil || res.Stages[0].Tries != 2 || res.Stages[0].StepsAsked != 5 || res.Stages[0].StepsFound < 5 {
			t.Errorf("%s: %v, %+v", f, err, res)
		}
	}
}

// TestBounded: the tokens asked for bound the window of a server that does not
// close it by itself, whatever length was given.
func TestBounded(t *testing.T) {
	for _, f := range []capture.Framework{capture.FrameworkVLLM, capture.FrameworkTensorRT,
		capture.FrameworkTokenSpeed} {
		for _, steps := range []int{1, 5, 30} {
			dir := outDir(t)
			s := newFake(t, f, dir)
			o := judged(s, dir)
			o.Workload, o.NumSteps, o.Decode.OutputLen = capture.WorkloadDecode, steps, 2048
			res, err := run(t, context.Background(), s, o)
			if err != nil || res.Stages[0].StepsFound != steps+1 {
				t.Errorf("%s, %d steps: %v, %+v", f, steps, err, res)
			}
		}
	}
}

// TestWorldSize: three of four ranks are not enough although nobody said four
// but the traces; the fourth is waited for.
func TestWorldSize(t *testing.T) {
	for _, comes := range []bool{false, true} {
		dir := outDir(t)
		s := newFake(t, capture.FrameworkVLLM, dir)
		s.ranks, s.world = 3, 4
		o := judged(s, dir)
		o.Workload, o.Timeouts.Traces = capture.WorkloadDecode, 500*time.Millisecond
		if comes {
			o.Timeouts.Traces, o.Timeouts.Quiet = 20*time.Second, 20*time.Second
			o.Progress = func(p capture.Progress) { // once the three have been read
				if p.Phase == "traces" && strings.Contains(p.Message, "waiting for rank 3") {
					s.mu.Lock()
					writeTrace(t, filepath.Join(dir, "dp0_pp0_tp3_dcp0_ep0_rank3.175911.pt.trace.json.gz"),
						s.richText(3))
					s.mu.Unlock()
				}
			}
		}
		res, err := run(t, context.Background(), s, o)
		if comes {
			if err != nil || res.Verdict != capture.Valid || res.Stages[0].Expected != 4 || len(res.Files()) != 4 {
				t.Errorf("%v, %+v", err, res)
			}
			continue
		}
		wantError(t, err, capture.ErrIncomplete, "3 complete of 4 expected", "missing: rank 3")
		if res == nil || len(res.Stages) != 1 || len(res.Stages[0].Traces) != 3 || res.Verdict != capture.Invalid {
			t.Errorf("what there is is not in the result: %+v", res)
		}
	}
}

// TestForeignTrace: another run's trace that is finished now is left out by
// when it was recorded; if the two cannot be separated the capture is not
// valid.
func TestForeignTrace(t *testing.T) {
	for _, c := range []struct {
		name  string
		ended time.Duration // before this window
		files int
	}{{"an hour ago", time.Hour, 1}, {"at the same time", 0, 2}} {
		dir := outDir(t)
		s := newFake(t, capture.FrameworkSGLang, "")
		o := judged(s, dir)
		o.Workload, o.NoRetry = capture.WorkloadDecode, true
		s.write = func(dir, pattern string) {
			other := capture.Found{Steps: 5, Stages: map[string]int{"decode": 5}, GPUEvents: 1, Ranked: true,
				WorldSize: 1, End: time.Now().Add(-c.ended)}
			text, _ := json.Marshal(map[string]any{"found": other})
			writeTrace(t, filepath.Join(dir, "16.5-TP-0.trace.json.gz"), text)
			writeTrace(t, filepath.Join(dir, rankName(pattern, 0)), s.richText(0))
		}
		res, err := run(t, context.Background(), s, o)
		if c.files == 1 {
			if err != nil || len(res.Files()) != 1 || strings.Contains(res.Files()[0], "16.5") ||
				!slices.Equal(res.Stages[0].Rejected, []string{"decode/16.5-TP-0.trace.json.gz"}) {
				t.Errorf("%s: %v, %+v", c.name, err, res)
			}
			continue
		}
		wantError(t, err, capture.ErrInvalid, "two traces of TP-0")
	}
}

// TestFrontend: the trace of the process that takes requests is no rank.
func TestFrontend(t *testing.T) {
	dir := outDir(t)
	s := newFake(t, capture.FrameworkVLLM, dir)
	o := judged(s, dir)
	o.Workload = capture.WorkloadDecode
	s.write = func(dir, pattern string) {
		text, _ := json.Marshal(map[string]any{"found": capture.Found{CPUEvents: 9, Ranked: true, WorldSize: 1}})
		writeTrace(t, filepath.Join(dir, "host_77.async_llm.175911.pt.trace.json.gz"), text)
		writeTrace(t, filepath.Join(dir, rankName(pattern, 0)), s.richText(0))
	}
	res, err := run(t, context.Background(), s, o)
	if err != nil || res.Verdict != capture.Valid || len(res.Stages[0].Traces) != 2 ||
		!res.Stages[0].Traces[1].Frontend {
		t.Errorf("%v, %+v", err, res)
	}
}

// TestTensorRTNames: since each rank has a file of its own, a name that ends in
// .json.gz gets its rank in the middle, and is found all the same.
func TestTensorRTNames(t *testing.T) {
	dir := outDir(t)
	s := newFake(t, capture.FrameworkTensorRT, dir)
	s.ranks = 2
	o := judged(s, dir)
	s.write = func(dir, _ string) {
		for r := range 2 {
			writeTrace(t, filepath.Join(dir, rankName("trace.json-rank-%d.gz", r)), s.richText(r))
		}
	}
	for range 2 { // the second time the names are taken
		res, err := run(t, context.Background(), s, o)
		if err != nil || res.Verdict != capture.Valid || len(res.Files()) != 4 {
			t.Errorf("%v, %+v", err, res)
		}
	}
}

// TestDiagnosis: what the caller finds ends up in the result, and an empty
// window is explained.
func TestDiagnosis(t *testing.T) {
	for _, c := range []struct {
		name  string
		found capture.Found
		want  string
		empty bool
		check string
	}{
		{"good", capture.Found{Steps: 5, Stages: map[string]int{"decode": 5}, GPUEvents: 100, CPUEvents: 10}, "", false,
			""},
		{"few steps", capture.Found{Steps: 2, GPUEvents: 100}, "2 of 5 steps in the window", false, "steps"},
		{"other stage", capture.Found{Steps: 9, Stages: map[string]int{"prefill": 9}, GPUEvents: 100}, "9 prefill",
			false, "stages"},
		{"CPU only", capture.Found{Steps: 5, CPUEvents: 10}, "no GPU event and 10 host events", true, "gpu"},
		{"nothing", capture.Found{Steps: -1}, "no GPU event and 0 host events", true, "gpu"},
	} {
		dir := outDir(t)
		s := newFake(t, capture.FrameworkVLLM, dir)
		o := quick(s, dir)
		o.Workload, o.ExpectRanks, o.NoRetry = capture.WorkloadDecode, 1, true
		o.Inspect = func(_ context.Context, path string) (capture.Found, error) {
			if _, err := os.Stat(path); err != nil {
				t.Error(err)
			}
			return c.found, nil
		}
		res, err := run(t, context.Background(), s, o)
		if c.check == "" {
			if err != nil || res.Verdict != capture.Valid {
				t.Errorf("%s: %v, %+v", c.name, err, res)
			}
		} else {
			wantError(t, err, capture.ErrInvalid)
		}
		st := res.Stages[0]
		got := ""
		for _, k := range st.Checks {
			if k.Outcome == capture.Fail {
				got += k.Detail + "; "
			}
		}
		if st.Empty != c.empty || !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s: empty %v, failed checks %q, want %v, %q", c.name, st.Empty, got, c.empty, c.want)
		}
		if st.StepsFound != c.found.Steps || st.Traces[0].Found == nil || c.check != "" &&
			outcomes(st)[capture.CheckName(c.check)] != capture.Fail {
			t.Errorf("%s: steps found %d, checks %v", c.name, st.StepsFound, st.Checks)
		}
	}
}

// TestUnchecked: what decides and is not known is not called valid.
func TestUnchecked(t *testing.T) {
	for name, found := range map[string]capture.Found{
		"ranks":  {Steps: 5, Stages: map[string]int{"decode": 5}, GPUEvents: 1},
		"steps":  {Steps: -1, GPUEvents: 1, Ranked: true, WorldSize: 1},
		"stages": {Steps: 5, Stages: map[string]int{"unknown": 5}, GPUEvents: 1, Ranked: true, WorldSize: 1},
	} {
		dir := outDir(t)
		s := newFake(t, capture.FrameworkVLLM, dir)
		o := quick(s, dir)
		o.Workload = capture.WorkloadDecode
		o.Inspect = func(context.Context, string) (capture.Found, error) { return found, nil }
		res, err := run(t, context.Background(), s, o)
		if err != nil || res.Verdict != capture.Unchecked ||
			outcomes(res.Stages[0])[capture.CheckName(name)] != capture.Unknown {
			t.Errorf("%s: %v, %+v", name, err, res)
		}
	}
}

// TestLimits: each number that decides, on either side.
func TestLimits(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"cached 5%", capture.CacheOutcome(50, 1000), capture.Pass},
		{"cached over 5%", capture.CacheOutcome(51, 1000), capture.Fail},
		{"cached not said", capture.CacheOutcome(-1, 1000), capture.Unknown},
		{"ended 2 s before", capture.Foreign(now.Add(-2*time.Second), now, 0), false},
		{"ended over 2 s before", capture.Foreign(now.Add(-2*time.Second-1), now, 0), true},
		{"ended a day before", capture.Foreign(now.Add(-24*time.Hour), now, 0), false},
		{"ended nearly a day before", capture.Foreign(now.Add(-24*time.Hour+1), now, 0), true},
		{"the other clock is behind", capture.Foreign(now.Add(-time.Minute), now, -time.Minute), false},
		{"a proxy's clock is ahead", capture.Foreign(now.Add(-time.Second), now, time.Minute), false},
		{"over before by both clocks", capture.Foreign(now.Add(-time.Minute), now, time.Minute), true},
		{"not said", capture.Foreign(time.Time{}, now, 0), false},
		{"4 decodes of 5, and the prompt", capture.StageOutcome("decode", 5, map[string]int{"decode": 4, "prefill": 1}),
			capture.Pass},
		{"3 decodes of 5", capture.StageOutcome("decode", 5, map[string]int{"decode": 3, "prefill": 2}), capture.Fail},
		{"verify is decode", capture.StageOutcome("decode", 5, map[string]int{"verify": 5, "draft": 5}), capture.Pass},
		{"5 prefills of 5", capture.StageOutcome("prefill", 5, map[string]int{"prefill": 5, "decode": 5}),
			capture.Pass},
		{"4 prefills of 5", capture.StageOutcome("prefill", 5, map[string]int{"prefill": 4, "decode": 5}),
			capture.Fail},
		{"nothing named", capture.StageOutcome("prefill", 5, map[string]int{"unknown": 9}), capture.Unknown},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

// TestQuiet: a server that has answered the stop has written its traces; when
// none comes for a while the wait is over. One that may answer before is
// waited for in full.
func TestQuiet(t *testing.T) {
	for _, f := range all {
		dir := outDir(t)
		s := newFake(t, f, dir)
		s.write = func(string, string) {}
		o := judged(s, dir)
		o.Workload, o.Timeouts.Quiet, o.Timeouts.Traces = capture.WorkloadDecode, 40*time.Millisecond, 20*time.Second
		if f == capture.FrameworkTensorRT {
			o.Timeouts.Traces = 200 * time.Millisecond
		}
		begin := time.Now()
		_, err := run(t, context.Background(), s, o)
		wantError(t, err, capture.ErrIncomplete, "no decode trace")
		took := time.Since(begin)
		if f == capture.FrameworkTensorRT && took < 200*time.Millisecond || took > 10*time.Second {
			t.Errorf("%s: given up after %v", f, took)
		}
	}
}
