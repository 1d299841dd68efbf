package hostoverhead

import (
	"slices"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/layer"
)

// TestAlone: kernels at 0–10, 5–60, 20–30 and 50–70. Worked by hand: the second has the GPU to itself in 10–20 and
// 30–50, the third never, the last from 60 on.
func TestAlone(t *testing.T) {
	tr := built.Kernels([2]int64{0, 10}, [2]int64{5, 60}, [2]int64{20, 30}, [2]int64{50, 70})
	a, err := layer.Analyze(t.Context(), tr, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]interval.Span{{{Start: 0, End: 5}}, {{Start: 10, End: 20}, {Start: 30, End: 50}}, nil,
		{{Start: 60, End: 70}}} {
		if got := alone(a.Devices[0].Kernel(i)); !slices.Equal(got, want) {
			t.Errorf("kernel %d: %v, want %v", i, got, want)
		}
	}
}
