package layer_test

import (
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestFrameworkOfATrace: code in frames comes before ops, ops before annotations, and kernels are no sign.
func TestFrameworkOfATrace(t *testing.T) {
	record := func(kind event.Kind, name string) trace.EventData {
		return trace.EventData{Kind: kind, Name: name, Start: 10, Duration: 5, Thread: 1, Stream: 7}
	}
	frame := record(event.Frame, "python/sglang/srt/models/llama.py(10): forward")
	op := record(event.Op, "vllm::unified_attention")
	step := record(event.Annotation, "step[DECODE bs=32]")
	kernel := record(event.Kernel, "void vllm::rms_norm_kernel<float>(int)")
	for _, c := range []struct {
		name   string
		events []trace.EventData
		want   string
	}{
		{"frames", []trace.EventData{frame, op, kernel}, "SGLang"},
		{"ops", []trace.EventData{op, step, kernel}, "vLLM"},
		{"annotations", []trace.EventData{step, kernel}, "SGLang"}, {"kernels", []trace.EventData{kernel}, ""},
	} {
		b := trace.NewBuilder(trace.Options{})
		for _, e := range c.events {
			b.Add(e)
		}
		a, err := layer.Analyze(t.Context(), built.Trace(b), layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Framework(); got != c.want {
			t.Errorf("%s: framework %q, want %q", c.name, got, c.want)
		}
	}
}
