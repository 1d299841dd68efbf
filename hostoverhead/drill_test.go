package hostoverhead_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/trace"
)

// causes sums a hand-made timeline's ledger by cause, in µs.
func causes(tb testing.TB, tr *trace.Trace) map[hostoverhead.Cause]int64 {
	tb.Helper()
	ledgers, err := hostoverhead.Ledger(context.Background(), tr)
	if err != nil {
		tb.Fatal(err)
	}
	out := map[hostoverhead.Cause]int64{}
	for _, c := range ledgers[0].Causes {
		out[c.Cause] = c.TotalNS / 1000
	}
	return out
}

// TestEveryPieceOfAGapHasItsCause lays out one gap by hand: the first kernel
// ends at 100, the second starts at 1000.
func TestEveryPieceOfAGapHasItsCause(t *testing.T) {
	tl := newTimeline()
	tl.add(trace.KindRuntime, "cudaLaunchKernel", 0, 1, 0, 5)
	tl.add(trace.KindKernel, "a", 0, 1, 10, 100)
	tl.add(trace.KindRuntime, "cudaStreamSynchronize", 0, 0, 5, 150) // 100–150 blocking
	tl.add(trace.KindOverhead, "Buffer flush (Profiler)", 0, 0, 150, 200)
	tl.add(trace.KindRange, "_update_requests", 0, 0, 200, 400) // host prep
	tl.add(trace.KindRange, "broadcast_requests", 0, 0, 400, 500)
	tl.add(trace.KindMemcpy, "Memcpy HtoD", 0, 0, 500, 600)
	// 600–800: nothing recorded
	tl.add(trace.KindRuntime, "cudaGraphLaunch", 0, 2, 800, 960)
	tl.add(trace.KindKernel, "b", 0, 2, 1000, 1100)
	tl.add(trace.KindKernel, "c", 0, 2, 1101, 1200)
	want := map[hostoverhead.Cause]int64{
		hostoverhead.CauseBlockingCall: 50, hostoverhead.CauseProfiler: 50, hostoverhead.CauseHostPrep: 200, hostoverhead.CauseCollectiveWait: 100,
		hostoverhead.CauseTransfer: 100, hostoverhead.CauseUnknown: 200, hostoverhead.CauseGraphLaunch: 160, hostoverhead.CauseLaunchLatency: 41,
	}
	got := causes(t, tl.b.Finish())
	for c, us := range want {
		if got[c] != us {
			t.Errorf("%s: %d µs, want %d", c, got[c], us)
		}
	}
	if len(got) != len(want) {
		t.Errorf("causes %v, want %v", got, want)
	}
}

func drill(tb testing.TB, tr *trace.Trace) *hostoverhead.DrillDown {
	tb.Helper()
	d, err := hostoverhead.Drill(context.Background(), analyzed(tb, tr))
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func TestGapsAndCoverage(t *testing.T) {
	d := drill(t, generate(t, nsysgen.Default(1))).Devices[0]
	var n int
	var total int64
	for _, b := range d.Gaps {
		n += b.Count
		total += b.TotalNS
	}
	if total != d.Ledger.IdleNS || n == 0 {
		t.Errorf("device gaps add up to %d ns in %d gaps, want the idle time %d", total, n, d.Ledger.IdleNS)
	}
	for i, g := range d.TopGaps {
		var sum int64
		for _, c := range g.Causes {
			sum += c.TotalNS
		}
		if sum != g.NS || g.Before == "" || g.After == "" {
			t.Errorf("gap %d of %d ns: causes add up to %d, between %q and %q", i, g.NS, sum, g.Before, g.After)
		}
	}
	// 54 generation steps of 60 replay a graph.
	if c := d.Coverage; c.Replayed != 54*56 || c.Eager != 6*56 || c.Unknown != 0 || !c.EagerKernels[0].Suspect {
		t.Errorf("coverage %d replayed, %d eager, %d unknown", c.Replayed, c.Eager, c.Unknown)
	}
}

func TestPatternIsTheLayer(t *testing.T) {
	cfg := nsysgen.Default(1)
	cfg.Layers = 24
	p := drill(t, generate(t, cfg)).Devices[0].Pattern
	if p == nil || len(p.Kernels) != 7 || p.Repetitions < 20 {
		t.Fatalf("pattern %+v, want 7 kernels repeated at least 20 times", p)
	}
	var gap float64
	for _, g := range p.Groups {
		gap += g.TotalGapUS
	}
	if gap <= 0 {
		t.Errorf("no gap time in the pattern's groups: %+v", p.Groups)
	}
}

// collectives makes the trace of one rank: 40 all-reduces that all ranks end
// together, this one arriving late by some µs, on a clock of its own.
func collectives(late func(i int) int64, clock int64) *trace.Trace {
	b := trace.NewBuilder()
	for i := range 40 {
		end := clock + int64(i)*1_000_000 + 500_000
		b.Add(trace.EventData{Kind: trace.KindKernel, Name: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(args)", Start: end - 200_000 + 1000*late(i), Duration: 200_000 - 1000*late(i), Stream: 7})
	}
	return b.Finish()
}

func TestStragglerNeedsNoCommonClock(t *testing.T) {
	never := func(int) int64 { return 0 }
	mostly := func(i int) int64 {
		if i%10 == 0 {
			return 0
		}
		return 50
	}
	find := func(traces ...*trace.Trace) *hostoverhead.Stragglers {
		s, err := hostoverhead.FindStragglers(context.Background(), traces)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := find(collectives(never, 0), collectives(mostly, 1<<50), collectives(never, 77))
	if s == nil || s.Straggler != "rank 1" || s.Collectives != 40 || s.Ranks[0].WaitNS != 36*50_000 {
		t.Fatalf("stragglers %+v, want rank 1, 36 of 40 times", s)
	}
	half := func(i int) int64 { return int64(i%2) * 50 }
	if s := find(collectives(never, 0), collectives(half, 0)); s.Straggler != "" {
		t.Errorf("straggler %q, last in half of the collectives only", s.Straggler)
	}
	if s := find(collectives(never, 0)); s != nil {
		t.Errorf("stragglers of one rank: %+v", s)
	}
}

func TestDrillStopsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := hostoverhead.Drill(ctx, analyzed(t, generate(t, nsysgen.Default(1)))); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want context.Canceled", err)
	}
}

// TestReportsSayWhatWasUsed looks for the parts of the text that users rely on.
func TestReportsSayWhatWasUsed(t *testing.T) {
	tr := generate(t, nsysgen.Default(1))
	limits := hostoverhead.DefaultThresholds()
	limits.GPUIdle = 0.37
	v := detect(t, tr, hostoverhead.WithThresholds(limits, limits, hostoverhead.DefaultGenerationThresholds()))
	c := compare(t, tr, generate(t, nsysgen.Default(2).With(nsysgen.Op{Name: "broadcast_requests", Mean: 250 * time.Microsecond})))
	for _, r := range []struct {
		name  string
		write func(*bytes.Buffer) error
		want  []string
	}{
		{"verdict", func(b *bytes.Buffer) error { return v.WriteText(b) }, []string{"HOST OVERHEAD VERDICT: YES", "> 0.37", "> 0.15", "applicable", "Interpretation:", "Next steps:"}},
		{"comparison", func(b *bytes.Buffer) error { return c.WriteText(b) }, []string{"CONCLUSION: inter-step host overhead", "broadcast_requests", "NEW", "Top regressions:"}},
		{"drill-down", func(b *bytes.Buffer) error { return drill(t, tr).WriteText(b) }, []string{"Gap ledger, device 0", "host-prep", "CUDA graph coverage", "Longest gaps", "Stragglers:"}},
		{"breakdown", func(b *bytes.Buffer) error { return c.Baseline.WriteText(b) }, []string{"steady steps", "inter-step gap µs (p50)", "_update_requests"}},
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
