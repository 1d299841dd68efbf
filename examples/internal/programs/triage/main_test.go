package triage

import (
	"regexp"

	"github.com/google/go-cmp/cmp"

	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/internal/gate"
	"github.com/llmstrata/strata/internal/testdata"
)

func TestHelp(t *testing.T) {
	apptest.Golden(t, "testdata/help.golden", apptest.MustRun(t, Program(), "--help").Stdout)
}

// TestDemo runs on the built-in trace, as on a fresh machine.
func TestDemo(t *testing.T) {
	r := apptest.MustRun(t, Program())
	apptest.Golden(t, "testdata/demo.golden", r.Stdout)
	if !strings.Contains(r.Stderr, "demo") {
		t.Errorf("stderr does not announce the demo: %q", r.Stderr)
	}
}

func TestJSONIsOneDocument(t *testing.T) {
	r := apptest.MustRun(t, Program(), "--format", "json")
	var doc struct {
		Mode   string
		Stages []struct{ Kernels []json.RawMessage }
	}
	if err := json.Unmarshal([]byte(r.Stdout), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Mode != "single-trace" || len(doc.Stages) == 0 || len(doc.Stages[0].Kernels) == 0 {
		t.Errorf("document = %+v", doc)
	}
}

func TestTwoTraceMode(t *testing.T) {
	r := apptest.MustRun(t, Program(),
		"--mapping-input", testdata.Shared(t, "traces/torch/sglang-qwen3-8b-extend-eager-mi300.json.gz"),
		"--formal-input", testdata.Shared(t, "traces/torch/sglang-qwen3-8b-decode-graph-mi300.json.gz"))
	for _, want := range []string{"Mode: mapping-formal", "python/sglang/srt/layers/activation.py:83 forward_cuda"} {
		if !strings.Contains(r.Stdout, want) {
			t.Errorf("report does not hold %q", want)
		}
	}
}

func TestPprofFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gpu.pb.gz")
	apptest.MustRun(t, Program(), "--framework", "auto", "--pprof", path)
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		t.Errorf("profile: %v, %v", info, err)
	}
}

// TestCompareStopsAPipeline needs exit code 3 where the new run is slower, 1 for an absent file, and the comparison
// in the page.
func TestCompareStopsAPipeline(t *testing.T) {
	fast := testdata.Shared(t, "traces/torch/sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz")
	slow := testdata.Shared(t, "traces/torch/sglang-qwen3-30b-a3b-mi300-TP-0-DECODE.trace.json.gz")
	if r := apptest.Run(t, Program(), "--input", fast, "--compare-input", slow); r.Code != app.ExitOK ||
		!strings.Contains(r.Stdout, "Verdict: pass") {
		t.Errorf("faster run: exit code %d: %s", r.Code, r.Stderr)
	}
	if r := apptest.Run(t, Program(), "--input", slow, "--compare-input", fast); r.Code != gate.ExitFailed ||
		!strings.Contains(r.Stderr, "comparison with the older run") {
		t.Errorf("slower run: exit code %d: %s", r.Code, r.Stderr)
	}
	page := filepath.Join(t.TempDir(), "triage.html")
	if r := apptest.Run(t, Program(), "--input", fast, "--compare-input", fast, "--html", page); r.Code != app.ExitOK ||
		!strings.Contains(r.Stdout, "Verdict: pass") {
		t.Errorf("the same run: exit code %d: %s", r.Code, r.Stderr)
	}
	if text, err := os.ReadFile(page); err != nil ||
		!strings.Contains(string(text), "Against the older run, decode: what changed") ||
		!strings.Contains(string(text), "Parts of the step by difference") {
		t.Errorf("the page lacks the comparison (%v)", err)
	}
	if r := apptest.Run(t, Program(), "--input", fast, "--compare-input", fast+".absent"); r.Code != app.ExitError {
		t.Errorf("an absent file: exit code %d", r.Code)
	}
}

func TestWrongUsage(t *testing.T) {
	for _, args := range [][]string{
		{"--input", "a", "--formal-input", "b"}, {"--mapping-input", "a"}, {"--framework", "x"}, {"--fuse-mode", "x"},
		{"--input", "a", "b"},
		{"--url", "http://127.0.0.1:1", "--input", "a"},
	} {
		if r := apptest.Run(t, Program(), args...); r.Code != app.ExitUsage {
			t.Errorf("%q: exit code %d, want %d (%s)", args, r.Code, app.ExitUsage, r.Stderr)
		}
	}
	if r := apptest.Run(t, Program(), "--config", filepath.Join(t.TempDir(), "absent.json")); r.Code != app.ExitError ||
		!strings.Contains(r.Stderr, "absent.json") {
		t.Errorf("absent config: exit code %d, stderr %q", r.Code, r.Stderr)
	}
	if r := apptest.Run(t, Program(), "--input", filepath.Join(t.TempDir(), "absent")); r.Code != app.ExitError {
		t.Errorf("absent input: exit code %d", r.Code)
	}
}

// TestModelFlags: the config of another model does not change what is known from names.
func TestModelFlags(t *testing.T) {
	trace := testdata.Shared(t, "traces/torch/sglang-qwen3-8b-decode-graph-mi300.json.gz")
	mapping := testdata.Shared(t, "traces/torch/sglang-qwen3-8b-extend-eager-mi300.json.gz")
	base := []string{"--formal-input", trace, "--mapping-input", mapping}
	// A config raises the confidence of operators, and changes nothing else that is known from names.
	sure := regexp.MustCompile(`(?m) [01]\.\d\d \|$`)
	want := sure.ReplaceAllString(apptest.MustRun(t, Program(), base...).Stdout, "")
	for _, flags := range [][]string{
		{"--config", testdata.Shared(t, "configs/qwen3-8b.json")}, {"--num-layers", "36"}, {"--num-layers", "7"},
	} {
		r := apptest.MustRun(t, Program(), append(base, flags...)...)
		if got := sure.ReplaceAllString(r.Stdout, ""); flags[1] != "7" && got != want {
			t.Errorf("%v: another report than without (-without +with):\n%s", flags, cmp.Diff(want, got))
		}
		if !strings.Contains(r.Stdout, "python/sglang/srt/layers/activation.py:83 forward_cuda") ||
			strings.Contains(r.Stdout, "graph replay") {
			t.Errorf("%v: kernels without a source line", flags)
		}
	}
}

// TestCatalog looks a word up in the registry.
func TestCatalog(t *testing.T) {
	r := apptest.MustRun(t, Program(), "--catalog", "allreduce")
	for _, want := range []string{"AITER allreduce fusion (sglang, mainline)\n",
		"flag:    SGLANG_USE_AITER=1 --enable-aiter-allreduce-fusion", "source:"} {
		if !strings.Contains(r.Stdout, want) {
			t.Errorf("the catalogue does not say %q:\n%.600s", want, r.Stdout)
		}
	}
	if all := apptest.MustRun(t, Program(), "--catalog", "all"); len(all.Stdout) <= len(r.Stdout) {
		t.Error("all is no more than a word's")
	}
	if r := apptest.Run(t, Program(), "--catalog", "zzz"); r.Code != app.ExitUsage ||
		!strings.Contains(r.Stderr, "zzz") {
		t.Errorf("a word that nothing has: exit code %d, %s", r.Code, r.Stderr)
	}
}
