package layer_test

import (
	"encoding/json"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// FuzzParseStep: any annotation gives a step whose counts are counts, or none.
func FuzzParseStep(f *testing.F) {
	for _, s := range []string{
		"step[DECODE bs=32]", "step[EXTEND bs=15 toks=15360]", "execute_8192_context_9(sq8155)_generation_37(sq37)",
		"execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086)",
		"[Executor] _forward_step 12: 3 ctx reqs, 5 gen reqs",
		"ProfilerStep#99999999999999999999", "step[ bs=-1 toks=99999999999999999999]",
		"execute_context_0_0_generation_1_1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		s, ok := layer.ParseStep(name)
		if !ok {
			return
		}
		if s.Stage == "" || s.Batch < -1 || s.Tokens < -1 {
			t.Errorf("ParseStep(%q) = %+v, want a stage, and counts of 0 and more or -1", name, s)
		}
		if _, err := json.Marshal(s); err != nil {
			t.Error(err)
		}
	})
}

// TestModuleWithoutPrefix: a reader of another format may give a module frame
// any name, an empty one as well.
func TestModuleWithoutPrefix(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	b.Add(trace.EventData{Kind: event.Module, Name: "", Duration: 1000})
	for i := range int64(40) {
		name := []string{"rms_norm_kernel", "gemm_kernel", "flash_fwd_kernel", "silu_and_mul_kernel"}[i%4]
		id := uint64(i + 1)
		b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: 10 * i, Duration: 5,
			Correlation: id})
		b.Add(trace.EventData{Kind: event.Kernel, Name: name, Start: 10*i + 6, Duration: 4, Stream: 7, Correlation: id})
	}
	a, err := layer.Analyze(t.Context(), built.Trace(b), layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := len(a.Devices); got != 1 {
		t.Errorf("%d devices, want 1", got)
	}
}
