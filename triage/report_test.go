package triage_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

// TestReportsAreDeterministic renders every shared trace twice, loaded twice.
func TestReportsAreDeterministic(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(testdata.Shared(t, "traces/torch"), "*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no traces: %v", err)
	}
	for _, p := range testdata.Spread(t, paths) {
		var first [3]string
		for run := range 2 {
			tr, err := trace.Open(t.Context(), p, trace.Options{})
			if err != nil {
				t.Fatal(err)
			}
			a, err := triage.Analyze(t.Context(), input(t, tr, filepath.Base(p)), triage.Options{MinSharePct: -1})
			if err != nil {
				t.Fatal(err)
			}
			var md, js, pp bytes.Buffer
			for _, err := range []error{a.WriteMarkdown(&md), json.NewEncoder(&js).Encode(a), a.WriteProfile(&pp)} {
				if err != nil {
					t.Fatal(err)
				}
			}
			got := [3]string{md.String(), js.String(), pp.String()}
			if run == 0 {
				first = got
			} else if got != first {
				t.Errorf("%s: two runs differ", filepath.Base(p))
			}
		}
	}
}

// TestJSONHasTheAgreedFields checks the field names other tools rely on.
func TestJSONHasTheAgreedFields(t *testing.T) {
	r := analyze(t, "traces/torch/sglang-qwen3-30b-a3b-mi300-TP-0-DECODE.trace.json.gz", "", triage.Options{})
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	need := func(where string, m any, fields ...string) map[string]any {
		t.Helper()
		obj, ok := m.(map[string]any)
		if !ok {
			t.Fatalf("%s is no object", where)
		}
		for _, f := range fields {
			if _, ok := obj[f]; !ok {
				t.Errorf("%s has no field %q", where, f)
			}
		}
		return obj
	}
	first := func(where string, list any) any {
		t.Helper()
		l, ok := list.([]any)
		if !ok || len(l) == 0 {
			t.Fatalf("%s is empty", where)
		}
		return l[0]
	}
	need("report", doc, "mode", "framework", "traces", "health", "stages", "summary")
	stage := need("stage", first("stages", doc["stages"]), "stage", "gpu_time_us", "kernels", "overlap", "fuse")
	k := need("kernel", first("kernels", stage["kernels"]), "kernel", "category", "rule", "gpu_time_us", "share_pct",
		"launches", "locations", "cpu_ops")
	need("location", first("locations", k["locations"]), "location", "share_pct")
	need("fuse", first("fuse", stage["fuse"]), "pattern", "kind", "confidence", "related_us", "share_pct",
		"occurrences", "evidence",
		"current_locations", "candidate_paths", "estimated_gain_us", "rationale")
}

// TestOverlapHasTheAgreedFields is for a report with communication.
func TestOverlapHasTheAgreedFields(t *testing.T) {
	r := analyze(t, "traces/torch/synthetic-deepseek-v4-flash-TP-0.trace.json.gz", "", triage.Options{})
	data, err := json.Marshal(r.Stages[0].Overlap)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"priority", "verdict", "kernel", "category", "python_scope", "total_us", "share_pct",
		"exclusive_ratio", "hidden_ratio", "bound_ns", "recommendation"} {
		if !bytes.Contains(data, []byte(`"`+f+`":`)) {
			t.Errorf("overlap rows have no field %q: %.300s", f, data)
		}
	}
}

// TestMinShareZeroListsAllKernels adds up the rows of a report.
func TestMinShareZeroListsAllKernels(t *testing.T) {
	r := analyze(t, "traces/torch/train-graphs-5streams-a100.json.gz", "", triage.Options{MinSharePct: -1})
	for _, s := range r.Stages {
		var us float64
		n := 0
		for _, k := range s.Kernels {
			us += k.GPUTimeUS
			n += k.Launches
		}
		if n != s.Launches || us < s.GPUTimeUS-0.01 || us > s.GPUTimeUS+0.01 || s.HiddenRows != 0 {
			t.Errorf("%s: rows add up to %d launches and %v us, the stage has %d and %v", s.Stage, n, us, s.Launches,
				s.GPUTimeUS)
		}
		if s.BusyUS > s.GPUTimeUS {
			t.Errorf("%s: busy time %v us is more than GPU time %v us", s.Stage, s.BusyUS, s.GPUTimeUS)
		}
	}
}

func TestAnalyzeErrors(t *testing.T) {
	if _, err := triage.Analyze(t.Context(), triage.Input{}, triage.Options{}); !errors.Is(err, trace.ErrNoTrace) {
		t.Errorf("Analyze of nothing = %v, want ErrNoTrace", err)
	}
	if _, err := triage.NewInput(t.Context(), []triage.Source{{}}, nil, layer.Options{}); !errors.Is(err,
		trace.ErrNoTrace) {
		t.Errorf("NewInput of a nil trace = %v, want ErrNoTrace", err)
	}
	in := input(t, built.Trace(trace.NewBuilder(trace.Options{})), "empty")
	r, err := triage.Analyze(t.Context(), in, triage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var md bytes.Buffer
	if err := r.WriteMarkdown(&md); err != nil || !strings.Contains(md.String(), "No GPU activity") {
		t.Errorf("report of an empty trace (%v):\n%s", err, md.String())
	}
}

// TestProcessFilter keeps what one process launched.
func TestProcessFilter(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	for i, p := range []string{"[TP00] 1", "[TP01] 2"} {
		corr := uint64(i + 1)
		b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: 10, Duration: 5, ProcessLabel: p,
			Thread: 1, Correlation: corr})
		b.Add(trace.EventData{Kind: event.Kernel, Name: "k" + p, Start: 20, Duration: 10, ProcessLabel: p, Device: 0,
			Stream: 7, Correlation: corr})
	}
	in := input(t, built.Trace(b), "merged")
	r, err := triage.Analyze(t.Context(), in, triage.Options{Process: "TP01", MinSharePct: -1})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Stages) != 1 || len(r.Stages[0].Kernels) != 1 ||
		!strings.HasPrefix(r.Stages[0].Kernels[0].Kernel, "k[TP01]") {
		t.Errorf("stages = %+v, want the kernel of TP01 only", r.Stages)
	}
}
