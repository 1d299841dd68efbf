package layer_test

import (
	"testing"

	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/xplane"
)

// TestConvolutionsAreNoProjections: five convolutions that repeat are layers of no decoder; the order of the kernels
// names no operator of one.
func TestConvolutionsAreNoProjections(t *testing.T) {
	path := testdata.Shared(t, "traces/other/jax-conv-mi300.xplane.pb")
	if path == "" {
		return
	}
	tr, err := trace.Open(t.Context(), path, trace.Options{Formats: []trace.Format{xplane.Format()}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := layer.Analyze(t.Context(), tr, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for e := range tr.Events(event.LaneGPU) {
		if op, _, _ := a.Of(e.ID()).Operator(); op != opname.Other {
			t.Errorf("%s at %v is %s", e.Name(), e.Start(), op)
		}
		n++
	}
	if n == 0 {
		t.Error("no kernels")
	}
}
