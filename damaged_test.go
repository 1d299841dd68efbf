package strata_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
)

// damaged writes traces, each also without some records of GPU activities in the middle: of a run of passes the third
// lacks them, of a server's lone pass that.
func damaged(t *testing.T) (paths [][2]string) {
	t.Helper()
	var run bytes.Buffer
	if err := gen.Write(&run, gen.Config{Seed: 21, Arch: gen.Arch{Family: "Qwen3",
		Layers: gen.Uniform(12, gen.Layer{}), Hidden: 1024}, Passes: slices.Repeat([]gen.Pass{{Mode: gen.FullGraph, Decodes: 8}}, 8)}); err != nil {
		t.Fatal(err)
	}
	lone := testdata.ReadFile(t, testdata.Shared(t, "traces/torch/sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz"))
	for _, c := range []struct {
		text []byte
		at   float64
		lost int
	}{{run.Bytes(), 0.31, 20}, {run.Bytes(), 0.31, 60}, {testdata.Unpacked(t, lone), 0.5, 40}} {
		var doc map[string]any
		if err := json.Unmarshal(c.text, &doc); err != nil {
			t.Fatal(err)
		}
		events := doc["traceEvents"].([]any)
		var starts []float64
		started := func(x any) (float64, bool) {
			e := x.(map[string]any)
			ts, timed := e["ts"].(float64)
			return ts, timed && slices.Contains([]any{"kernel", "gpu_memcpy", "gpu_memset"}, e["cat"])
		}
		for _, x := range events {
			if ts, ok := started(x); ok {
				starts = append(starts, ts)
			}
		}
		slices.Sort(starts)
		at := int(c.at * float64(len(starts)))
		from, to := starts[at], starts[at+c.lost]
		doc["traceEvents"] = slices.DeleteFunc(events, func(x any) bool {
			ts, ok := started(x)
			return ok && ts >= from && ts < to
		})
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		path := [2]string{filepath.Join(dir, "intact.json"), filepath.Join(dir, fmt.Sprintf("%d-lost.json", c.lost))}
		writeFile(t, path[0], string(c.text))
		writeFile(t, path[1], string(text))
		paths = append(paths, path)
	}
	return paths
}

// TestLostRecordsAreNoIdleTime: what a profiler lost in one pass changes no figure of the others, makes no step longer
// or shorter and the GPU no more idle; host's verdict holds, and a comparison with the intact trace finds no change.
func TestLostRecordsAreNoIdleTime(t *testing.T) {
	for _, path := range damaged(t) {
		var reports [2]*strata.Report
		var sides [2]*compare.Side
		var verdicts [2]*hostoverhead.Verdict
		var at [2]*layer.Device
		for i, p := range path {
			rec, err := strata.Open(t.Context(), p, strata.Options{})
			if err != nil {
				t.Fatal(err)
			}
			a, err := layer.Analyze(t.Context(), rec.Parts[0].Trace, layer.Options{})
			if err != nil {
				t.Fatal(err)
			}
			at[i] = &a.Devices[0]
			run, err := compare.Measure(t.Context(), a)
			reports[i], sides[i] = nil, &compare.Side{Label: p, Runs: []compare.Run{*run}}
			var of [2]error
			reports[i], of[0] = strata.Analyze(t.Context(), rec, strata.ReportOptions{})
			verdicts[i], of[1] = hostoverhead.Analyze(t.Context(), []*layer.Analysis{a}, hostoverhead.Options{})
			if err := cmp.Or(err, of[0], of[1]); err != nil {
				t.Fatal(err)
			}
		}
		name, hole := filepath.Base(path[1]), time.Duration(0)
		for _, x := range at[1].Damage {
			hole += x.Idle
		}
		was, is := reports[0], reports[1]
		if len(at[1].Damage) != 1 || is.LostTime == 0 || is.LostTime > hole || was.LostTime != 0 {
			t.Errorf("%s: %v of %v are not recorded: %v", name, is.LostTime, hole, at[1].Damage)
			continue
		}
		if is.Wall != was.Wall || is.IdleTime > was.IdleTime || was.IdleTime-is.IdleTime > hole {
			t.Errorf("%s: idle %v of %v, of the intact trace %v of %v", name, is.IdleTime, is.Wall, was.IdleTime, was.Wall)
		}
		for i := range was.Passes {
			x, y := was.Passes[i], is.Passes[i]
			if x.Chosen, y.Chosen = false, false; i != at[1].Damage[0].Pass && x != y {
				t.Errorf("%s, pass %d: %+v, of the intact trace %+v", name, i, y, x)
			}
		}
		if verdicts[0].Verdict != verdicts[1].Verdict || verdicts[0].Headroom.HostNS < verdicts[1].Headroom.HostNS {
			t.Errorf("%s: host %s, %+v, of the intact trace %s, %+v", name, verdicts[1].Verdict, verdicts[1].Headroom,
				verdicts[0].Verdict, verdicts[0].Headroom)
		}
		for _, order := range [][2]*compare.Side{sides, {sides[1], sides[0]}} {
			r, err := compare.Compare(t.Context(), order[0], order[1], compare.Options{Gates: compare.Tolerate(0.03)})
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict == compare.Slower || r.Verdict == compare.Faster || r.Verdict == compare.Mixed ||
				r.Tolerance() == compare.GateFailed {
				t.Errorf("%s: %s: %s", name, r.Verdict, r.Text)
			}
			if alone := len(was.Passes) == 1; alone != r.Doubtful(compare.DoubtLost) {
				t.Errorf("%s: the only pass: %t, %s, doubts %v", name, alone, r.Text, r.Doubts)
			}
			for i := range r.Rows {
				if row := &r.Rows[i]; row.Significant && len(was.Passes) > 1 {
					t.Errorf("%s: %s changed from %v to %v", name, row.Operator, row.A, row.B)
				}
			}
		}
	}
}

// TestDoubtfulLossIsIdleTime: where launches have no numbers, the GPU may just have idled; that is noted, and takes
// nothing from idle time.
func TestDoubtfulLossIsIdleTime(t *testing.T) {
	paths := damaged(t)
	var doc map[string]any
	if err := json.Unmarshal(testdata.ReadFile(t, paths[len(paths)-1][1]), &doc); err != nil {
		t.Fatal(err)
	}
	for _, x := range doc["traceEvents"].([]any) {
		if args, ok := x.(map[string]any)["args"].(map[string]any); ok {
			delete(args, "correlation")
		}
	}
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "unnumbered.json")
	writeFile(t, path, string(text))
	rec, err := strata.Open(t.Context(), path, strata.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := layer.Analyze(t.Context(), rec.Parts[0].Trace, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := &a.Devices[0]
	if len(d.Damage) != 1 || !d.Damage[0].Unsure || !d.Passes[0].Complete() {
		t.Fatalf("%v, pass 0 lacks %d records", d.Damage, d.Passes[0].Lost)
	}
	for s := range d.Timeline() {
		if s.Lost {
			t.Errorf("%d ns are not recorded, want idle time", s.End-s.Start)
		}
	}
}
