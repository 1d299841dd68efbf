package activity

import (
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestWhatRunsAlone: 0–10, 5–30, an empty one at 40, and 50–60. Worked by hand: the first is alone for 5, the second
// for 20, and before 50 the device is idle for 20.
func TestWhatRunsAlone(t *testing.T) {
	tr := built.Kernels([2]int64{0, 10}, [2]int64{5, 30}, [2]int64{40, 40}, [2]int64{50, 60})
	w := NewPool().Collect(t.Context(), analyzed(t, tr), "t", "")
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

// TestOtherProcessesAreNotBeside: of two processes on one GPU the first runs 0–10 and 40–50, the second 5–45. Worked by
// hand: where the first alone is asked for, its kernels run for 10 each, and between them it runs nothing for 30.
func TestOtherProcessesAreNotBeside(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	for i, k := range []struct {
		process    string
		start, end int64
	}{{"one", 0, 10}, {"two", 5, 45}, {"one", 40, 50}} {
		call := trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: k.start, Duration: 1,
			ProcessLabel: k.process, Thread: 1, Correlation: uint64(i + 1)}
		b.Add(call)
		b.Add(trace.EventData{Kind: event.Kernel, Name: "k", Stream: trace.StreamID(i), Start: k.start,
			Duration: k.end - k.start, Correlation: call.Correlation})
	}
	an := analyzed(t, built.Trace(b))
	for process, want := range map[string][3]int64{"": {5, 5, 0}, "one": {10, 10, 30}} {
		w := NewPool().Collect(t.Context(), an, "t", process)
		last := int32(len(w.Acts) - 1)
		if got := [3]int64{w.Alone(0), w.Alone(last), w.Idle(0, last)}; got != want {
			t.Errorf("process %q: %v, want %v", process, got, want)
		}
	}
}
