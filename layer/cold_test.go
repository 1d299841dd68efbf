package layer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// steps is a model of six layers that runs a step for each of these factors, each so many times as long as the usual
// one. Kernels of other work outside any step take so many nanoseconds.
func steps(outside int64, factors ...float64) *trace.Trace {
	b := trace.NewBuilder(trace.Options{})
	at := int64(1000)
	var corr uint64
	kernel := func(name string, dur int64) {
		corr++
		b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: at, Duration: 5, Thread: 1,
			Correlation: corr, Device: trace.None, Stream: trace.None})
		b.Add(trace.EventData{Kind: event.Kernel, Name: name, Start: at + 6, Duration: dur, Correlation: corr,
			Stream: 7})
		at += dur + 10
	}
	kernel("a_kernel_of_something_else", outside)
	for _, f := range factors {
		start := at
		dur := int64(10_000 * f)
		kernel("void at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16, long>(P)", dur)
		for range 6 {
			for _, n := range []string{"void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(P)",
				"nvjet_tst_64x8_64x16_4x1_v_bz_TNT", "void flash::flash_fwd_splitkv_kernel<T>(P)",
				"nvjet_tst_64x8_64x16_2x1_v_bz_TNT", "void vllm::act_and_mul_kernel<c10::BFloat16>(P)"} {
				kernel(n, dur)
			}
		}
		kernel("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4>>(P)", dur)
		b.Add(trace.EventData{Kind: event.Annotation, Name: fmt.Sprintf("execute_context_0(0)_generation_%d(%d)", 4, 4),
			Start: start - 1, Duration: at - start - 2, Thread: 1,
			Device: trace.None, Stream: trace.None})
	}
	return built.Trace(b)
}

// TestColdStart: passes that take longer than others of the same work are marked, on either side of each number.
func TestColdStart(t *testing.T) {
	for _, c := range []struct {
		name    string
		factors []float64
		want    string
	}{
		{"a cold start", []float64{1.8, 1, 1, 1}, "cold start 1.8×|||"},
		{"coldFrom", []float64{1.31, 1, 1, 1}, "cold start 1.3×|||"},
		{"below it", []float64{1.29, 1, 1, 1}, "|||"},
		{"two cold steps", []float64{4, 2, 1, 1, 1, 1}, "cold start 4.0×|cold start 2.0×||||"},
		{"a slow step later is none", []float64{1, 1, 1.4, 1}, "|||"},
		{"growingFrom", []float64{1, 1, 1.51, 1}, "||growing 1.5×|"},
		{"below that", []float64{1, 1, 1.49, 1}, "|||"},
		{"one step alone", []float64{1}, ""},
	} {
		d := analyze(t, steps(100, c.factors...), layer.Options{NumLayers: 6})
		var got []string
		for i := range d.Passes {
			got = append(got, d.Passes[i].Note)
		}
		if s := strings.Join(got, "|"); s != c.want {
			t.Errorf("%s: %q, want %q", c.name, s, c.want)
		}
		if len(d.Passes) != len(c.factors) {
			t.Errorf("%s: %d passes, want %d", c.name, len(d.Passes), len(c.factors))
		}
	}
}

// TestUncovered: GPU time in no pass is reported from a percent on.
func TestUncovered(t *testing.T) {
	for outside, want := range map[int64]bool{14_000: true, 11_000: false} { // of 1,280,000 ns and these
		d := analyze(t, steps(outside, 1, 1, 1, 1), layer.Options{NumLayers: 6})
		got := strings.Contains(strings.Join(d.Notes, "\n"), "are in no pass")
		if got != want {
			t.Errorf("%d ns outside of passes: note %t, want %t\n%v", outside, got, want, d.Notes)
		}
	}
}

// TestStepsAreCovered: the slices of each step cover it from the start of its pass to its end, in order and once, and
// those of the first pass are the first.
func TestStepsAreCovered(t *testing.T) {
	d := analyze(t, steps(100, 1, 2, 1), layer.Options{NumLayers: 6})
	at := map[int]trace.Time{}
	for p := range d.Passes {
		at[p] = d.Passes[p].Start
	}
	for p, s := range d.Steps() {
		if s.Start != at[p] || s.End <= s.Start {
			t.Fatalf("pass %d: a slice from %d to %d, want one from %d on", p, s.Start, s.End, at[p])
		}
		at[p] = s.End
	}
	for p := range d.Passes {
		if at[p] != d.StepEnd(p) || d.StepEnd(p) <= d.Passes[p].Start {
			t.Errorf("pass %d: covered from %d to %d, want to %d", p, d.Passes[p].Start, at[p], d.StepEnd(p))
		}
	}
	if len(d.Passes) != 3 {
		t.Errorf("%d passes, want 3", len(d.Passes))
	}
}
