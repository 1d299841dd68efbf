package perfettomap

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/perfetto"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// quiet is a machine without a browser; it serves on any free port.
func quiet() machine { return machine{address: "127.0.0.1:0"} }

func TestHelp(t *testing.T) {
	apptest.Golden(t, "testdata/help.golden", apptest.MustRun(t, program(quiet()), "--help").Stdout)
}

// TestDemo runs on the built-in trace, as on a fresh machine.
func TestDemo(t *testing.T) {
	r := apptest.MustRun(t, program(quiet()), "--layers", "1,4-5")
	// How the evidence is worded is package layer's.
	apptest.Golden(t, "testdata/demo.golden", regexp.MustCompile(`(?m)^Evidence .*\n`).ReplaceAllString(r.Stdout, ""))
	if !strings.Contains(r.Stderr, "demo") {
		t.Errorf("stderr does not announce the demo: %q", r.Stderr)
	}
}

// figures returns the cells of the rows of passes and layers, by the numbers
// they begin with; marks and the names of stages are left out.
func figures(text string) (passes, layers []string) {
	for _, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		if len(f) == 0 || strings.Trim(f[0], "0123456789") != "" {
			continue
		}
		switch {
		case len(f) >= 4 && strings.HasSuffix(f[1], "s") && strings.HasSuffix(f[3], "ms"):
			passes = append(passes, strings.Join(f[:4], " "))
		case len(f) >= 6 && strings.HasSuffix(f[2], "s") && strings.HasSuffix(f[3], "s"):
			layers = append(layers, strings.Join(f, " "))
		}
	}
	return passes, layers
}

// TestFiguresOfThePublishedScript: in the mode that reproduces it, the figures
// are those that the reference printed.
func TestFiguresOfThePublishedScript(t *testing.T) {
	golden, err := os.ReadFile(testdata.Shared(t, "golden/pipeline/dsv4.perfetto.txt"))
	if err != nil {
		t.Fatal(err)
	}
	r := apptest.MustRun(t, program(quiet()), "--trace",
		testdata.Shared(t, "traces/torch/synthetic-deepseek-v4-flash-TP-0.trace.json.gz"),
		"--config", testdata.Shared(t, "configs/deepseek-v4-flash.json"), "--hash-layers", "last", "--boundaries",
		"anchor-opens", "--fwd-pass", "2", "--layers", "2,3,5")
	wantPasses, wantLayers := figures(string(golden))
	passes, layers := figures(r.Stdout)
	if len(wantPasses) != 4 || len(wantLayers) != 43 {
		t.Fatalf("the reference has %d passes and %d layers: it is not understood", len(wantPasses), len(wantLayers))
	}
	if len(passes) != 5 || len(layers) != 43 { // the reference does not list the pass that the end cuts
		t.Fatalf("%d passes and %d layers, want 5 and 43", len(passes), len(layers))
	}
	for i, want := range wantPasses {
		apptest.SameFigures(t, "pass", strings.Fields(want), strings.Fields(passes[i]))
	}
	for i, want := range wantLayers {
		apptest.SameFigures(t, "layer", strings.Fields(want), strings.Fields(layers[i]))
	}
	line := regexp.MustCompile(`0\.0+s ~ \S+`)
	apptest.SameFigures(t, "time range", strings.Fields(line.FindString(string(golden))),
		strings.Fields(line.FindString(r.Stdout)))
}

// TestHeadCountsKernelsAndAnchors: the map's head has the line of the published one.
func TestHeadCountsKernelsAndAnchors(t *testing.T) {
	r := apptest.MustRun(t, program(quiet()), "--anchor-kernel", "FusedAddRMSNormKernel")
	m := regexp.MustCompile(`(?m)^GPU kernels: (\d+), anchor blocks: (\d+)$`).FindStringSubmatch(r.Stdout)
	if m == nil || m[1] == "0" || m[2] == "0" {
		t.Errorf("%q of\n%.400s", m, r.Stdout)
	}
}

// document is what other tools read of the JSON output.
type document struct {
	TraceStartNS int64 `json:"trace_start_ns"`
	Pass         int
	Passes       []struct {
		Index      int
		StartS     float64 `json:"start_s"`
		EndS       float64 `json:"end_s"`
		DurationMS float64 `json:"duration_ms"`
		StartNS    int64   `json:"start_ns"`
		EndNS      int64   `json:"end_ns"`
	}
	Layers []struct {
		Index         int
		CompressRatio int     `json:"compress_ratio"`
		StartS        float64 `json:"start_s"`
		EndS          float64 `json:"end_s"`
		WallMS        float64 `json:"wall_ms"`
		SumMS         float64 `json:"sum_ms"`
		Note          string
		Highlighted   bool
		URL           string
	}
}

func TestJSONIsOneDocument(t *testing.T) {
	r := apptest.MustRun(t, program(quiet()), "--format", "json", "--layers", "2", "--fwd-pass", "0")
	var doc document
	if err := json.Unmarshal([]byte(r.Stdout), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Passes) != 5 || len(doc.Layers) != 8 || doc.Pass != 0 {
		t.Fatalf("%d passes, %d layers of pass %d, want 5 and 8 of pass 0", len(doc.Passes), len(doc.Layers), doc.Pass)
	}
	for _, p := range doc.Passes {
		if got := float64(p.StartNS-doc.TraceStartNS) / 1e9; math.Abs(got-p.StartS) > 1e-9 {
			t.Errorf("pass %d begins at %v s, but at raw %d ns of a trace that begins at %d", p.Index, p.StartS,
				p.StartNS, doc.TraceStartNS)
		}
		if got := float64(p.EndNS-p.StartNS) / 1e6; math.Abs(got-p.DurationMS) > 1e-6 || p.EndS < p.StartS {
			t.Errorf("pass %d takes %v ms, but %v by its ends", p.Index, p.DurationMS, got)
		}
	}
	for _, l := range doc.Layers {
		if l.Highlighted != (l.Index == 2) || !strings.HasPrefix(l.URL, perfetto.UIOrigin) || l.WallMS <= 0 ||
			l.SumMS <= 0 || l.EndS <= l.StartS {
			t.Errorf("layer %+v", l)
		}
	}
}

// load opens a written trace.
func load(t *testing.T, path string) *trace.Trace {
	t.Helper()
	tr, err := trace.Open(t.Context(), path, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// demoDir is a directory with the demo trace as its only file.
func demoDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "run-TP-0.trace.json.gz"), demo.Trace(), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestCopies(t *testing.T) {
	dir := t.TempDir()
	whole := load(t, filepath.Join(demoDir(t), "run-TP-0.trace.json.gz"))
	for _, input := range [][]string{nil, {"--trace", demoDir(t)}} {
		annotated, slice, redacted := filepath.Join(dir, "a.json.gz"), filepath.Join(dir, "s.json.gz"),
			filepath.Join(dir, "r.json.gz")
		r := apptest.MustRun(t, program(quiet()), append(input, "--annotate", annotated, "--slice", slice,
			"--slice-passes", "1-2")...)
		if !strings.Contains(r.Stderr, "wrote "+annotated) || !strings.Contains(r.Stderr, "pass 1-2") {
			t.Errorf("notes do not tell what was written: %q", r.Stderr)
		}
		if a := load(t, annotated); a.Len(event.LaneGPU) != whole.Len(event.LaneGPU) || a.Len() <= whole.Len() {
			t.Errorf("annotated copy has %d events, %d on the GPU; the trace %d and %d", a.Len(), a.Len(event.LaneGPU),
				whole.Len(), whole.Len(event.LaneGPU))
		}
		if s := load(t, slice); s.Len(event.LaneGPU) != 2*161 { // kernels of a pass, as the table says
			t.Errorf("slice of two passes has %d activities, want 322", s.Len(event.LaneGPU))
		}
		apptest.MustRun(t, program(quiet()), append(input, "--fwd-pass", "1", "--layers", "3", "--slice", redacted,
			"--redact", "all")...)
		if s := load(t, redacted); s.Len(event.LaneGPU) == 0 || s.Len(event.LaneGPU) >= 161 {
			t.Errorf("slice of one layer has %d activities", s.Len(event.LaneGPU))
		}
	}
}

// TestOpen has a browser that fetches what the link names, as the UI does.
func TestOpen(t *testing.T) {
	var opened string
	m := quiet()
	m.browser.Open = func(link string) error {
		opened = link
		_, fragment, _ := strings.Cut(link, "#!/?")
		q, err := url.ParseQuery(fragment)
		if err != nil {
			return err
		}
		req, err := http.NewRequest(http.MethodGet, q.Get("url"), nil)
		if err != nil {
			return err
		}
		req.Header.Set("Origin", perfetto.UIOrigin)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		n, err := io.Copy(io.Discard, resp.Body)
		if err == nil && n != int64(len(demo.Trace())) {
			err = errors.New("fetched " + strconv.FormatInt(n, 10) + " bytes")
		}
		return err
	}
	r := apptest.MustRun(t, program(m), "--open", "--layers", "3", "--format", "json", "--open-timeout", "1m")
	var doc document
	if err := json.Unmarshal([]byte(r.Stdout), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Layers) < 4 || doc.Layers[3].URL != opened || !strings.Contains(opened, "visStart=") {
		t.Errorf("opened %q, which is not layer 3's link", opened)
	}
	if !strings.Contains(r.Stderr, "the UI has the trace; the server is gone") {
		t.Errorf("stderr = %q", r.Stderr)
	}
}

func TestOpenWithoutABrowserGivesUpInTime(t *testing.T) {
	r := apptest.Run(t, program(quiet()), "--open", "--open-timeout", "1ms")
	if r.Code != app.ExitError || !strings.Contains(r.Stderr, "did not fetch the trace") ||
		!strings.Contains(r.Stderr, "open this in a browser") {
		t.Errorf("exit code %d: %s", r.Code, r.Stderr)
	}
}

func TestNsysExportsHaveTimesButNoLinks(t *testing.T) {
	src := testdata.Shared(t, "traces/nsys/tiny-no-nvtx-rtx3080.sqlite")
	r := apptest.Run(t, program(quiet()), "--open", "--trace", src)
	if r.Code != app.ExitError || !strings.Contains(r.Stderr, "the Perfetto UI does not read") ||
		!strings.Contains(r.Stderr, "--annotate FILE") {
		t.Errorf("--open: exit code %d: %s", r.Code, r.Stderr)
	}
	out := filepath.Join(t.TempDir(), "o.json.gz")
	r = apptest.MustRun(t, program(quiet()), "--slice", out, "--trace", src)
	if info, err := os.Stat(out); err != nil || info.Size() == 0 || !strings.Contains(r.Stderr, "wrote "+out) {
		t.Errorf("--slice: %v\n%s", err, r.Stderr)
	}
	r = apptest.MustRun(t, program(quiet()), "--trace", src)
	if strings.Contains(r.Stdout, "https://") || !strings.Contains(r.Stdout, "Perfetto time range") {
		t.Errorf("an nsys export gave\n%s", r.Stdout)
	}
}

// TestLayersFromTheEnd: of a pass whose beginning was not recorded, layers are named as they are listed.
func TestLayersFromTheEnd(t *testing.T) {
	f, err := os.Open(testdata.Shared(t, "traces/torch/vllm-gptoss20b-decode-fullgraph-mi300.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.NewDecoder(z).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	var starts []float64
	at := func(x any) float64 { ts, _ := x.(map[string]any)["ts"].(float64); return ts }
	events := doc["traceEvents"].([]any)
	for _, x := range events {
		if x.(map[string]any)["cat"] == "kernel" {
			starts = append(starts, at(x))
		}
	}
	slices.Sort(starts)
	doc["traceEvents"] = slices.DeleteFunc(events, func(x any) bool {
		return x.(map[string]any)["ph"] == "X" && at(x) < starts[len(starts)/2]
	})
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	src, dst := filepath.Join(t.TempDir(), "half.json"), filepath.Join(t.TempDir(), "slice.json")
	if err := os.WriteFile(src, text, 0o666); err != nil {
		t.Fatal(err)
	}
	r := apptest.MustRun(t, program(quiet()), "--trace", src, "--layers", "-3--1", "--slice", dst)
	if !strings.Contains(r.Stdout, "Layer -3: ") || !strings.Contains(r.Stderr, "layers -3--1 with ") ||
		strings.Contains(r.Stderr, "with 0 GPU activities") {
		t.Errorf("%s\n%s", r.Stdout, r.Stderr)
	}
}

func TestWrongUsage(t *testing.T) {
	for _, args := range [][]string{
		{"--fwd-pass", "-2"}, {"--redact", "all"}, {"--slice-passes", "1"}, {"--min-gap", "0s"}, {"--layers", "x"},
		{"--layers", "5-2"}, {"--redact", "x", "--slice", "y"},
		{"--layers", "1-99999999"}, {"--layers", "--1"}, {"--slice-passes", "-1", "--slice", "y"}, {"more", "than one"},
	} {
		if r := apptest.Run(t, program(quiet()), args...); r.Code != app.ExitUsage {
			t.Errorf("%q: exit code %d, want %d (%s)", args, r.Code, app.ExitUsage, r.Stderr)
		}
	}
	dir := t.TempDir()
	for _, args := range [][]string{
		{"--fwd-pass", "99"}, {"--layers", "99"}, {"--layers", "-1"}, {"--layers", "-3--1"}, {"--slice", filepath.Join(dir, "s"), "--slice-passes", "99"},
		{"--annotate", filepath.Join(dir, "no", "dir")},
		{"--trace", filepath.Join(dir, "absent")},
	} {
		if r := apptest.Run(t, program(quiet()), args...); r.Code != app.ExitError ||
			strings.Count(r.Stderr, "perfetto-map:") != 1 {
			t.Errorf("%q: exit code %d, want %d and one line (%s)", args, r.Code, app.ExitError, r.Stderr)
		}
	}
}
