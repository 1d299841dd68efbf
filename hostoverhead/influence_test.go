package hostoverhead_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// hosted is the verdict on a trace of JSON, and the trace's health.
func hosted(t *testing.T, text []byte) (*hostoverhead.Verdict, trace.Health) {
	t.Helper()
	tr, err := trace.Read(t.Context(), bytes.NewReader(text), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := layer.Analyze(t.Context(), tr, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := hostoverhead.Analyze(t.Context(), []*layer.Analysis{a}, hostoverhead.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return v, tr.Health()
}

// worse orders health.
var worse = map[trace.HealthStatus]int{trace.HealthOK: 0, trace.HealthDegraded: 1, trace.HealthUnusable: 2}

// TestNoSingleRowDecides: a row of 9 s, one stretched, one twice, one at time 0
// and one that is late leave the answer as it is, or make it inconclusive and are
// named; the trace's health is not better with them.
func TestNoSingleRowDecides(t *testing.T) {
	traces := map[string][]byte{"demo": testdata.Unpacked(t, demo.Trace())}
	for _, name := range []string{"sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz", "sglang-qwen3-8b-extend-eager-mi300.json.gz", "vllm-gptoss20b-mixed-piecewise-mi300.json.gz", "hf-qwen1.5-0.5b-eager-h100.json.gz"} {
		if path := testdata.Shared(t, "traces/torch/"+name); path != "" {
			traces[name] = testdata.ReadFile(t, path)
		}
	}
	for name, text := range traces {
		before, healthy := hosted(t, text)
		var doc map[string]any
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		events := doc["traceEvents"].([]any)
		var kernels []map[string]any
		for _, e := range events {
			if e := e.(map[string]any); e["cat"] == "kernel" && e["ph"] == "X" {
				kernels = append(kernels, e)
			}
		}
		// One of the many of its name, in the middle.
		count := map[any]int{}
		for _, k := range kernels {
			count[k["name"]]++
		}
		at := len(kernels) / 2
		for count[kernels[at]["name"]] < 6 {
			at++
		}
		row := kernels[at]
		first, last := kernels[0]["ts"].(float64), kernels[len(kernels)-1]["ts"].(float64)
		third := (last - first) / 3
		with := func(change map[string]any) []any {
			k := maps.Clone(row)
			maps.Copy(k, change)
			return append(slices.Clone(events), any(k))
		}
		stretched := slices.Clone(events)
		for i, e := range stretched {
			if k := e.(map[string]any); k["ts"] == row["ts"] && k["name"] == row["name"] && k["cat"] == "kernel" {
				k = maps.Clone(k)
				k["dur"] = third
				stretched[i] = k
			}
		}
		for what, changed := range map[string][]any{
			"copied with 9 s": with(map[string]any{"dur": 9e6}), "a third of the window": stretched, "twice": with(nil),
			"at 0": with(map[string]any{"ts": 0.0}), "10 s late": with(map[string]any{"ts": last + 1e7}),
		} {
			doc["traceEvents"] = changed
			text, err := json.Marshal(doc)
			if err != nil {
				t.Fatal(err)
			}
			after, health := hosted(t, text)
			if worse[health.Status] < worse[healthy.Status] {
				t.Errorf("%s, %s: health is %s, was %s", name, what, health.Status, healthy.Status)
			}
			named := strings.Contains(after.Summary, row["name"].(string)[:min(24, len(row["name"].(string)))])
			if after.Verdict != before.Verdict && !(after.Verdict == hostoverhead.Inconclusive && named) {
				t.Errorf("%s, %s: %s becomes %s: %s", name, what, before.Verdict, after.Verdict, after.Summary)
			}
			if what == "copied with 9 s" && health.Status == trace.HealthOK {
				t.Errorf("%s, %s: health is ok", name, what)
			}
		}
	}
}

// TestRealTracesDependOnNoRow: of no trace as it was recorded does one row decide.
func TestRealTracesDependOnNoRow(t *testing.T) {
	dir := filepath.Dir(testdata.Shared(t, "traces/torch/graph-node-id-keys.json"))
	paths, err := filepath.Glob(filepath.Join(dir, "*.json*"))
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d traces, %v", len(paths), err)
	}
	for _, path := range paths {
		tr, err := trace.Open(t.Context(), path, trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := tr.Decisive(); ok {
			t.Errorf("%s: %+v (%s)", filepath.Base(path), d, tr.At(d.Event).Name())
		}
		a, err := layer.Analyze(t.Context(), tr, layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := hostoverhead.Analyze(t.Context(), []*layer.Analysis{a}, hostoverhead.Options{})
		if err != nil && !errors.Is(err, layer.ErrNoKernels) {
			t.Fatal(err)
		}
		for _, r := range v.Ranks {
			if r.DependsOn != "" {
				t.Errorf("%s: the answer depends on %s", filepath.Base(path), r.DependsOn)
			}
		}
	}
}

// TestPersistentKernelsAreLeftOut: one that waits on a stream of its own beside all others changes no answer, and is named.
func TestPersistentKernelsAreLeftOut(t *testing.T) {
	text := testdata.Unpacked(t, demo.Trace())
	before, healthy := hosted(t, text)
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	events := doc["traceEvents"].([]any)
	first, last := 1e300, 0.0
	for _, e := range events {
		if e := e.(map[string]any); e["cat"] == "kernel" {
			first, last = min(first, e["ts"].(float64)), max(last, e["ts"].(float64)+e["dur"].(float64))
		}
	}
	doc["traceEvents"] = append(events, map[string]any{"ph": "X", "cat": "kernel", "name": "nvshmem_wait_forever", "pid": 0, "tid": 99, "ts": first, "dur": last - first,
		"args": map[string]any{"device": 0, "stream": 99, "correlation": 99999999}})
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	after, health := hosted(t, text)
	if after.Verdict != before.Verdict || after.Headroom != before.Headroom {
		t.Errorf("%s %+v becomes %s %+v", before.Verdict, before.Headroom, after.Verdict, after.Headroom)
	}
	said := slices.ContainsFunc(health.Findings, func(f trace.Finding) bool {
		return f.Code == trace.CodePersistent && strings.Contains(f.Message, "nvshmem_wait_forever")
	})
	if !said || worse[health.Status] < worse[healthy.Status] {
		t.Errorf("health %s, was %s: %+v", health.Status, healthy.Status, health.Findings)
	}
}
