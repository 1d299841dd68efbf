package perfetto_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/perfetto"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// demoFile writes the demo trace to a file and loads it.
func demoFile(t *testing.T) (path string, tr *trace.Trace, truth []gen.Truth) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "demo.json.gz")
	if err := os.WriteFile(path, demo.Trace(), 0o644); err != nil {
		t.Fatal(err)
	}
	truth, err := gen.Truths(gen.Demo())
	if err != nil {
		t.Fatal(err)
	}
	return path, open(t, path), truth
}

// describe says of every activity what it is and what it is linked to.
func describe(tr *trace.Trace, keep map[trace.EventID]bool) []string {
	var out []string
	for e := range tr.Events(event.LaneGPU) {
		if keep != nil && !keep[e.ID()] {
			continue
		}
		var stack []string
		for f := range e.Frame().Enclosing() {
			stack = append(stack, f.Name())
		}
		ann := tr.Innermost(event.LaneAnnotation, e.Launch().Thread(), e.Launch().Start())
		out = append(out, fmt.Sprintf("%d+%d %s stream %d ← %s ← %s %s ← %s | %s", tr.Raw(e.Start()), e.Duration(),
			e.Name(), e.Stream(),
			e.Launch().Name(), e.Op().Name(), e.Op().Shape(), strings.Join(stack, " < "), ann.Name()))
	}
	return out
}

func TestSliceKeepsActivitiesWithAllTheirLinks(t *testing.T) {
	src, tr, truth := demoFile(t)
	for _, tc := range []struct {
		name string
		want func(gen.Truth) bool
	}{
		{"pass 1", func(x gen.Truth) bool { return x.Pass == 1 }},
		{"passes 0 and 2", func(x gen.Truth) bool { return x.Pass == 0 || x.Pass == 2 }},
		{"layer 3 of pass 0", func(x gen.Truth) bool { return x.Pass == 0 && x.Layer == 3 }},
		{"everything", func(gen.Truth) bool { return true }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			at := map[[3]int64]bool{}
			for _, x := range truth {
				if tc.want(x) {
					at[[3]int64{x.Start, x.Duration, int64(x.Stream)}] = true
				}
			}
			var keep []trace.EventID
			kept := map[trace.EventID]bool{}
			for e := range tr.Events(event.LaneGPU) {
				if at[[3]int64{tr.Raw(e.Start()), int64(e.Duration()), int64(e.Stream())}] {
					keep = append(keep, e.ID())
					kept[e.ID()] = true
				}
			}
			if len(keep) == 0 {
				t.Fatal("the truth names no activity of the trace")
			}
			dst := filepath.Join(t.TempDir(), "slice.json.gz")
			stats, err := perfetto.Slice(context.Background(), tr, keep, src, dst, perfetto.CopyOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if stats.Activities != len(keep) {
				t.Errorf("kept %d activities, want %d", stats.Activities, len(keep))
			}
			var doc any
			if err := json.Unmarshal(testdata.ReadFile(t, dst), &doc); err != nil {
				t.Fatalf("the slice is not valid JSON: %v", err)
			}
			got := open(t, dst)
			if diff := cmp.Diff(describe(tr, kept), describe(got, nil)); diff != "" {
				t.Errorf("activities (-full +slice):\n%s", diff)
			}
			if got.Raw(0) != tr.Raw(0) || got.Meta().BaseTime != tr.Meta().BaseTime ||
				!cmp.Equal(got.Meta().Devices, tr.Meta().Devices) {
				t.Errorf("metadata or time axis changed")
			}
			if h := got.Health(); h.Orphans > 0 || len(h.Losses) > 0 {
				t.Errorf("health of the slice: %+v", h)
			}
		})
	}
}

func TestSliceRefusesWhatIsNotInTheFile(t *testing.T) {
	src, tr, _ := demoFile(t)
	other := filepath.Join(t.TempDir(), "other.json")
	if err := os.WriteFile(other, []byte(oneKernel), 0o644); err != nil {
		t.Fatal(err)
	}
	keep := []trace.EventID{tr.LaneAt(event.LaneGPU, 0).ID()}
	dst := filepath.Join(t.TempDir(), "o")
	if _, err := perfetto.Slice(context.Background(), tr, keep, other, dst, perfetto.CopyOptions{}); err == nil ||
		!strings.Contains(err.Error(), "only 0 of 1") {
		t.Errorf("another file: error = %v", err)
	}
	if _, err := perfetto.Slice(context.Background(), tr, nil, src, dst, perfetto.CopyOptions{}); err == nil ||
		!strings.Contains(err.Error(), "nothing to slice") {
		t.Errorf("no activity: error = %v", err)
	}
}

// secrets is a trace in which everything that must be hidden says so.
const secrets = `{"host_name":"secret-host","traceName":"/home/secret/t.json","deviceProperties":[{"id":0,"name":"GPU"}],"traceEvents":[
{"ph":"M","name":"process_name","pid":1,"tid":0,"ts":1.0,"args":{"name":"secret-process"}},
{"ph":"X","cat":"python_function","name":"/home/secret/app.py(3): secret_main","pid":1,"tid":1,"ts":10.0,"dur":90.0,"args":{"Python id":1,"Python parent id":null}},
{"ph":"X","cat":"python_function","name":"/home/secret/sglang/srt/models/qwen3.py(7): forward","pid":1,"tid":1,"ts":11.0,"dur":80.0,"args":{"Python id":2}},
{"ph":"X","cat":"python_function","name":"nn.Module: SecretDecoderLayer_17","pid":1,"tid":1,"ts":12.0,"dur":70.0,"args":{"Python id":3}},
{"ph":"X","cat":"user_annotation","name":"secret range","pid":1,"tid":1,"ts":12.5,"dur":60.0,"args":{"note":"secret"}},
{"ph":"X","cat":"user_annotation","name":"step[DECODE bs=2]","pid":1,"tid":1,"ts":12.6,"dur":60.0,"args":{}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":20.0,"dur":10.0,"args":{"External id":5,"Input Dims":[[4096,777],[777,2]],"Concrete Inputs":["/secret"]}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":21.0,"dur":2.0,"args":{"correlation":9}},
{"ph":"X","cat":"kernel","name":"gemm_kernel","pid":0,"tid":7,"ts":30.0,"dur":5.0,"args":{"device":0,"stream":7,"correlation":9}}]}`

func TestSliceRedactsAndStaysAnalysable(t *testing.T) {
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "t.json"), filepath.Join(dir, "o.json")
	if err := os.WriteFile(src, []byte(secrets), 0o644); err != nil {
		t.Fatal(err)
	}
	tr := open(t, src)
	keep := []trace.EventID{tr.LaneAt(event.LaneGPU, 0).ID()}
	all := perfetto.Redaction{Paths: true, Names: true, Shapes: true}
	if _, err := perfetto.Slice(context.Background(), tr, keep, src, dst,
		perfetto.CopyOptions{Redact: all}); err != nil {
		t.Fatal(err)
	}
	out := testdata.ReadFile(t, dst)
	for _, hidden := range []string{"secret", "Secret", "777", "/home"} {
		if bytes.Contains(out, []byte(hidden)) {
			t.Errorf("%q is still in the slice:\n%s", hidden, out)
		}
	}
	got := open(t, dst)
	want := []string{"30000+5000 gemm_kernel stream 7 ← cudaLaunchKernel ← aten::mm  ← nn.Module: Module1DecoderLayer_17 < " +
		"sglang/srt/models/qwen3.py(7): forward < file1.py(3): function1 | step[DECODE bs=2]"}
	if diff := cmp.Diff(want, describe(got, nil)); diff != "" {
		t.Errorf("redacted activities (-want +got):\n%s", diff)
	}
	if _, err := perfetto.Slice(context.Background(), tr, keep, src, dst,
		perfetto.CopyOptions{Redact: perfetto.Redaction{Paths: true}}); err != nil {
		t.Fatal(err)
	}
	out = testdata.ReadFile(t, dst)
	if !bytes.Contains(out, []byte("secret_main")) || !bytes.Contains(out, []byte("777")) ||
		bytes.Contains(out, []byte("/home")) {
		t.Errorf("hiding paths only gave:\n%s", out)
	}
}
