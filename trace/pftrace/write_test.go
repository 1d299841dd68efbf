package pftrace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/nsys"
	"github.com/llmstrata/strata/trace/pftrace"
)

// all describes each event by everything that a copy keeps, sorted.
func all(tr *trace.Trace) []string {
	var out []string
	for e := range events(tr) {
		th := tr.Thread(e.Thread())
		category, config := e.Data().Category, ""
		if e.Kind().Lane() == event.LaneGPU {
			config = e.Shape()
			category = "" // a stage has none: those of old files ("Kernel") become today's
		}
		s := fmt.Sprintf("%v %s %s %d+%d corr %d ext %d dev %d stream %d graph %d/%d bytes %d %s value %g %s", e.Kind(),
			category, e.Name(), tr.Raw(e.Start()),
			e.Data().Duration, e.Data().Correlation, e.Data().ExternalID, e.Device(), e.Stream(), e.Data().GraphID,
			e.Data().GraphNode, e.Data().Bytes, config, e.Data().Value, e.Data().Domain)
		if e.Kind() != event.Other && e.Thread() != trace.None { // processes and threads that are texts get numbers
			s += fmt.Sprintf(" on %d/%d", th.Process, th.ID)
		}
		if l := e.Launch(); l.Valid() {
			s += " launched at " + fmt.Sprint(tr.Raw(l.Start()))
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

// several reports whether several processes launched work: a copy gives them other correlations.
func several(tr *trace.Trace) bool {
	of := map[int64]bool{}
	for e := range tr.Events(event.LaneLaunch) {
		of[tr.Thread(e.Thread()).Process] = true
	}
	return len(of) > 1
}

// correlation finds the number in a line.
var correlation = regexp.MustCompile(` corr \d+`)

// A copy read again gives every event of the trace it was made of, of every source.
func TestWriteReadsBack(t *testing.T) {
	paths := append(testdata.SharedGlob(t, "traces/torch/*.json*"), testdata.SharedGlob(t, "traces/nsys/*.sqlite")...)
	if len(paths) < 25 {
		t.Fatalf("%d traces", len(paths))
	}
	for _, path := range testdata.Spread(t, paths) {
		if !testdata.Long() && !strings.Contains(path, "decode-graph") && !strings.Contains(path, "2gpu") {
			continue
		}
		want, err := trace.Open(context.Background(), path,
			trace.Options{Formats: append(nsys.Formats(), trace.Kineto())})
		if errors.Is(err, trace.ErrFormat) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var data bytes.Buffer
		n, err := pftrace.Write(context.Background(), &data, want, pftrace.WriteOptions{})
		if err != nil || n != int64(want.Len()) {
			t.Fatalf("%s: %d events of %d: %v", path, n, want.Len(), err)
		}
		if want.Len() == 0 {
			continue
		}
		got := read(t, data.Bytes())
		// An event without a category gets one.
		lines := all(want)
		for i := range lines {
			lines[i] = strings.Replace(lines[i], "other  ", "other other ", 1)
		}
		copied, renumbered := all(got), several(want)
		for _, list := range [][]string{lines, copied} {
			for i := range list {
				if renumbered {
					list[i] = correlation.ReplaceAllString(list[i], "")
				}
			}
			slices.Sort(list)
		}
		if diff := cmp.Diff(lines, copied); diff != "" {
			t.Errorf("%s (-original +copy)\n%.1500s", path, diff)
		}
		kept := func(t *trace.Trace) string {
			m := t.Meta()
			return fmt.Sprint(m.Source, m.Rank, m.WorldSize, m.Backend, m.Devices)
		}
		if diff := cmp.Diff(kept(want), kept(got)); diff != "" {
			t.Errorf("%s: what recorded it (-original +copy)\n%s", path, diff)
		}
		if got.Meta().BaseTime != want.Meta().BaseTime && want.Raw(0) > 0 {
			t.Errorf("%s: base time %d, want %d", path, got.Meta().BaseTime, want.Meta().BaseTime)
		}
	}
}

// What is added is found in the copy, and what is not kept is not.
func TestWriteTracksAndKeep(t *testing.T) {
	want := read(t, bytes.Join(encode(t, document(t), 0), nil))
	var data bytes.Buffer
	_, err := pftrace.Write(context.Background(), &data, want, pftrace.WriteOptions{
		Keep:     func(e trace.Event) bool { return e.Kind().Lane() == event.LaneGPU && e.Index() < 5 },
		Category: "strata",
		Tracks: []pftrace.Track{{Name: "layers", Spans: []pftrace.Span{
			{Name: "layer 0", Start: 10, End: 20, Args: map[string]any{"kernels": 3, "wall_us": 1.5, "kind": "x"}},
			{Name: "layer 1", Start: 20, End: 30}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := read(t, data.Bytes())
	var added []string
	for e := range got.Events(event.LaneOther) {
		th := got.Thread(e.Thread())
		added = append(added, fmt.Sprint(e.Name(), " ", e.Data().Category, " ", got.Raw(e.Start())-want.Raw(0), " ",
			e.Duration().Nanoseconds(), " ", th.Name, " of ", th.ProcessName))
	}
	if diff := cmp.Diff([]string{"layer 0 strata 10 10 layers of passes and layers (strata)",
		"layer 1 strata 20 10 layers of passes and layers (strata)"}, added); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if n := got.Len(event.LaneGPU); n != 5 || got.Len() != 7 {
		t.Errorf("%d activities of %d events, want 5 of 7", n, got.Len())
	}
}

// failing fails at the n-th write.
type failing int

func (f *failing) Write(p []byte) (int, error) {
	if *f--; *f < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestWriteErrors(t *testing.T) {
	tr := read(t, bytes.Join(encode(t, document(t), 0), nil))
	for _, after := range []failing{0, 3, 100} {
		if _, err := pftrace.Write(context.Background(), &after, tr, pftrace.WriteOptions{}); err == nil ||
			!strings.Contains(err.Error(), "disk full") {
			t.Errorf("error %v", err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := pftrace.Write(ctx, new(bytes.Buffer), tr, pftrace.WriteOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// Where two processes count correlations from the same number, launches keep their own activities.
func TestWriteSeveralProcesses(t *testing.T) {
	doc := `{"traceEvents":[`
	for i, rank := range []string{"[TP00]", "[TP01]"} {
		doc += fmt.Sprintf(`{"ph":"X","cat":"cuda_runtime","name":"launch of %[1]s","pid":"%[1]s 83","tid":1,"ts":%[2]d,"dur":2,"args":{"correlation":7}},
{"ph":"X","cat":"kernel","name":"k of %[1]s","pid":"%[1]s 0","tid":7,"ts":%[3]d,"dur":2,"args":{"device":%[4]d,"stream":7,"correlation":7}},`, rank, 10+i, 20+i, i)
	}
	merged, err := trace.Read(context.Background(), strings.NewReader(strings.TrimSuffix(doc, ",")+"]}"),
		trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var data bytes.Buffer
	if _, err := pftrace.Write(context.Background(), &data, merged, pftrace.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	for e := range read(t, data.Bytes()).Events(event.LaneGPU) {
		if want := strings.Replace(e.Name(), "k of", "launch of", 1); e.Launch().Name() != want {
			t.Errorf("%s was launched by %q", e.Name(), e.Launch().Name())
		}
	}
}
