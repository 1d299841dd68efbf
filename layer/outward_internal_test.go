package layer

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestOutward: what events say together does not depend on what was asked before, of one thread and of several, and an
// event around the last one is not asked again.
func TestOutward(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := trace.NewBuilder(trace.Options{})
		for i := range 60 {
			start := r.Int64N(100)
			b.Add(trace.EventData{Kind: event.Frame, Name: fmt.Sprint("f", i), Start: start, Duration: r.Int64N(100 - start),
				Process: 1, Thread: 1 + r.Int64N(2)})
		}
		tr := built.Trace(b)
		inside := func(around string, e trace.Event) string { return around + "/" + e.Name() }
		path := func(e trace.Event) (path string) {
			for f := range e.Enclosing() {
				path = "/" + f.Name() + path
			}
			return path
		}
		var m outward[string]
		for range 200 {
			e := tr.LaneAt(event.LanePython, r.IntN(tr.Len(event.LanePython)))
			if got, want := m.of(e, inside), path(e); got != want {
				t.Fatalf("seed %d: %s, want %s", seed, got, want)
			}
			for f := range e.Enclosing() {
				got := m.of(f, func(string, trace.Event) string {
					t.Errorf("seed %d: %s is asked again", seed, f.Name())
					return ""
				})
				if want := path(f); got != want {
					t.Fatalf("seed %d: %s, want %s", seed, got, want)
				}
			}
		}
		if got := m.of(trace.Event{}, inside); got != "" {
			t.Errorf("no event says %q", got)
		}
	}
}

// TestOutwardOfDeepStacks: of events that nest deeper than those are looked at which are around one, each has the same
// answer whichever was asked before.
func TestOutwardOfDeepStacks(t *testing.T) {
	const depth = 3000
	b := trace.NewBuilder(trace.Options{})
	for i := range int64(depth) {
		b.Add(trace.EventData{Kind: event.Frame, Name: "f", Start: i, Duration: 2 * (depth - i), Process: 1, Thread: 1})
	}
	tr := built.Trace(b)
	asked := []int{100, 999, 1023, 1024, 1100, 2000, depth - 1}
	for _, first := range asked {
		for _, row := range asked {
			var m outward[int]
			count := func(around int, _ trace.Event) int { return around + 1 }
			m.of(tr.LaneAt(event.LanePython, first), count)
			want := 0
			for range tr.LaneAt(event.LanePython, row).Enclosing() {
				want++
			}
			if got := m.of(tr.LaneAt(event.LanePython, row), count); got != want {
				t.Errorf("event %d after %d: %d events, want %d", row, first, got, want)
			}
		}
	}
}
