package perfetto_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/perfetto"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/nsys"
	"github.com/llmstrata/strata/trace/pftrace"
	"github.com/llmstrata/strata/trace/rocprof"
	"github.com/llmstrata/strata/trace/xplane"
)

var formats = slices.Concat(rocprof.Formats(), nsys.Formats(), []trace.Format{xplane.Format(), pftrace.Format(),
	trace.Kineto()})

func opened(t *testing.T, path string) *trace.Trace {
	t.Helper()
	tr, err := trace.Open(context.Background(), path, trace.Options{Formats: formats})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// activities describes the GPU work of a trace.
func activities(tr *trace.Trace, keep func(trace.Event) bool) []string {
	var out []string
	for e := range tr.Events(event.LaneGPU) {
		if keep == nil || keep(e) {
			out = append(out, fmt.Sprint(e.Kind(), " ", e.Name(), " ", tr.Raw(e.Start()), "+",
				time.Duration(e.Data().Duration), " ", e.Stream(), " ", e.Launch().Name()))
		}
	}
	return out
}

// A copy of any format holds all that the original does, overlapping kernels
// in full, and the tracks.
func TestAnnotatePftrace(t *testing.T) {
	testdata.ManyInputs(t)
	for _, name := range []string{"traces/torch/sglang-qwen3-8b-decode-graph-mi300.json.gz",
		"traces/nsys/torchrun-2gpu-hopper.sqlite", "traces/other/rocpd-3.0.0-sample.db",
		"traces/other/jax-conv-mi300.xplane.pb", "traces/other/rocprofv3-908_results.json.gz"} {
		src := testdata.Shared(t, name)
		dir := t.TempDir()
		copies := []string{filepath.Join(dir, "a.pftrace"), filepath.Join(dir, "b.pftrace.gz"),
			filepath.Join(dir, "c.json.gz"), filepath.Join(dir, "d.pftrace.zst")}
		if many := strings.Contains(name, "torchrun") || strings.Contains(name, "rocprofv3"); many && !testdata.Long() {
			copies = copies[:1]
		}
		for _, dst := range copies {
			tr := opened(t, src)
			a, err := layer.Analyze(context.Background(), tr, layer.Options{})
			if err != nil {
				t.Fatal(err)
			}
			tracks := perfetto.Tracks(&a.Devices[0], 0)
			if _, err := perfetto.Annotate(context.Background(), tr, src, dst, tracks,
				perfetto.CopyOptions{}); err != nil {
				t.Fatal(err)
			}
			if head := firstBytes(t, dst, 2); (head == "\x1f\x8b") == strings.HasSuffix(dst, ".zst") {
				t.Errorf("%s begins with % x, which is not what its name says", dst, head)
			}
			got := opened(t, dst)
			if diff := cmp.Diff(activities(tr, nil), activities(got, nil)); diff != "" {
				t.Errorf("%s to %s (-original +copy)\n%.1000s", src, dst, diff)
			}
			spans := 0
			for _, tr := range tracks {
				spans += len(tr.Spans)
			}
			added := 0
			for e := range got.Events(event.LaneOther) {
				if e.Data().Category == perfetto.AnnotationCategory {
					added++
				}
			}
			if spans == 0 || added%spans != 0 || added == 0 {
				t.Errorf("%s: %d spans added, want %d", dst, added, spans)
			}
			src = dst // a copy of the copy
		}
	}
}

func firstBytes(t *testing.T, path string, n int) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil || len(data) < n {
		t.Fatalf("%s: %d bytes, %v", path, len(data), err)
	}
	return string(data[:n])
}

func TestSlicePftrace(t *testing.T) {
	src := testdata.Shared(t, "traces/torch/sglang-qwen3-8b-decode-graph-mi300.json.gz")
	tr := opened(t, src)
	var keep []trace.EventID
	kept := map[trace.EventID]bool{}
	for e := range tr.Events(event.LaneGPU) {
		if e.Index() >= 40 && e.Index() < 80 {
			keep = append(keep, e.ID())
			kept[e.ID()] = true
		}
	}
	dir := t.TempDir()
	asJSON, asPftrace := filepath.Join(dir, "s.json.gz"), filepath.Join(dir, "s.pftrace")
	if _, err := perfetto.Slice(context.Background(), tr, keep, src, asJSON, perfetto.CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	stats, err := perfetto.Slice(context.Background(), tr, keep, src, asPftrace, perfetto.CopyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want, got := opened(t, asJSON), opened(t, asPftrace)
	if diff := cmp.Diff(activities(want, nil), activities(got, nil)); diff != "" {
		t.Errorf("(-JSON +pftrace)\n%.1000s", diff)
	}
	counts := func(tr *trace.Trace) (n []int) {
		for l := event.LaneGPU; l <= event.LaneOther; l++ {
			n = append(n, tr.Len(l))
		}
		return n
	}
	if !slices.Equal(counts(want), counts(got)) || stats.Activities != got.Len(event.LaneGPU) ||
		stats.Kept != int64(got.Len()) {
		t.Errorf("events by lane %v, of the JSON slice %v; %+v", counts(got), counts(want), stats)
	}
}

// TestSliceOfExport: an Nsight Systems export and a .pftrace, which no JSON is copied from, are sliced alike to JSON
// and to Perfetto's format.
func TestSliceOfExport(t *testing.T) {
	src := testdata.Shared(t, "traces/nsys/torchrun-2gpu-hopper.sqlite")
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole.pftrace")
	if _, err := perfetto.Annotate(context.Background(), opened(t, src), src, whole, nil,
		perfetto.CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, src := range []string{src, whole} {
		tr := opened(t, src)
		var keep []trace.EventID
		for e := range tr.Events(event.LaneGPU) {
			if e.Index() >= 40 && e.Index() < 80 {
				keep = append(keep, e.ID())
			}
		}
		want := activities(tr, func(e trace.Event) bool { return slices.Contains(keep, e.ID()) })
		for _, name := range []string{"s.json.zst", "s.pftrace"} {
			dst := filepath.Join(dir, name)
			stats, err := perfetto.Slice(context.Background(), tr, keep, src, dst, perfetto.CopyOptions{})
			if err != nil {
				t.Fatal(err)
			}
			got := opened(t, dst)
			if diff := cmp.Diff(want, activities(got, nil)); diff != "" || len(want) != 40 || stats.Activities != 40 ||
				stats.Kept == 0 || got.Len() >= tr.Len() {
				t.Errorf("%s to %s: %+v, %d of %d events (-original +slice)\n%.1000s", src, dst, stats, got.Len(),
					tr.Len(), diff)
			}
		}
	}
}

// What cannot be done is said, and nothing is written.
func TestPftraceRefusals(t *testing.T) {
	src := testdata.Shared(t, "traces/torch/sglang-qwen3-8b-decode-graph-mi300.json.gz")
	tr := opened(t, src)
	dir := t.TempDir()
	copied := filepath.Join(dir, "c.pftrace")
	if _, err := perfetto.Annotate(context.Background(), tr, src, copied, nil, perfetto.CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	keep := []trace.EventID{tr.LaneAt(event.LaneGPU, 0).ID()}
	_, redacted := perfetto.Slice(context.Background(), tr, keep, src, filepath.Join(dir, "r.pftrace"),
		perfetto.CopyOptions{Redact: perfetto.Redaction{Names: true}})
	_, itself := perfetto.Annotate(context.Background(), tr, copied, copied, nil, perfetto.CopyOptions{})
	for want, err := range map[string]error{
		"names are hidden in a .json.gz": redacted,
		"is the trace itself":            itself,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("%d files, want the copy alone", len(list))
	}
}
