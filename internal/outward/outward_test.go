package outward_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/outward"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestMemory: what events say together does not depend on what was asked before, of one thread and of several, and an
// event around the last one is not asked again.
func TestMemory(t *testing.T) {
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
		var m outward.Memory[string]
		for range 200 {
			e := tr.LaneAt(event.LanePython, r.IntN(tr.Len(event.LanePython)))
			if got, want := m.Of(e, inside), path(e); got != want {
				t.Fatalf("seed %d: %s, want %s", seed, got, want)
			}
			for f := range e.Enclosing() {
				got := m.Of(f, func(string, trace.Event) string {
					t.Errorf("seed %d: %s is asked again", seed, f.Name())
					return ""
				})
				if want := path(f); got != want {
					t.Fatalf("seed %d: %s, want %s", seed, got, want)
				}
			}
		}
		if got := m.Of(trace.Event{}, inside); got != "" {
			t.Errorf("no event says %q", got)
		}
	}
}
