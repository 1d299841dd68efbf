package hostdetect

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/testdata"
)

func TestHelp(t *testing.T) {
	apptest.Golden(t, "testdata/help.golden", apptest.MustRun(t, program(), "-h").Stdout)
}

// TestDemo runs on the built-in trace, as on a fresh machine. The repeating
// pattern is package layer's and left out.
func TestDemo(t *testing.T) {
	r := apptest.MustRun(t, program())
	own, _, found := strings.Cut(r.Stdout, "\nRepeating pattern")
	if !found || !strings.Contains(r.Stderr, "demo") {
		t.Errorf("no repeating pattern, or no announcement on stderr: %q", r.Stderr)
	}
	apptest.Golden(t, "testdata/demo.golden", own)
}

// export generates an nsys export and returns its path.
func export(t *testing.T, cfg nsysgen.Config) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.sqlite")
	if _, err := nsysgen.Write(path, cfg); err != nil {
		t.Fatal(err)
	}
	return path
}

// report is what tools read of the JSON.
type report struct {
	Verdict   string
	Error     string
	Aggregate map[string]*float64 `json:"aggregate_metrics"`
	Phases    map[string]struct {
		Verdict    string
		Iterations int `json:"iteration_count"`
	}
	Handoff *struct {
		Top []struct {
			Name string `json:"nvtx_name"`
		} `json:"top_regressing_ops"`
		Wall   float64 `json:"wall_time_per_step_us"`
		Target string  `json:"recommended_first_target"`
	} `json:"optimization_handoff"`
	Drill *json.RawMessage `json:"drill_down"`
}

func parse(t *testing.T, text string) report {
	t.Helper()
	var r report
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return r
}

func TestJSON(t *testing.T) {
	path := export(t, nsysgen.Default(1))
	r := parse(t, apptest.MustRun(t, program(), "--trace", path, "--format", "json", "--handoff").Stdout)
	if r.Verdict != "YES" || r.Aggregate["gpu_idle_ratio"] == nil || r.Phases["generation"].Iterations != 54 || r.Drill == nil {
		t.Errorf("report = %+v", r)
	}
	if h := r.Handoff; h == nil || len(h.Top) == 0 || h.Target != h.Top[0].Name || h.Wall <= 0 {
		t.Errorf("handoff = %+v", h)
	}
	only := parse(t, apptest.MustRun(t, program(), "--trace", path, "--json-only", "--no-m3").Stdout)
	if only.Handoff != nil || only.Aggregate["host_prep_perf_impact"] != nil {
		t.Errorf("without M3 and handoff: %+v", only)
	}
}

// TestComparableEqualsTheReference is the command line of the published
// detector's figures.
func TestComparableEqualsTheReference(t *testing.T) {
	golden := testdata.Shared(t, "golden/host/synthetic-trtllm-target.json")
	got := parse(t, apptest.MustRun(t, program(), "--trace", testdata.Shared(t, "traces/nsys/synthetic-trtllm-target.sqlite"),
		"--devices", "merged", "--comparable", "--format", "json").Stdout)
	want := parse(t, read(t, golden))
	if len(want.Aggregate) == 0 || got.Verdict != want.Verdict {
		t.Fatalf("verdict %q, want %q", got.Verdict, want.Verdict)
	}
	for k, w := range want.Aggregate {
		if g := got.Aggregate[k]; (g == nil) != (w == nil) || g != nil && math.Abs(*g-*w) > 0.00005 {
			t.Errorf("%s differs from the reference's %s", k, golden)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestThresholdFlagsAreUsed(t *testing.T) {
	out := apptest.MustRun(t, program(), "--trace", export(t, nsysgen.Default(1)), "--gpu-idle-threshold", "0.97", "--gpu-util-threshold", "0.03", "--launch-threshold", "0.77", "--gaps", "1").Stdout
	for _, want := range []string{"> 0.97", "< 0.03", "> 0.77", "  1. "} {
		if !strings.Contains(out, want) {
			t.Errorf("output lacks %q", want)
		}
	}
	if strings.Contains(out, "\n  2. ") {
		t.Error("--gaps 1 lists two gaps")
	}
}

// TestNoKernels: an error field, and an exit code that stops a script.
func TestNoKernels(t *testing.T) {
	cfg := nsysgen.Default(1)
	cfg.Layers = 0
	path := export(t, cfg)
	r := apptest.Run(t, program(), "--trace", path, "--format", "json")
	if got := parse(t, r.Stdout); r.Code != app.ExitError || !strings.Contains(got.Error, "no GPU kernels") {
		t.Errorf("exit code %d, error %q", r.Code, got.Error)
	}
	r = apptest.Run(t, program(), "--trace", path)
	if r.Code != app.ExitError || r.Stdout != "" || !strings.Contains(r.Stderr, "no GPU kernels") {
		t.Errorf("exit code %d, stdout %q, stderr %q", r.Code, r.Stdout, r.Stderr)
	}
}

func TestWrongUsage(t *testing.T) {
	for _, args := range [][]string{{"--devices", "some"}, {"--gpu-idle-threshold", "x"}, {"--format", "xml"}, {"file", "other"}} {
		if r := apptest.Run(t, program(), args...); r.Code != app.ExitUsage {
			t.Errorf("%q: exit code %d, want %d", args, r.Code, app.ExitUsage)
		}
	}
}
