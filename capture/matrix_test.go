package capture_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/capture"
)

// matrixOf is a plan over an SGLang pair and a vLLM server.
func matrixOf(t *testing.T, dir string, mapping, formal, v *fake) *capture.Plan {
	t.Helper()
	plan := filepath.Join(filepath.Dir(dir), "plan.json")
	text := fmt.Sprintf(`{"title": "one model", "output_dir": %q, "entries": [
	  {"name": "first", "framework": "SGLang", "mapping_url": %q, "formal_url": %q, "stages": "both", "num_steps": 3},
	  {"name": "second", "framework": "vllm", "url": %q, "output_dir": %q, "stages": "decode"}
	]}`, filepath.Base(dir), mapping.URL, formal.URL, v.URL, v.dir)
	if err := os.WriteFile(plan, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	p, err := capture.LoadPlan(plan)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestMatrixResumes: a failed entry does not stop the others; the next run
// captures only what is missing; every entry is analysed with all its traces.
func TestMatrixResumes(t *testing.T) {
	dir := outDir(t)
	mapping, formal := newFake(t, capture.FrameworkSGLang, ""), newFake(t, capture.FrameworkSGLang, "")
	v := newFake(t, capture.FrameworkVLLM, filepath.Join(filepath.Dir(dir), "server"))
	p := matrixOf(t, dir, mapping, formal, v)
	formal.fault = answers("/start_profile", 500, "not today", nil)

	var analysed []string
	o := quick(mapping, "")
	o.FirstIndex = 0
	m := capture.Matrix{
		Options: o,
		Analyse: func(_ context.Context, e capture.Entry) error {
			var files []string
			for _, c := range e.Captures {
				for _, f := range c.Files() {
					rel, err := filepath.Rel(filepath.Dir(dir), f)
					if err != nil {
						t.Error(err)
					}
					files = append(files, string(c.Role)+" "+rel)
				}
			}
			analysed = append(analysed, e.Name+" "+string(e.Framework)+": "+strings.Join(files, ", "))
			return nil
		},
	}
	entries, err := m.Run(context.Background(), p)
	wantError(t, err, nil, "first: formal: ", "not today")
	if len(entries) != 2 || !strings.Contains(entries[0].Error, "not today") || entries[1].Error != "" {
		t.Errorf("entries = %+v", entries)
	}
	second := "second vllm: single server/decode/dp0_pp0_tp0_dcp0_ep0_rank0.175911.pt.trace.json.gz"
	failed := "first sglang: mapping out/first/mapping/prefill/175911.25-TP-0.trace.json.gz, mapping " +
		"out/first/mapping/decode/175912.25-TP-0.trace.json.gz"
	if d := cmp.Diff([]string{failed, second}, analysed); d != "" {
		t.Errorf("analysed (-want +got):\n%s", d)
	}

	formal.fault, analysed = nil, nil
	before := len(mapping.calls) + len(v.calls)
	entries, err = m.Run(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(mapping.calls) + len(v.calls); n != before {
		t.Errorf("%d requests to servers that were captured already", n-before)
	}
	first := "first sglang: mapping out/first/mapping/prefill/175911.25-TP-0.trace.json.gz, mapping " +
		"out/first/mapping/decode/175912.25-TP-0.trace.json.gz, " +
		"formal out/first/formal/prefill/175911.25-TP-0.trace.json.gz, formal out/first/formal/decode/175912.25-TP-0.trace.json.gz"
	if d := cmp.Diff([]string{first, second}, analysed); d != "" {
		t.Errorf("analysed (-want +got):\n%s", d)
	}
	if c := entries[0].Captures; len(c) != 2 || !c[0].Resumed || c[1].Resumed {
		t.Errorf("captures = %+v", c)
	}
	if got := formal.saw("/start_profile")[1].Body["num_steps"]; got != 4.0 {
		t.Errorf("num_steps = %v, want the plan's 3 and one", got)
	}
	// The second try's prompts are unknown to the first one's prefix cache.
	if first, again := formal.saw("/generate")[0].Body["text"],
		formal.saw("/generate")[10].Body["text"]; first == again {
		t.Errorf("the second try begins with the first one's prompt %.20q", again)
	}

	// A trace that has gone, or shrunk, is captured again; others are not.
	if err := os.Truncate(entries[1].Captures[0].Files()[0], 3); err != nil {
		t.Fatal(err)
	}
	calls := len(formal.calls)
	if _, err := m.Run(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	if v.windows != 2 || len(formal.calls) != calls {
		t.Errorf("%d windows of the truncated one, %d new requests to the other", v.windows, len(formal.calls)-calls)
	}
	m.Restart = true
	if _, err := m.Run(context.Background(), p); err != nil || v.windows != 3 {
		t.Errorf("restart: %d windows, %v", v.windows, err)
	}
	noLeaks(t)
}

// TestMatrixShape: the second run is all resumed when nothing changed, and all
// new when the shape did.
func TestMatrixShape(t *testing.T) {
	dir := outDir(t)
	mapping, formal := newFake(t, capture.FrameworkSGLang, ""), newFake(t, capture.FrameworkSGLang, "")
	v := newFake(t, capture.FrameworkVLLM, filepath.Join(filepath.Dir(dir), "server"))
	p := matrixOf(t, dir, mapping, formal, v)
	p.Entries[0].NumSteps = 0
	o := quick(mapping, "")
	o.FirstIndex = 0
	windows := func() int { return mapping.windows + formal.windows + v.windows }
	for _, c := range []struct {
		name    string
		change  func()
		windows int
	}{
		{"first", func() {}, 5},
		{"nothing changed", func() {}, 0},
		{"steps", func() { o.NumSteps = 20 }, 5},
		{"nothing changed since", func() {}, 0},
		{"prompt length", func() { o.Prefill.InputLen = 50; o.Decode.InputLen = 2 }, 5},
		{"concurrency of one entry", func() { p.Entries[1].Concurrency = 2 }, 1},
		{"past the end of sequence", func() { o.IgnoreEOS = true }, 5},
		{"timeouts", func() { o.Timeouts.Request *= 2; o.Header = http.Header{"X": {"y"}} }, 0},
	} {
		c.change()
		before := windows()
		entries, err := capture.Matrix{Options: o}.Run(context.Background(), p)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := windows() - before; got != c.windows {
			t.Errorf("%s: %d windows, want %d", c.name, got, c.windows)
		}
		for _, e := range entries {
			for _, x := range e.Captures {
				if resumed := c.windows == 0; c.windows != 1 && x.Resumed != resumed {
					t.Errorf("%s: %s %s resumed %v", c.name, e.Name, x.Role, x.Resumed)
				}
			}
		}
	}
	// The formal server is timed without stacks, the mapping one has them.
	if m, f := mapping.saw("/start_profile")[0].Body, formal.saw("/start_profile")[0].Body; m["with_stack"] != true ||
		f["with_stack"] != false || f["record_shapes"] != false {
		t.Errorf("mapping %v, formal %v", m, f)
	}
}

// TestMatrixAnalyseFails: the entry fails, its captures stay.
func TestMatrixAnalyseFails(t *testing.T) {
	dir := outDir(t)
	a, b, v := newFake(t, capture.FrameworkSGLang, ""), newFake(t, capture.FrameworkSGLang, ""),
		newFake(t, capture.FrameworkVLLM, filepath.Join(filepath.Dir(dir), "server"))
	p := matrixOf(t, dir, a, b, v)
	bad := errors.New("no kernels")
	m := capture.Matrix{Options: quick(a, ""), Analyse: func(_ context.Context, e capture.Entry) error { return bad }}
	entries, err := m.Run(context.Background(), p)
	wantError(t, err, bad, "first: no kernels", "second: no kernels")
	if len(entries) != 2 || len(entries[0].Captures) != 2 {
		t.Errorf("entries = %+v", entries)
	}
	m.Analyse = nil
	if _, err := m.Run(context.Background(), p); err != nil || a.windows != 2 {
		t.Errorf("captured again: %d windows, %v", a.windows, err)
	}
}

// TestMatrixCancel: nothing further is begun, and what is done is kept.
func TestMatrixCancel(t *testing.T) {
	dir := outDir(t)
	a, b, v := newFake(t, capture.FrameworkSGLang, ""), newFake(t, capture.FrameworkSGLang, ""),
		newFake(t, capture.FrameworkVLLM, filepath.Join(filepath.Dir(dir), "server"))
	p := matrixOf(t, dir, a, b, v)
	ctx, cancel := context.WithCancel(context.Background())
	m := capture.Matrix{Options: quick(a, ""), Log: func(line string) {
		if strings.HasPrefix(line, "first/mapping: 2 traces") {
			cancel()
		}
	}}
	_, err := m.Run(ctx, p)
	wantError(t, err, context.Canceled)
	if len(b.saw("/start_profile"))+len(v.calls) != 0 {
		t.Error("went on after the cancel")
	}
	if _, err := m.Run(context.Background(), p); err != nil || a.windows != 2 {
		t.Errorf("the finished capture was made again: %d windows, %v", a.windows, err)
	}
}

// TestPlanErrors: each mistake is named with its entry.
func TestPlanErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                               "EOF",
		`{`:                              "unexpected EOF",
		`{"output_dir": "x", "oops": 1}`: `unknown field "oops"`,
		`{"entries": []}`:                "no output_dir",
		`{"output_dir": "x"}`:            "no entries",
		`{"output_dir": "x", "entries": [{"name": "../up", "url": "h:1"}]}`:                                        "entry 1 (../up): the name is a folder",
		`{"output_dir": "x", "entries": [{"name": "a", "url": "h:1"}, {"name": "a", "url": "h:1"}]}`:               "entry 2 (a): the name is taken",
		`{"output_dir": "x", "entries": [{"name": "a"}]}`:                                                          "want either url",
		`{"output_dir": "x", "entries": [{"name": "a", "url": "h:1", "mapping_url": "h:2", "formal_url": "h:3"}]}`: "want either url",
		`{"output_dir": "x", "entries": [{"name": "a", "mapping_url": "h:2"}]}`:                                    "belong together",
		`{"output_dir": "x", "entries": [{"name": "a", "url": "h:1", "framework": "tgi"}]}`:                        `unknown framework "tgi"`,
		`{"output_dir": "x", "entries": [{"name": "a", "url": "h:1", "stages": "mixed"}]}`:                         `workload "mixed": unknown word`,
	} {
		path := filepath.Join(t.TempDir(), "plan.json")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := capture.LoadPlan(path)
		wantError(t, err, nil, want, "plan.json")
	}
	_, err := capture.LoadPlan("/nowhere/plan.json")
	wantError(t, err, os.ErrNotExist)
}

// TestMatrixNotDone: what an earlier run has left counts only when it can be read, and no run was cut off since.
func TestMatrixNotDone(t *testing.T) {
	dir := outDir(t)
	v := newFake(t, capture.FrameworkVLLM, dir)
	p := &capture.Plan{OutputDir: filepath.Join(dir, "plan"), Entries: []capture.PlanEntry{{Name: "a", URL: v.URL,
		Framework: capture.FrameworkVLLM, OutputDir: dir, Stages: capture.WorkloadDecode}}}
	m := capture.Matrix{Options: quick(v, "")}
	for i, spoil := range []func(){func() {}, func() {
		if err := os.WriteFile(filepath.Join(dir, capture.ManifestFile), []byte("{broken"), 0o600); err != nil {
			t.Fatal(err)
		}
	}} {
		spoil()
		if _, err := m.Run(context.Background(), p); err != nil || v.windows != i+1 {
			t.Errorf("run %d: %d windows, %v", i, v.windows, err)
		}
	}
	killed(t, v, dir, quick(v, dir), false)
	_, err := m.Run(context.Background(), p)
	wantError(t, err, capture.ErrLeftOver, "capture stop --output-dir "+dir)
}

// TestRunPair captures two servers into two folders.
func TestRunPair(t *testing.T) {
	dir := outDir(t)
	a, b := newFake(t, capture.FrameworkSGLang, ""), newFake(t, capture.FrameworkSGLang, "")
	in := func(s *fake, name string) capture.Options {
		o := quick(s, filepath.Join(dir, name))
		o.Workload = capture.WorkloadDecode
		return o
	}
	mapping, formal, err := capture.RunPair(context.Background(), in(a, "mapping"), in(b, "formal"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(dir, "mapping/decode/175911.25-TP-0.trace.json.gz"),
		filepath.Join(dir, "formal/decode/175911.25-TP-0.trace.json.gz")}
	if d := cmp.Diff(want, append(mapping.Files(), formal.Files()...)); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	b.fault = answers("/generate", 500, "", nil)
	mapping, formal, err = capture.RunPair(context.Background(), in(a, "mapping"), in(b, "formal"))
	wantError(t, err, nil, "formal: ")
	if mapping == nil || formal != nil && len(formal.Files()) > 0 {
		t.Errorf("mapping %v, formal %v", mapping, formal)
	}
}
