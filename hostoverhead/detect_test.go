package hostoverhead_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/trace"
)

func detect(tb testing.TB, t *trace.Trace, opts ...hostoverhead.Option) *hostoverhead.Verdict {
	tb.Helper()
	v, err := hostoverhead.Detect(context.Background(), analyzed(tb, t), opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func doubt(v *hostoverhead.Verdict, code string) *hostoverhead.Doubt {
	for i := range v.Doubts {
		if v.Doubts[i].Code == code {
			return &v.Doubts[i]
		}
	}
	return nil
}

// timeline builds a trace of kernels, launches and ranges by hand; times in µs.
type timeline struct{ b *trace.Builder }

func newTimeline() timeline { return timeline{trace.NewBuilder()} }

func (t timeline) add(kind trace.Kind, name string, device trace.DeviceID, corr int, start, end int64) {
	t.b.Add(trace.EventData{
		Kind: kind, Name: name, Start: start * 1000, Duration: (end - start) * 1000, Device: device, Stream: 7,
		Process: trace.ProcessRef{ID: 1 + trace.ProcessID(device), Scope: string(rune('a' + device))}, Thread: 1, Correlation: trace.CorrelationID(corr),
	})
}

// TestVersionedNamesAreLaunches: real exports write cudaLaunchKernel_v7000.
func TestVersionedNamesAreLaunches(t *testing.T) {
	cfg := nsysgen.Default(1)
	cfg.Graphs = nsysgen.GraphOff
	for _, suffix := range []bool{true, false} {
		cfg.APISuffix = suffix
		if got := detect(t, generate(t, cfg)).AggregateMetrics.LaunchOverhead; got.Value < 0.1 || got.Value > 0.104 {
			t.Errorf("suffix %v: M2 of one device = %s, want about 0.102", suffix, got)
		}
	}
}

// TestIdleDeviceIsNotHiddenBehindABusyOne: two devices work in turns, each
// half of the time.
func TestIdleDeviceIsNotHiddenBehindABusyOne(t *testing.T) {
	tl := newTimeline()
	for i := range int64(200) {
		dev := trace.DeviceID(i % 2)
		tl.add(trace.KindRuntime, "cudaLaunchKernel", dev, int(i)+1, i*100+1, i*100+2)
		tl.add(trace.KindKernel, "gemm", dev, int(i)+1, i*100+5, i*100+105)
	}
	tr := tl.b.Finish()
	merged := detect(t, tr, hostoverhead.WithMergedDevices())
	if merged.Verdict != hostoverhead.No || merged.AggregateMetrics.GPUIdle.Value != 0 || doubt(merged, "merged-devices") == nil {
		t.Errorf("merged: %s, idle %s, doubts %v", merged.Verdict, merged.AggregateMetrics.GPUIdle, merged.Doubts)
	}
	each := detect(t, tr)
	if each.Verdict != hostoverhead.Yes || each.AggregateMetrics.GPUIdle.Value < 0.49 || len(each.Devices) != 2 || each.MeanMetrics == nil {
		t.Errorf("each: %s, idle %s, %d devices", each.Verdict, each.AggregateMetrics.GPUIdle, len(each.Devices))
	}
}

// TestExchangesOfAllLibrariesCount: M5 is about waiting for other GPUs, whoever
// wrote the kernel that waits.
func TestExchangesOfAllLibrariesCount(t *testing.T) {
	for _, name := range []string{
		"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(args)",
		"void deep_ep::internode_ll::dispatch<true, 3, 10, 7168>(void*)",
		"void sglang::cross_device_reduce_1stage<__nv_bfloat16, 8>(RankData*)",
	} {
		tl := newTimeline()
		for i := range int64(100) {
			tl.add(trace.KindRuntime, "cudaLaunchKernel", 0, int(2*i)+1, i*100+1, i*100+2)
			tl.add(trace.KindKernel, "gemm", 0, int(2*i)+1, i*100+5, i*100+55)
			tl.add(trace.KindKernel, name, 0, int(2*i)+2, i*100+55, i*100+105)
		}
		v := detect(t, tl.b.Finish())
		if got := v.AggregateMetrics.NCCL.Value; got < 0.49 || got > 0.51 || doubt(v, "nccl") == nil {
			t.Errorf("%s: M5 %.3f, doubts %v; want half of the busy time, and a doubt that says so", name, got, v.Doubts)
		}
	}
}

// TestWholeGraphReplaysAreBusy: with nsys' default, kernels in graphs are not
// recorded; counting kernels alone would call the device 98 % idle.
func TestWholeGraphReplaysAreBusy(t *testing.T) {
	cfg := nsysgen.Default(1)
	cfg.ContextEvery = 20
	node := detect(t, generate(t, cfg)).AggregateMetrics.GPUIdle.Value
	cfg.Graphs = nsysgen.GraphWhole
	v := detect(t, generate(t, cfg))
	if whole := v.AggregateMetrics.GPUIdle.Value; whole > node || node-whole > 0.05 {
		t.Errorf("idle %.4f with whole replays, %.4f with their kernels", whole, node)
	}
	if d := doubt(v, "graph-kernels-hidden"); d == nil || v.Confidence == hostoverhead.ConfidenceHigh {
		t.Errorf("no doubt about hidden kernels: %v, %s", v.Doubts, v.Confidence)
	}
}

func TestMissingEvidenceIsNotApplicable(t *testing.T) {
	cfg := nsysgen.Default(1)
	cfg.SkipNVTX = true
	v := detect(t, generate(t, cfg))
	if v.ApplicableCount != 3 || v.AggregateMetrics.PrepImpact.Applicable || len(v.Phases) != 0 {
		t.Errorf("applicable %d, prep %s, phases %d", v.ApplicableCount, v.AggregateMetrics.PrepImpact, len(v.Phases))
	}
	for _, code := range []string{"no-host-prep", "no-steps"} {
		if doubt(v, code) == nil {
			t.Errorf("no doubt %s among %v", code, v.Doubts)
		}
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), `"host_prep_perf_impact":null`) {
		t.Errorf("host_prep_perf_impact is not null in %s", data)
	}
}

func TestNoKernels(t *testing.T) {
	tl := newTimeline()
	tl.add(trace.KindRange, "step", 0, 0, 0, 10)
	tl.add(trace.KindMemcpy, "Memcpy HtoD", 0, 0, 3, 5)
	tr := tl.b.Finish()
	for name, f := range map[string]func() error{
		"Detect":    func() error { _, err := hostoverhead.Detect(context.Background(), analyzed(t, tr)); return err },
		"Ledger":    func() error { _, err := hostoverhead.Ledger(context.Background(), tr); return err },
		"Breakdown": func() error { _, err := hostoverhead.Breakdown(context.Background(), analyzed(t, tr)); return err },
		"Compare": func() error {
			_, err := hostoverhead.Compare(context.Background(), analyzed(t, tr), analyzed(t, tr))
			return err
		},
	} {
		if err := f(); !errors.Is(err, hostoverhead.ErrNoKernels) {
			t.Errorf("%s: %v, want ErrNoKernels", name, err)
		}
	}
}

// TestPhasesThatTakeTurns: a context step between generation steps must not
// take over their windows, as it does in the published detector.
func TestPhasesThatTakeTurns(t *testing.T) {
	tl := newTimeline()
	at := int64(0)
	for i := range 60 {
		step, busy := int64(1000), int64(950) // generation: busy
		name := "step[DECODE bs=8]"
		if i%3 == 0 {
			name, busy = "step[EXTEND bs=1 toks=99]", 100 // context: idle
		}
		tl.add(trace.KindAnnotation, name, 0, 0, at, at+step)
		tl.add(trace.KindRuntime, "cudaLaunchKernel", 0, i+1, at+1, at+2)
		tl.add(trace.KindKernel, "gemm", 0, i+1, at+10, at+10+busy)
		at += step
	}
	v := detect(t, tl.b.Finish())
	if g := v.Phases["generation"]; g == nil || g.Verdict != hostoverhead.No || g.IterationCount != 40 {
		t.Errorf("generation: %+v, want NO over 40 steps", g)
	}
	if c := v.Phases["context"]; c == nil || c.Verdict != hostoverhead.Yes || c.IterationCount != 20 {
		t.Errorf("context: %+v, want YES over 20 steps", c)
	}
	if v.Verdict != hostoverhead.Yes {
		t.Errorf("verdict %s, want YES: a phase raises it", v.Verdict)
	}
}

func TestThresholdsAndPatternsAreSettable(t *testing.T) {
	tr := generate(t, nsysgen.Default(1))
	loose := hostoverhead.Thresholds{GPUIdle: 2, LaunchOverhead: 2, PrepExposed: 2, PrepImpact: 2, PrepIdleAttribution: 2, GPUUtilization: 0, NCCL: 2}
	if v := detect(t, tr, hostoverhead.WithThresholds(loose, loose, loose)); v.Verdict != hostoverhead.No || v.CrossedCount != 0 {
		t.Errorf("%s with %d crossed, want NO with 0", v.Verdict, v.CrossedCount)
	}
	if v := detect(t, tr, hostoverhead.WithoutPrep()); v.ApplicableCount != 3 {
		t.Errorf("applicable without M3 = %d, want 3", v.ApplicableCount)
	}
	a, b := detect(t, tr), detect(t, tr, hostoverhead.WithPrepPatterns("_UPDATE_requests"))
	if x, y := a.AggregateMetrics.PrepImpact.Value, b.AggregateMetrics.PrepImpact.Value; y <= x {
		t.Errorf("impact of _update_requests %.4f, of _prepare_inputs %.4f", y, x)
	}
}

// TestVerdictIsInvariant: shifting the clock or renaming processes changes no
// figure.
func TestVerdictIsInvariant(t *testing.T) {
	build := func(shift int64, pid trace.ProcessID) *trace.Trace {
		b := trace.NewBuilder()
		for i := range int64(150) {
			p := trace.ProcessRef{ID: pid}
			at := shift + i*int64(100*time.Microsecond)
			b.Add(trace.EventData{Kind: trace.KindRuntime, Name: "cudaLaunchKernel", Start: at, Duration: 5000, Process: p, Thread: 3, Correlation: trace.CorrelationID(i + 1), Device: trace.NoDevice, Stream: trace.NoStream})
			b.Add(trace.EventData{Kind: trace.KindKernel, Name: "k", Start: at + 9000, Duration: 40000 + i, Process: p, Correlation: trace.CorrelationID(i + 1), Stream: 7})
		}
		return b.Finish()
	}
	text := func(tr *trace.Trace) string {
		data, err := json.Marshal(detect(t, tr))
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
