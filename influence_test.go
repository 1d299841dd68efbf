package strata_test

import (
	"encoding/json"
	"errors"
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
}

// TestNoRowDecidesAHeadline: a row that cannot be right leaves the share of idle time and the comparison with the trace
// as it was, or the report names it and gives no figure.
func TestNoRowDecidesAHeadline(t *testing.T) {
	for name, of := range map[string]func(t *testing.T, fault int) (path, kernel string){
		"graph replays": jsonWithFault, "nsys": nsysWithFault,
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
				if r.Health.Compare(before.Health) < 0 {
					t.Errorf("%s: health %s, was %s", f.name, r.Health, before.Health)
				}
			}
		})
	}
}

// jsonWithFault is the demo's trace with a fault in one of its kernels; -1 is none.
func jsonWithFault(t *testing.T, fault int) (path, kernel string) {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(testdata.Unpacked(t, demo.Trace()), &doc); err != nil {
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
	check := func(what string) {
		t.Helper()
		data, err := json.Marshal(map[string]any{"traceEvents": events})
		path := filepath.Join(t.TempDir(), "trace.json")
		if err = errors.Join(err, os.WriteFile(path, data, 0o666)); err != nil {
			t.Fatal(err)
		}
		if r := reported(t, path, strata.ReportOptions{}); !strings.HasPrefix(r.Verdict, "The GPU is idle") {
			t.Errorf("%s: %q", what, r.Verdict)
		}
	}
	check("a first kernel of a step")
	for i := range 12 {
		kernel(1, 1000+10*float64(i))
	}
	kernel(1, 2000)
	check("a late kernel of another GPU")
}
