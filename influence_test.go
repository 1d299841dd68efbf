package strata_test

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer/compare"
)

// rowFaults are what can be wrong with one kernel of a trace, in nanoseconds.
var rowFaults = []struct {
	name string
	nsysgen.Fault
}{
	{"copied with 9 s", nsysgen.Fault{Added: true, Moved: func(s, _, _, _ int64) (int64, int64) { return s, s + 9e9 }}},
	{"a third of the window", nsysgen.Fault{Moved: func(s, _, first, last int64) (int64, int64) {
		return s, s + (last-first)/3
	}}},
	{"twice", nsysgen.Fault{Added: true, Moved: func(s, e, _, _ int64) (int64, int64) { return s, e }}},
	{"at 0", nsysgen.Fault{Added: true, Moved: func(s, e, _, _ int64) (int64, int64) { return 0, e - s }}},
	{"10 s late", nsysgen.Fault{Added: true, Moved: func(s, e, _, last int64) (int64, int64) {
		return last + 1e10, last + 1e10 + e - s
	}}},
	{"spins beside all others to the end", nsysgen.Fault{Added: true, Name: spinning,
		Moved: func(_, _, first, last int64) (int64, int64) {
			return first + (last-first)/100, last + (last-first)/100
		}}},
	{"spins beside most others", nsysgen.Fault{Added: true, Name: spinning,
		Moved: func(_, _, first, last int64) (int64, int64) { return first, last - (last-first)/30 }}},
}

// spinning is a kernel that waits for messages on a stream of its own.
const spinning = "nvshmemx_wait_until_all"

// TestNoRowDecidesAHeadline: a row that cannot be right leaves the share of idle time and the comparison with the trace
// as it was, or the report names it and gives no figure.
func TestNoRowDecidesAHeadline(t *testing.T) {
	testdata.ManyInputs(t)
	for name, of := range map[string]func(t *testing.T, fault int) (path, kernel string){
		"graph replays": jsonWithFault, "eager": eagerWithFault, "nsys": nsysWithFault,
	} {
		t.Run(name, func(t *testing.T) {
			path, _ := of(t, -1)
			before := reported(t, path, strata.ReportOptions{})
			whole, err := strata.Open(t.Context(), path, strata.Options{})
			if err != nil {
				t.Fatal(err)
			}
			idle := func(r *strata.Report) float64 { return float64(r.IdleTime) / float64(r.Wall) }
			for i, f := range rowFaults {
				path, kernel := of(t, i)
				r := reported(t, path, strata.ReportOptions{Against: whole})
				named := strings.HasPrefix(r.Verdict, "GPU utilization is unknown") &&
					strings.Contains(r.Verdict, kernel[:min(24, len(kernel))])
				if !named && math.Abs(idle(r)-idle(before)) > 0.1 {
					t.Errorf("%s: %q, was %q", f.name, r.Verdict, before.Verdict)
				}
				if c := r.Against; c != nil && (c.Verdict == compare.Slower || c.Verdict == compare.Faster) {
					t.Errorf("%s: %s: %s", f.name, c.Verdict, c.Text)
				}
				noted := func(what string) bool {
					return slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, what) })
				}
				if was, is := largestOperator(before), largestOperator(r); was != is && !named &&
					!noted("depends on one row: "+kernel[:min(24, len(kernel))]) {
					t.Errorf("%s: the largest operator is %s, was %s; notes %q", f.name, is, was, r.Notes)
				}
				for stage, was := range meanSteps(before) {
					if is := meanSteps(r)[stage]; math.Abs(is/was-1) > 0.1 && !named && !noted("depends on one pass") &&
						!noted("of "+stage) {
						t.Errorf("%s: a %s step takes %.0f ns, was %.0f; notes %q", f.name, stage, is, was, r.Notes)
					}
				}
				if r.Health.Compare(before.Health) < 0 {
					t.Errorf("%s: health %s, was %s", f.name, r.Health, before.Health)
				}
			}
		})
	}
}

// largestOperator is the one of most time in the listed passes.
func largestOperator(r *strata.Report) string {
	var most strata.ReportOperator
	for _, o := range r.Operators {
		if o.Time > most.Time {
			most = o
		}
	}
	return most.Operator
}

// meanSteps are the mean times of the complete passes of each stage, in ns.
func meanSteps(r *strata.Report) map[string]float64 {
	out, n := map[string]float64{}, map[string]float64{}
	for _, p := range r.Passes {
		if p.Partial == "" {
			n[string(p.Stage)]++
			out[string(p.Stage)] += float64(p.Wall)
		}
	}
	for stage := range out {
		out[stage] /= n[stage]
	}
	return out
}

// jsonWithFault is the demo's trace with a fault in one of its kernels; -1 is none.
func jsonWithFault(t *testing.T, fault int) (path, kernel string) {
	t.Helper()
	return withFault(t, testdata.Unpacked(t, demo.Trace()), fault)
}

// eagerWithFault is the same of a recorded eager pass.
func eagerWithFault(t *testing.T, fault int) (path, kernel string) {
	t.Helper()
	return withFault(t, testdata.ReadFile(t, testdata.Shared(t, "traces/torch/hf-bert-small-eager-h100.json.gz")), fault)
}

func withFault(t *testing.T, text []byte, fault int) (path, kernel string) {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	events := doc["traceEvents"].([]any)
	var kernels []map[string]any
	for _, e := range events {
		if e := e.(map[string]any); e["cat"] == "kernel" {
			kernels = append(kernels, e)
		}
	}
	slices.SortFunc(kernels, func(a, b map[string]any) int { return int(a["ts"].(float64) - b["ts"].(float64)) })
	k := kernels[len(kernels)/2]
	if fault >= 0 {
		f, ns := rowFaults[fault], func(k map[string]any) int64 { return int64(1e3 * k["ts"].(float64)) }
		at := ns(k)
		start, end := f.Moved(at, at+int64(1e3*k["dur"].(float64)), ns(kernels[0]), ns(kernels[len(kernels)-1]))
		if f.Added {
			added := map[string]any{}
			for key, v := range k {
				added[key] = v
			}
			k, doc["traceEvents"] = added, append(events, added)
		}
		if f.Name != "" {
			args := maps.Clone(k["args"].(map[string]any))
			args["stream"], args["correlation"] = 99, 99999999
			delete(args, "External id")
			k["name"], k["tid"], k["args"] = f.Name, 99, args
		}
		k["ts"], k["dur"] = float64(start)/1e3, float64(end-start)/1e3
	}
	data, err := json.Marshal(doc)
	path = filepath.Join(t.TempDir(), "trace.json")
	if err = errors.Join(err, os.WriteFile(path, data, 0o666)); err != nil {
		t.Fatal(err)
	}
	return path, k["name"].(string)
}

// nsysWithFault is the same of an Nsight database.
func nsysWithFault(t *testing.T, fault int) (path, kernel string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "trace.sqlite")
	if _, err := nsysgen.Write(path, nsysgen.Large(1, 200)); err != nil {
		t.Fatal(err)
	}
	var f *nsysgen.Fault
	if fault >= 0 {
		f = &rowFaults[fault].Fault
	}
	kernel, err := f.Apply(path)
	if err != nil || kernel == "" {
		t.Fatalf("%v, kernel %q", err, kernel)
	}
	return path, kernel
}

// TestNoRowOfRealTracesDecides: no headline of a recorded trace depends on one row; that of one pass is said for the
// one whose first pass loads the model.
func TestNoRowOfRealTracesDecides(t *testing.T) {
	testdata.ManyInputs(t)
	for _, c := range []struct{ name, want string }{
		{"traces/torch/train-graphs-5streams-a100.json.gz", ""},
		{"traces/torch/train-pair-rank-0.json.gz", "2 passes of unknown stage: too few to check the mean"},
		{"traces/torch/sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz", "one pass of decode: too few to check the mean"},
		{"traces/torch/hf-bert-small-eager-h100.json.gz", "one pass of unknown stage: too few to check the mean"},
		{"traces/nsys/synthetic-trtllm-baseline.sqlite", ""},
		{"traces/other/rocprofv3-908_results.json.gz", "the mean step (unknown stage) depends on one pass: pass 0 takes " +
			"4.98 s, the median of its 49 peers 39.4 ms"},
	} {
		if large := strings.Contains(c.name, "rocprofv3") || strings.Contains(c.name, "train-graphs"); large &&
			!testdata.Long() {
			continue
		}
		r := reported(t, testdata.Shared(t, c.name), strata.ReportOptions{})
		said := slices.DeleteFunc(slices.Clone(r.Notes), func(n string) bool {
			return !strings.Contains(n, "depends on one") && !strings.Contains(n, "too few to check")
		})
		if got := strings.Join(said, "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if strings.Contains(r.Verdict, "depends on one row") {
			t.Errorf("%s: %s", c.name, r.Verdict)
		}
	}
}

// BenchmarkInfluence measures what the cross-check of headlines adds to a report.
func BenchmarkInfluence(b *testing.B) {
	path := testdata.Shared(b, "traces/torch/sglang-qwen3-8b-extend-eager-mi300.json.gz")
	rec, err := strata.Open(b.Context(), path, strata.Options{})
	if err != nil {
		b.Fatal(err)
	}
	r, err := strata.Analyze(b.Context(), rec, strata.ReportOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("report", func(b *testing.B) {
		for b.Loop() {
			if _, err := strata.Analyze(b.Context(), rec, strata.ReportOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("cross-check", func(b *testing.B) {
		for b.Loop() {
			strata.CrossCheck(r)
		}
	})
}

// TestOneOfManyPausesDecidesNothing: a recording that ends with the first kernel of a step keeps its headline, and so
// does one in which a kernel of another GPU is late.
func TestOneOfManyPausesDecidesNothing(t *testing.T) {
	var events []map[string]any
	kernel := func(device int, ts float64) {
		n := len(events)/2 + 1
		events = append(events, map[string]any{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1,
			"tid": 1 + device, "ts": ts - 5, "dur": 2, "args": map[string]any{"correlation": n}},
			map[string]any{"ph": "X", "cat": "kernel", "name": "gemm_kernel", "pid": device, "tid": 7, "ts": ts,
				"dur": 10, "args": map[string]any{"device": device, "stream": 7, "correlation": n}})
	}
	at := 1000.0
	for range 4 {
		for range 20 {
			kernel(0, at)
			at += 10
		}
		at += 200
	}
	kernel(0, at)
	check := func(what, want string) {
		t.Helper()
		data, err := json.Marshal(map[string]any{"traceEvents": events})
		path := filepath.Join(t.TempDir(), "trace.json")
		if err = errors.Join(err, os.WriteFile(path, data, 0o666)); err != nil {
			t.Fatal(err)
		}
		if r := reported(t, path, strata.ReportOptions{}); !strings.HasPrefix(r.Verdict, want) {
			t.Errorf("%s: %q, want %q", what, r.Verdict, want)
		}
	}
	check("a first kernel of a step", "The GPU is idle")
	for i := range 12 {
		kernel(1, 1000+10*float64(i))
	}
	kernel(1, 2000)
	check("a late kernel of another GPU", "GPU 0 is idle")
}
