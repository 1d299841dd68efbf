package triage_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

// stacked is a trace of frames around launches; times in µs, of thread 1.
type stacked struct {
	*trace.Builder
	corr uint64
}

func newStacked() *stacked { return &stacked{Builder: trace.NewBuilder(trace.Options{})} }

func (s *stacked) Finish() *trace.Trace { return built.Trace(s.Builder) }

func (s *stacked) frame(name string, start, end int64) {
	kind := event.Frame
	if strings.HasPrefix(name, "nn.Module") {
		kind = event.Module
	}
	s.Add(trace.EventData{Kind: kind, Name: name, Start: start * 1000, Duration: (end - start) * 1000, Thread: 1,
		Device: trace.None, Stream: trace.None})
}

func (s *stacked) op(name string, start, end int64) {
	s.Add(trace.EventData{Kind: event.Op, Name: name, Start: start * 1000, Duration: (end - start) * 1000, Thread: 1,
		Device: trace.None, Stream: trace.None})
}

func (s *stacked) kernel(name string, launch, start, length int64) {
	s.corr++
	s.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: launch * 1000, Duration: 1000,
		Thread: 1, Correlation: s.corr, Device: trace.None, Stream: trace.None})
	s.Add(trace.EventData{Kind: event.Kernel, Name: name, Start: start * 1000, Duration: length * 1000, Stream: 7,
		Correlation: s.corr})
}

// TestProfileOfStacks: samples are separated by kernel, op and the stack around the launch, from the inside out;
// functions are qualified by the module whose call they are, and uninformative frames are left out.
func TestProfileOfStacks(t *testing.T) {
	s := newStacked()
	s.Meta = trace.Meta{BaseTime: 1_700_000_000_000_000_000}
	s.frame("/srv/main.py(5): serve", 0, 1000)
	s.frame("threading.py(1016): _bootstrap", 5, 990)
	s.frame("vllm/v1/worker/gpu_model_runner.py(10): execute_model", 10, 900)
	s.frame("nn.Module: Qwen3MLP_0", 20, 200)
	s.frame("vllm/model_executor/models/qwen3.py(88): forward", 30, 190)
	s.op("aten::mm", 40, 60)
	s.kernel("gemm", 50, 2000, 10)
	s.kernel("gemm", 55, 2020, 20)
	s.kernel("silu", 100, 2040, 30)
	s.kernel("copy", 300, 2100, 40)
	s.kernel("late", 950, 2200, 50)
	s.kernel("alone", 1500, 2300, 60)
	tr := s.Finish()
	r, err := triage.Analyze(t.Context(), input(t, tr, "x"), triage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := r.WriteProfile(&buf); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&buf)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range p.Sample {
		var names []string
		for _, l := range x.Location {
			names = append(names, fmt.Sprintf("%s:%d", l.Line[0].Function.Name, l.Line[0].Line))
		}
		got = append(got, fmt.Sprintf("%d of %d ns: %s", x.Value[0], x.Value[1], strings.Join(names, " < ")))
	}
	slices.Sort(got)
	const serve = "/srv/main.py serve:5 < all:0"
	const outer = "vllm/v1/worker/gpu_model_runner.py execute_model:10 < " + serve
	const forward = "vllm/model_executor/models/qwen3.py Qwen3MLP.forward:88 < " + outer
	want := []string{
		"1 of 30000 ns: silu:0 < cudaLaunchKernel:0 < " + forward,
		"1 of 40000 ns: copy:0 < cudaLaunchKernel:0 < " + outer,
		"1 of 50000 ns: late:0 < cudaLaunchKernel:0 < " + serve,
		"1 of 60000 ns: alone:0 < cudaLaunchKernel:0 < unresolved:0 < all:0",
		"2 of 30000 ns: gemm:0 < aten::mm:0 < " + forward,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if began, ok := tr.Epoch(); !ok || p.TimeNanos != began.UnixNano() {
		t.Errorf("began at %d, want %v", p.TimeNanos, began)
	}
	if p.Period != 1 || p.DurationNanos != 360_000 || len(p.Comments) != 1 || p.Comments[0] != "trace: x" {
		t.Errorf("%d ns, %q", p.DurationNanos, p.Comments)
	}
}

// TestFramesAroundOps: the stack of an op's kernel is the one seen from just inside the op: a frame that begins
// within its first microsecond, or its first half, is around what it launches.
func TestFramesAroundOps(t *testing.T) {
	for _, c := range []struct {
		length, begins int64 // ns, of the op and of the frame after it
		want           string
	}{{10_000, 1000, "deep"}, {10_000, 1001, "around"}, {1000, 500, "deep"}, {1000, 501, "around"},
		{10_000, 0, "deep"}} {
		b := trace.NewBuilder(trace.Options{})
		add := func(kind event.Kind, name string, start, length int64, id uint64) {
			b.Add(trace.EventData{Kind: kind, Name: name, Start: start, Duration: length, Thread: 1, ExternalID: id,
				Device: trace.None, Stream: trace.None})
		}
		add(event.Frame, "vllm/model_executor/models/a.py(1): around", 0, 50_000, 0)
		add(event.Frame, "vllm/model_executor/models/a.py(2): deep", 5000+c.begins, 20_000, 0)
		add(event.Op, "aten::mm", 5000, c.length, 3)
		b.Add(trace.EventData{Kind: event.Kernel, Name: "gemm", Start: 60_000, Duration: 10, Stream: 7, ExternalID: 3})
		r, err := triage.Analyze(t.Context(), input(t, built.Trace(b), "x"), triage.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if l := r.Stages[0].Kernels[0].Locations; len(l) != 1 || !strings.HasSuffix(l[0].Location, " "+c.want) ||
			l[0].From != "op" {
			t.Errorf("an op of %d ns, a frame %d ns after it: %+v, want %s", c.length, c.begins, l, c.want)
		}
	}
}

// TestProcessesAreListed: a filter that keeps nothing names the processes there are, eight at most.
func TestProcessesAreListed(t *testing.T) {
	for n, more := range map[int]bool{1: false, 8: false, 9: true} {
		b := trace.NewBuilder(trace.Options{})
		for i := range n {
			process, scope := int64(100+i), fmt.Sprint(i)
			for k := range int64(2) {
				corr := uint64(k + 1)
				b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: 10 * k, Duration: 5,
					Process: process, Scope: scope, Thread: 1, Correlation: corr, Device: trace.None,
					Stream: trace.None})
				b.Add(trace.EventData{Kind: event.Kernel, Name: "k", Start: 20 + 10*k, Duration: 10, Process: process,
					Scope: scope, Stream: 7, Correlation: corr})
			}
		}
		_, err := triage.Analyze(t.Context(), input(t, built.Trace(b), "x"), triage.Options{Process: "none such"})
		if err == nil {
			t.Fatalf("%d processes: no error", n)
		}
		if got := strings.Count(err.Error(), "10"); strings.Contains(err.Error(), "…") != more || got < min(n, 8) ||
			strings.Contains(err.Error(), "108") != false && n < 9 {
			t.Errorf("%d processes: %v", n, err)
		}
	}
}

// TestFramesThatTellNothing: below nothing but the machinery of threads a launch comes from nowhere that is known.
func TestFramesThatTellNothing(t *testing.T) {
	for frame, want := range map[string]string{
		"threading.py(1016): _bootstrap": "unresolved", "/srv/main.py(5): serve": "/srv/main.py:5 serve",
		"torch/nn/modules/module.py(1773): _wrapped_call_impl": "torch/nn/modules/module.py:1773 _wrapped_call_impl",
	} {
		s := newStacked()
		s.frame(frame, 0, 1000)
		s.kernel("gemm", 50, 2000, 10)
		r, err := triage.Analyze(t.Context(), input(t, s.Finish(), "x"), triage.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if l := r.Stages[0].Kernels[0].Locations; len(l) != 1 || l[0].Location != want {
			t.Errorf("%s: %+v, want %s", frame, l, want)
		}
	}
}

// TestStacksOfOps: where the profiler wrote the stack into the op, or one around it, its best frame is the source,
// and the profile has all informative frames.
func TestStacksOfOps(t *testing.T) {
	for _, c := range []struct{ outer, inner, want, from string }{
		{"", "vllm/a.py(2): deep;vllm/a.py(1): outer", "vllm/a.py:2 deep", "op"},
		{"vllm/a.py(3): around", "", "vllm/a.py:3 around", "op"},
		{"vllm/a.py(3): around", "vllm/a.py(2): deep", "vllm/a.py:2 deep", "op"},
		{"", "threading.py(1): run", "unresolved", ""}, {"", "", "unresolved", ""},
	} {
		b := trace.NewBuilder(trace.Options{})
		add := func(kind event.Kind, name, stack string, start, length int64, id uint64) {
			b.Add(trace.EventData{Kind: kind, Name: name, CallStack: stack, Start: start, Duration: length, Thread: 1,
				ExternalID: id, Device: trace.None, Stream: trace.None})
		}
		add(event.Op, "aten::linear", c.outer, 0, 100, 1)
		add(event.Op, "aten::mm", c.inner, 10, 50, 2)
		b.Add(trace.EventData{Kind: event.Kernel, Name: "gemm", Start: 200, Duration: 10, Stream: 7, ExternalID: 2})
		r, err := triage.Analyze(t.Context(), input(t, built.Trace(b), "x"), triage.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if l := r.Stages[0].Kernels[0].Locations; len(l) != 1 || l[0].Location != c.want || l[0].From != c.from {
			t.Errorf("%q in %q: %+v, want %s by %q", c.inner, c.outer, l, c.want, c.from)
		}
		var buf bytes.Buffer
		if err := r.WriteProfile(&buf); err != nil {
			t.Fatal(err)
		}
		p, err := profile.Parse(&buf)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, l := range p.Sample[0].Location {
			names = append(names, l.Line[0].Function.Name)
		}
		if text := strings.Join(names, " < "); c.from != "" &&
			!strings.Contains(text, strings.NewReplacer(":2", "", ":3", "").Replace(c.want)) {
			t.Errorf("%q in %q: stack %s, want %s", c.inner, c.outer, text, c.want)
		}
	}
}

// TestSourcesOfActivities: the most specific line around a launch, none where no frame is known, and of a replay
// that it is one.
func TestSourcesOfActivities(t *testing.T) {
	s := newStacked()
	s.frame("/srv/main.py(5): serve", 0, 1000)
	s.kernel("gemm", 50, 2000, 10)
	s.kernel("alone", 1500, 2100, 10)
	s.Add(trace.EventData{Kind: event.Runtime, Name: "cudaGraphLaunch", Start: 60_000, Duration: 1000, Thread: 1,
		Correlation: 99, Device: trace.None, Stream: trace.None})
	s.Add(trace.EventData{Kind: event.Kernel, Name: "replayed", Start: 2_200_000, Duration: 10, Stream: 7,
		Correlation: 99, GraphNode: 1})
	tr := s.Finish()
	an, err := layer.Analyze(t.Context(), tr, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	of := triage.Sources(an)
	for e := range tr.Events(event.LaneGPU) {
		if got, want := of(e), map[string]string{"gemm": "/srv/main.py:5 serve", "alone": "",
			"replayed": "graph replay"}[e.Name()]; got != want {
			t.Errorf("%s: %q, want %q", e.Name(), got, want)
		}
	}
}
