package perfetto_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/llmstrata/strata/internal/scan"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/perfetto"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/pftrace"
)

// realTraces returns the torch-profiler traces of the reference data; of the
// large ones none without STRATA_LONG.
func realTraces(t *testing.T) []string {
	t.Helper()
	const large = 100_000 // bytes, compressed
	dir := filepath.Dir(testdata.Shared(t, "traces/torch/graph-node-id-keys.json"))
	all, err := filepath.Glob(filepath.Join(dir, "*.json*"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, path := range all {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if testdata.Long() || info.Size() < large {
			out = append(out, path)
		}
	}
	if len(out) == 0 {
		t.Fatalf("no traces in %s", dir)
	}
	return out
}

func open(t *testing.T, path string) *trace.Trace {
	t.Helper()
	tr, err := trace.Open(context.Background(), path, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// passTrack is a track with one span over the window of t.
func passTrack(t *trace.Trace) []pftrace.Track {
	_, end := t.Window()
	return []pftrace.Track{{Name: "passes", Spans: []pftrace.Span{
		{Name: `pass 0 "prefill"`, End: end / 2, Args: map[string]any{"layers": 36}},
		{Name: "pass 1", Start: end / 2, End: end},
	}}}
}

// rawEvents returns the events of a document as they are written, and the values beside them.
func rawEvents(t *testing.T, text []byte) (events []string, values map[string]string) {
	t.Helper()
	sc := scan.NewScanner(bytes.NewReader(text), scan.Config{})
	values = map[string]string{}
	for {
		ev, err := sc.Next()
		if err != nil {
			break
		}
		events = append(events, string(ev.Raw))
	}
	for _, m := range sc.Result().Metas {
		values[m.Key] = strings.TrimSpace(string(m.Value))
	}
	return events, values
}

// annotated checks that the copy of src with passTrack's spans loads again and
// holds the original events as they were.
func annotated(t *testing.T, src, dst string, keep bool) {
	t.Helper()
	tr := open(t, src)
	stats, err := perfetto.Annotate(context.Background(), tr, src, dst, passTrack(tr),
		perfetto.CopyOptions{KeepMetadata: keep})
	if err != nil {
		t.Fatal(err)
	}
	before, after := testdata.ReadFile(t, src), testdata.ReadFile(t, dst)
	if !json.Valid(after) {
		t.Error("the copy is not valid JSON")
	}
	old, oldValues := rawEvents(t, before)
	all, values := rawEvents(t, after)
	if diff := cmp.Diff(old, all[len(all)-len(old):]); diff != "" {
		t.Errorf("the original's events are not all in the copy, in order (-want +got):\n%s", diff)
	}
	for k, v := range oldValues {
		if values[k] != v && (keep || !slices.Contains(stats.Removed, k)) {
			var x, y any
			if json.Unmarshal([]byte(v), &x) != nil || json.Unmarshal([]byte(values[k]), &y) != nil ||
				cmp.Diff(x, y) != "" {
				t.Errorf("%s is %s, was %s, and is not named among %q", k, values[k], v, stats.Removed)
			}
		}
	}
	got := open(t, dst)
	if got.Raw(0) != tr.Raw(0) {
		t.Errorf("origin moved from %d to %d", tr.Raw(0), got.Raw(0))
	}
	var names []string
	for e := range got.Events(event.LaneOther) {
		if e.Data().Category == perfetto.AnnotationCategory {
			names = append(names, e.Name())
		}
	}
	if diff := cmp.Diff([]string{`pass 0 "prefill"`, "pass 1"}, names); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if got.Len(event.LaneGPU) != tr.Len(event.LaneGPU) || got.Len() != tr.Len()+2 {
		t.Errorf("copy has %d events, %d on GPUs; want %d and %d", got.Len(), got.Len(event.LaneGPU), tr.Len()+2,
			tr.Len(event.LaneGPU))
	}
}

func TestAnnotateKeepsEveryEvent(t *testing.T) {
	for _, src := range testdata.Spread(t, realTraces(t)) {
		t.Run(filepath.Base(src), func(t *testing.T) {
			for _, keep := range []bool{false, true} {
				annotated(t, src, filepath.Join(t.TempDir(), filepath.Base(src)), keep)
			}
		})
	}
}

func TestAnnotateCompressesAsTheOriginal(t *testing.T) {
	var z, g bytes.Buffer
	zw, err := zstd.NewWriter(&z)
	if err != nil {
		t.Fatal(err)
	}
	gw := gzip.NewWriter(&g)
	for _, w := range []io.WriteCloser{zw, gw} {
		if _, err := io.WriteString(w, oneKernel); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string][]byte{"t.json": []byte(oneKernel), "t.zst": z.Bytes(), "t.gz": g.Bytes(),
		"array.json": []byte(oneKernel[len(`{"traceEvents":`) : len(oneKernel)-1])} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			src, dst := filepath.Join(dir, name), filepath.Join(dir, "out")
			if err := os.WriteFile(src, content, 0o644); err != nil {
				t.Fatal(err)
			}
			annotated(t, src, dst, false)
			out, err := os.ReadFile(dst)
			if err != nil {
				t.Fatal(err)
			}
			if want := content[:2]; name != "t.json" && name != "array.json" && !bytes.Equal(out[:2], want) {
				t.Errorf("copy begins with % x, the original with % x", out[:2], want)
			}
		})
	}
}

func TestAnnotateClosesATruncatedTrace(t *testing.T) {
	dir := t.TempDir()
	for cut := strings.Index(oneKernel, `{"ph":"X"`); cut < len(oneKernel); cut++ {
		src, dst := filepath.Join(dir, "t.json"), filepath.Join(dir, "out.json")
		if err := os.WriteFile(src, []byte(oneKernel[:cut]), 0o644); err != nil {
			t.Fatal(err)
		}
		tr := open(t, src)
		if _, err := perfetto.Annotate(context.Background(), tr, src, dst, nil, perfetto.CopyOptions{}); err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		var doc struct{ TraceEvents []any }
		if err := json.Unmarshal(testdata.ReadFile(t, dst), &doc); err != nil {
			t.Fatalf("cut at %d: copy is not valid JSON: %v\n%s", cut, err, testdata.ReadFile(t, dst))
		}
		if got := open(t, dst); got.Len(event.LaneGPU) != tr.Len(event.LaneGPU) {
			t.Errorf("cut at %d: %d activities, want %d", cut, got.Len(event.LaneGPU), tr.Len(event.LaneGPU))
		}
	}
}

func TestAnnotateRefuses(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "t.json")
	if err := os.WriteFile(src, []byte(oneKernel), 0o644); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link.json")
	if err := os.Symlink(src, link); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(dir, "empty.json")
	if err := os.WriteFile(empty, []byte(`{"traceEvents":[]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	tr := open(t, src)
	crossing := []pftrace.Track{{Name: "x", Spans: []pftrace.Span{{Name: "a", End: 10},
		{Name: "b", Start: 9, End: 20}}}}
	for _, tc := range []struct {
		name, src, dst, want string
		tracks               []pftrace.Track
	}{
		{"itself", src, link, "is the trace itself", nil},
		{"crossing spans", src, filepath.Join(dir, "o"), "overlaps the one before", crossing},
		{"no events", empty, filepath.Join(dir, "o"), "no event to annotate", nil},
		{"missing", filepath.Join(dir, "none"), filepath.Join(dir, "o"), "no such file", nil},
	} {
		_, err := perfetto.Annotate(context.Background(), tr, tc.src, tc.dst, tc.tracks, perfetto.CopyOptions{})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error = %v, want one with %q", tc.name, err, tc.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := perfetto.Annotate(ctx, tr, src, filepath.Join(dir, "o"), nil, perfetto.CopyOptions{}); err == nil {
		t.Error("a cancelled context gave no error")
	}
	left, err := filepath.Glob(filepath.Join(dir, ".o*"))
	if _, serr := os.Stat(filepath.Join(dir, "o")); err != nil || len(left) > 0 || serr == nil {
		t.Errorf("failed calls left files behind: %v", left)
	}
}
