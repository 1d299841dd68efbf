package hostoverhead_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/hosttest"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestEveryPieceOfAGapHasItsCause lays out one gap by hand: the first kernel
// ends at 100, the second starts at 3000.
func TestEveryPieceOfAGapHasItsCause(t *testing.T) {
	tl := hosttest.NewTimeline()
	tl.Event(event.Runtime, "cudaLaunchKernel", 0, 1, 0, 5)
	tl.Event(event.Kernel, "a", 0, 1, 10, 100)
	tl.Event(event.Runtime, "cudaMalloc", 0, 0, 100, 150)
	tl.Event(event.Overhead, "Buffer flush (Profiler)", 0, 0, 150, 200)
	tl.Event(event.Range, "_update_requests", 0, 0, 200, 400)
	tl.Event(event.Range, "broadcast_requests", 0, 0, 400, 500)
	tl.Event(event.Memcpy, "Memcpy HtoD", 0, 0, 500, 600)
	// 600–800 and 810–2800: nothing recorded, within what a thread that makes calls may do by itself, and beyond.
	tl.Event(event.Runtime, "cudaGetDevice", 0, 0, 800, 810)
	tl.Event(event.Runtime, "cudaGraphLaunch", 0, 2, 2800, 2960)
	tl.Event(event.Kernel, "b", 0, 2, 3000, 3100)
	tl.Event(event.Kernel, "c", 0, 2, 3101, 3200)
	want := map[finding.Cause]int64{
		finding.Allocation: 50, finding.Profiler: 50, finding.HostCode: 400, finding.OtherRanks: 100,
		finding.Transfer: 100, finding.UnknownCause: 1990, finding.LaunchCall: 10, finding.GraphLaunch: 200,
		finding.GPUDispatch: 1,
	}
	v := judged(t, tl.Finish())
	got := causesOf(v)
	for c, us := range want {
		if got[c] != us {
			t.Errorf("%s: %d µs, want %d", c, got[c], us)
		}
	}
	if len(got) != len(want) {
		t.Errorf("causes %v, want %v", got, want)
	}
	if d := decider(v).Drains; len(d) > 0 {
		t.Errorf("no call emptied the queue, but %+v", d)
	}
}

// TestDrainIsBookedOnItsCall: a synchronisation that waited 400 µs empties the queue in the middle of a step. Had it
// not been there, the host would have been 400 µs ahead, so that much of the code after it is its doing, and no
// more.
func TestDrainIsBookedOnItsCall(t *testing.T) {
	for _, c := range []struct {
		call       string
		cause      finding.Cause
		begin      int64 // of the call; the device is done at 500
		wait, code int64 // µs of the gap of 620 on the call, and on host code and the launch
	}{
		{"cudaStreamSynchronize", finding.Synchronisation, 100, 410, 210},
		{"cudaMemcpy", finding.BlockingCopy, 300, 210, 410},
		// began when the queue was empty: it emptied nothing
		{"cudaDeviceSynchronize", finding.Synchronisation, 500, 10, 610},
	} {
		tl := hosttest.NewTimeline()
		tl.Event(event.Runtime, "cudaLaunchKernel", 0, 1, 0, 5)
		tl.Event(event.Kernel, "a", 0, 1, 10, 500)
		tl.Event(event.Runtime, c.call, 0, 0, c.begin, 510)
		tl.Event(event.Range, "python", 0, 0, 510, 1110)
		tl.Event(event.Runtime, "cudaLaunchKernel", 0, 2, 1110, 1115)
		tl.Event(event.Kernel, "b", 0, 2, 1120, 1200)
		got := causesOf(judged(t, tl.Finish()))
		if code := got[finding.HostCode] + got[finding.LaunchCall]; got[c.cause] != c.wait || code != c.code {
			t.Errorf("%s from %d: %v, want %d µs on it and %d on host code", c.call, c.begin, got, c.wait, c.code)
		}
	}
}

// TestDrainIsOfItsGap: a call that emptied the queue before one gap says nothing about the next one.
func TestDrainIsOfItsGap(t *testing.T) {
	tl := hosttest.NewTimeline()
	tl.Event(event.Runtime, "cudaLaunchKernel", 0, 1, 0, 5)
	tl.Event(event.Kernel, "a", 0, 1, 10, 100)
	tl.Event(event.Runtime, "cudaStreamSynchronize", 0, 0, 50, 150)
	tl.Event(event.Range, "python", 0, 0, 150, 250)
	tl.Event(event.Runtime, "cudaLaunchKernel", 0, 2, 250, 255)
	tl.Event(event.Kernel, "b", 0, 2, 260, 300)
	tl.Event(event.Range, "python", 0, 0, 300, 500)
	tl.Event(event.Runtime, "cudaLaunchKernel", 0, 3, 500, 505)
	tl.Event(event.Kernel, "c", 0, 3, 510, 600)
	got := causesOf(judged(t, tl.Finish()))
	if got[finding.Synchronisation] != 100 || got[finding.HostCode] != 250 || got[finding.LaunchCall] != 20 {
		t.Errorf("%v, want 100 µs of the call, 250 of host code and 20 of launches", got)
	}
}

// TestIdleDeviceIsNotHiddenBehindABusyOne: two devices work in turns, each
// half of the time.
func TestIdleDeviceIsNotHiddenBehindABusyOne(t *testing.T) {
	tl := hosttest.NewTimeline()
	for i := range int64(200) {
		dev := trace.DeviceID(i % 2)
		tl.Event(event.Runtime, "cudaLaunchKernel", dev, int(i)+1, i*100+1, i*100+2)
		tl.Event(event.Kernel, "gemm", dev, int(i)+1, i*100+5, i*100+105)
	}
	v := judged(t, tl.Finish())
	if v.Verdict != hostoverhead.Yes || v.Headroom.Share < 0.45 || len(v.Ranks) != 2 {
		t.Errorf("%s, host share %v, %d devices; want YES, nearly half, 2", v.Verdict, v.Headroom.Share, len(v.Ranks))
	}
}

// TestGPUsAreListedByNumber: of three the second in the trace works most and the last is the first that works.
func TestGPUsAreListedByNumber(t *testing.T) {
	tl := hosttest.NewTimeline()
	for i, dev := range []trace.DeviceID{2, 0, 1} {
		tl.Event(event.Runtime, "cudaLaunchKernel", dev, i+1, int64(i), int64(i)+1)
		tl.Event(event.Kernel, "gemm", dev, i+1, 10, []int64{40, 100, 20}[i])
	}
	var got []trace.DeviceID
	for _, r := range judged(t, tl.Finish()).Ranks {
		got = append(got, r.Device)
	}
	if want := []trace.DeviceID{0, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("GPUs %v, want %v", got, want)
	}
}

// TestExchangesOfAllLibrariesCount: waiting for other GPUs looks like work, whoever wrote the kernel that waits.
func TestExchangesOfAllLibrariesCount(t *testing.T) {
	for _, name := range []string{
		"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(args)",
		"void deep_ep::internode_ll::dispatch<true, 3, 10, 7168>(void*)",
		"void sglang::cross_device_reduce_1stage<__nv_bfloat16, 8>(RankData*)",
	} {
		tl := hosttest.NewTimeline()
		for i := range int64(100) {
			tl.Event(event.Runtime, "cudaLaunchKernel", 0, int(2*i)+1, i*100+1, i*100+2)
			tl.Event(event.Kernel, "gemm", 0, int(2*i)+1, i*100+5, i*100+55)
			tl.Event(event.Kernel, name, 0, int(2*i)+2, i*100+55, i*100+105)
		}
		v := judged(t, tl.Finish())
		if got := decider(v).Exchange; got < 0.49 || got > 0.51 || doubt(v, "busy-with-communication") == nil {
			t.Errorf("%s: %.3f of the busy time, doubts %v; want half, and a doubt that says so", name, got, v.Doubts)
		}
	}
}

// TestWholeGraphReplaysAreBusy: with nsys' default, kernels in graphs are not recorded; counting kernels alone would
// call the device idle, and a few replays too little work.
func TestWholeGraphReplaysAreBusy(t *testing.T) {
	cfg := nsysgen.Default(1)
	cfg.ContextEvery = 20
	node := judged(t, hosttest.Generate(t, cfg)).Headroom
	cfg.Graphs = nsysgen.GraphWhole
	v := judged(t, hosttest.Generate(t, cfg))
	share := func(h hostoverhead.Headroom) float64 { return float64(h.IdleNS) / float64(h.WallNS) }
	if whole := share(v.Headroom); whole > share(node) || share(node)-whole > 0.05 {
		t.Errorf("idle %.4f with whole replays, %.4f with their kernels", whole, share(node))
	}
	if doubt(v, "graph-kernels-hidden") == nil || v.Confidence == finding.High {
		t.Errorf("no doubt about hidden kernels: %v, %s", v.Doubts, v.Confidence)
	}
	tl := hosttest.NewTimeline()
	for i := range int64(90) { // 90 replays of 20 ms: 1.80 s of work
		at := i * 20_100
		tl.Event(event.Runtime, "cudaGraphLaunch", 0, int(i)+1, at, at+50)
		tl.Event(event.Graph, "CUDA graph 1", 0, int(i)+1, at+60, at+20_060)
	}
	if v := judged(t, tl.Finish()); doubt(v, "few-kernels") != nil || v.Verdict != hostoverhead.No {
		t.Errorf("90 whole replays of 20 ms: %s, doubts %v; want NO, and no word of too little work", v.Verdict,
			v.Doubts)
	}
}

func TestMissingEvidenceIsTold(t *testing.T) {
	cfg := nsysgen.Default(1)
	cfg.SkipNVTX = true
	v := judged(t, hosttest.Generate(t, cfg))
	if doubt(v, "host-work-unnamed") == nil && v.Verdict == hostoverhead.Yes {
		t.Errorf("nothing names the host's work, but no doubt says so: %v", v.Doubts)
	}
	tl := hosttest.NewTimeline()
	for i := range int64(100) {
		tl.Event(event.Kernel, "gemm", 0, 0, i*100, i*100+50)
	}
	if v = judged(t, tl.Finish()); v.Verdict != hostoverhead.Inconclusive || doubt(v, "no-launch-calls") == nil {
		t.Errorf("kernels alone: %s, doubts %v; want INCONCLUSIVE", v.Verdict, v.Doubts)
	}
}

func TestNoKernels(t *testing.T) {
	tl := hosttest.NewTimeline()
	tl.Event(event.Range, "step", 0, 0, 0, 10)
	tl.Event(event.Memcpy, "Memcpy HtoD", 0, 0, 3, 5)
	tr := tl.Finish()
	a := analyzed(t, tr)
	for name, f := range map[string]func() error{
		"Analyze": func() error {
			_, err := hostoverhead.Analyze(t.Context(), []*layer.Analysis{a, a}, hostoverhead.Options{})
			return err
		},
		"nothing": func() error {
			_, err := hostoverhead.Analyze(t.Context(), nil,
				hostoverhead.Options{})
			return err
		},
		"Breakdown": func() error {
			_, err := hostoverhead.Breakdown(t.Context(), a, hostoverhead.BreakdownOptions{})
			return err
		},
		"Compare": func() error {
			_, err := hostoverhead.Compare(t.Context(), a, a, hostoverhead.BreakdownOptions{})
			return err
		},
	} {
		if err := f(); !errors.Is(err, layer.ErrNoKernels) {
			t.Errorf("%s: %v, want ErrNoKernels", name, err)
		}
	}
}

// TestStagesThatTakeTurns: a context step between generation steps must not
// take over their windows, as it does in the published detector.
func TestStagesThatTakeTurns(t *testing.T) {
	tl := hosttest.NewTimeline()
	at := int64(0)
	for i := range 60 {
		step, busy := int64(1000), int64(950) // generation: busy
		name := "step[DECODE bs=8]"
		if i%3 == 0 {
			name, busy = "step[EXTEND bs=1 toks=99]", 100 // context: idle
		}
		tl.Event(event.Annotation, name, 0, 0, at, at+step)
		tl.Event(event.Runtime, "cudaLaunchKernel", 0, i+1, at+1, at+2)
		tl.Event(event.Kernel, "gemm", 0, i+1, at+10, at+10+busy)
		at += step
	}
	v := judged(t, tl.Finish())
	d, p := stage(v, layer.StageDecode), stage(v, layer.StagePrefill)
	if d == nil || p == nil || d.Steps != 40 || p.Steps != 20 {
		t.Fatalf("stages %+v, want 40 decode and 20 prefill steps", decider(v).Stages)
	}
	if v.Verdict != hostoverhead.Yes {
		t.Errorf("verdict %s, want YES: a stage raises it", v.Verdict)
	}
}

// TestVerdictIsInvariant: shifting the clock or renaming processes changes no
// figure.
func TestVerdictIsInvariant(t *testing.T) {
	build := func(shift int64, pid int64) *trace.Trace {
		b := trace.NewBuilder(trace.Options{})
		for i := range int64(150) {
			at := shift + i*int64(100*time.Microsecond)
			b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: at, Duration: 5000,
				Process: pid, Thread: 3, Correlation: uint64(i + 1), Device: trace.None, Stream: trace.None})
			b.Add(trace.EventData{Kind: event.Kernel, Name: "k", Start: at + 9000, Duration: 40000 + i, Process: pid,
				Correlation: uint64(i + 1), Stream: 7})
		}
		return built.Trace(b)
	}
	text := func(tr *trace.Trace) string {
		v := judged(t, tr)
		for i := range v.Ranks {
			for j := range v.Ranks[i].Worst { // on the clock of the file
				v.Ranks[i].Worst[j].VisStart, v.Ranks[i].Worst[j].VisEnd = 0, 0
			}
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	want := text(build(0, 1))
	if got := text(build(1<<60, 77)); got != want {
		t.Errorf("shifted and renamed:\n%s\nwant\n%s", got, want)
	}
}

func TestGapsAndCoverage(t *testing.T) {
	r := decider(judged(t, hosttest.Generate(t, nsysgen.Default(1))))
	var n int
	var total int64
	for _, b := range r.Gaps {
		n += b.Count
		total += b.TotalNS
	}
	if total != r.WindowNS-r.BusyNS || n == 0 {
		t.Errorf("device gaps add up to %d ns in %d gaps, want the idle time %d", total, n, r.WindowNS-r.BusyNS)
	}
	for i, g := range r.Top {
		var sum int64
		for _, c := range g.Causes {
			sum += c.NS
		}
		if sum != g.NS || g.Before == "" || g.After == "" {
			t.Errorf("gap %d of %d ns: causes add up to %d, between %q and %q", i, g.NS, sum, g.Before, g.After)
		}
	}
	// 54 generation steps of 60 replay a graph; context steps launch one by one, by design.
	if p := r.Paths; len(p) != 2 || p[0].Kernels != 54*56 || p[1].Kernels != 6*56 || r.Coverage.EagerKernels[0].Suspect {
		t.Errorf("paths %+v, eager %+v", p, r.Coverage.EagerKernels[0])
	}
}

// collectives makes the trace of one rank: 40 all-reduces that all ranks end
// together, this one arriving late by some µs, on a clock of its own.
func collectives(late func(i int) int64, clock int64) *trace.Trace {
	b := trace.NewBuilder(trace.Options{})
	for i := range 40 {
		end := clock + int64(i)*1_000_000 + 500_000
		b.Add(trace.EventData{Kind: event.Kernel, Name: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(args)",
			Start: end - 200_000 + 1000*late(i), Duration: 200_000 - 1000*late(i), Stream: 7})
	}
	return built.Trace(b)
}

func TestStragglerNeedsNoCommonClock(t *testing.T) {
	never := func(int) int64 { return 0 }
	mostly := func(i int) int64 {
		if i%10 == 0 {
			return 0
		}
		return 50
	}
	find := func(traces ...*trace.Trace) *hostoverhead.Verdict {
		var ranks []*layer.Analysis
		for _, tr := range traces {
			ranks = append(ranks, analyzed(t, tr))
		}
		v, err := hostoverhead.Analyze(t.Context(), ranks,
			hostoverhead.Options{Labels: []string{"rank 0", "rank 1", "rank 2"}})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	v := find(collectives(never, 0), collectives(mostly, 1<<50), collectives(never, 77))
	s := v.Stragglers
	if s == nil || !strings.HasPrefix(s.Straggler, "rank 1") || s.Collectives != 40 || s.Ranks[0].WaitNS != 36*50_000 ||
		len(v.Ranks) != 3 {
		t.Fatalf("stragglers %+v, want rank 1, 36 of 40 times", s)
	}
	half := func(i int) int64 { return int64(i%2) * 50 }
	if s := find(collectives(never, 0), collectives(half, 0)).Stragglers; !strings.HasPrefix(s.Straggler, "rank 1") ||
		s.Tied != 20 {
		t.Errorf("straggler %q, want the one that is last wherever one is", s.Straggler)
	}
	other := func(i int) int64 { return 50 - half(i) }
	if s := find(collectives(other, 0), collectives(half, 0)).Stragglers; s.Straggler != "" {
		t.Errorf("straggler %q, last in half of the collectives only", s.Straggler)
	}
	if s := find(collectives(never, 0)).Stragglers; s != nil {
		t.Errorf("stragglers of one rank: %+v", s)
	}
}

func TestStopsWhenCancelled(t *testing.T) {
	a := analyzed(t, hosttest.Generate(t, nsysgen.Default(1)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := hostoverhead.Analyze(ctx, []*layer.Analysis{a}, hostoverhead.Options{}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("error = %v, want context.Canceled", err)
	}
}

// TestReportsSayWhatWasUsed looks for the parts of the text that users rely on.
func TestReportsSayWhatWasUsed(t *testing.T) {
	tr := hosttest.Generate(t, nsysgen.Default(1))
	v := judged(t, tr)
	c, err := hostoverhead.Compare(t.Context(), analyzed(t, tr),
		analyzed(t, hosttest.Generate(t, nsysgen.Default(2).With(nsysgen.Op{Name: "broadcast_requests",
			Mean: 250 * time.Microsecond}))), hostoverhead.BreakdownOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct {
		name  string
		write func(*bytes.Buffer) error
		want  []string
	}{
		{"verdict", func(b *bytes.Buffer) error { return v.WriteText(b) },
			[]string{"Host bound: YES", "× speedup)", "host work", "Published metrics", "gpu_idle_ratio",
				"Next steps",
				"Gap ledger, device", "Kernels outside of the graphs", "Longest gaps", "worst passes", "visStart"}},
		{"comparison", func(b *bytes.Buffer) error { return c.WriteText(b) },
			[]string{"Conclusion: inter-step host overhead", "broadcast_requests", "NEW", "Top regressions"}},
		{"breakdown", func(b *bytes.Buffer) error { return c.Baseline.WriteText(b) },
			[]string{"steady steps", "inter-step gap µs (p50)", "_update_requests"}},
	} {
		var b bytes.Buffer
		if err := r.write(&b); err != nil {
			t.Fatal(err)
		}
		for _, w := range r.want {
			if !strings.Contains(b.String(), w) {
				t.Errorf("%s does not say %q:\n%s", r.name, w, b.String())
			}
		}
	}
}
