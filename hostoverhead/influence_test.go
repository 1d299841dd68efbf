package hostoverhead_test

import (
	"bytes"
	"encoding/json"
	"errors"
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
	testdata.ManyInputs(t)
	type row struct {
		Ph, Cat, Name string
		TS            float64 `json:"ts"`
	}
	traces := map[string][]byte{"demo": testdata.Unpacked(t, demo.Trace())}
	list := []string{"sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz"}
	if testdata.Long() {
		list = append(list, "sglang-qwen3-8b-extend-eager-mi300.json.gz",
			"vllm-gptoss20b-mixed-piecewise-mi300.json.gz", "hf-qwen1.5-0.5b-eager-h100.json.gz")
	}
	for _, name := range list {
		if path := testdata.Shared(t, "traces/torch/"+name); path != "" {
			traces[name] = testdata.ReadFile(t, path)
		}
	}
	for name, text := range traces {
		before, healthy := hosted(t, text)
		var doc map[string]json.RawMessage
		var events []json.RawMessage
		if err := errors.Join(json.Unmarshal(text, &doc), json.Unmarshal(doc["traceEvents"], &events)); err != nil {
			t.Fatal(err)
		}
		var kernels []row
		var places []int // among the events
		count := map[string]int{}
		for i, e := range events {
			var r row
			if err := json.Unmarshal(e, &r); err == nil && r.Cat == "kernel" && r.Ph == "X" {
				kernels, places = append(kernels, r), append(places, i)
				count[r.Name]++
			}
		}
		at := len(kernels) / 2 // one of the many of its name, in the middle
		for count[kernels[at].Name] < 6 {
			at++
		}
		first, last := kernels[0].TS, kernels[len(kernels)-1].TS
		changed := func(field string, value float64) json.RawMessage {
			var k map[string]any
			if err := json.Unmarshal(events[places[at]], &k); err != nil {
				t.Fatal(err)
			}
			if field != "" {
				k[field] = value
			}
			data, err := json.Marshal(k)
			if err != nil {
				t.Fatal(err)
			}
			return data
		}
		with := func(field string, value float64) []json.RawMessage {
			return append(slices.Clone(events), changed(field, value))
		}
		stretched := slices.Clone(events)
		stretched[places[at]] = changed("dur", (last-first)/3)
		for what, list := range map[string][]json.RawMessage{
			"copied with 9 s": with("dur", 9e6), "a third of the window": stretched, "twice": with("", 0),
			"at 0": with("ts", 0), "10 s late": with("ts", last+1e7),
		} {
			var err error
			if doc["traceEvents"], err = json.Marshal(list); err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(doc)
			if err != nil {
				t.Fatal(err)
			}
			after, health := hosted(t, text)
			if worse[health.Status] < worse[healthy.Status] {
				t.Errorf("%s, %s: health is %s, was %s", name, what, health.Status, healthy.Status)
			}
			kernel := kernels[at].Name
			named := strings.Contains(after.Summary, kernel[:min(24, len(kernel))])
			if after.Verdict != before.Verdict && !(after.Verdict == hostoverhead.Inconclusive && named) {
				t.Errorf("%s, %s: %s becomes %s: %s", name, what, before.Verdict, after.Verdict, after.Summary)
			}
			if what == "copied with 9 s" && health.Status == trace.HealthOK {
				t.Errorf("%s, %s: health is ok", name, what)
			}
		}
	}
}

// checkNoRowDecides: of no trace as it was recorded does one row decide.
func checkNoRowDecides(t *testing.T, tr *trace.Trace, v *hostoverhead.Verdict) {
	t.Helper()
	if d, ok := tr.Decisive(); ok {
		t.Errorf("%+v (%s)", d, tr.At(d.Event).Name())
	}
	for _, r := range v.Ranks {
		if r.DependsOn != "" {
			t.Errorf("the answer depends on %s", r.DependsOn)
		}
	}
}

// TestPersistentKernelsAreLeftOut: one that waits on a stream of its own beside all others changes no answer, and is
// named.
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
	doc["traceEvents"] = append(events, map[string]any{"ph": "X", "cat": "kernel", "name": "nvshmem_wait_forever",
		"pid": 0, "tid": 99, "ts": first, "dur": last - first,
		"args": map[string]any{"device": 0, "stream": 99, "correlation": 99999999}})
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	after, health := hosted(t, text)
	if after.Verdict != before.Verdict || after.Headroom != before.Headroom {
		t.Errorf("%s %+v becomes %s %+v", before.Verdict, before.Headroom, after.Verdict, after.Headroom)
	}
	said := slices.ContainsFunc(health.Findings, func(f trace.Remark) bool {
		return f.Code == trace.CodePersistent && strings.Contains(f.Message, "nvshmem_wait_forever")
	})
	if !said || worse[health.Status] < worse[healthy.Status] {
		t.Errorf("health %s, was %s: %+v", health.Status, healthy.Status, health.Findings)
	}
}
