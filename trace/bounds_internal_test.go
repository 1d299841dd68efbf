package trace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/trace/event"
)

func TestDefaultLimits(t *testing.T) {
	want := Limits{EventBytes: 67_108_864, NameBytes: 65_536, Depth: 64, MetaBytes: 16_777_216,
		InputBytes: 1_099_511_627_776, Ratio: 150, Events: 2_147_483_647, Names: 33_554_432, TextBytes: 4_294_967_296,
		Tracks: 1_048_576, Devices: 1024}
	if got := (Limits{}).withDefaults(); got != want {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	if got := (Limits{EventBytes: -1, Names: -1, Devices: -1}).withDefaults(); got != want {
		t.Errorf("negative limits: %+v", got)
	}
	ones := Limits{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
	if got := ones.withDefaults(); got != ones {
		t.Errorf("limits of one: %+v", got)
	}
	huge := Limits{Depth: 65, Events: 1 << 40, Names: 1 << 40, Tracks: 1 << 40}.withDefaults()
	if huge.Depth != 64 || huge.Events != 2_147_483_647 || huge.Names != 4_294_967_294 || huge.Tracks != 2_147_483_646 {
		t.Errorf("more than can be held: %+v", huge)
	}
}

func TestLanesAndKinds(t *testing.T) {
	for _, c := range []struct {
		name  string
		o     Options
		wants []event.Kind
	}{
		{"all", Options{}, []event.Kind{event.Kernel, event.Graph, event.Runtime, event.Op, event.Frame}},
		{"two lanes", Options{Lanes: []event.Lane{event.LaneGPU, event.LaneOp}},
			[]event.Kind{event.Kernel, event.Graph, event.Op}},
		{"one that is none", Options{Lanes: []event.Lane{event.LaneGPU, laneCount}},
			[]event.Kind{event.Kernel, event.Graph}},
		{"kinds", Options{Kinds: []event.Kind{event.Kernel, event.Op}}, []event.Kind{event.Kernel, event.Op}},
		{"kinds of a lane", Options{Lanes: []event.Lane{event.LaneOp}, Kinds: []event.Kind{event.Kernel, event.Op}},
			[]event.Kind{event.Op}},
	} {
		for _, k := range []event.Kind{event.Kernel, event.Graph, event.Runtime, event.Op, event.Frame} {
			if got, want := c.o.wants(k), slices.Contains(c.wants, k); got != want {
				t.Errorf("%s: wants %v: %v, want %v", c.name, k, got, want)
			}
		}
	}
}

// busyTrace has n kernels, each with a launch except for those that orphan names.
func busyTrace(n int, orphan func(i int) bool) *Trace {
	b := NewBuilder(Options{})
	for i := range n {
		e := EventData{Kind: event.Kernel, Name: "k", Start: int64(1000 * i), Duration: 500, Device: 0, Stream: 7,
			Correlation: uint64(i + 1)}
		if !orphan(i) {
			b.Add(EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: e.Start - 100, Duration: 10,
				Thread: 1, Correlation: e.Correlation})
		}
		b.Add(e)
	}
	return finished(b)
}

// finding returns what a trace's health says under a code.
func finding(t *Trace, code Code) (f Remark, ok bool) {
	for _, f := range t.Health().Findings {
		if f.Code == code {
			return f, true
		}
	}
	return Remark{}, false
}

// TestOrphans: more than one in a hundred degrade a trace, and more than half of them in its first tenth are said to
// be there.
func TestOrphans(t *testing.T) {
	for _, c := range []struct {
		name   string
		orphan func(i int) bool
		n      int
		sev    HealthStatus
		front  bool
	}{
		{"none", func(int) bool { return false }, 0, HealthOK, false},
		{"two of two hundred", func(i int) bool { return i >= 198 }, 2, HealthOK, false},
		{"three", func(i int) bool { return i >= 197 }, 3, HealthDegraded, false},
		{"in the first tenth", func(i int) bool { return i == 0 || i == 19 || i == 199 }, 3, HealthDegraded, true},
		{"behind it", func(i int) bool { return i == 0 || i == 20 || i == 199 }, 3, HealthDegraded, false},
		{"half of them", func(i int) bool { return i == 0 || i == 199 }, 2, HealthOK, false},
	} {
		tr := busyTrace(200, c.orphan)
		f, ok := finding(tr, "orphans")
		if ok != (c.n > 0) || int(f.Count) != c.n || tr.Health().Orphans != c.n {
			t.Errorf("%s: %+v, want %d", c.name, f, c.n)
			continue
		}
		if !ok {
			continue
		}
		if front := strings.Contains(f.Message, "most of them at the start"); f.Severity != c.sev || front != c.front {
			t.Errorf("%s: %+v, want %v, at the start: %v", c.name, f, c.sev, c.front)
		}
		if share := fmt.Sprintf("%d of 200 GPU activities (%.1f%%)", c.n, float64(c.n)/2); !strings.Contains(f.Message,
			share) {
			t.Errorf("%s: %s, want %s", c.name, f.Message, share)
		}
	}
}

func TestLossesInWords(t *testing.T) {
	for _, c := range []struct {
		loss Loss
		want string
		sev  HealthStatus
	}{
		{Loss{Reason: "bad-event", Count: 3}, "3 × bad-event", HealthDegraded},
		{Loss{Reason: "bad-event", Count: 3, Offsets: []int64{7}}, "3 × bad-event, first at byte 7", HealthDegraded},
		{Loss{Reason: "bad-event", Count: 3, Offsets: []int64{0, 9}, Bytes: 1},
			"3 × bad-event, first at byte 0, 1 byte skipped", HealthDegraded},
		{Loss{Reason: "bad-compression", Count: 1, Bytes: 5, Detail: "cut"}, "bad-compression: cut",
			HealthDegraded},
		{Loss{Reason: "repaired", Count: 1}, "repaired", HealthOK},
		{Loss{Reason: "no-duration", Count: 1}, "no-duration", HealthOK},
		{Loss{Reason: "unmatched", Count: 1}, "unmatched", HealthOK},
	} {
		var got string
		var sev HealthStatus
		(&Trace{}).lossFinding(c.loss, func(_ Code, s HealthStatus, _ int64, _ []Area, format string, args ...any) {
			got, sev = fmt.Sprintf(format, args...), s
		})
		if strings.ReplaceAll(got, "bad-event", "bad-event") != c.want || sev != c.sev {
			t.Errorf("%+v: %q, %v, want %q, %v", c.loss, got, sev, c.want, c.sev)
		}
	}
	var ls losses
	for i := range maxLossOffsets + 2 {
		ls.add("bad-event", int64(i-1)) // a place before the first byte is none
	}
	if l := ls.list[0]; len(l.Offsets) != maxLossOffsets || l.Offsets[0] != 0 || l.Count != maxLossOffsets+2 {
		t.Errorf("%+v", l)
	}
}

// TestOddities: a graph's row, launches of graphs without one, overlaps of one stream, and what is no oddity.
func TestOddities(t *testing.T) {
	b := NewBuilder(Options{})
	add := func(kind event.Kind, name string, start, end int64, stream StreamID, corr uint64) {
		b.Add(EventData{Kind: kind, Name: name, Start: start, Duration: end - start, Stream: stream, Thread: 1,
			Correlation: corr})
	}
	add(event.Runtime, "cudaGraphLaunch", 0, 1, 0, 1)
	add(event.Graph, "CUDA graph 1", 10, 20, 7, 1)
	add(event.Runtime, "cudaGraphLaunch", 21, 22, 0, 2)
	add(event.Runtime, "cudaLaunchKernel", 23, 24, 0, 3)
	for i, at := range []int64{30, 40, 49, 60} { // each of 10: the third begins before the second ends
		add(event.Runtime, "cudaLaunchKernel", at-5, at-4, 0, uint64(10+i))
		add(event.Kernel, "k", at, at+10, 7, uint64(10+i))
	}
	add(event.Runtime, "cudaLaunchKernel", 60, 61, 0, 20)
	add(event.Kernel, "k", 62, 70, 8, 20) // of another stream
	h := finished(b).Health()
	if h.GraphRows != 1 || h.EmptyGraphs != 1 || h.Orphans != 0 || h.Activities != 6 {
		t.Errorf("%+v", h)
	}
	for _, f := range h.Findings {
		if f.Count != 1 || f.Code != CodeGraphRows && f.Code != CodeEmptyGraphs && f.Code != CodeSameStream {
			t.Errorf("finding %+v", f)
		}
	}
	if len(h.Findings) != 3 {
		t.Errorf("%d findings, want 3", len(h.Findings))
	}
}

func TestRowsOfThreads(t *testing.T) {
	tr := busyTrace(3, func(int) bool { return false })
	for _, c := range []struct {
		lane event.Lane
		th   ThreadIndex
		want int
	}{{event.LaneLaunch, 0, 3}, {event.LaneLaunch, None, 0}, {event.LaneLaunch, None - 1, 0}, {event.LaneLaunch, 1, 0},
		{laneCount, 0, 0}, {laneCount - 1, 0, 0}, {event.LaneOp, 0, 0}} {
		n := 0
		for range tr.OnThread(c.lane, c.th) {
			n++
		}
		if n != c.want {
			t.Errorf("lane %v, thread %d: %d rows, want %d", c.lane, c.th, n, c.want)
		}
	}
	if e := tr.LaneAt(event.LaneLaunch, 0); e.Data().Args != nil {
		t.Errorf("args %s of a call that has none", e.Data().Args)
	}
	for id := range EventID(tr.Len()) {
		if e := tr.At(id); e.ID() != id {
			t.Errorf("event %d says that it is %d", id, e.ID())
		}
	}
	if tr.At(EventID(tr.Len())).Valid() {
		t.Error("there is an event behind the last one")
	}
}

// TestDepthOfDirectories: traces lie at most six directories deep.
func TestDepthOfDirectories(t *testing.T) {
	for depth, want := range map[int]bool{0: true, 6: true, 7: false} {
		root := t.TempDir()
		dir := filepath.Join(append([]string{root}, strings.Split(strings.Repeat("d ", depth), " ")...)...)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "a.trace.json"), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		if files, err := ListFiles(root); (len(files) == 1) != want {
			t.Errorf("%d directories deep: %d files, %v", depth, len(files), err)
		}
	}
	if maxListEntries != 100_000 {
		t.Errorf("%d files are looked at, want 100,000", maxListEntries)
	}
}

// finished returns what was added as a trace; nothing interrupts it.
func finished(b *Builder) *Trace {
	t, err := b.Finish(context.Background())
	if err != nil {
		panic(err)
	}
	return t
}
