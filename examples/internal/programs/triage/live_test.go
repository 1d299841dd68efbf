package triage

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/examples/internal/live"
	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/testdata"
)

// fast keeps what is replayed here, which is not what was asked for.
var fast = append(apptest.FastLive, "--allow-invalid")

// demoFile writes the built-in trace as a server would.
func demoFile(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "demo.json.gz")
	if err := os.WriteFile(path, demo.Trace(), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestURL profiles a server and reports on what it left: a stage per folder,
// the server's model in the head, and a sign of life on stderr.
func TestURL(t *testing.T) {
	file := demoFile(t)
	s, dir := apptest.NewLiveServer(t, file, file), apptest.ProfileFolder(t)
	r := apptest.MustRun(t, Program(), append(fast, "--url", s.URL, "--output-dir", dir, "--num-steps", "2",
		"--progress")...)
	for _, want := range []string{"Mode: single-trace", "Framework: SGLang", "Model: Qwen/Qwen3-8B", "TP size: 1",
		"### extend/prefill", "### decode", filepath.Join(dir, "decode", "17.2-TP-0.trace.json.gz")} {
		if !strings.Contains(r.Stdout, want) {
			t.Errorf("report does not say %q:\n%.1500s", want, r.Stdout)
		}
	}
	for _, want := range []string{"prefill: arming the profiler", "decode: request 1 of 1"} {
		if !strings.Contains(r.Stderr, want) {
			t.Errorf("stderr does not say %q:\n%s", want, r.Stderr)
		}
	}
	if len(s.Starts) != 2 || s.Starts[0]["num_steps"] != 3.0 || s.Armed {
		t.Errorf("%d windows, %v, armed %v", len(s.Starts), s.Starts, s.Armed)
	}
}

// TestURLPair captures source lines from one server and time from the other.
func TestURLPair(t *testing.T) {
	extend := testdata.Shared(t, "traces/torch/sglang-qwen3-8b-extend-eager-mi300.json.gz")
	decode := testdata.Shared(t, "traces/torch/sglang-qwen3-8b-decode-graph-mi300.json.gz")
	mapping, formal, dir := apptest.NewLiveServer(t, extend, extend), apptest.NewLiveServer(t, extend, decode),
		apptest.ProfileFolder(t)
	args := append(fast, "--mapping-url", mapping.URL, "--formal-url", formal.URL, "--output-dir", dir,
		"--profile-workload", "decode")
	r := apptest.MustRun(t, Program(), append(args, "--format", "json", "--min-share", "0")...)
	var doc struct {
		Mode             string
		MappingFramework string   `json:"mapping_framework"`
		MappingTraces    []string `json:"mapping_traces"`
		Traces           []string
		Model            string
		Stages           []struct {
			Stage   string
			Kernels []struct {
				Kernel    string
				Locations []struct{ Location string }
			}
		}
	}
	if err := json.Unmarshal([]byte(r.Stdout), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Mode != "mapping-formal" || doc.MappingFramework != "SGLang" || doc.Model != "Qwen/Qwen3-8B" ||
		len(doc.Stages) != 1 || doc.Stages[0].Stage != "decode" {
		t.Fatalf("document = %.500s", r.Stdout)
	}
	if want := filepath.Join(dir, "mapping", "decode"); len(doc.MappingTraces) != 1 ||
		filepath.Dir(doc.MappingTraces[0]) != want {
		t.Errorf("mapping traces %v, want one in %s", doc.MappingTraces, want)
	}
	for _, k := range doc.Stages[0].Kernels {
		for _, l := range k.Locations {
			if l.Location == "graph replay" || strings.Contains(l.Location, "_forward_raw") {
				t.Errorf("%.60s comes from %s", k.Kernel, l.Location)
			}
		}
	}
}

// TestURLWithMappingFile reads the mapping trace from disk.
func TestURLWithMappingFile(t *testing.T) {
	file := demoFile(t)
	s, dir := apptest.NewLiveServer(t, file, file), apptest.ProfileFolder(t)
	r := apptest.MustRun(t, Program(), append(fast, "--url", s.URL, "--mapping-input", file, "--output-dir", dir,
		"--profile-workload", "decode")...)
	if !strings.Contains(r.Stdout, "Mode: mapping-formal") || !strings.Contains(r.Stdout, "Mapping traces: "+file) {
		t.Errorf("report:\n%.800s", r.Stdout)
	}
	r = apptest.Run(t, Program(), append(fast, "--url", s.URL, "--mapping-input", "/absent", "--output-dir", dir)...)
	if r.Code != app.ExitError || len(s.Starts) != 1 {
		t.Errorf("an absent mapping trace: exit code %d, %d windows; want an error before the capture", r.Code,
			len(s.Starts))
	}
}

// TestOldCommandLines: those of the published script are taken as they are.
func TestOldCommandLines(t *testing.T) {
	file := demoFile(t)
	fresh := func() *apptest.LiveServer { return apptest.NewLiveServer(t, file, file) }
	t.Setenv("TMPDIR", t.TempDir())

	// The sub-command, and no folder.
	s := fresh()
	r := apptest.MustRun(t, Program(), append([]string{"triage", "--url", s.URL, "--num-steps", "2",
		"--no-profile-by-stage", "--framework", "sglang"}, fast...)...)
	if !strings.Contains(r.Stderr, "the traces go to "+os.TempDir()) || !strings.Contains(r.Stdout, "Kernel Table") {
		t.Errorf("stderr %q, stdout %.200q", r.Stderr, r.Stdout)
	}
	// Folders and prefixes of a pair.
	m, f := fresh(), fresh()
	mdir, fdir := apptest.ProfileFolder(t), apptest.ProfileFolder(t)
	r = apptest.MustRun(t, Program(), append([]string{"--mapping-url", m.URL, "--formal-url", f.URL,
		"--mapping-output-dir", mdir, "--formal-output-dir", fdir,
		"--mapping-profile-prefix", "graph-off", "--formal-profile-prefix", "real", "--no-merge-profiles",
		"--profile-workload", "decode", "--num-steps", "1"}, fast...)...)
	for s, prefix := range map[*apptest.LiveServer]string{m: "graph-off", f: "real"} {
		if got := fmt.Sprint(s.Starts[0]["profile_prefix"]); !strings.HasPrefix(got, prefix) {
			t.Errorf("prefix %q, want %q", got, prefix)
		}
	}
	for _, dir := range []string{mdir, fdir} {
		if list, err := os.ReadDir(dir); err != nil || len(list) == 0 {
			t.Errorf("%s: %d files, %v", dir, len(list), err)
		}
	}
	if strings.Contains(r.Stderr, "the traces go to") {
		t.Errorf("a folder was made beside the named ones: %q", r.Stderr)
	}
}

// TestNoSuchProcess: what launched work is named.
func TestNoSuchProcess(t *testing.T) {
	r := apptest.Run(t, Program(), "--pid-substring", "TP-77")
	if r.Code != app.ExitError || !strings.Contains(r.Stderr, `none has "TP-77" in its id, label or name: `) ||
		strings.HasSuffix(strings.TrimSpace(r.Stderr), ":") {
		t.Errorf("exit code %d, stderr %q", r.Code, r.Stderr)
	}
	r = apptest.Run(t, Program(), "--framework", "tllm")
	if r.Code != 0 || !strings.Contains(r.Stdout, "Framework: TensorRT-LLM") {
		t.Errorf("exit code %d, stdout %.300q", r.Code, r.Stdout)
	}
}

// TestURLErrors: one line, and the server's profiler is stopped.
func TestURLErrors(t *testing.T) {
	file := demoFile(t)
	s := apptest.NewLiveServer(t, file, file)
	base := append(fast, "--url", s.URL, "--output-dir", apptest.ProfileFolder(t))
	gone := apptest.NewLiveServer(t, file, file)
	gone.Config.Handler = http.NotFoundHandler()
	s.Broken = true
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{append(base, "--input", file), app.ExitUsage, "captures its own trace"},
		{[]string{"--mapping-url", s.URL, "--output-dir", "x"}, app.ExitUsage, "--mapping-url needs --formal-url"},
		{append(base, "--mapping-url", s.URL, "--mapping-input", file), app.ExitUsage, "give one of"},
		{[]string{"--output-dir", "x"}, app.ExitUsage, "--output names the report's file"},
		{append(base, "--framework", "pytorch"), app.ExitUsage, "pytorch"},
		{append(base, "--num-steps", "0"), app.ExitUsage, "--num-steps 0"},
		{append(base, "--trace-timeout", "50ms"), live.ExitIncomplete, "no prefill trace from " + s.URL},
		{[]string{"--url", gone.URL, "--framework", "sglang", "--output-dir", apptest.ProfileFolder(t)}, app.ExitError,
			gone.URL},
	} {
		r := apptest.Run(t, Program(), c.args...)
		if r.Code != c.code || !strings.Contains(r.Stderr, c.says) || strings.Contains(r.Stderr, "triage: capture: ") ||
			r.Stdout != "" {
			t.Errorf("%v: exit code %d, stdout %q, stderr %q; want %d, %q", c.args, r.Code, r.Stdout, r.Stderr, c.code,
				c.says)
		}
	}
	if s.Armed {
		t.Error("the profiler is still running")
	}
}

// TestURLInvalid: a capture that does not hold what was asked for is reported on, says so in its first lines and in
// the document, with what to change and what was run, and ends with 3.
func TestURLInvalid(t *testing.T) {
	file := demoFile(t)
	s := apptest.NewLiveServer(t, file, file)
	args := append(apptest.FastLive, "--url", s.URL, "--output-dir", apptest.ProfileFolder(t), "--profile-workload",
		"decode", "--num-steps", "9")
	r := apptest.Run(t, Program(), args...)
	head := strings.SplitAfterN(r.Stdout, "\n", 8)
	if len(head) < 8 {
		t.Fatalf("exit code %d, report %q", r.Code, r.Stdout)
	}
	first := strings.Join(head[:7], "")
	for _, want := range []string{"Capture: INVALID\n", "9 decode steps need max_tokens ≥ 10: --decode-output-len 10",
		"Captured: decode: 1 requests at concurrency 1, 1 words in"} {
		if !strings.Contains(first, want) {
			t.Errorf("the first lines do not say %q:\n%s", want, first)
		}
	}
	if r.Code != live.ExitInvalid || !strings.Contains(r.Stdout, "Kernel Table") {
		t.Errorf("exit code %d, report %.300s", r.Code, r.Stdout)
	}
	r = apptest.Run(t, Program(), append(args, "--format", "json")...)
	var doc struct {
		Capture struct {
			Validity string
			Why      []string
		}
	}
	if err := json.Unmarshal([]byte(r.Stdout), &doc); err != nil || r.Code != live.ExitInvalid ||
		doc.Capture.Validity != "INVALID" || len(doc.Capture.Why) == 0 {
		t.Errorf("exit code %d, %v, %+v", r.Code, err, doc)
	}
	if r = apptest.Run(t, Program(), append(args, "--allow-invalid")...); r.Code != 0 ||
		!strings.Contains(r.Stdout, "Capture: INVALID") {
		t.Errorf("--allow-invalid: exit code %d", r.Code)
	}
}

// TestIgnoredFolders: flags of a live capture are not dropped without a word.
func TestIgnoredFolders(t *testing.T) {
	r := apptest.MustRun(t, Program(), "--input", demoFile(t), "--mapping-output-dir", "/data/x")
	if !strings.Contains(r.Stderr, "--mapping-output-dir is ignored") {
		t.Errorf("stderr %q", r.Stderr)
	}
}

// TestFolderAgainstPasses: a trace in a folder of another stage is reported as what it holds, with a note.
func TestFolderAgainstPasses(t *testing.T) {
	text, err := os.ReadFile(testdata.Shared(t, "traces/torch/sglang-qwen3-8b-extend-eager-mi300.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for folder, noted := range map[string]bool{"decode": true, "prefill": false} {
		path := filepath.Join(apptest.ProfileFolder(t), folder, "x.json.gz")
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		r := apptest.MustRun(t, Program(), "--input", path)
		if got := strings.Contains(r.Stderr, "is named decode, and none of its"); got != noted {
			t.Errorf("%s: noted %v, stderr %s", folder, got, r.Stderr)
		}
	}
}
