package hostoverhead

import (
	"slices"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/layer"
)

// TestOthers: kernels at 0–10, 5–60, 20–30 and 50–70. Worked by hand: beside the second the GPU is idle in 10–20 and
// 30–50, beside the third never, beside the last from 60 on.
func TestOthers(t *testing.T) {
	tr := built.Kernels([2]int64{0, 10}, [2]int64{5, 60}, [2]int64{20, 30}, [2]int64{50, 70})
	a, err := layer.Analyze(t.Context(), tr, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]interval.Span{{{Start: 5, End: 70}},
		{{Start: 0, End: 10}, {Start: 20, End: 30}, {Start: 50, End: 70}}, {{Start: 0, End: 70}}, {{Start: 0, End: 60}}} {
		if got := others(a.Devices[0].Kernel(i)); !slices.Equal(got, want) {
			t.Errorf("kernel %d: %v, want %v", i, got, want)
		}
	}
}
