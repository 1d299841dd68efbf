package hostoverhead

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/published"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/fleet"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// TestTextOfARun: what a step of a run is made of, word by word.
func TestTextOfARun(t *testing.T) {
	r := &Run{Label: "old", TPSize: 2, GPU: "H100", Iterations: 9, CommonSize: 4, BenchIters: 6, SteadySteps: 5,
		WallUSPerStep: 1000.25, StepUS: 900.5, GapUS: 99.75, RangeUSPerStep: 80, GPUUSPerStep: 700, KernelsPerStep: 12.5,
		APIUSPerStep: 60.25, LaunchesPerStep: 11, Steps: Stats{N: 5, Avg: 900.5, Min: 900, Max: 902, P50: 900.25,
			P90: 901},
		Operations: []Operation{{Name: "schedule", US: 50.25, CountPerStep: 1.5, Source: "a.py(1): f"}},
		Kernels:    []Operation{{Name: "gemm", US: 700, CountPerStep: 12.5}}, Notes: []string{"a note"}}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	equal(t, "text", b.String(), `Run old (TP size 2, H100)
per step                                     value
--------------------------------------------------
iterations / of common size / benchmark  9 / 4 / 6
steady steps                                     5
wall time µs                                1000.2
step duration µs (avg)                       900.5
inter-step gap µs (p50)                          ?
host operations µs (union)                    80.0
GPU time µs                                  700.0
kernels                                       12.5
launch calls                                  11.0
API time µs                                   60.2
Step µs: avg 900.5  min 900.0  p50 900.2  p90 901.0  max 902.0
Gap µs: unknown

Host operations
name      µs/step  count/step  source
-----------------------------------------
schedule     50.2         1.5  a.py(1): f

Kernels
name  µs/step  count/step  source
---------------------------------
gemm    700.0        12.5
Note: a note
`)
}

// TestTextOfAComparison: figures, the worst changes and all of them.
func TestTextOfAComparison(t *testing.T) {
	slow := newDelta("schedule", compare.RangeKind, 100, 250)
	slow.Status, slow.CI95US = statusRegression, &[2]float64{140, 160}
	gap := newDelta("gap", "", 0, 5)
	gap.unknown = [2]bool{true, false}
	c := &Comparison{Baseline: &Run{Label: "a", BenchIters: 5, Iterations: 6, SteadySteps: 1, WallUSPerStep: 1000},
		Target: &Run{Label: "b", BenchIters: 7, Iterations: 8,
			SteadySteps: 7}, Conclusion: compare.HostInStep, Reason: "why",
		Figures: []Delta{gap}, Deltas: []Delta{slow}, Patterns: []string{"pattern"}, Warnings: []string{"careful"}}
	var b strings.Builder
	if err := c.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	equal(t, "text", b.String(), `Conclusion: `+string(compare.HostInStep)+`
why
  - pattern
  - warning: careful
Iterations used: a 5 of 6; b 7 of 8.

Per step (µs), a (1 steady step) and b (7 steady steps)
figure  kind  baseline  target  Δ  Δ%  95% interval of Δ  status
----------------------------------------------------------------
gap                  ?     5.0  ?   -                  -

Top regressions
  1. schedule REGRESSION +150.0 µs/step

Operations (µs/step) by change
operation  kind   baseline  target       Δ      Δ%  95% interval of Δ  status
---------------------------------------------------------------------------------
schedule   range     100.0   250.0  +150.0  +150.0    +140.0 … +160.0  REGRESSION
`)
	for share, want := range map[float64]int{.1499: 1, .15: 0} {
		if got := len(c.Regressions(share)); got != want {
			t.Errorf("%d regressions of more than %v of the step, want %d", got, share, want)
		}
	}
}

// TestPatternsByHand: on both sides of each bound.
func TestPatternsByHand(t *testing.T) {
	op := func(name string, kind compare.OperationKind, a, b float64, s DeltaStatus) Delta {
		d := newDelta(name, kind, a, b)
		d.Status = s
		return d
	}
	launches := func(a, b, gpuA, gpuB float64) func(c *Comparison) {
		return func(c *Comparison) {
			c.Baseline, c.Target = &Run{LaunchesPerStep: a, GPUUSPerStep: gpuA}, &Run{LaunchesPerStep: b,
				GPUUSPerStep: gpuB}
		}
	}
	deltas := func(list ...Delta) func(c *Comparison) { return func(c *Comparison) { c.Deltas = list } }
	lost := "2.5 times as many launches per step at the same GPU time: a fusion or graph capture was lost"
	for name, c := range map[string]struct {
		change func(c *Comparison)
		want   []string
	}{
		"five times":    {deltas(op("f", compare.RangeKind, 10, 50, statusRegression)), []string{"f is 5.0 times slower"}},
		"less":          {deltas(op("f", compare.RangeKind, 10, 49.9, statusRegression)), nil},
		"a kernel":      {deltas(op("f", compare.KernelKind, 10, 50, statusRegression)), nil},
		"a microsecond": {deltas(op("f", compare.RangeKind, 0, 1, statusNew)), []string{"new bookkeeping: f, 1.0 µs per step"}},
		"below":         {deltas(op("f", compare.RangeKind, 0, .999, statusNew)), nil},
		"an exchange": {deltas(op("barrier", compare.RangeKind, 0, 9, statusNew)),
			[]string{"a new operation between ranks on the CPU: barrier"}},
		"both": {deltas(op("barrier", compare.RangeKind, 0, 9, statusNew), op("f", compare.RangeKind, 10, 60, statusRegression)),
			[]string{"request handling: f is 6.0 times slower and barrier is new: requests are now distributed between ranks " +
				"in every step"}},
		"the first": {deltas(op("f", compare.RangeKind, 1, 9, statusRegression), op("g", compare.RangeKind, 1, 8, statusRegression)),
			[]string{"f is 9.0 times slower"}},
		"launches":        {launches(4, 10, 100, 115), []string{lost}},
		"fewer launches":  {launches(4, 9.9, 100, 100), nil},
		"more GPU time":   {launches(4, 10, 100, 115.1), nil},
		"less GPU time":   {launches(4, 10, 100, 85), []string{lost}},
		"none before":     {launches(0, 10, 100, 100), nil},
		"no time before":  {launches(4, 10, 0, 1), nil},
		"no time at all":  {launches(4, 10, 0, 0), []string{lost}},
		"nothing changed": {func(c *Comparison) { launches(4, 10, 1, 1)(c); c.Conclusion = compare.HostSame }, nil},
	} {
		x := &Comparison{Baseline: &Run{}, Target: &Run{}, Conclusion: compare.HostInStep}
		c.change(x)
		x.name()
		equal(t, name, x.Patterns, c.want)
	}
}

// TestWarningsByHand: on both sides of each bound.
func TestWarningsByHand(t *testing.T) {
	for name, c := range map[string]struct {
		a, b Run
		want []string
	}{
		"alike": {Run{AllSteps: 10, ContextSteps: 1, KernelsPerStep: 100}, Run{AllSteps: 10, ContextSteps: 2,
			KernelsPerStep: 105},
			[]string{}},
		"no steps": {Run{}, Run{AllSteps: 10, ContextSteps: 9}, []string{}},
		"mix": {Run{AllSteps: 100, ContextSteps: 60}, Run{AllSteps: 100, ContextSteps: 71},
			[]string{"workloads differ: 60% and 71% of the steps have context requests"}},
		"kernels": {Run{KernelsPerStep: 100}, Run{KernelsPerStep: 105.1},
			[]string{"100.0 and 105.1 kernels per step: another model, another configuration, or lost fusion"}},
		"requests": {Run{MaxGeneration: 8}, Run{MaxGeneration: 9},
			[]string{"workloads differ: 8 and 9 generation requests in the steady steps"}},
		"GPU":         {Run{GPU: "A"}, Run{GPU: "B"}, []string{`GPUs differ: "A" and "B"`}},
		"sizes":       {Run{TPSize: 1}, Run{TPSize: 2}, []string{"tensor-parallel sizes differ: 1 and 2"}},
		"one unknown": {Run{TPSize: 0}, Run{TPSize: 2}, []string{}},
		"other":       {Run{TPSize: 2}, Run{TPSize: 0}, []string{}},
		"notes": {Run{Label: "a", Notes: []string{"n"}}, Run{Label: "b", Notes: []string{"m"}},
			[]string{"a: n", "b: m"}},
	} {
		x := &Comparison{Baseline: &c.a, Target: &c.b}
		x.warn("")
		equal(t, name, x.Warnings, c.want)
	}
}

// judgedStages is a verdict of stages that wait for the host, or do not.
func judgedStages(v Answer, stages ...StageVerdict) *Verdict {
	return &Verdict{Verdict: v, Ranks: []RankVerdict{{Stages: stages}}}
}

// TestHandoffByHand: of one run the operations in which the GPU idles most, per step, with their functions.
func TestHandoffByHand(t *testing.T) {
	yes, no := func(s layer.Stage) StageVerdict { return StageVerdict{Stage: s, Verdict: Yes} },
		func(s layer.Stage) StageVerdict { return StageVerdict{Stage: s, Verdict: No} }
	for want, v := range map[string]*Verdict{"both": judgedStages(Yes, yes(layer.StagePrefill), yes(layer.StageDecode)),
		"context": judgedStages(Yes, yes(layer.StagePrefill), no(layer.StageDecode)), "generation": judgedStages(Yes,
			yes(layer.StageDecode)),
		"aggregate": judgedStages(Yes, no(layer.StageDecode)), "none": judgedStages(No, no(layer.StageDecode))} {
		if got := primaryPhase(v); got != want {
			t.Errorf("phase %q, want %q", got, want)
		}
	}
	run := &Run{AllSteps: 4, WallUSPerStep: 10.00049, GapUS: 1.0006, KernelsPerStep: 3,
		Operations: []Operation{{Name: "a.py: f", Source: "a.py(12)"}, {Name: "range", Source: "b.py(3): g"},
			{Name: "bare"}}}
	for name, want := range map[string]string{"a.py(12): f": "a.py(12): f", "a.py: f": "a.py(12): f",
		"range": "b.py(3): g",
		"bare":  "", "c.py(9): h": "c.py(9): h", "unknown": ""} {
		if got := run.sourceOf(name); got != want {
			t.Errorf("%s runs in %q, want %q", name, got, want)
		}
	}
	v := judgedStages(Yes)
	idle := func(c finding.Cause, list ...IdleName) IdleCause {
		return IdleCause{Cause: c, Group: c.Group(), Names: list}
	}
	v.Idle = []IdleCause{idle(finding.HostCode, IdleName{Name: "range", StepsNS: 8000}, IdleName{Name: "x",
		StepsNS: 400}, IdleName{Name: "y", StepsNS: 300},
		IdleName{Name: "z", StepsNS: 200}),
		idle(finding.Lock, IdleName{Name: "lock", StepsNS: 4002}), idle(finding.Synchronisation,
			IdleName{Name: "sync", StepsNS: 1}),
		idle(finding.LaunchCall, IdleName{Name: "launch", StepsNS: 9000})}
	v.Published = json.RawMessage(`{"host_prep_confirmed":true}`)
	h := (&Comparison{Target: run}).Handoff(v)
	var ops []string
	for _, o := range h.TopRegressingOps {
		ops = append(ops, fmt.Sprint(o.NVTXName, " ", *o.IdleUSPerStep, " ", o.SourceFunction))
	}
	equal(t, "operations", ops, []string{"range 2 b.py(3): g", "lock 1.001 ", "x 0.1 ", "y 0.075 ", "z 0.05 "})
	equal(t, "figures", fmt.Sprint(h.HostPrepConfirmed, h.WallTimePerStepUS, h.InterStepGapP50US, h.KernelsPerStep,
		h.RecommendedFirstTarget),
		"true 10 1.001 3range")
	run.AllSteps = 0 // none are known: the time is not divided
	if got := *(&Comparison{Target: run}).Handoff(v).TopRegressingOps[0].IdleUSPerStep; got != 8 {
		t.Errorf("without steps %v µs, want 8", got)
	}
	next := judgedStages(Inconclusive)
	next.Next = []Action{{Advice: finding.Advice{Do: "record"}}}
	for want, x := range map[string]*Verdict{"GPU kernels: the host is not the bottleneck": judgedStages(No),
		"record": next,
		"record with NVTX ranges or Python stacks to name the host work": judgedStages(Yes)} {
		if got := firstTarget(x, &Handoff{}); got != want {
			t.Errorf("first target %q, want %q", got, want)
		}
	}
	for want, c := range map[string]*Comparison{
		"slow": {Baseline: &Run{}, Deltas: []Delta{{Op: "call", Kind: compare.APIKind, Status: statusRegression, DeltaUS: 9},
			{Op: "slow", Kind: compare.KernelKind, Status: statusNew, DeltaUS: 1}}},
		"none: nothing clearly became slower": {Baseline: &Run{}, Deltas: []Delta{{Op: "call", Kind: compare.APIKind,
			Status: statusRegression, DeltaUS: 9},
			{Op: "same", Kind: compare.KernelKind, Status: statusRegression}}},
	} {
		if got := c.worst(); got != want {
			t.Errorf("worst %q, want %q", got, want)
		}
	}
}

// TestPhasesByHand: the last run of at least five iterations, half of them of the common size, with pauses up to 100
// ms.
func TestPhasesByHand(t *testing.T) {
	const pause = 100_000_000
	run := func(gap int64, counts ...int) (out []iteration) {
		at := int64(0)
		for _, n := range counts {
			out = append(out, iteration{interval.Span{Start: at, End: at + 10}, n})
			at += 10 + gap
		}
		return out
	}
	after := func(list []iteration, gap int64, more []iteration) []iteration {
		at := list[len(list)-1].span.End + gap
		for _, it := range more {
			list = append(list, iteration{interval.Span{Start: it.span.Start + at, End: it.span.End + at}, it.count})
		}
		return list
	}
	for name, c := range map[string]struct {
		its                       []iteration
		iterations, common, bench int
	}{
		"none":             {nil, 0, 0, 0},
		"five":             {run(5, 4, 4, 4, 4, 4), 5, 4, 5},
		"four":             {run(5, 4, 4, 4, 4), 4, 4, 0},
		"pause":            {run(pause, 4, 4, 4, 4, 4), 5, 4, 5},
		"longer pause":     {run(pause+1, 4, 4, 4, 4, 4), 5, 4, 0},
		"half":             {run(5, 4, 4, 4, 1, 2, 3), 6, 4, 6},
		"less than half":   {run(5, 4, 4, 4, 1, 2, 3, 5), 7, 4, 0},
		"equally often":    {run(5, 4, 4, 2, 2), 4, 4, 0},
		"the last phase":   {after(run(5, 4, 4, 4, 4, 4, 4), pause+1, run(5, 4, 4, 4, 4, 4)), 11, 4, 5},
		"the one before":   {after(run(5, 4, 4, 4, 4, 4, 4), pause+1, run(5, 9, 9, 9, 9)), 10, 4, 6},
		"a lone one after": {after(run(5, 4, 4, 4, 4, 4), pause+1, run(5, 4)), 6, 4, 5},
		"joined by 100ms":  {after(run(5, 4, 4, 4), pause, run(5, 4, 4)), 5, 4, 5},
	} {
		got := choosePhase(c.its)
		if got.iterations != c.iterations || got.common != c.common || got.bench != c.bench {
			t.Errorf("%s: %+v, want %d iterations of %d, %d of them measured", name, got, c.iterations, c.common,
				c.bench)
		}
		if got.window.Empty() != (c.bench == 0) {
			t.Errorf("%s: window %v", name, got.window)
		}
	}
	all := []hostStep{}
	for i := range int64(6) {
		all = append(all, hostStep{Span: interval.Span{Start: 100 * i, End: 100*i + 50}})
	}
	for from, want := range map[int64]int{149: 5, 150: 6, 0: 6} { // of four the phase says only when
		if got := len(benchSteps(all, benchPhase{window: interval.Span{Start: from, End: 600}})); got != want {
			t.Errorf("a phase from %d on: %d steps, want %d", from, got, want)
		}
	}
}

// recorded is a trace of three steps of 1 ms on one thread, launches and kernels in them.
func recorded(t *testing.T, add func(b *trace.Builder)) *recording {
	t.Helper()
	b := trace.NewBuilder(trace.Options{})
	add(b)
	a, err := layer.Analyze(t.Context(), built.Trace(b), layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := newRecording(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func put(b *trace.Builder, kind event.Kind, name string, start, length int64, corr uint64) {
	b.Add(trace.EventData{Kind: kind, Name: name, Start: start, Duration: length, Process: 1, Thread: 7,
		Correlation: corr})
}

// TestIterationsByHand: all-reduces up to 1 ms apart are one.
func TestIterationsByHand(t *testing.T) {
	for name, c := range map[string]struct {
		gap  int64
		want string
	}{"a millisecond": {1_000_000, "1 of 3"}, "more": {1_000_001, "3 of 1"}} {
		w := recorded(t, func(b *trace.Builder) {
			for i := range int64(3) {
				put(b, event.Kernel, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 10+i*(500+c.gap), 500, 0)
			}
			put(b, event.Kernel, "gemm", 700, 5, 0)
		})
		p := w.findIterations()
		if got := fmt.Sprintf("%d of %d", p.iterations, p.common); got != c.want {
			t.Errorf("%s: iterations %s, want %s", name, got, c.want)
		}
	}
}

// TestStepsOfARunByHand: what three steps hold, by the start of ranges and calls and the launches of kernels.
func TestStepsOfARunByHand(t *testing.T) {
	const ms = 1_000_000
	w := recorded(t, func(b *trace.Builder) {
		for i := range int64(3) {
			at := i * ms
			put(b, event.Range, "outer", at+100, 300_000, 0)
			put(b, event.Range, "inner", at+200, 100_000+10_000*i, 0)
			put(b, event.Frame, "a.py(1): f", at, 400_000, 0)
			put(b, event.Runtime, "cudaLaunchKernel", at+500_000, 6_000, uint64(i+1))
			put(b, event.Runtime, "cudaMemcpyAsync", at+600_000, 3_000, 0)
			put(b, event.Kernel, "gemm", at+990_000, 20_000, uint64(i+1)) // runs into the next step
		}
		put(b, event.Range, "before", 3*ms+1, 5, 0) // after the last
	})
	bench := func(lengths ...int64) (out []hostStep) {
		at := int64(0)
		for _, d := range lengths {
			out = append(out, hostStep{Span: interval.Span{Start: at, End: at + 800_000}, Longest: 700_000, Gen: 4,
				Phase: names.Generation})
			at += d
		}
		return out
	}
	r := &Run{Ranks: 2, MaxGeneration: -1}
	w.fill(r, bench(ms, ms, ms))
	equal(t, "figures", fmt.Sprint(r.SteadySteps, r.WallUSPerStep, r.StepUS, r.GapUS, r.gap, r.MaxGeneration,
		r.launches, r.LaunchesPerStep),
		"3 933.3333333333334 700 200 [200 200] 4 [0.5 0.5 0.5] 0.5")
	equal(t, "notes", r.Notes, []string{"only 3 steady steps: figures are not reliable"})
	line := func(list []Operation) (out []string) {
		for _, o := range list {
			out = append(out, fmt.Sprint(o.Name, " ", o.US, " ", o.CountPerStep, " ", o.Source, " ", o.place, " ",
				o.perStep))
		}
		return out
	}
	equal(t, "ranges", line(r.Operations), []string{"outer 150 0.5 a.py(1): f  [150 150 150]",
		"inner 55 0.5 a.py(1): f outer [50 55 60]"})
	equal(t, "kernels", line(r.Kernels), []string{"gemm 10 0.5   [10 10 10]"})
	equal(t, "calls", line(r.APICalls), []string{"cudaLaunchKernel 3 0.5   [3 3 3]",
		"cudaMemcpyAsync 1.5 0.5   [1.5 1.5 1.5]"})
	equal(t, "sums", fmt.Sprint(r.RangeUSPerStep, r.GPUUSPerStep, r.KernelsPerStep, r.APIUSPerStep, r.gpu, r.api),
		"150 10 0.5 4.5 [10 10 10] [4.5 4.5 4.5]")
	for name, c := range map[string]struct {
		pause int64
		gaps  string
	}{"100 ms": {100_000_000, "[100000]"}, "more": {100_000_001, "[]"}, "none": {-1, "[0]"}} {
		r := &Run{Ranks: 1}
		w.fill(r, bench(800_000+c.pause, ms))
		if got := fmt.Sprint(r.gap); got != c.gaps {
			t.Errorf("a pause of %s: gaps %s, want %s", name, got, c.gaps)
		}
	}
}

// TestFramesWithoutRanges: where no range is in a step, the Python frames are what it is made of.
func TestFramesWithoutRanges(t *testing.T) {
	for _, ranges := range []bool{false, true} {
		w := recorded(t, func(b *trace.Builder) {
			put(b, event.Kernel, "gemm", 10, 5, 0)
			put(b, event.Frame, "a.py(1): f", 10, 500, 0)
			put(b, event.Frame, "b.py(2): g", 20, 100, 0)
			if ranges {
				put(b, event.Range, "r", 30, 40, 0)
			}
		})
		x := newTally(w, compare.RangeKind, []interval.Span{{Start: 0, End: 1000}}, 1)
		x.addRanges()
		var got []string
		for _, o := range x.operations() {
			got = append(got, fmt.Sprint(o.Name, " ", o.US, " ", o.Source, " ", o.place))
		}
		want := []string{"a.py: f 0.5 a.py(1) ", "b.py: g 0.1 b.py(2) a.py: f"}
		if ranges {
			want = []string{"r 0.04 b.py(2): g "}
		}
		equal(t, fmt.Sprint("ranges: ", ranges), got, want)
	}
}

// TestDetailsFit: what idle time is called fits into a table's cell, and into a sentence, as a whole.
func TestDetailsFit(t *testing.T) {
	for _, d := range details {
		if got := cut(d); got != d {
			t.Errorf("%q becomes %q", d, got)
		}
	}
}

// TestWaitsOfRanges: the calls of its thread that end within a range and wait for the GPU are its waits, as far as they
// lie in it, once where one is inside another.
func TestWaitsOfRanges(t *testing.T) {
	w := recorded(t, func(b *trace.Builder) {
		put(b, event.Kernel, "gemm", 10, 5, 0)
		put(b, event.Runtime, "cudaLaunchKernel", 12, 40, 0)
		put(b, event.Runtime, "cudaStreamSynchronize", 90, 20, 0)
		put(b, event.Runtime, "cudaEventSynchronize", 200, 100, 0)
		put(b, event.Driver, "cuEventSynchronize", 210, 50, 0)
		put(b, event.Runtime, "cudaDeviceSynchronize", 480, 40, 0)
		put(b, event.Runtime, "cudaMemcpy", 600, 80, 0)
		put(b, event.Runtime, "cudaMemcpyAsync", 700, 10, 0)
		put(b, event.Frame, "e.py(2): reads", 590, 150, 0)
		put(b, event.Frame, "a.py(1): f", 100, 400, 0)
		put(b, event.Frame, "b.py(2): g", 310, 100, 0)
		put(b, event.Frame, "c.py(2): h", 205, 30, 0)
		b.Add(trace.EventData{Kind: event.Frame, Name: "d.py(1): other", Start: 190, Duration: 200, Process: 1, Thread: 8})
	})
	x := newTally(w, compare.RangeKind, []interval.Span{{Start: 0, End: 1000}}, 1)
	x.findWaits()
	x.addRanges()
	got := map[string]float64{}
	for _, o := range x.operations() {
		got[o.Name] = o.waits[0]
	}
	want := map[string]float64{"a.py: f": 0.11, "b.py: g": 0, "c.py: h": 0, "d.py: other": 0, "e.py: reads": .08}
	if !maps.Equal(got, want) {
		t.Errorf("waits in µs: %v, want %v", got, want)
	}
}

// TestWhereIdleTimeShows: the call's place, the host's worst pass, the longest gap of the cause, or its class.
func TestWhereIdleTimeShows(t *testing.T) {
	at := func(c IdleCause, line string) *finding.Finding {
		r := &RankVerdict{Worst: []PassHeadroom{{Pass: 3, StartNS: 5, EndNS: 9}},
			Top: []Gap{{StartNS: 1_500_000, NS: 40, Causes: []IdleName{{Cause: finding.Dependency, NS: 40}}},
				{StartNS: 2_500_000, NS: 30, Causes: []IdleName{{Cause: finding.Dependency, NS: 30}}},
				{StartNS: 3_500_000, NS: 40, Causes: []IdleName{{Cause: finding.Dependency, NS: 40}}}, {StartNS: 7, NS: 99},
				{StartNS: 1, NS: 50, Causes: []IdleName{{Cause: finding.Transfer, NS: 50}}}},
			Gaps: []GapBucket{{Title: "none", Count: 4, TotalNS: 1, Largest: finding.Transfer}, {Title: "< 1 µs", Count: 2, TotalNS: 10, Largest: finding.GPUDispatch},
				{Title: "1–5 µs", Count: 1, TotalNS: 20, Largest: finding.GPUDispatch}, {Title: "5–10 µs",
					Count: 1, TotalNS: 1, Largest: finding.Profiler},
				{Title: "10–50 µs", Count: 3, TotalNS: 20, Largest: finding.GPUDispatch}}}
		f := &finding.Finding{}
		f.Place.Line = line
		r.locate(&c, f)
		return f
	}
	for name, c := range map[string]struct {
		cause IdleCause
		line  string
		want  string
	}{
		"a line":        {IdleCause{Cause: finding.Dependency, StepsNS: 99}, "a.py(1): f", "a.py(1): f"},
		"the host":      {IdleCause{Cause: finding.HostCode, Host: true}, "", "most host time in pass 3"},
		"longest":       {IdleCause{Cause: finding.Dependency, StepsNS: 40}, "", "longest: 40 ns at 0.001500 s"},
		"in no step":    {IdleCause{Cause: finding.Dependency, StepsNS: 39}, "", "longest: 30 ns at 0.002500 s"},
		"a class":       {IdleCause{Cause: finding.GPUDispatch, StepsNS: 99}, "", "mostly 1 gap of 1–5 µs"},
		"the first":     {IdleCause{Cause: finding.Transfer, StepsNS: 49}, "", "mostly 4 gaps of none"},
		"another class": {IdleCause{Cause: finding.Profiler, StepsNS: 99}, "", "mostly 1 gap of 5–10 µs"},
		"nowhere":       {IdleCause{Cause: finding.NoRequests, StepsNS: 99}, "", ""},
	} {
		if got := at(c.cause, c.line).Where; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if f := at(IdleCause{Cause: finding.HostCode, Host: true},
		""); *f.Place.Pass != 3 || f.Place.Start != 5 || f.Place.End != 9 {
		t.Errorf("the worst pass: %+v", f.Place)
	}
	for ns, want := range map[int64]bool{950: true, 949: false} {
		c := IdleCause{StepsNS: 1000, Names: []IdleName{{StepsNS: ns}}}
		if got := c.saysItself(); got != want {
			t.Errorf("%d of 1000 ns in one part say it: %v, want %v", ns, got, want)
		}
		if c.Host = true; c.saysItself() {
			t.Error("a cause of the host says nothing by itself")
		}
	}
}

// TestWhatIsIncomplete: remarks on what idle time is made of, but what has a doubt of its own.
func TestWhatIsIncomplete(t *testing.T) {
	for area, want := range map[trace.Area]bool{trace.AffectsIdle: true, trace.AffectsGPUTime: true,
		trace.AffectsCompleteness: true, trace.AffectsAttribution: false} {
		if got := incomplete(trace.Remark{Affects: []trace.Area{area}}); got != want {
			t.Errorf("a remark on %s: incomplete %v, want %v", area, got, want)
		}
	}
	if incomplete(trace.Remark{Code: trace.CodeGraphRows, Affects: []trace.Area{trace.AffectsIdle}}) {
		t.Error("graphs recorded as a whole have a doubt of their own")
	}
}

// TestDigestOfIdleTime: by step and cause; the name with most time in steps of each.
func TestDigestOfIdleTime(t *testing.T) {
	a := &account{l: &ledger{w: &workload{general: func(id trace.NameID) string { return fmt.Sprint("n", id) }}},
		names: map[nameKey]*nameSum{{cause: finding.HostCode, name: 1}: {ns: 9, steps: 1},
			{cause: finding.HostCode, name: 2}: {ns: 5, steps: 4}}}
	for i, ns := range []int64{1, 0, 7} {
		s := stepAccount{step: &hostStep{Index: i}}
		s.idle[finding.HostCode] = ns
		a.steps = append(a.steps, s)
	}
	r := &fleet.Rank{Steps: make([]fleet.Step, 3)}
	a.digestIdle(r)
	equal(t, "idle", fmt.Sprint(r.Steps[0].Idle, r.Steps[1].Idle, r.Steps[2].Idle, r.Names),
		fmt.Sprintf("[{%[1]v 1}] [] [{%[1]v 7}] [{%[1]v n2 4}]", finding.HostCode))
}

// TestHeadingsOfRuns: parts are below the title, in Markdown, too.
func TestHeadingsOfRuns(t *testing.T) {
	slow := newDelta("schedule", compare.RangeKind, 100, 250)
	slow.Status = statusRegression
	c := &Comparison{Baseline: &Run{Label: "a"}, Target: &Run{Label: "b"}, Conclusion: compare.HostInStep,
		Deltas: []Delta{slow}}
	r := &Run{Label: "a", Kernels: []Operation{{Name: "k"}}}
	for want, write := range map[string]func(io.Writer) error{
		"# Conclusion: step execution|## Top regressions|## Operations (µs/step) by change": c.WriteText,
		"# Run a (TP size unknown)|## Kernels":                                              r.WriteText} {
		var b markdown
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		var heads []string
		for line := range strings.Lines(b.String()) {
			if strings.HasPrefix(line, "#") {
				heads = append(heads, strings.TrimSpace(line))
			}
		}
		equal(t, "headings", strings.Join(heads, "|"), want)
	}
}

// markdown takes Markdown.
type markdown struct{ strings.Builder }

func (*markdown) Markdown() bool { return true }

// TestHintsHaveOneHeading: above the first.
func TestHintsHaveOneHeading(t *testing.T) {
	var out strings.Builder
	b := table.NewWriter(&out)
	r := &RankVerdict{Coverage: Coverage{Hints: []Action{{Code: "A", Why: "w", Advice: finding.Advice{Do: "d"}},
		{Code: "B", Why: "x", Advice: finding.Advice{Do: "e"}}}}}
	r.writeCoverage(b)
	b.Flush()
	equal(t, "hints", strings.TrimSpace(out.String()), "Hints on graphs and waits\n  - A: w: d\n  - B: x: e")
}

// TestDisagreementIsSaid: where there is one, above the published figures that are known.
func TestDisagreementIsSaid(t *testing.T) {
	for _, why := range []string{"", "They differ."} {
		var out strings.Builder
		b := table.NewWriter(&out)
		v := &Verdict{Ranks: make([]RankVerdict, 1), Disagreement: why,
			published: &published.HostReport{Judgement: published.Judgement{
				Verdict: "NO", CrossedDetails: map[string]bool{}}, Metrics: published.Metrics{GPUIdle: .25,
				NCCL: published.Ratio(math.NaN())}}}
		v.writePublished(b)
		b.Flush()
		text := out.String()
		if got := strings.Contains(text, "They differ.\n"); got != (why != "") {
			t.Errorf("%q: said %v, in\n%s", why, got, text)
		}
		if !strings.Contains(text, "  - gpu_idle_ratio 0.2500\n") || strings.Contains(text, "nccl_ratio") {
			t.Errorf("the figures are\n%s", text)
		}
	}
}

// TestWorkOnPasses: what the host did for the passes of a device, in order; none where it has no passes.
func TestWorkOnPasses(t *testing.T) {
	d := &deviceWork{layers: &layer.Device{Passes: make([]layer.ForwardPass, 3)}, pass: []int32{0}}
	for i, s := range [][2]trace.Time{{50, 60}, {5, 5}, {10, 20}} {
		d.layers.Passes[i].Host.Start, d.layers.Passes[i].Host.End = s[0], s[1]
	}
	equal(t, "work", workOf(d), []interval.Span{{Start: 10, End: 20}, {Start: 50, End: 60}})
	if d.pass = nil; workOf(d) != nil {
		t.Errorf("without passes: %v", workOf(d))
	}
}

// TestJoinKeepsWhatMakesIdleTimeUnknown: also of ranks of which only figures are kept.
func TestJoinKeepsWhatMakesIdleTimeUnknown(t *testing.T) {
	var ranks []*Verdict
	for range wholeRanks + 1 {
		ranks = append(ranks, &Verdict{Ranks: []RankVerdict{{IdleUnknown: "clocks jump"}}})
	}
	for i, r := range Join(ranks, nil).Ranks {
		if r.IdleUnknown != "clocks jump" {
			t.Errorf("rank %d: %q", i, r.IdleUnknown)
		}
	}
}
