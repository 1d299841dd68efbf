package programs

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/testdata"
)

// exportedRows runs the program and reads its CSV by column name.
func exportedRows(t *testing.T, args ...string) []map[string]string {
	t.Helper()
	out := apptest.MustRun(t, KernelExport(), args...).Stdout
	all, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var list []map[string]string
	for _, line := range all[1:] {
		m := map[string]string{}
		for i, cell := range line {
			m[all[0][i]] = cell
		}
		list = append(list, m)
	}
	return list
}

// TestKernelExportHeaderIsTheAgreedOne: other tools rely on these names in this order.
func TestKernelExportHeaderIsTheAgreedOne(t *testing.T) {
	const want = "index,ts_ns,dur_ns,device,stream,kind,pass,layer,half,stage,category,name,canonical,cpu_op,location,module,correlation,graph,operator,part,operator_confidence,model_line," +
		"tokens,m,n,k,gflop,bytes,floor_ns,bound,peak_share,grid,block,layer_from_end,floor_basis,link\n"
	got := apptest.MustRun(t, KernelExport())
	if !strings.HasPrefix(got.Stdout, want) {
		t.Errorf("output begins %q, want %q", got.Stdout[:min(len(got.Stdout), len(want))], want)
	}
	if !strings.Contains(got.Stderr, "demo") {
		t.Errorf("stderr %q does not announce the demo", got.Stderr)
	}
}

// TestKernelExportDemoRowsAgreeWithTheTruth compares each row with what the generator knows.
func TestKernelExportDemoRowsAgreeWithTheTruth(t *testing.T) {
	got := exportedRows(t, "--stacks", "--module")
	truth, err := gen.Truths(gen.Demo())
	if err != nil {
		t.Fatal(err)
	}
	sort.SliceStable(truth, func(i, j int) bool { return truth[i].Start < truth[j].Start })
	if len(got) != len(truth) {
		t.Fatalf("%d rows, want %d", len(got), len(truth))
	}
	// Times are relative to the trace's first event, before the first row.
	first, err := strconv.ParseInt(got[0]["ts_ns"], 10, 64)
	if err != nil || first < 0 {
		t.Fatalf("first ts_ns %q, want a time behind the trace's first event", got[0]["ts_ns"])
	}
	for i, want := range truth {
		g := got[i]
		w := map[string]string{
			"index": strconv.Itoa(i), "ts_ns": strconv.FormatInt(want.Start-truth[0].Start+first, 10),
			"dur_ns": strconv.FormatInt(want.Duration, 10),
			"device": strconv.Itoa(want.Device), "stream": strconv.Itoa(want.Stream), "kind": want.Kind,
			"name": want.Name, "graph": "0",
			"pass": strconv.Itoa(want.Pass), "layer": strconv.Itoa(want.Layer), "stage": want.Stage,
		}
		if want.Graph {
			w["graph"] = "1"
		}
		for column, v := range w {
			if g[column] != v {
				t.Errorf("row %d: %s = %q, want %q", i, column, g[column], v)
			}
		}
		if !strings.Contains("|"+want.Category+"|", "|"+g["category"]+"|") {
			t.Errorf("row %d: category %q of %s, want %s", i, g["category"], want.Name, want.Category)
		}
		layer := "DecoderLayer_" + strconv.Itoa(want.Layer) + "/"
		if want.Layer >= 0 && !want.Graph && !strings.Contains(g["module"]+"/", layer) {
			t.Errorf("row %d: module %q, want it in %s", i, g["module"], layer)
		}
		switch {
		case want.Graph && g["location"] != "graph replay":
			t.Errorf("row %d: location %q of a replayed kernel", i, g["location"])
		case !want.Graph && !strings.Contains(g["location"], "sglang/srt/"):
			t.Errorf("row %d: location %q, want a line of the server", i, g["location"])
		}
	}
}

func TestKernelExportFormatsHoldTheSameRows(t *testing.T) {
	want := exportedRows(t, "--stacks")
	out := apptest.MustRun(t, KernelExport(), "--stacks", "--format", "ndjson").Stdout
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d", len(lines), len(want))
	}
	for i, line := range lines {
		dec := json.NewDecoder(strings.NewReader(line))
		dec.UseNumber()
		var m map[string]any
		if err := dec.Decode(&m); err != nil {
			t.Fatalf("line %d: %v", i, err)
		}
		got := map[string]string{}
		for _, name := range []string{"m", "n", "k", "gflop", "bytes", "floor_ns", "peak_share"} {
			got[name] = "" // absent where it is not known, as the cell of CSV is empty
		}
		for k, v := range m {
			if n, ok := v.(json.Number); ok {
				v = n.String()
			}
			got[k] = v.(string)
		}
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Fatalf("row %d (-csv +ndjson):\n%s", i, diff)
		}
	}
}

// TestKernelExportStacksAndModulesOnlyWhenAsked: they cost memory.
func TestKernelExportStacksAndModulesOnlyWhenAsked(t *testing.T) {
	for _, r := range exportedRows(t) {
		if r["location"] != "" || r["module"] != "" {
			t.Fatalf("row %s has location %q, module %q", r["index"], r["location"], r["module"])
		}
	}
}

func TestKernelExportDeviceChoice(t *testing.T) {
	if n, all := len(exportedRows(t, "--device", "0")), len(exportedRows(t, "--device", "all")); n != all || n == 0 {
		t.Errorf("%d rows of device 0, %d of all: the demo has one device", n, all)
	}
	for _, c := range []struct {
		arg    string
		code   int
		stderr string
	}{
		{"7", 1, "the trace has GPU 0"},
		{"x", 2, "want a number, or busiest"},
		{"-3", 2, "want a number, or busiest"},
	} {
		got := apptest.Run(t, KernelExport(), "--device", c.arg)
		if got.Code != c.code || !strings.Contains(got.Stderr, c.stderr) {
			t.Errorf("--device %s: exit code %d, stderr %q, want %d and %q", c.arg, got.Code, got.Stderr, c.code,
				c.stderr)
		}
	}
}

// TestKernelExportRealTracesInFull counts rows against an independent reading and checks
// their order.
func TestKernelExportRealTracesInFull(t *testing.T) {
	for _, name := range []string{
		"sglang-qwen3-8b-decode-graph-mi300.json.gz", "sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz",
		"hf-qwen1.5-0.5b-eager-h100.json.gz", "multi-stream-event-sync-a100.json.gz",
	} {
		t.Run(name, func(t *testing.T) {
			path := testdata.Shared(t, "traces/torch/"+name)
			got := exportedRows(t, "--trace", path, "--stacks", "--module", "--device", "all")
			if want := countActivities(t, path); len(got) != want {
				t.Errorf("%d rows, want %d", len(got), want)
			}
			last := int64(-1)
			for i, r := range got {
				ts, err := strconv.ParseInt(r["ts_ns"], 10, 64)
				if err != nil || ts < last {
					t.Fatalf("row %d: ts_ns %s after %d", i, r["ts_ns"], last)
				}
				last = ts
				if r["name"] == "" || r["canonical"] == "" || r["category"] == "" {
					t.Errorf("row %d lacks a name: %v", i, r)
				}
			}
		})
	}
}

// countActivities counts the GPU activities of a gzipped trace.
func countActivities(t *testing.T, path string) int {
	t.Helper()
	var doc struct{ TraceEvents []struct{ Cat, Ph string } }
	if err := json.Unmarshal(testdata.ReadFile(t, path), &doc); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range doc.TraceEvents {
		switch e.Cat {
		case "kernel", "gpu_memcpy", "gpu_memset":
			if e.Ph == "X" {
				n++
			}
		}
	}
	return n
}

func TestKernelExportNsysExport(t *testing.T) {
	path := testdata.Shared(t, "traces/nsys")
	files, err := filepath.Glob(filepath.Join(path, "torchrun-2gpu-hopper*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no nsys export in %s (%v)", path, err)
	}
	got := exportedRows(t, "--trace", files[0], "--device", "all")
	devices := map[string]bool{}
	for _, r := range got {
		devices[r["device"]] = true
	}
	if len(got) == 0 || len(devices) != 2 {
		t.Errorf("%d rows of %d devices, want rows of 2", len(got), len(devices))
	}
}

func TestKernelExportWhatIsNoTraceIsRefusedInOneLine(t *testing.T) {
	dir := t.TempDir()
	notTrace := filepath.Join(dir, "x.json")
	if err := os.WriteFile(notTrace, []byte(`{"model": "x"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{notTrace, dir, filepath.Join(dir, "absent")} {
		got := apptest.Run(t, KernelExport(), "--trace", path)
		if got.Code != 1 || strings.Count(got.Stderr, "\n") != 1 || got.Stdout != "" ||
			!strings.Contains(got.Stderr, filepath.Base(path)) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q, want 1 and a line that names it", path, got.Code,
				got.Stdout, got.Stderr)
		}
	}
}

// TestKernelExportCostsAddUpToTheReport: the columns of a real replay, which records no shapes, are those of its
// operators: the products of 36 layers and the head, each at one kernel, and no floor above the time that it took.
func TestKernelExportCostsAddUpToTheReport(t *testing.T) {
	path := testdata.Shared(t, "traces/torch/sglang-qwen3-8b-decode-graph-mi300.json.gz")
	config := testdata.Shared(t, "configs/qwen3-8b.json")
	got := exportedRows(t, "--trace", path, "--config", config)
	number := func(s string) float64 {
		if s == "" { // not known
			return 0
		}
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	type size struct{ operator, m, n, k string }
	count, floor, bytes := map[size]int{}, map[string]float64{}, map[string]float64{}
	for _, r := range got {
		for _, name := range []string{"m", "n", "k", "gflop", "bytes", "floor_ns", "peak_share"} {
			if r[name] == "0" {
				t.Errorf("row %s: %s is 0, which says that it is known", r["index"], name)
			}
		}
		if r["n"] != "" {
			count[size{r["operator"], r["m"], r["n"], r["k"]}]++
		}
		if share := number(r["peak_share"]); share > 1.02 || (share > 0) != (number(r["floor_ns"]) > 0) {
			t.Errorf("row %s: floor %s ns, %s of the peak", r["index"], r["floor_ns"], r["peak_share"])
		}
		floor[r["operator"]] += number(r["floor_ns"])
		bytes[r["operator"]] += number(r["bytes"])
	}
	want := map[size]int{{"qkv_proj", "32", "6144", "4096"}: 36, {"o_proj", "32", "4096", "4096"}: 36,
		{"gate_up_proj", "32", "24576", "4096"}: 36,
		{"down_proj", "32", "4096", "12288"}:    36, {"lm_head", "32", "151936", "4096"}: 1}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Errorf("products (-want +got):\n%s", diff)
	}
	// 36 layers read 2 · 8 heads · 128 elements · 2 bytes of 32 785 tokens, at 5.3 TB/s.
	if want := 36 * 4096 * 32785 / 5.3e12 * 1e9; math.Abs(floor["attention"]/want-1) > 1e-3 {
		t.Errorf("attention: floor of %.0f ns, want %.0f", floor["attention"], want)
	}
	if want := 36.0 * (24576*4096 + 32*4096 + 32*24576) * 2; bytes["gate_up_proj"] != want {
		t.Errorf("gate_up_proj: %.0f bytes, want %.0f", bytes["gate_up_proj"], want)
	}
	if r := got[len(got)-1]; r["tokens"] == "0" {
		t.Errorf("tokens %s, want −1 or a number", r["tokens"])
	}
}

// TestKernelExportExpertsHaveTheFloorOfOneToken: whatever tokens choose, the experts of one are read; nothing is faster
// than that.
func TestKernelExportExpertsHaveTheFloorOfOneToken(t *testing.T) {
	path := testdata.Shared(t, "traces/torch/sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz")
	config := testdata.Shared(t, "configs/qwen3-30b-a3b.json")
	layers := 0
	for _, r := range exportedRows(t, "--trace", path, "--config", config) {
		share, err := strconv.ParseFloat("0"+r["peak_share"], 64) // empty where it is not known
		if err != nil || share > 1 || share > 0 && strings.HasPrefix(r["operator"], "experts") &&
			r["floor_basis"] != "tokens from annotation" {
			t.Errorf("row %s, %s: %s of the peak by %q", r["index"], r["operator"], r["peak_share"], r["floor_basis"])
		}
		if strings.HasPrefix(r["operator"], "experts_down") && share > 0 {
			layers++
		}
	}
	if layers != 48 {
		t.Errorf("experts of %d layers have a floor, want 48", layers)
	}
}

// TestKernelExportCostsWithoutConfig: without a model only work whose shapes are recorded is counted, and the launch is
// as recorded; the demo has its model.
func TestKernelExportCostsWithoutConfig(t *testing.T) {
	counted := func(r map[string]string) bool { return r["gflop"] != "" && r["floor_ns"] != "" }
	if !slices.ContainsFunc(exportedRows(t), counted) {
		t.Error("no row of the demo has costs")
	}
	path := filepath.Join(t.TempDir(), "demo.json.gz")
	if err := os.WriteFile(path, demo.Trace(), 0o666); err != nil {
		t.Fatal(err)
	}
	grids := 0
	for _, r := range exportedRows(t, "--trace", path) {
		if counted(r) && r["floor_basis"] != "shapes" {
			t.Fatalf("row %s: %s GFLOP, floor %s by %q", r["index"], r["gflop"], r["floor_ns"], r["floor_basis"])
		}
		if strings.Count(r["grid"], "x") == 2 && strings.Count(r["block"], "x") == 2 {
			grids++
		}
	}
	if grids == 0 {
		t.Error("no row has a grid: the demo records them")
	}
}
