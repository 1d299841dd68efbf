package strata_test

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/published"
	"github.com/llmstrata/strata/internal/published/host"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/view"
	"github.com/llmstrata/strata/perfetto"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage"
)

// lanes are all lanes of a trace.
var lanes = []trace.Lane{trace.LaneGPU, trace.LaneLaunch, trace.LaneOp, trace.LanePython, trace.LaneAnnotation, trace.LaneSync, trace.LaneOther, trace.LaneCounter}

// walk reads a trace through every accessor and reports what contradicts the
// model: the invariants that analyses rely on, whatever the bytes were. It
// returns the number of events seen.
func walk(t testing.TB, tr *trace.Trace) int {
	t.Helper()
	first, last := tr.Window()
	if first > last {
		t.Errorf("Window = %d, %d", first, last)
	}
	seen := 0
	var id trace.EventID
	for _, lane := range lanes {
		i := 0
		var before trace.Event
		for e := range tr.Events(lane) {
			if e.ID() != id || e.Index() != i || e.Lane() != lane || tr.At(id) != e || tr.LaneAt(lane, i) != e {
				t.Fatalf("event %d of lane %v is %d, index %d, lane %v", i, lane, e.ID(), e.Index(), e.Lane())
			}
			if e.Duration() < 0 || e.Start() < 0 || e.End() < e.Start() {
				t.Fatalf("event %d from %d to %d, duration %d: want 0 ≤ start ≤ end", id, e.Start(), e.End(), e.Duration())
			}
			if e.Start() < first || e.End() > last {
				t.Fatalf("event %d from %d to %d is outside the window %d to %d", id, e.Start(), e.End(), first, last)
			}
			if tr.Raw(e.Start())-tr.Origin() != int64(e.Start()) {
				t.Fatalf("event %d: raw time %d does not agree with the origin %d", id, tr.Raw(e.Start()), tr.Origin())
			}
			if before.Valid() && before.Thread() == e.Thread() && before.Start() > e.Start() {
				t.Fatalf("lane %v: event %d begins at %d, the one after it on the thread at %d", lane, before.ID(), before.Start(), e.Start())
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
			seen++
		}
		if i != tr.LaneLen(lane) {
			t.Errorf("lane %v: %d events, LaneLen %d", lane, i, tr.LaneLen(lane))
		}
		perThread := 0
		for th := trace.NoThread; int(th) < len(tr.Threads()); th++ {
			for e := range tr.OnThread(lane, th) {
				if e.Thread() != th && lane != trace.LaneGPU {
					t.Fatalf("event %d of thread %d is listed for thread %d", e.ID(), e.Thread(), th)
				}
				perThread++
			}
		}
		if lane != trace.LaneGPU && perThread != i {
			t.Errorf("lane %v: %d events by thread, want %d", lane, perThread, i)
		}
	}
	if seen != tr.Len() {
		t.Errorf("%d events seen, Len %d", seen, tr.Len())
	}
	perStream := 0
	for _, d := range tr.Devices() {
		for _, s := range tr.Streams(d) {
			var at trace.Time = math.MinInt64
			for e := range tr.OnStream(d, s) {
				if e.Device() != d || e.Stream() != s || e.Start() < at {
					t.Fatalf("event %d of device %d, stream %d at %d: listed for %d, %d behind %d", e.ID(), e.Device(), e.Stream(), e.Start(), d, s, at)
				}
				at = e.Start()
				perStream++
			}
		}
	}
	if perStream != tr.LaneLen(trace.LaneGPU) {
		t.Errorf("%d activities by stream, want %d", perStream, tr.LaneLen(trace.LaneGPU))
	}
	if _, err := json.Marshal(tr.Health()); err != nil {
		t.Errorf("health as JSON: %v", err)
	}
	if h := tr.Health(); h.Status == trace.HealthUnknown {
		t.Error("the health of a loaded trace is unknown")
	}
	tr.Epoch()
	tr.Meta()
	tr.Counts()
	return seen
}

// links follows the links of one event.
func links(t testing.TB, tr *trace.Trace, e trace.Event) {
	t.Helper()
	if l := e.Launch(); l.Valid() {
		if l.Lane() != trace.LaneLaunch {
			t.Fatalf("event %d was launched by %d of lane %v", e.ID(), l.ID(), l.Lane())
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
		if p == e || p.Lane() != e.Lane() || p.Thread() != e.Thread() || p.Start() > e.Start() || p.End() < e.End() {
			t.Fatalf("event %d (%d to %d) has the parent %d (%d to %d)", e.ID(), e.Start(), e.End(), p.ID(), p.Start(), p.End())
		}
	}
	if op := e.Op(); op.Valid() && op.Lane() != trace.LaneOp {
		t.Fatalf("event %d has an op of lane %v", e.ID(), op.Lane())
	}
	depth := 0
	for f := range e.Stack() {
		if f.Lane() != trace.LanePython {
			t.Fatalf("event %d has a frame of lane %v", e.ID(), f.Lane())
		}
		if depth++; depth > tr.Len() {
			t.Fatalf("event %d: the stack does not end", e.ID())
		}
		if depth > 50 {
			break
		}
	}
	_, _, _, _, _ = e.Category(), e.Domain(), e.InputDims(), e.LaunchConfig(), e.Bytes()
	_, _, _, _, _ = e.Args(), e.Correlation(), e.GraphID(), e.IsReplay(), e.IsGraphLaunch()
}

// analyses runs every analysis on a trace and renders what it gives. Analyses
// may refuse a trace with an error, and what they give must be JSON: no NaN,
// no infinity. It returns how many gave a result.
func analyses(t testing.TB, tr *trace.Trace) int {
	t.Helper()
	ctx, results := context.Background(), 0
	gave := func(what string, v any) {
		t.Helper()
		results++
		if _, err := json.Marshal(v); err != nil {
			t.Errorf("%s as JSON: %v", what, err)
		}
	}
	for _, b := range layer.AllBoundaries() {
		a, err := layer.Analyze(ctx, tr, layer.Options{Boundaries: b})
		if err != nil {
			refused(t, "layer "+string(b), err)
			continue
		}
		gave("layers", a)
		checkLayers(t, a)
	}
	if a, err := published.Analyze(ctx, tr, layer.Options{}); err != nil {
		refused(t, "published layers", err)
	} else {
		gave("published layers", a)
		checkLayers(t, a)
	}
	in := triageInput(t, tr, layer.Options{})
	if a, err := triage.Analyze(ctx, in, triage.Options{}); err != nil {
		refused(t, "triage", err)
	} else {
		gave("report", a)
		render(t, "report", a.WriteMarkdown)
		render(t, "profile", a.WriteProfile)
	}
	if c, err := triage.Compare(ctx, in, in, triage.DefaultTolerancePct); err != nil {
		refused(t, "triage comparison", err)
	} else {
		gave("comparison", c)
	}
	passes, err := layer.Analyze(ctx, tr, layer.Options{})
	if err != nil { // told above
		return results
	}
	if v, err := hostoverhead.Analyze(ctx, []*layer.Analysis{passes, passes}, hostoverhead.Options{}); err != nil {
		refused(t, "host verdict", err)
	} else {
		gave("host verdict", v)
		render(t, "host verdict", v.WriteText)
	}
	if r, err := host.Detect(ctx, tr, host.Options{}); err != nil {
		refused(t, "published verdict", err)
	} else {
		gave("published verdict", r)
		render(t, "published verdict", r.WriteText)
	}
	if r, err := hostoverhead.Breakdown(ctx, passes); err != nil {
		refused(t, "breakdown", err)
	} else {
		gave("breakdown", r)
	}
	if c, err := hostoverhead.Compare(ctx, passes, passes); err != nil {
		refused(t, "comparison", err)
	} else {
		gave("host comparison", c)
	}
	return results
}

// checkLayers renders an analysis and checks that its parts fit the whole.
func checkLayers(t testing.TB, an *layer.Analysis) {
	t.Helper()
	for i := range an.Devices {
		checkDevice(t, &an.Devices[i])
	}
}

func checkDevice(t testing.TB, a *layer.Device) {
	t.Helper()
	for k := range a.Kernels() {
		if at := k.Place(); at.Pass >= len(a.Passes) || at.Pass < layer.None {
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
			refused(t, "timeline", err)
		} else if _, err := json.Marshal(tl); err != nil {
			t.Errorf("timeline as JSON: %v", err)
		}
		var before *view.Detail
		for _, l := range pass.Layers[:min(3, len(pass.Layers))] {
			d, err := view.NewDetail(a, p, l.Index)
			if err != nil {
				refused(t, "detail", err)
				continue
			}
			render(t, "detail", d.WriteJSON)
			render(t, "detail", d.WriteText)
			if before != nil {
				render(t, "diff", view.DiffOf(before, d).WriteText)
			}
			before = d
		}
		if m, err := perfetto.NewMap(a, p, nil, perfetto.Link{}); err != nil {
			refused(t, "map", err)
		} else {
			render(t, "map", m.WriteText)
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

// copies writes an annotated copy and a slice of the trace whose bytes are
// given, and reads both again: they hold the activities they promise, and are
// JSON where the original is.
func copies(t testing.TB, tr *trace.Trace, text []byte) {
	t.Helper()
	ctx, dir := context.Background(), t.TempDir()
	src, dst := filepath.Join(dir, "src.json"), filepath.Join(dir, "dst.json")
	if err := os.WriteFile(src, text, 0o600); err != nil {
		t.Fatal(err)
	}
	again := func(what string, activities int) {
		t.Helper()
		got, err := os.ReadFile(dst)
		if err != nil {
			t.Fatal(err)
		}
		if json.Valid(text) && !json.Valid(got) {
			t.Errorf("%s of valid JSON is none: %.300q", what, got)
		}
		cp, err := trace.Open(ctx, dst, trace.Options{})
		if err != nil {
			t.Errorf("%s cannot be read: %v", what, err)
		} else if n := cp.LaneLen(trace.LaneGPU); n < activities {
			t.Errorf("%s has %d activities, want %d", what, n, activities)
		}
	}
	tracks := []perfetto.Track{{Name: "one", Spans: []perfetto.Span{{Name: "a\"b\x00", Start: 0, End: trace.Time(time.Millisecond)}}}}
	if err := perfetto.Annotate(ctx, tr, src, dst, tracks); err != nil {
		refused(t, "annotate", err)
	} else {
		again("the annotated copy", tr.LaneLen(trace.LaneGPU))
	}
	var keep []trace.EventID
	for i := range min(tr.LaneLen(trace.LaneGPU), 20) {
		keep = append(keep, tr.LaneAt(trace.LaneGPU, i).ID())
	}
	redact := perfetto.SliceOptions{Redact: perfetto.Redaction{Paths: true, Names: true, Shapes: true}}
	for _, o := range []perfetto.SliceOptions{{}, redact} {
		if _, err := perfetto.Slice(ctx, tr, keep, src, dst, o); err != nil {
			refused(t, "slice", err)
		} else {
			want := len(keep)
			if o == redact && !json.Valid(text) {
				want = 0 // an event that is no JSON cannot be made safe, and is left out
			}
			again("the slice", want)
		}
	}
}

func refused(t testing.TB, what string, err error) {
	t.Helper()
	if err.Error() == "" {
		t.Errorf("%s: an error without words", what)
	}
}

func render(t testing.TB, what string, write func(io.Writer) error) {
	t.Helper()
	if err := write(io.Discard); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// triageInput is what triage works on, of one trace.
func triageInput(t testing.TB, tr *trace.Trace, o layer.Options) triage.Input {
	t.Helper()
	in, err := triage.NewInput(t.Context(), []triage.Source{{Trace: tr, Path: "a.json"}}, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// reportText is a report as its document, "" for none.
func reportText(r *triage.Report) string {
	var b strings.Builder
	if r == nil || r.WriteJSON(&b) != nil {
		return ""
	}
	return b.String()
}
