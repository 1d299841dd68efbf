package activity

import (
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/layer"
)

// TestWhatRunsAlone: 0–10, 5–30, an empty one at 40, and 50–60. Worked by hand: the first is alone for 5, the second
// for 20, and before 50 the device is idle for 20.
func TestWhatRunsAlone(t *testing.T) {
	tr := built.Kernels([2]int64{0, 10}, [2]int64{5, 30}, [2]int64{40, 40}, [2]int64{50, 60})
	an, err := layer.Analyze(t.Context(), tr, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := NewPool().Collect(t.Context(), an, "t", "")
	for act, want := range []int64{5, 20, 0, 10} {
		if got := w.Alone(int32(act)); got != want {
			t.Errorf("activity %d is alone for %d, want %d", act, got, want)
		}
	}
	for _, c := range []struct {
		before, after int32
		want          int64
	}{{0, 1, 0}, {0, 2, 10}, {0, 3, 20}, {2, 3, 10}, {3, 3, 0}} {
		if got := w.Idle(c.before, c.after); got != c.want {
			t.Errorf("between %d and %d: %d, want %d", c.before, c.after, got, c.want)
		}
	}
}
