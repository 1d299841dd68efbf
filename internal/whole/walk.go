package whole

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/internal/published"
	"github.com/llmstrata/strata/internal/view"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/perfetto"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/pftrace"
	"github.com/llmstrata/strata/triage"
)

// Lanes are all lanes of a trace.
var Lanes = []event.Lane{event.LaneGPU, event.LaneLaunch, event.LaneOp, event.LanePython, event.LaneAnnotation,
	event.LaneSync, event.LaneOther, event.LaneCounter}

// Walk reads a trace through every accessor and reports what contradicts the
// model: the invariants that analyses rely on, whatever the bytes were. It
// returns the number of events seen.
func Walk(t testing.TB, tr *trace.Trace) int {
	t.Helper()
	first, last := tr.Window()
	if first > last {
		t.Errorf("Window = %d, %d", first, last)
	}
	seen := 0
	for _, lane := range Lanes {
		seen += walkLane(t, tr, lane, trace.EventID(seen))
	}
	if seen != tr.Len() {
		t.Errorf("%d events seen, Len %d", seen, tr.Len())
	}
	walkStreams(t, tr)
	if _, err := json.Marshal(tr.Health()); err != nil {
		t.Errorf("health as JSON: %v", err)
	}
	if h := tr.Health(); h.Status == "" {
		t.Error("the health of a loaded trace is unknown")
	}
	tr.Epoch()
	tr.Meta()
	return seen
}

// walkLane walks the events of a lane from the given id on, and returns how many there are.
func walkLane(t testing.TB, tr *trace.Trace, lane event.Lane, id trace.EventID) int {
	t.Helper()
	first, last := tr.Window()
	i := 0
	var before trace.Event
	for e := range tr.Events(lane) {
		if e.ID() != id || e.Index() != i || e.Kind().Lane() != lane || tr.At(id) != e || tr.LaneAt(lane, i) != e {
			t.Fatalf("event %d of lane %v is %d, index %d, lane %v", i, lane, e.ID(), e.Index(), e.Kind().Lane())
		}
		if e.Duration() < 0 || e.Start() < 0 || e.End() < e.Start() {
			t.Fatalf("event %d from %d to %d, duration %d: want 0 ≤ start ≤ end", id, e.Start(), e.End(), e.Duration())
		}
		if lane != event.LaneCounter && (e.Start() < first || e.End() > last) { // counters are read before the work, too
			t.Fatalf("event %d from %d to %d is outside the window %d to %d", id, e.Start(), e.End(), first, last)
		}
		if tr.Raw(e.Start())-tr.Raw(0) != int64(e.Start()) {
			t.Fatalf("event %d: raw time %d does not agree with the origin %d", id, tr.Raw(e.Start()), tr.Raw(0))
		}
		if before.Valid() && before.Thread() == e.Thread() && before.Start() > e.Start() {
			t.Fatalf("lane %v: event %d begins at %d, the one after it on the thread at %d", lane, before.ID(),
				before.Start(), e.Start())
		}
		if e.Kind().Lane() != lane {
			t.Fatalf("event %d of kind %v is in lane %v", id, e.Kind(), lane)
		}
		if e.Name() != tr.Name(e.NameID()) || int(e.NameID()) >= tr.NumNames() {
			t.Fatalf("event %d: name %d of %d", id, e.NameID(), tr.NumNames())
		}
		links(t, tr, e)
		before = e
		id++
		i++
	}
	if i != tr.Len(lane) {
		t.Errorf("lane %v: %d events, Len %d", lane, i, tr.Len(lane))
	}
	perThread := 0
	for th := trace.ThreadIndex(trace.None); int(th) < len(tr.Threads()); th++ {
		for e := range tr.OnThread(lane, th) {
			if e.Thread() != th && lane != event.LaneGPU {
				t.Fatalf("event %d of thread %d is listed for thread %d", e.ID(), e.Thread(), th)
			}
			perThread++
		}
	}
	if lane != event.LaneGPU && perThread != i {
		t.Errorf("lane %v: %d events by thread, want %d", lane, perThread, i)
	}
	return i
}

// walkStreams walks the activities by stream.
func walkStreams(t testing.TB, tr *trace.Trace) {
	t.Helper()
	perStream := 0
	for _, d := range tr.Devices() {
		for _, s := range tr.Streams(d) {
			var at trace.Time = math.MinInt64
			for e := range tr.OnStream(d, s) {
				if e.Device() != d || e.Stream() != s || e.Start() < at {
					t.Fatalf("event %d of device %d, stream %d at %d: listed for %d, %d behind %d", e.ID(), e.Device(),
						e.Stream(), e.Start(), d, s, at)
				}
				at = e.Start()
				perStream++
			}
		}
	}
	if perStream != tr.Len(event.LaneGPU) {
		t.Errorf("%d activities by stream, want %d", perStream, tr.Len(event.LaneGPU))
	}
}

// links follows the links of one event.
func links(t testing.TB, tr *trace.Trace, e trace.Event) {
	t.Helper()
	if l := e.Launch(); l.Valid() {
		if l.Kind().Lane() != event.LaneLaunch {
			t.Fatalf("event %d was launched by %d of lane %v", e.ID(), l.ID(), l.Kind().Lane())
		}
		found := false
		for a := range l.Activities() {
			found = found || a == e
			if found {
				break
			}
		}
		if !found {
			t.Fatalf("event %d was launched by %d, which does not list it", e.ID(), l.ID())
		}
	}
	if p := e.Parent(); p.Valid() {
		if p == e || p.Kind().Lane() != e.Kind().Lane() || p.Thread() != e.Thread() || p.Start() > e.Start() ||
			p.End() < e.End() {
			t.Fatalf("event %d (%d to %d) has the parent %d (%d to %d)", e.ID(), e.Start(), e.End(), p.ID(), p.Start(),
				p.End())
		}
	}
	if op := e.Op(); op.Valid() && op.Kind().Lane() != event.LaneOp {
		t.Fatalf("event %d has an op of lane %v", e.ID(), op.Kind().Lane())
	}
	depth := 0
	for f := range e.Frame().Enclosing() {
		if f.Kind().Lane() != event.LanePython {
			t.Fatalf("event %d has a frame of lane %v", e.ID(), f.Kind().Lane())
		}
		if depth++; depth > tr.Len() {
			t.Fatalf("event %d: the stack does not end", e.ID())
		}
		if depth > 50 {
			break
		}
	}
	_, _, _, _ = e.Data(), e.Shape(), e.IsReplay(), kind.IsGraphLaunch(e.Name())
}

// lab is a trace on which analyses are tried; what several of them work on is made once.
type lab struct {
	trace  *trace.Trace
	layers func() (*layer.Analysis, error)
	input  func() triage.Input
}

func newLab(t testing.TB, tr *trace.Trace) *lab {
	return &lab{
		trace: tr,
		layers: sync.OnceValues(func() (*layer.Analysis,
			error) {
			return layer.Analyze(t.Context(), tr, layer.Options{})
		}),
		input: sync.OnceValue(func() triage.Input { return TriageInput(t, tr, layer.Options{}) }),
	}
}

// trials are all analyses. Each may refuse a trace with an error; what it gives
// must be JSON: no NaN, no infinity.
var trials = []func(t testing.TB, l *lab) (any, error){
	func(t testing.TB, l *lab) (any, error) { return tryLayers(t, l, "auto") },
	func(t testing.TB, l *lab) (any, error) { return tryLayers(t, l, "modules") },
	func(t testing.TB, l *lab) (any, error) { return tryLayers(t, l, "repeats") },
	func(t testing.TB, l *lab) (any, error) { return tryLayers(t, l, "anchor-closes") },
	func(t testing.TB, l *lab) (any, error) {
		a, err := published.Analyze(t.Context(), l.trace, layer.Options{})
		if err == nil {
			CheckLayers(t, a)
		}
		return a, err
	},
	func(t testing.TB, l *lab) (any, error) {
		a, err := triage.Analyze(t.Context(), l.input(), triage.Options{})
		if err == nil {
			Render(t, "report", a.WriteMarkdown)
			Render(t, "profile", a.WriteProfile)
		}
		return a, err
	},
	func(t testing.TB, l *lab) (any, error) {
		passes, err := l.layers()
		if err != nil {
			return nil, err
		}
		v, err := hostoverhead.Analyze(t.Context(), []*layer.Analysis{passes, passes}, hostoverhead.Options{})
		if err == nil {
			Render(t, "host verdict", v.WriteText)
		}
		return v, err
	},
	func(t testing.TB, l *lab) (any, error) {
		r, err := published.DetectHost(t.Context(), l.trace, published.HostOptions{})
		if err == nil {
			Render(t, "published verdict", r.WriteText)
		}
		return r, err
	},
	func(t testing.TB, l *lab) (any, error) {
		passes, err := l.layers()
		if err != nil {
			return nil, err
		}
		return hostoverhead.Breakdown(t.Context(), passes, hostoverhead.BreakdownOptions{})
	},
	func(t testing.TB, l *lab) (any, error) {
		passes, err := l.layers()
		if err != nil {
			return nil, err
		}
		return hostoverhead.Compare(t.Context(), passes, passes, hostoverhead.BreakdownOptions{})
	},
}

func tryLayers(t testing.TB, l *lab, b string) (any, error) {
	a, err := layer.Analyze(t.Context(), l.trace, layer.Options{Boundaries: b})
	if err == nil {
		CheckLayers(t, a)
	}
	return a, err
}

// try runs one analysis: 1 if it gave a result.
func (l *lab) try(t testing.TB, i int) int {
	t.Helper()
	v, err := trials[i](t, l)
	if err != nil {
		Refused(t, fmt.Sprintf("analysis %d", i), err)
		return 0
	}
	if _, err := json.Marshal(v); err != nil {
		t.Errorf("analysis %d as JSON: %v", i, err)
	}
	return 1
}

// CheckLayers renders an analysis and checks that its parts fit the whole.
func CheckLayers(t testing.TB, an *layer.Analysis) {
	t.Helper()
	for i := range an.Devices {
		checkDevice(t, &an.Devices[i])
	}
}

func checkDevice(t testing.TB, a *layer.Device) {
	t.Helper()
	for k := range a.Kernels() {
		if at := k.Place(); at.Pass >= len(a.Passes) || at.Pass < trace.None {
			t.Fatalf("kernel %d is in pass %d of %d", k.Index(), at.Pass, len(a.Passes))
		}
		if !k.Event().Valid() || a.Analysis().Of(k.Event().ID()) != k {
			t.Fatalf("kernel %d has event %d", k.Index(), k.Event().ID())
		}
	}
	for p := range a.Passes {
		pass := &a.Passes[p]
		if pass.Index != p || pass.End < pass.Start || pass.Wall() < 0 {
			t.Fatalf("pass %d is %d, from %d to %d", p, pass.Index, pass.Start, pass.End)
		}
		if p >= 3 {
			continue // rendering all of many passes would only repeat itself
		}
		if tl, err := view.NewTimeline(a, p); err != nil {
			Refused(t, "timeline", err)
		} else if _, err := json.Marshal(tl); err != nil {
			t.Errorf("timeline as JSON: %v", err)
		}
		var before *view.Detail
		for _, l := range pass.Layers()[:min(3, pass.NumLayers)] {
			d, err := view.NewDetail(a, p, l.Index)
			if err != nil {
				Refused(t, "detail", err)
				continue
			}
			Render(t, "detail", func(w io.Writer) error { return json.NewEncoder(w).Encode(d) })
			Render(t, "detail", d.WriteText)
			if before != nil {
				Render(t, "diff", view.DiffOf(before, d).WriteText)
			}
			before = d
		}
		if m, err := perfetto.NewMap(a, p, nil, ""); err != nil {
			Refused(t, "map", err)
		} else {
			Render(t, "map", m.WriteText)
		}
	}
	for _, track := range perfetto.Tracks(a, perfetto.DefaultGap) {
		for i, s := range track.Spans {
			if s.End < s.Start || i > 0 && s.Start < track.Spans[i-1].End {
				t.Fatalf("track %q: span %d from %d to %d", track.Name, i, s.Start, s.End)
			}
		}
	}
}

// copier writes copies of a trace whose bytes are given, and reads them again:
// they hold the activities they promise, and are JSON where the original is.
type copier struct {
	trace    *trace.Trace
	text     []byte
	src, dst string
	keep     []trace.EventID // activities of slices
}

// newCopier writes the text into the directory.
func newCopier(t testing.TB, tr *trace.Trace, text []byte, dir string) *copier {
	t.Helper()
	c := &copier{trace: tr, text: text, src: filepath.Join(dir, "src.json"), dst: filepath.Join(dir, "dst.json")}
	if err := os.WriteFile(c.src, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range min(tr.Len(event.LaneGPU), 20) {
		c.keep = append(c.keep, tr.LaneAt(event.LaneGPU, i).ID())
	}
	return c
}

// writers are all copies.
var writers = []func(t testing.TB, c *copier){
	func(t testing.TB, c *copier) { c.annotated(t) },
	func(t testing.TB, c *copier) { c.slice(t, perfetto.Redaction{}, len(c.keep)) },
	func(t testing.TB, c *copier) {
		want := len(c.keep)
		if !json.Valid(c.text) {
			want = 0 // an event that is no JSON cannot be made safe, and is left out
		}
		c.slice(t, perfetto.Redaction{Paths: true, Names: true, Shapes: true}, want)
	},
}

func (c *copier) annotated(t testing.TB) {
	t.Helper()
	tracks := []pftrace.Track{{Name: "one", Spans: []pftrace.Span{{Name: "a\"b\x00", Start: 0,
		End: trace.Time(time.Millisecond)}}}}
	if _, err := perfetto.Annotate(t.Context(), c.trace, c.src, c.dst, tracks, perfetto.CopyOptions{}); err != nil {
		Refused(t, "annotate", err)
		return
	}
	c.again(t, "the annotated copy", c.trace.Len(event.LaneGPU))
}

func (c *copier) slice(t testing.TB, hide perfetto.Redaction, activities int) {
	t.Helper()
	if _, err := perfetto.Slice(t.Context(), c.trace, c.keep, c.src, c.dst,
		perfetto.CopyOptions{Redact: hide}); err != nil {
		Refused(t, "slice", err)
		return
	}
	c.again(t, "the slice", activities)
}

// again reads the copy. An activity that a damaged clock put years away may be in it
// and be left out again, where what it was with was not kept: that is counted.
func (c *copier) again(t testing.TB, what string, activities int) {
	t.Helper()
	got, err := os.ReadFile(c.dst)
	if err != nil {
		t.Fatal(err)
	}
	if json.Valid(c.text) && !json.Valid(got) {
		t.Errorf("%s of valid JSON is none: %.300q", what, got)
	}
	cp, err := trace.Open(t.Context(), c.dst, trace.Options{})
	if err != nil {
		t.Errorf("%s cannot be read: %v", what, err)
		return
	}
	n := int64(cp.Len(event.LaneGPU))
	for _, l := range cp.Health().Losses {
		if l.Reason == event.BadTime {
			n += l.Count
		}
	}
	if n < int64(activities) {
		t.Errorf("%s has %d activities, want %d", what, n, activities)
	}
}

// Refused checks the error of what refused a trace.
func Refused(t testing.TB, what string, err error) {
	t.Helper()
	if err.Error() == "" {
		t.Errorf("%s: an error without words", what)
	}
}

// Render writes a report to nowhere.
func Render(t testing.TB, what string, write func(io.Writer) error) {
	t.Helper()
	if err := write(io.Discard); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// TriageInput is what triage works on, of one trace.
func TriageInput(t testing.TB, tr *trace.Trace, o layer.Options) triage.Input {
	t.Helper()
	in, err := triage.NewInput(t.Context(), []triage.Source{{Trace: tr, Path: "a.json"}}, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// ReportText is a report as its document, "" for none.
func ReportText(r *triage.Report) string {
	if r == nil {
		return ""
	}
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return ""
	}
	return string(b)
}
