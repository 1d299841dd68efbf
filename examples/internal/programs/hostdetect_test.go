package programs

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/hosttest"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
)

// hostReport is what tools read of the JSON.
type hostReport struct {
	Schema    string
	Verdict   string
	Error     string
	Threshold float64
	Headroom  struct {
		AtMost float64 `json:"at_most"`
	}
	Idle []struct {
		Cause string
		NS    int64
	}
	Ranks []struct {
		Rank string
		Path string
	}
	Published struct {
		Verdict   string
		Aggregate map[string]*float64 `json:"aggregate_metrics"`
		Phases    map[string]struct {
			Iterations int `json:"iteration_count"`
		}
	}
	Aggregate map[string]*float64 `json:"aggregate_metrics"`
	Handoff   *struct {
		Top []struct {
			Name string `json:"nvtx_name"`
		} `json:"top_regressing_ops"`
		Wall   float64 `json:"wall_time_per_step_us"`
		Target string  `json:"recommended_first_target"`
	} `json:"optimization_handoff"`
}

func parseHostReport(t *testing.T, text string) hostReport {
	t.Helper()
	var r hostReport
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return r
}

func TestHostDetectJSON(t *testing.T) {
	path := apptest.Export(t, nsysgen.Default(1))
	r := parseHostReport(t, apptest.MustRun(t, HostDetect(), "--trace", path, "--format", "json", "--handoff").Stdout)
	if r.Schema != "strata.host/4" || r.Verdict != "YES" || r.Headroom.AtMost < 2 || len(r.Idle) == 0 ||
		len(r.Ranks) != 2 {
		t.Errorf("report = %+v", r)
	}
	if p := r.Published; p.Verdict != "YES" || p.Aggregate["gpu_idle_ratio"] == nil ||
		p.Phases["generation"].Iterations != 108 {
		t.Errorf("published = %+v", p)
	}
	if h := r.Handoff; h == nil || len(h.Top) == 0 || h.Target != h.Top[0].Name || h.Wall <= 0 {
		t.Errorf("handoff = %+v", h)
	}
	only := parseHostReport(t, apptest.MustRun(t, HostDetect(), "--trace", path, "--json-only", "--no-m3").Stdout)
	if only.Handoff != nil || only.Published.Aggregate["host_prep_perf_impact"] != nil {
		t.Errorf("without M3 and handoff: %+v", only)
	}
}

// TestHostDetectOutputNameTellsTheFormat: the published command writes a document with --output verdict.json.
func TestHostDetectOutputNameTellsTheFormat(t *testing.T) {
	path, out := apptest.Export(t, nsysgen.Default(1)), filepath.Join(t.TempDir(), "verdict.json")
	apptest.MustRun(t, HostDetect(), "--trace", path, "--output", out)
	if r := parseHostReport(t, readHostReport(t, out)); r.Schema != "strata.host/4" {
		t.Errorf("report = %+v", r)
	}
	text := filepath.Join(t.TempDir(), "verdict.txt")
	apptest.MustRun(t, HostDetect(), "--trace", path, "--output", text)
	if !strings.HasPrefix(readHostReport(t, text), "Host bound: YES") {
		t.Errorf("text = %.80s", readHostReport(t, text))
	}
}

// TestHostDetectDirectoryOfRanks: every rank is judged, the one that loses most decides, and the one that the others
// wait for is named, although every file has a clock of its own.
func TestHostDetectDirectoryOfRanks(t *testing.T) {
	dir := t.TempDir()
	for rank := range 3 {
		var b strings.Builder
		b.WriteString(`{"traceEvents":[`)
		for i := range 40 {
			end, late := rank*7_000_000+i*1000+500, 0
			if rank == 1 && i%10 != 0 {
				late = 50
			}
			if i > 0 {
				b.WriteString(",")
			}
			fmt.Fprintf(&b, `{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":%d,"dur":5,"args":{"correlation":%d}},`, end-215+late, i+1)
			fmt.Fprintf(&b, `{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(args)","pid":0,"tid":7,"ts":%d,"dur":%d,"args":{"device":0,"stream":7,"correlation":%d}}`, end-200+late, 200-late, i+1)
		}
		b.WriteString(`]}`)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("run-TP-%d.trace.json", rank)), []byte(b.String()),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := parseHostReport(t, apptest.MustRun(t, HostDetect(), "--trace", dir, "--format", "json").Stdout)
	if len(r.Ranks) != 3 || r.Ranks[0].Rank != "rank 0" || r.Ranks[2].Rank != "rank 2" {
		t.Errorf("ranks %+v, want 0, 1 and 2", r.Ranks)
	}
	text := apptest.MustRun(t, HostDetect(), "--trace", filepath.Join(dir, "*.json")).Stdout
	if !strings.Contains(text, "wait for rank 1: it arrives last") {
		t.Errorf("the report does not say who arrives last:\n%s", text)
	}
}

// TestHostDetectComparableEqualsTheReference is the command line of the published
// detector's figures.
func TestHostDetectComparableEqualsTheReference(t *testing.T) {
	golden := testdata.Shared(t, "golden/host/synthetic-trtllm-target.json")
	got := parseHostReport(t, apptest.MustRun(t, HostDetect(), "--trace",
		testdata.Shared(t, "traces/nsys/synthetic-trtllm-target.sqlite"),
		"--devices", "merged", "--comparable", "--format", "json").Stdout)
	want := parseHostReport(t, readHostReport(t, golden))
	if len(want.Aggregate) == 0 || got.Verdict != want.Verdict {
		t.Fatalf("verdict %q, want %q", got.Verdict, want.Verdict)
	}
	for k, w := range want.Aggregate {
		if g := got.Aggregate[k]; (g == nil) != (w == nil) || g != nil && math.Abs(*g-*w) > 0.00005 {
			t.Errorf("%s differs from the reference's %s", k, golden)
		}
	}
}

func readHostReport(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestHostDetectHostShareIsTheLibrarys: the flag's value where it is not given is what the library takes without one.
func TestHostDetectHostShareIsTheLibrarys(t *testing.T) {
	path := apptest.Export(t, nsysgen.Default(1))
	for _, args := range [][]string{nil, {"--host-share", "0.2"}} {
		got := parseHostReport(t, apptest.MustRun(t, HostDetect(),
			append(args, "--trace", path, "--format", "json")...).Stdout).Threshold
		a := hosttest.Passes(nsysgen.Default(1))
		v, err := hostoverhead.Analyze(t.Context(), []*layer.Analysis{a}, hostoverhead.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if same := got == v.Threshold; same != (args == nil) {
			t.Errorf("%v: threshold %v, the library's %v", args, got, v.Threshold)
		}
	}
}

func TestHostDetectThresholdFlagsAreUsed(t *testing.T) {
	path := apptest.Export(t, nsysgen.Default(1))
	strict := parseHostReport(t, apptest.MustRun(t, HostDetect(), "--trace", path, "--format", "json",
		"--gpu-idle-threshold",
		"0.97", "--gpu-util-threshold", "0.03", "--launch-threshold", "0.77", "--no-m3").Stdout)
	if strict.Published.Verdict != "YES" || strict.Verdict != "YES" { // generation has limits of its own
		t.Errorf("published %s, verdict %s", strict.Published.Verdict, strict.Verdict)
	}
	if r := parseHostReport(t, apptest.MustRun(t, HostDetect(), "--trace", path, "--format", "json", "--host-share",
		"0.99").Stdout); r.Verdict != "NO" {
		t.Errorf("verdict from a share of 0.99 = %s, want NO", r.Verdict)
	}
	out := apptest.MustRun(t, HostDetect(), "--trace", path, "--gaps", "1").Stdout
	_, gaps, _ := strings.Cut(out, "Longest gaps\n")
	if n := len(regexp.MustCompile(`(?m)^ *[0-9.]+ [µmn]?s  +[0-9]+\.[0-9]{6} s  `).FindAllString(gaps, -1)); n != 1 {
		t.Errorf("--gaps 1 lists %d gaps", n)
	}
}

// TestHostDetectNoKernels: an error field, and an exit code that stops a script.
func TestHostDetectNoKernels(t *testing.T) {
	cfg := nsysgen.Default(1)
	cfg.Layers = 0
	path := apptest.Export(t, cfg)
	r := apptest.Run(t, HostDetect(), "--trace", path, "--format", "json")
	if got := parseHostReport(t, r.Stdout); r.Code != app.ExitError || got.Schema != "strata.host/4" ||
		!strings.Contains(got.Error, "no GPU kernels") {
		t.Errorf("exit code %d, %s, error %q", r.Code, got.Schema, got.Error)
	}
	r = apptest.Run(t, HostDetect(), "--trace", path, "--format", "json", "--comparable")
	if got := parseHostReport(t, r.Stdout); r.Code != app.ExitError || got.Schema != "strata.host-published/1" ||
		got.Error == "" {
		t.Errorf("the published detector: exit code %d, %s, error %q", r.Code, got.Schema, got.Error)
	}
	r = apptest.Run(t, HostDetect(), "--trace", path)
	if r.Code != app.ExitError || r.Stdout != "" || !strings.Contains(r.Stderr, "no GPU kernels") {
		t.Errorf("exit code %d, stdout %q, stderr %q", r.Code, r.Stdout, r.Stderr)
	}
}

func TestHostDetectWrongUsage(t *testing.T) {
	for _, args := range [][]string{{"--devices", "some"}, {"--host-share", "0"}, {"--host-share", "1.5"},
		{"--gpu-idle-threshold", "x"}, {"--format", "xml"}, {"file", "other"}} {
		if r := apptest.Run(t, HostDetect(), args...); r.Code != app.ExitUsage {
			t.Errorf("%q: exit code %d, want %d", args, r.Code, app.ExitUsage)
		}
	}
}

// TestHostDetectDocsReadRealReports: the three reports that docs/host-verdict.md reads line by line are what the
// program prints.
func TestHostDetectDocsReadRealReports(t *testing.T) {
	page := readHostReport(t, "../../../docs/host-verdict.md")
	_, page, found := strings.Cut(page, "\n## Three reports")
	page, _, ends := strings.Cut(page, "\n## ")
	blocks := strings.Split(page, "```")
	traces := []string{"old-format-pythonstack-v100.pt.trace.json.gz", "train-graphs-5streams-a100.json.gz",
		"sglang-r1-distill-llama-8b-b300-TP-0-DECODE.trace.json.gz"}
	if !found || !ends || len(blocks) != 2*len(traces)+1 {
		t.Fatalf("%d blocks", len(blocks)/2)
	}
	for i, name := range traces {
		printed := map[string]bool{}
		for line := range strings.Lines(apptest.MustRun(t, HostDetect(), "--trace",
			testdata.Shared(t, "traces/torch/"+name)).Stdout) {
			printed[strings.TrimRight(line, "\n ")] = true
		}
		for line := range strings.Lines(blocks[2*i+1]) {
			if line = strings.TrimRight(line, "\n "); !printed[line] {
				t.Errorf("%s: not printed: %q", name, line)
			}
		}
	}
}

// TestHostAdviceIsGivenOnce: no step of what to do next repeats another one, for another reason or with a full stop.
func TestHostAdviceIsGivenOnce(t *testing.T) {
	for _, path := range append(testdata.SharedGlob(t, "traces/other/rocprofv3*"), "") {
		args := []string{"--format", "json", "--allow-inconclusive"}
		if path != "" {
			args = append(args, path)
		}
		var v hostoverhead.Verdict
		if err := json.Unmarshal([]byte(apptest.MustRun(t, HostDetect(), args...).Stdout), &v); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, x := range v.Next {
			if do := strings.TrimSuffix(x.Do, "."); seen[do] {
				t.Errorf("%s: twice: %s", path, do)
			} else {
				seen[do] = true
			}
		}
	}
}
