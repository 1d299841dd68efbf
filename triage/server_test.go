package triage_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

// TestServerOfKernelsAlone: kernels in a server's namespace show that a server ran, not which; without any it is a
// program on PyTorch.
func TestServerOfKernelsAlone(t *testing.T) {
	for name, want := range map[string]string{
		"void vllm::rms_norm_kernel<float>(int)":       "unknown",
		"void at::native::rms_norm_kernel<float>(int)": "PyTorch",
		"void notvllm::rms_norm_kernel<float>(int)":    "PyTorch",
	} {
		b := trace.NewBuilder(trace.Options{})
		b.Add(trace.EventData{Kind: event.Kernel, Name: name, Start: 1000, Duration: 1000, Stream: 7})
		r, err := triage.Analyze(t.Context(), input(t, built.Trace(b), "x.json"), triage.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Framework != want {
			t.Errorf("%s: framework %s, want %s", name, r.Framework, want)
		}
	}
}

// TestCaptureIsAStage: the work of capturing graphs is not that of serving.
func TestCaptureIsAStage(t *testing.T) {
	tr, err := trace.Open(t.Context(), testdata.Shared(t, "traces/torch/sglang-qwen3-8b-graph-capture-mi300.json.gz"),
		trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := triage.Analyze(t.Context(), input(t, tr, "x.json"), triage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Stages) != 1 || r.Stages[0].Stage != string(layer.StageCapture) {
		t.Errorf("stages %+v, want capture alone", r.Stages)
	}
}

// TestStagesWithoutAnnotations: a server's trace without annotations has the stages that its passes show by how they
// are launched.
func TestStagesWithoutAnnotations(t *testing.T) {
	cfg := gen.Config{Seed: 3, Arch: gen.Arch{Layers: gen.Uniform(16, gen.Layer{})},
		Passes: []gen.Pass{{Mode: gen.Eager, Prefills: 1, Tokens: 4096}}}
	for range 9 {
		cfg.Passes = append(cfg.Passes, gen.Pass{Mode: gen.FullGraph, Decodes: 1, Context: 4096})
	}
	var b bytes.Buffer
	if err := gen.Write(&b, cfg); err != nil {
		t.Fatal(err)
	}
	tr, err := trace.Read(t.Context(), &b, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := triage.Analyze(t.Context(), input(t, tr, "x"), triage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, s := range r.Stages {
		got[s.Stage] = s.Steps
	}
	if diff := cmp.Diff(map[string]int{"decode": 9, "extend": 1}, got); diff != "" {
		t.Errorf("stages and steps (-want +got):\n%s", diff)
	}
}
