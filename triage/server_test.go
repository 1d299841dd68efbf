package triage_test

import (
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage"
)

// TestServerOfKernelsAlone: kernels in a server's namespace tell that a server ran, not which; without any it is a program on PyTorch.
func TestServerOfKernelsAlone(t *testing.T) {
	for name, want := range map[string]string{
		"void vllm::rms_norm_kernel<float>(int)":       "unknown",
		"void at::native::rms_norm_kernel<float>(int)": "PyTorch",
		"void notvllm::rms_norm_kernel<float>(int)":    "PyTorch",
	} {
		b := trace.NewBuilder()
		b.Add(trace.EventData{Kind: trace.KindKernel, Name: name, Start: 1000, Duration: 1000, Stream: 7})
		r, err := triage.Analyze(t.Context(), input(t, b.Finish(), "x.json"), triage.Options{})
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
	tr, err := trace.Open(t.Context(), testdata.Shared(t, "traces/torch/sglang-qwen3-8b-graph-capture-mi300.json.gz"), trace.Options{})
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
