package published

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/hosttest"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestComparableModeEqualsTheReference compares every field of the golden
// files with ours, numbers to the four decimals they have.
func TestComparableModeEqualsTheReference(t *testing.T) {
	golden, err := filepath.Glob(filepath.Join(testdata.Shared(t, "golden/host"), "*.json"))
	if err != nil || len(golden) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, g := range golden {
		name := strings.TrimSuffix(filepath.Base(g), ".json")
		t.Run(name, func(t *testing.T) {
			v, err := DetectHost(t.Context(), hosttest.Open(t, testdata.Shared(t, "traces/nsys/"+name+".sqlite")),
				HostOptions{})
			if err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			var got, want map[string]any
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			file, err := os.ReadFile(g)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(file, &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, keep(got, want)); diff != "" {
				t.Errorf("-golden +ours:\n%s", diff)
			}
		})
	}
}

// keep drops what the reference does not have.
func keep(got, want map[string]any) map[string]any {
	out := map[string]any{}
	for k, w := range want {
		g := got[k]
		if wm, ok := w.(map[string]any); ok {
			gm, _ := g.(map[string]any)
			if k == "phases" && len(gm) != len(wm) {
				out[k] = g
				continue
			}
			out[k] = keep(gm, wm)
			continue
		}
		out[k] = g
	}
	return out
}

// TestVersionedNamesAreNotSeen: real exports write cudaLaunchKernel_v7000, which the published detector never counts.
func TestVersionedNamesAreNotSeen(t *testing.T) {
	cfg := nsysgen.Default(1)
	cfg.Graphs = nsysgen.GraphOff
	for suffix, want := range map[bool]string{true: "0.0000", false: "0.2038"} {
		cfg.APISuffix = suffix
		path := filepath.Join(t.TempDir(), "run.sqlite")
		if _, err := nsysgen.Write(path, cfg); err != nil {
			t.Fatal(err)
		}
		r, err := DetectHost(t.Context(), hosttest.Open(t, path), HostOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Metrics.LaunchOverhead.String(); got != want {
			t.Errorf("suffix %v: M2 = %s, want %s", suffix, got, want)
		}
	}
}

// built is a trace of the given events, whose times are in µs.
func assembledHost(t *testing.T, events ...trace.EventData) *trace.Trace {
	t.Helper()
	b := trace.NewBuilder(trace.Options{})
	for _, e := range events {
		e.Start, e.Duration = e.Start*1000, e.Duration*1000
		e.Process, e.Thread = 1, 1
		b.Add(e)
	}
	return built.Trace(b)
}

func kernelAt(start, dur int64) trace.EventData {
	return trace.EventData{Kind: event.Kernel, Name: "gemm", Start: start, Duration: dur, Stream: 7}
}

func rangeAt(name string, start, dur int64) trace.EventData {
	return trace.EventData{Kind: event.Annotation, Name: name, Start: start, Duration: dur, Device: trace.None,
		Stream: trace.None}
}

// TestPhasesAreOneWindow: from the first step's start to the last one's end, steps without requests apart; a phase
// alone can turn the verdict.
func TestPhasesAreOneWindow(t *testing.T) {
	tr := assembledHost(t, kernelAt(0, 900), kernelAt(1000, 10), kernelAt(1090, 10), kernelAt(1110, 1000),
		rangeAt("[Executor] _forward_step 1: 0 ctx reqs, 8 gen reqs", 1000, 20),
		rangeAt("[Executor] _forward_step 2: 0 ctx reqs, 8 gen reqs", 1080, 20),
		rangeAt("[Executor] _forward_step 3: 0 ctx reqs, 0 gen reqs", 0, 20),
		rangeAt("_prepare_inputs", 1020, 40), rangeAt("_prepare_inputs", 1400, 40))
	r, err := DetectHost(t.Context(), tr, HostOptions{})
	if err != nil {
		t.Fatal(err)
	}
	g := r.Phases["generation"]
	if g == nil || len(r.Phases) != 1 {
		t.Fatalf("phases %v, want generation alone", r.Phases)
	}
	got := []string{g.Verdict, g.Metrics.GPUIdle.String(), g.Metrics.PrepExposed.String(),
		g.Metrics.PrepImpact.String(),
		g.Metrics.LaunchOverhead.String(), r.Verdict, r.Metrics.GPUIdle.String(), r.Metrics.PrepExposed.String()}
	if diff := cmp.Diff([]string{"YES", "0.8000", "1.0000", "0.4000", "n/a", "YES", "0.0900", "0.5000"},
		got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if g.Iterations != 2 || g.HostPrepConfirmed {
		t.Errorf("%d iterations, want 2; host preparation confirmed %v at an attribution of %s", g.Iterations,
			g.HostPrepConfirmed, g.Metrics.PrepIdleAttribution)
	}
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "generation, 2 step ranges: YES") {
		t.Errorf("text %s, error %v", text.String(), err)
	}
	r, err = DetectHost(t.Context(), tr, HostOptions{NoPrep: true})
	if err != nil || r.Metrics.PrepExposed.String() != "n/a" {
		t.Errorf("without preparation it is %s, error %v", r.Metrics.PrepExposed, err)
	}
}

// TestAnyTraceIsJudged: shares stay shares, whatever overlaps.
func TestAnyTraceIsJudged(t *testing.T) {
	for seed := range int64(50) {
		r := rand.New(rand.NewSource(seed))
		var events []trace.EventData
		for range 1 + r.Intn(60) {
			events = append(events, kernelAt(int64(r.Intn(1000)), int64(1+r.Intn(50))),
				rangeAt("prepare_inputs", int64(r.Intn(1000)), int64(1+r.Intn(50))))
		}
		got, err := DetectHost(t.Context(), assembledHost(t, events...), HostOptions{})
		if err != nil {
			t.Fatal(err)
		}
		m := got.Metrics
		if m.GPUIdle < 0 || m.GPUIdle > 1 || m.PrepExposed < 0 || m.PrepExposed > 1 ||
			m.GPUIdle+m.GPUUtilization < 0.9999 || m.GPUIdle+m.GPUUtilization > 1.0001 {
			t.Errorf("seed %d: %+v", seed, m)
		}
		if _, err := json.Marshal(got); err != nil {
			t.Error(err)
		}
	}
}

func TestDetectErrors(t *testing.T) {
	if _, err := DetectHost(t.Context(), assembledHost(t, rangeAt("prepare_inputs", 0, 1)),
		HostOptions{}); !errors.Is(err, ErrNoHostKernels) {
		t.Errorf("no kernels: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := DetectHost(ctx, assembledHost(t, kernelAt(0, 1)), HostOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
