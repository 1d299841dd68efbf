package activity

import "testing"

// TestWhatRunsAlone: on one device 0–10, 5–30 on another stream, an empty one at 40, and 50–60; on the next device
// 5–15. Worked by hand: the first is alone for 5, the second for 20, and before 50 the device is idle for 20.
func TestWhatRunsAlone(t *testing.T) {
	w := &Trace{Queues: []Queue{{0, 0}, {0, 1}, {1, 0}}, Acts: []Activity{{Start: 0, End: 10},
		{Start: 5, End: 30, Queue: 1}, {Start: 40, End: 40}, {Start: 50, End: 60}, {Start: 5, End: 15, Queue: 2}}}
	for act, want := range []int64{5, 20, 0, 10, 10} {
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
