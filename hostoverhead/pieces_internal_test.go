package hostoverhead

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/hostoverhead/replay"
	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestPiecesOfIdleTime: two steps of 100 ns, a pause of 20 ns in the second one, and pieces of idle time in them. Each
// sum can be added up from the list.
func TestPiecesOfIdleTime(t *testing.T) {
	a, ids := named("launch", "wait", "drain")
	a.names, a.drains = map[nameKey]*nameSum{}, map[trace.NameID]*nameSum{}
	a.d = &deviceWork{path: []uint8{pathEager, pathGraph, pathUnknown}}
	span := func(start, end int64) interval.Span { return interval.Span{Start: start, End: end} }
	a.steps = []stepAccount{{step: &hostStep{}, span: span(10, 110)}, {step: &hostStep{}, span: span(110, 210)}}
	a.pauses = []interval.Span{span(150, 170)}
	a.l.w.captures = []interval.Span{span(100, 120)}
	a.top = []gapAccount{{span: span(40, 42)}, {span: span(140, 180)}}
	for _, p := range []idlePiece{
		{span: span(0, 5), cause: finding.LaunchCall, api: ids["launch"], gap: &gap{bucket: 0}}, // before the steps
		{span: span(5, 30), cause: finding.LaunchCall, api: ids["launch"], gap: &gap{bucket: 1}},
		{span: span(40, 41), cause: finding.GraphLaunch, api: ids["launch"], gap: &gap{next: 1, bucket: none}},
		{span: span(41, 42), cause: finding.GPUDispatch, detail: detailQueued, gap: &gap{next: 1, bucket: none}},
		{span: span(100, 130), cause: finding.Synchronisation, api: ids["wait"], gap: &gap{bucket: 1}},
		{span: span(140, 180), cause: finding.HostCode, detail: detailUnnamed, drain: ids["drain"],
			gap: &gap{next: 2, bucket: 1}},
	} {
		a.add(&p)
	}
	equal(t, "by length", fmt.Sprint(a.byGap[0].total(), a.byGap[1].total()), "5 95")
	sum := func(s *nameSum) string { return fmt.Sprint(s.ns, s.steps, s.count) }
	got := map[string]string{}
	for k, s := range a.names {
		got[k.cause.String()+": "+a.nameOf(k)] = sum(s)
	}
	equal(t, "by name", got, map[string]string{"launch-call: launch": "30 20 2", "graph-launch: launch": "1 1 1",
		"gpu-dispatch: gap between queued kernels": "1 1 1", "synchronisation: wait": "30 30 1",
		"host-code: unattributed host time": "40 20 1"})
	equal(t, "after a drain", sum(a.drains[ids["drain"]]), "40 20 1")
	equal(t, "while graphs are captured", a.record, 20)
	for i, want := range []string{"32 20 1 20", "40 0 0 0"} {
		s := &a.steps[i]
		equal(t, fmt.Sprint("step ", i), fmt.Sprint(s.idle.total(), s.paths[pathEager].exposed, s.paths[pathGraph].exposed,
			s.idle[finding.LaunchCall]), want)
	}
	for i, want := range []string{"1 [1 1]", "2 [40]"} {
		g, list := &a.top[i], []int64{}
		for _, n := range g.names {
			list = append(list, n.ns)
		}
		equal(t, fmt.Sprint("gap ", i), fmt.Sprint(g.next, " ", list), want)
	}
}

// TestModelThatHasMostTime: the steps of the model with most of some time, the first of equals; the window has none.
func TestModelThatHasMostTime(t *testing.T) {
	one := layer.Analysis{Devices: []layer.Device{{Passes: make([]layer.ForwardPass, 3)}}}
	a := &account{d: &deviceWork{layers: &one.Devices[0]}}
	a.steps = []stepAccount{hostly(0), hostly(2), hostly(1)}
	if got := a.mean(); got != (StepMean{HostNS: 1, WallNS: 100}) {
		t.Errorf("three steps: %+v", got)
	}
	a.steps = a.steps[2:]
	if got := a.mean(); got != (StepMean{HostNS: 1, WallNS: 100}) {
		t.Errorf("one step: %+v", got)
	}
	a.steps = []stepAccount{{timeSum: timeSum{wall: 100}}}
	if got := a.mean(); got != (StepMean{}) {
		t.Errorf("the window: %+v", got)
	}
	if steps, model := a.mostly(func(s *timeSum) int64 { return s.wall }); len(steps) != 1 || model != "" {
		t.Errorf("the window: %d steps of %q", len(steps), model)
	}
}

// TestEditsOfFindings: named causes of the host and drains that take 2% of the steps, and graphs where launch calls do.
func TestEditsOfFindings(t *testing.T) {
	row := func(c finding.Cause, name string, ns int64) IdleCause {
		return IdleCause{Cause: c, StepsNS: ns, Names: []IdleName{{Name: name, StepsNS: ns}}}
	}
	for _, c := range []struct {
		idle  []IdleCause
		drain int64
		want  string
	}{
		{[]IdleCause{row(finding.HostCode, "f", 20), row(finding.Lock, "g", 19), row(finding.GIL, "", 30),
			row(finding.HostCode, "aten::mm", 30)}, 0, "0 f host-code"},
		{[]IdleCause{row(finding.Synchronisation, "wait", 20), row(finding.BlockingCopy, "copy", 20),
			row(finding.NoRequests, "none", 99)}, 19, "1 wait synchronisation, 1 copy blocking-copy"},
		{[]IdleCause{row(finding.LaunchCall, "launch", 20)}, 20, "2  host-code, 3  launch-call"},
		{[]IdleCause{row(finding.LaunchCall, "launch", 19)}, 0, ""},
	} {
		r := RankVerdict{Headroom: Headroom{WallNS: 1000}, Idle: c.idle}
		if c.drain > 0 {
			r.Drains = []IdleName{{StepsNS: c.drain}}
		}
		kinds := map[replay.Kind]int{replay.Cause: 0, replay.Sync: 1, replay.Overlap: 2, replay.Graphs: 3}
		var got []string
		for _, s := range r.suggestions() {
			got = append(got, fmt.Sprintf("%d %s %s", kinds[s.Kind], s.Name, s.cause))
			if f := (finding.Finding{Kind: finding.IdleTime, Cause: s.cause}); !s.about(f) {
				t.Errorf("%s is not about its cause", got[len(got)-1])
			}
			for _, f := range []finding.Finding{{Kind: finding.Doubt, Cause: s.cause},
				{Kind: finding.IdleTime, Cause: finding.Profiler}} {
				if s.about(f) {
					t.Errorf("%s is about %s %s", got[len(got)-1], f.Kind, f.Cause)
				}
			}
		}
		equal(t, fmt.Sprintf("%+v", c.idle), strings.Join(got, ", "), c.want)
	}
	if r := (&RankVerdict{Headroom: Headroom{WallNS: 1000}}); len(r.Edits()) != 0 {
		t.Errorf("no idle time: %v", r.Edits())
	}
}

// TestVerdictOfManyRanks: up to sixteen keep everything, of seventeen the deciding one does: the first of those
// with the largest share; the health is the worst one.
func TestVerdictOfManyRanks(t *testing.T) {
	for n, kept := range map[int]int{2: 2, 16: 16, 17: 1} {
		var list []*Verdict
		for i := range n {
			share := int64(5)
			if i > 0 {
				share = 9
			}
			list = append(list, &Verdict{Headroom: Headroom{WallNS: 100, HostNS: share}, Health: trace.HealthOK,
				Ranks: []RankVerdict{{Rank: fmt.Sprint(i), Top: make([]Gap, 1), Kernels: 7}}})
		}
		list[0].Health = trace.HealthDegraded
		v, full, kernels := Join(list, nil), 0, 0
		for i := range v.Ranks {
			full, kernels = full+len(v.Ranks[i].Top), kernels+v.Ranks[i].Kernels
		}
		if full != kept || kernels != 7*n || v.Deciding != 1 || v.Ranks[n-1].File != n-1 ||
			v.Health != trace.HealthDegraded || len(v.Ranks[1].Top) != 1 {
			t.Errorf("%d ranks: %d keep their gaps, %d decides, files up to %d, health %s", n, full, v.Deciding,
				v.Ranks[n-1].File, v.Health)
		}
	}
}

// TestTimeThatIsNotRecorded: a nanosecond of it is said.
func TestTimeThatIsNotRecorded(t *testing.T) {
	for lost, want := range map[int64]string{0: "idle 30 ns", 1: "idle 30 ns, not recorded 1 ns (1.0%)"} {
		v := Verdict{Headroom: Headroom{WallNS: 100, BusyNS: 70 - lost, IdleNS: 30, LostNS: lost}}
		if _, text := rowsOf(t, func(b *table.Writer) { v.writeIdle(b, &RankVerdict{}) }, ""); !strings.Contains(text,
			want+"\n") {
			t.Errorf("%d ns: no %q in\n%s", lost, want, text)
		}
	}
}

// TestRecordingOfOneGPU: of two GPUs the events of one and of the threads that work for it, up to the end of the
// context, which is looked at once in some thousand events.
func TestRecordingOfOneGPU(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	for i := range int64(12) {
		d := i % 3 / 2 // the second GPU has a third
		b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: 10 * i, Duration: 2, Process: 1,
			Thread: 7 + d, Correlation: uint64(i + 1)})
		b.Add(trace.EventData{Kind: event.Kernel, Name: "gemm", Start: 10*i + 5, Duration: 3, Device: trace.DeviceID(d),
			Correlation: uint64(i + 1)})
	}
	all, err := layer.Analyze(t.Context(), built.Trace(b), layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	both := all.Devices
	for i, want := range []string{"8 8 of 1", "4 4 of 1", "12 12 of 2"} {
		if all.Devices = both; i < 2 {
			all.Devices = both[i : i+1]
		}
		w, err := newRecording(t.Context(), all)
		if err != nil {
			t.Fatal(err)
		}
		count := func(lane event.Lane) (n int) {
			for range w.events(lane) {
				n++
			}
			return n
		}
		equal(t, fmt.Sprint("GPU ", i), fmt.Sprintf("%d %d of %d", count(event.LaneGPU), count(event.LaneLaunch), w.ranks()),
			want)
		w.ended = func() error { return errors.New("ended") }
		if n := count(event.LaneGPU); n != 0 {
			t.Errorf("after the end of the context %d events", n)
		}
	}
	all.Devices = both
	b = trace.NewBuilder(trace.Options{})
	for i := range int64(2 * lookEvery) {
		b.Add(trace.EventData{Kind: event.Kernel, Name: "gemm", Start: 10 * i, Duration: 3})
	}
	looks, n := 0, 0
	w := &recording{t: built.Trace(b), layers: all, ended: func() error {
		if looks++; looks > 1 {
			return errors.New("ended")
		}
		return nil
	}}
	for range w.events(event.LaneGPU) {
		n++
	}
	if n != lookEvery {
		t.Errorf("%d events before the second look, want %d", n, lookEvery)
	}
}

// TestRunsWithoutSteps: what is known of a trace of all-reduces alone, a millisecond and more apart.
func TestRunsWithoutSteps(t *testing.T) {
	const none, short = "no all-reduce kernels: iterations are the step ranges",
		"no benchmark phase: no run of 5 iterations where half have 1 all-reduces"
	for _, c := range []struct {
		reduces, gpus int
		options       BreakdownOptions
		want          string
		note          string
	}{
		{0, 1, BreakdownOptions{}, "baseline 0 of 0, 0 measured, 1 ranks, size 0, at most -1", none},
		{1, 1, BreakdownOptions{}, "baseline 1 of 1, 0 measured, 1 ranks, size 0, at most -1", short},
		{5, 1, BreakdownOptions{TPSizes: [2]int{4, 8}}, "baseline 5 of 1, 5 measured, 1 ranks, size 4, at most -1", ""},
		{5, 2, BreakdownOptions{}, "baseline 5 of 1, 5 measured, 2 ranks, size 2, at most -1", ""},
		{5, 2, BreakdownOptions{Ranks: 1}, "baseline 5 of 1, 5 measured, 1 ranks, size 1, at most -1", ""},
		{5, 2, BreakdownOptions{Ranks: 3, TPSizes: [2]int{4, 8}, Labels: [2]string{"old", "new"}},
			"old 5 of 1, 5 measured, 3 ranks, size 3, at most -1", ""},
		{5, 2, BreakdownOptions{Ranks: -1, TPSizes: [2]int{-4, 8}},
			"baseline 5 of 1, 5 measured, 2 ranks, size 2, at most -1", ""},
	} {
		b := trace.NewBuilder(trace.Options{})
		for g := range c.gpus {
			b.Add(trace.EventData{Kind: event.Kernel, Name: "gemm", Start: 0, Duration: 500, Device: trace.DeviceID(g)})
		}
		for i := range int64(c.reduces) {
			b.Add(trace.EventData{Kind: event.Kernel, Name: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
				Start: 1000 + i*2_000_000, Duration: 500})
		}
		a, err := layer.Analyze(t.Context(), built.Trace(b), layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range a.Devices {
			a.Devices[i].Passes = nil
		}
		r, err := Breakdown(t.Context(), a, c.options)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"no steps recognised: figures per step are unknown"}
		if c.note != "" {
			want = append([]string{c.note}, want...)
		}
		equal(t, fmt.Sprintf("%d all-reduces, %+v", c.reduces, c.options), fmt.Sprintf(
			"%s %d of %d, %d measured, %d ranks, size %d, at most %d", r.Label, r.Iterations, r.CommonSize, r.BenchIters,
			r.Ranks, r.TPSize, r.MaxGeneration), c.want)
		equal(t, "notes", r.Notes, want)
	}
}

// TestHostIdleOfARank: all idle time of the host, and the name with most of it, the first of equals.
func TestHostIdleOfARank(t *testing.T) {
	r := RankVerdict{Idle: []IdleCause{{NS: 90, Names: []IdleName{{Name: "GPU", NS: 90}}},
		{Host: true, NS: 9, Names: []IdleName{{Name: "a", NS: 1}, {Name: "b", NS: 4}, {Name: "c", NS: 4}}},
		{Host: true, NS: 4, Names: []IdleName{{Name: "d", NS: 4}}}}}
	if ns, name := r.hostIdle(); ns != 13 || name != "b" {
		t.Errorf("%d ns, most in %q; want 13, b", ns, name)
	}
	r.Idle[1].Names, r.Idle[2].Names = r.Idle[1].Names[:1], nil
	if _, name := r.hostIdle(); name != "a" {
		t.Errorf("a nanosecond is of %q", name)
	}
}
