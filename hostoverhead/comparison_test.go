package hostoverhead_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/hosttest"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

func comparedHosts(tb testing.TB, a, b *trace.Trace, opts ...hostoverhead.BreakdownOptions) *hostoverhead.Comparison {
	tb.Helper()
	var o hostoverhead.BreakdownOptions
	if len(opts) > 0 {
		o = opts[0]
	}
	c, err := hostoverhead.Compare(context.Background(), analyzed(tb, a), analyzed(tb, b), o)
	if err != nil {
		tb.Fatal(err)
	}
	if testing.Verbose() {
		for _, d := range append(c.Figures, c.Deltas...) {
			tb.Logf("%-60.60s %10.1f %10.1f %+9.1f %v %s", d.Op, d.BaselineUS, d.TargetUS, d.DeltaUS, d.CI95US,
				d.Status)
		}
		tb.Log(c.Conclusion, "|", c.Reason, "|", c.Patterns, "|", c.Warnings)
	}
	return c
}

// statuses are the operations that have a status.
func statuses(c *hostoverhead.Comparison) map[string]hostoverhead.DeltaStatus {
	out := map[string]hostoverhead.DeltaStatus{}
	for _, d := range c.Deltas {
		if d.Status != "" {
			out[d.Op] = d.Status
		}
	}
	return out
}

func TestSyntheticPair(t *testing.T) {
	c := comparedHosts(t, hosttest.Open(t, testdata.Shared(t, "traces/nsys/synthetic-trtllm-baseline.sqlite")),
		hosttest.Open(t, testdata.Shared(t, "traces/nsys/synthetic-trtllm-target.sqlite")))
	want := map[string]hostoverhead.DeltaStatus{
		"broadcast_requests":  hostoverhead.StatusNew,
		"_fetch_new_requests": hostoverhead.StatusRegression,
		"_update_requests":    hostoverhead.StatusRegression,
	}
	got := statuses(c)
	for op, s := range want {
		if got[op] != s {
			t.Errorf("%s: %q, want %s", op, got[op], s)
		}
		delete(got, op)
	}
	if len(got) != 0 {
		t.Errorf("unrelated operations got a status: %v", got)
	}
	for _, d := range c.Deltas {
		if d.Op == "broadcast_requests" && math.Abs(d.DeltaUS-250) > 5 {
			t.Errorf("broadcast_requests %+.1f µs per step, want about +250", d.DeltaUS)
		}
	}
	if c.Conclusion != compare.HostBetween {
		t.Errorf("conclusion %q (%s), want %q", c.Conclusion, c.Reason, compare.HostBetween)
	}
}

// TestSameSettingsOtherSeeds compares runs that differ in noise only, of
// several sizes and shapes.
func TestSameSettingsOtherSeeds(t *testing.T) {
	for name, change := range map[string]func(*nsysgen.Config){
		"default":       func(*nsysgen.Config) {},
		"short":         func(c *nsysgen.Config) { c.Steps = 15 },
		"long":          func(c *nsysgen.Config) { c.Steps, c.Layers = 300, 2 },
		"one rank":      func(c *nsysgen.Config) { c.Ranks = 1 },
		"four ranks":    func(c *nsysgen.Config) { c.Ranks, c.Layers = 4, 2 },
		"eager":         func(c *nsysgen.Config) { c.Graphs, c.Layers, c.LayerRanges = nsysgen.GraphOff, 20, 2 },
		"hidden graphs": func(c *nsysgen.Config) { c.Graphs = nsysgen.GraphWhole },
		"synchronous":   func(c *nsysgen.Config) { c.SyncEachStep = true },
	} {
		if !testdata.Long() && name != "default" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			run := func(seed uint64) *trace.Trace {
				cfg := nsysgen.Default(seed)
				change(&cfg)
				return hosttest.Generate(t, cfg)
			}
			base := run(1)
			for seed := uint64(2); seed < 5; seed++ {
				c := comparedHosts(t, base, run(seed))
				if got := statuses(c); len(got) != 0 || c.Conclusion != compare.HostSame || len(c.Patterns) != 0 {
					t.Errorf("seed %d: %q (%s), %v, %v", seed, c.Conclusion, c.Reason, got, c.Patterns)
				}
			}
		})
	}
}

// TestGeneratedPair is the regression of the reference pair, made with other
// seeds and sizes.
func TestGeneratedPair(t *testing.T) {
	for _, size := range []struct{ ranks, steps, layers int }{{2, 60, 8}, {1, 40, 4}, {4, 100, 2}} {
		for seed := uint64(11); seed < 13; seed++ {
			if !testdata.Long() && (seed > 11 || size.ranks != 1) {
				continue
			}
			cfg := nsysgen.Default(seed)
			cfg.Ranks, cfg.Steps, cfg.Layers = size.ranks, size.steps, size.layers
			slow := cfg.Slow("_fetch_new_requests", 7.5).Slow("_update_requests",
				1.75).With(nsysgen.Op{Name: "broadcast_requests", Mean: 250 * time.Microsecond})
			slow.Seed += 100
			c := comparedHosts(t, hosttest.Generate(t, cfg), hosttest.Generate(t, slow))
			want := map[string]hostoverhead.DeltaStatus{"broadcast_requests": hostoverhead.StatusNew,
				"_fetch_new_requests": hostoverhead.StatusRegression, "_update_requests": hostoverhead.StatusRegression}
			if got := statuses(c); !maps.Equal(got, want) || c.Conclusion != compare.HostBetween {
				t.Errorf("%+v, seed %d: %q, %v, want %v", size, seed, c.Conclusion, got, want)
			}
		}
	}
}

func TestSlowerOperationsAreNamed(t *testing.T) {
	base := nsysgen.Default(1)
	for _, c := range []struct {
		name       string
		cfg        nsysgen.Config
		op         string
		status     hostoverhead.DeltaStatus
		conclusion compare.HostConclusion
	}{
		{"between steps", base.Slow("_update_requests", 3), "_update_requests", hostoverhead.StatusRegression,
			compare.HostBetween},
		{"new", base.With(nsysgen.Op{Name: "broadcast_requests", Mean: 250 * time.Microsecond}), "broadcast_requests",
			hostoverhead.StatusNew, compare.HostBetween},
		{"inside the step", func() nsysgen.Config {
			c := base
			c.Prep.Mean *= 4
			return c
		}(), "_prepare_inputs", hostoverhead.StatusRegression, compare.HostInStep},
		{"faster", base.Slow("_sample_async", 0.3), "_sample_async", hostoverhead.StatusImproved, compare.HostFaster},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := c.cfg
			cfg.Seed = 9
			got := comparedHosts(t, hosttest.Generate(t, base), hosttest.Generate(t, cfg))
			if s := statuses(got); len(s) != 1 || s[c.op] != c.status {
				t.Errorf("statuses %v, want only %s %s", s, c.op, c.status)
			}
			if got.Conclusion != c.conclusion {
				t.Errorf("conclusion %q (%s), want %q", got.Conclusion, got.Reason, c.conclusion)
			}
		})
	}
}

// TestHandoffOfAComparison names what became slower, not what takes longest.
func TestHandoffOfAComparison(t *testing.T) {
	target := hosttest.Generate(t, nsysgen.Default(2).With(nsysgen.Op{Name: "broadcast_requests",
		Mean: 250 * time.Microsecond}))
	h := comparedHosts(t, hosttest.Generate(t, nsysgen.Default(1)), target).Handoff(judged(t, target))
	if len(h.TopRegressingOps) != 1 || h.RecommendedFirstTarget != "broadcast_requests" ||
		math.Abs(*h.TopRegressingOps[0].DeltaUSPerStep-250) > 5 || h.TopRegressingOps[0].IdleUSPerStep != nil ||
		h.TopRegressingOps[0].SourceFunction != "" {
		t.Errorf("handoff = %+v", h)
	}
	if h.Verdict != "YES" || h.WallTimePerStepUS < 2000 || h.InterStepGapP50US < 1000 || h.KernelsPerStep != 56 {
		t.Errorf("handoff = %+v", h)
	}
}

// TestHandoffOfOneRun: without a baseline nothing is slower or faster, and the function is the one that opens the
// range.
func TestHandoffOfOneRun(t *testing.T) {
	for _, named := range []bool{false, true} {
		tl := hosttest.NewTimeline()
		for i := range int64(40) {
			at := i * 1000
			tl.Event(event.Annotation, fmt.Sprintf("step[DECODE bs=%d]", 8), 0, 0, at, at+990)
			if named {
				tl.Event(event.Frame, "server.py(12): schedule", 0, 0, at+1, at+900)
				tl.Event(event.Frame, "torch/autograd/profiler.py(700): __enter__", 0, 0, at+9, at+11)
			}
			tl.Event(event.Annotation, "find work", 0, 0, at+10, at+700)
			tl.Event(event.Runtime, "cudaLaunchKernel", 0, int(i)+1, at+710, at+714)
			tl.Event(event.Kernel, "gemm", 0, int(i)+1, at+716, at+980)
		}
		a := analyzed(t, tl.Finish())
		run, err := hostoverhead.Breakdown(t.Context(), a, hostoverhead.BreakdownOptions{})
		if err != nil {
			t.Fatal(err)
		}
		h := (&hostoverhead.Comparison{Target: run}).Handoff(judged(t, a.Trace()))
		op := h.TopRegressingOps[0]
		want := map[bool]string{true: "server.py(12): schedule"}[named]
		if op.NVTXName != "find work" || op.SourceFunction != want || op.DeltaUSPerStep != nil ||
			op.IdleUSPerStep == nil || math.Abs(*op.IdleUSPerStep-690) > 30 {
			t.Errorf("frames %v: %+v", named, op)
		}
	}
}

// TestProfilerIsNoWorkOfTheHost: its functions, and what they call, are no operations; what runs after them is.
func TestProfilerIsNoWorkOfTheHost(t *testing.T) {
	tl := hosttest.NewTimeline()
	for i := range int64(2) {
		at := i * 1000
		tl.Event(event.Annotation, "step[DECODE bs=8]", 0, 0, at, at+990)
		tl.Event(event.Frame, "server.py(12): schedule", 0, 0, at+1, at+900)
		tl.Event(event.Frame, "torch/profiler/profiler.py(235): stop_trace", 0, 0, at+2, at+600)
		tl.Event(event.Frame, "torch/cuda/__init__.py(975): synchronize", 0, 0, at+3, at+500)
		tl.Event(event.Frame, "torch/autograd/profiler.py(757): __exit__", 0, 0, at+601, at+650)
		tl.Event(event.Frame, "torch/cuda/__init__.py(1): current_stream", 0, 0, at+660, at+670)
		tl.Event(event.Runtime, "cudaLaunchKernel", 0, int(i)+1, at+710, at+714)
		tl.Event(event.Kernel, "gemm", 0, int(i)+1, at+716, at+980)
	}
	run, err := hostoverhead.Breakdown(t.Context(), analyzed(t, tl.Finish()), hostoverhead.BreakdownOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range run.Operations {
		got = append(got, o.Name)
	}
	want := []string{"server.py: schedule", "torch/cuda/__init__.py: current_stream"}
	if !slices.Equal(got, want) {
		t.Errorf("operations %q, want %q", got, want)
	}
}

func TestLostGraphCapture(t *testing.T) {
	cfg := nsysgen.Default(2)
	cfg.Graphs = nsysgen.GraphOff
	c := comparedHosts(t, hosttest.Generate(t, nsysgen.Default(1)), hosttest.Generate(t, cfg))
	found := false
	for _, p := range c.Patterns {
		found = found || p == "56.0 times as many launches per step at the same GPU time: a fusion or graph capture was lost"
	}
	if !found {
		t.Errorf("patterns %q name no lost capture", c.Patterns)
	}
}

func TestComparisonIsDeterministic(t *testing.T) {
	var out [2]string
	for i := range out {
		c := comparedHosts(t, hosttest.Generate(t, nsysgen.Default(1)),
			hosttest.Generate(t, nsysgen.Default(2).Slow("_schedule", 2)))
		data, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = string(data)
	}
	if out[0] != out[1] {
		t.Error("two comparisons of the same runs differ")
	}
}

func TestOptionsOfComparisons(t *testing.T) {
	a, b := hosttest.Generate(t, nsysgen.Default(1)), hosttest.Generate(t, nsysgen.Default(2).Slow("_schedule", 2))
	c := comparedHosts(t, a, b, hostoverhead.BreakdownOptions{Labels: [2]string{"old", "new"}, Ranks: 4})
	if c.Baseline.Label != "old" || c.Target.Label != "new" {
		t.Errorf("labels %q and %q", c.Baseline.Label, c.Target.Label)
	}
	if want := comparedHosts(t, a, b).Baseline.KernelsPerStep / 2; c.Baseline.KernelsPerStep != want {
		t.Errorf("kernels per step of 4 ranks = %v, want half of those of 2, %v", c.Baseline.KernelsPerStep, want)
	}
}
