package hostoverhead_test

import (
	"testing"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/hosttest"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace/event"
)

// TestSilenceBetweenSteps: the same time in which nothing is recorded before each step is host code, also where each
// step ends with a copy of its results, which is in no pass.
func TestSilenceBetweenSteps(t *testing.T) {
	for _, copies := range []bool{false, true} {
		tl := hosttest.NewTimeline()
		for i := range 12 {
			at := int64(1000 * i)
			tl.Event(event.Annotation, "step[DECODE bs=8]", 0, 0, at, at+20)
			tl.Event(event.Runtime, "cudaLaunchKernel", 0, 2*i+1, at+1, at+5)
			tl.Event(event.Kernel, "gemm", 0, 2*i+1, at+8, at+400)
			if copies {
				tl.Event(event.Runtime, "cudaMemcpyAsync", 0, 2*i+2, at+25, at+30)
				tl.Event(event.Memcpy, "Memcpy DtoH (Device -> Pinned)", 0, 2*i+2, at+401, at+403)
			}
			tl.Event(event.Runtime, "cudaStreamSynchronize", 0, 0, at+31, at+405)
		}
		a, err := layer.Analyze(t.Context(), tl.Finish(), layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := hostoverhead.Analyze(t.Context(), []*layer.Analysis{a}, hostoverhead.Options{})
		if err != nil {
			t.Fatal(err)
		}
		of := map[finding.Cause]int64{}
		for _, c := range v.Idle {
			of[c.Cause] += c.NS
		}
		if of[finding.HostCode] < 11*590_000 || of[finding.UnknownCause] > 0 {
			t.Errorf("copies %v: %v", copies, of)
		}
	}
}
