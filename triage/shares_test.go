package triage_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

// stepsAndRest is a trace of steps, each with one kernel, and of kernels far from all steps; times in µs.
func stepsAndRest(steps []string, each, rest int64) *trace.Trace {
	b := trace.NewBuilder(trace.Options{})
	kernel := func(name string, corr int, at, length int64) {
		b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: (at + 1) * 1000, Duration: 2000,
			Thread: 1, Correlation: uint64(corr)})
		b.Add(trace.EventData{Kind: event.Kernel, Name: name, Start: (at + 5) * 1000, Duration: length * 1000,
			Stream: 7, Correlation: uint64(corr)})
	}
	at := int64(0)
	for i, s := range steps {
		b.Add(trace.EventData{Kind: event.Annotation, Name: s, Start: at * 1000, Duration: (each + 10) * 1000,
			Thread: 1})
		kernel("gemm", i+1, at, each)
		at += each + 20
	}
	kernel("stray", 900, at+100_000, rest)
	return built.Trace(b)
}

// TestStagesOfMost: steps that take nine tenths of the GPU time, all of one stage, take what is outside of them too;
// below a half the stages are not separated.
func TestStagesOfMost(t *testing.T) {
	repeat := func(n int, s string) []string { return strings.Split(strings.Repeat(s+"|", n-1)+s, "|") }
	const decode, prefill = "step[DECODE bs=8]", "step[EXTEND bs=1 toks=99]"
	for _, c := range []struct {
		what  string
		steps []string
		rest  int64 // beside 900 µs of steps
		want  string
	}{
		{"nine tenths", repeat(10, decode), 100, "decode 11"},
		{"less", repeat(10, decode), 101, "decode 10, all 1"},
		{"half", repeat(10, decode), 900, "decode 10, all 1"},
		{"less than half", repeat(10, decode), 901, "all 11"},
		{"two stages", append(repeat(5, prefill), repeat(5, decode)...), 1, "extend 5, decode 5, all 1"},
	} {
		r, err := triage.Analyze(t.Context(), input(t, stepsAndRest(c.steps, 90, c.rest), "x"), triage.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range r.Stages {
			got = append(got, fmt.Sprint(s.Stage, " ", s.Launches))
			busy := s.GPUTimeUS // on one stream
			if s.Exposure.Steps > 0 {
				busy -= float64(s.OutsideNS) / 1e3 // what is in no step is in no step's time
			}
			if math.Abs(s.BusyUS-busy) > 1e-6 || s.BusyUS > s.SpanUS {
				t.Errorf("%s: %s is busy for %v of %v µs, want %v", c.what, s.Stage, s.BusyUS, s.SpanUS, busy)
			}
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: %s, want %s", c.what, text, c.want)
		}
	}
}

// TestBatchOfSteps: the number of requests is reported if all steps have the same.
func TestBatchOfSteps(t *testing.T) {
	for want, steps := range map[int][]string{
		8: {"step[DECODE bs=8]", "step[DECODE bs=8]", "step[DECODE bs=8]"},
		0: {"step[DECODE bs=8]", "step[DECODE bs=8]", "step[DECODE bs=4]"},
		1: {"step[DECODE bs=1]", "step[DECODE bs=1]"},
	} {
		r, err := triage.Analyze(t.Context(), input(t, stepsAndRest(steps, 90, 1), "x"), triage.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if s := r.Stages[0]; s.Batch != want || s.Steps != len(steps) {
			t.Errorf("%v: %d steps of %d, want %d of %d", steps, s.Steps, s.Batch, len(steps), want)
		}
		all := int64(len(steps))*110_000 - 20_000 // each up to the next, which starts 20 µs after its end
		each := all / int64(len(steps))
		if s := r.Stages[0]; want > 0 && (s.StepNS != each || s.TokenNS != each/int64(want) ||
			s.Exposure.WallNS != all) {
			t.Errorf("%v: %d ns a step, %d a token, %d in all; want %d for %d", steps, s.StepNS, s.TokenNS,
				s.Exposure.WallNS, each, want)
		}
	}
}

// TestRowsBelowTheBar: rows with the share asked for are listed, up to the limit, the others are counted.
func TestRowsBelowTheBar(t *testing.T) {
	for _, c := range []struct {
		bar           float64
		limit         int
		rows, hidden  int
		first, second string
	}{{10, 0, 2, 0, "gemm", "stray"}, {10.001, 0, 2, 0, "gemm", "stray"}, {10, 1, 1, 1, "gemm", ""},
		{10, 2, 2, 0, "gemm", "stray"}} {
		r, err := triage.Analyze(t.Context(), input(t,
			stepsAndRest([]string{"step[DECODE bs=8]", "step[DECODE bs=8]"}, 450, 100), "x"),
			triage.Options{MinSharePct: c.bar, KernelLimit: c.limit})
		if err != nil {
			t.Fatal(err)
		}
		s := r.Stages[0]
		if s.Outside != 1 || s.Stray != "stray" {
			t.Errorf("%d launches in no step, the first is %q", s.Outside, s.Stray)
		}
		if len(s.Kernels) != c.rows || s.HiddenRows != c.hidden || s.Kernels[0].Kernel != c.first || c.rows > 1 &&
			s.Kernels[1].Kernel != c.second {
			t.Errorf("bar %v, limit %d: %d rows, %d hidden: %+v", c.bar, c.limit, len(s.Kernels), s.HiddenRows,
				s.Kernels)
		}
	}
}

// TestStraysAndWarnings: the first of the launches outside of all steps is named, and one warning of the input shown.
func TestStraysAndWarnings(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	at := int64(0)
	for i, name := range []string{"gemm", "gemm", "gemm", "first", "second"} {
		if i < 3 {
			b.Add(trace.EventData{Kind: event.Annotation, Name: "step[DECODE bs=8]", Start: at, Duration: 100_000,
				Thread: 1})
		}
		b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: at + 1000, Duration: 2000,
			Thread: 1, Correlation: uint64(i + 1)})
		b.Add(trace.EventData{Kind: event.Kernel, Name: name, Start: at + 5000, Duration: 1000, Stream: 7,
			Correlation: uint64(i + 1)})
		if at += 120_000; i >= 2 {
			at += 10_000_000
		}
	}
	tr := built.Trace(b)
	for n, want := range map[int]int{0: 0, 1: 1, 2: 1} {
		in := input(t, tr, "x")
		in.Warnings = make([]trace.Remark, n)
		r, err := triage.Analyze(t.Context(), in, triage.Options{})
		if err != nil {
			t.Fatal(err)
		}
		notes := 0
		for _, h := range r.Health {
			if h.Trace == "input" {
				notes++
				if len(h.Findings) != n {
					t.Errorf("%d warnings: %+v", n, h)
				}
			}
		}
		if notes != want {
			t.Errorf("%d warnings: %d notes, want %d", n, notes, want)
		}
		strays := 0
		for _, s := range r.Stages {
			if s.Outside > 0 {
				strays += s.Outside
				if s.Outside != 2 || s.Stray != "first" || s.OutsideNS != 2000 {
					t.Errorf("%+v: want two launches, the first is first", s)
				}
			}
		}
		if strays != 2 {
			t.Errorf("%d launches are outside of all steps, want 2", strays)
		}
	}
}
