package trace

import (
	"math/rand/v2"
	"testing"

	"github.com/llmstrata/strata/trace/event"
)

// TestAtDeepStacks compares with a walk through all rows: the innermost frame
// that holds a time, below deep stacks that have ended.
func TestAtDeepStacks(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		b := NewBuilder(Options{})
		var at, depth int64
		for range 600 { // chains of nested frames, one after the other
			n := 1 + rng.Int64N(200)
			for k := range n {
				b.Add(EventData{Kind: event.Frame, Name: "f", Start: at + k,
					Duration: (2*n - 2*k) * int64(1+rng.IntN(2)), Thread: 1})
			}
			depth = max(depth, n)
			at += n + rng.Int64N(n)
			if b.t.lanes[event.LanePython].Len() > 3000 {
				break
			}
		}
		tr := finished(b)
		c := &tr.lanes[event.LanePython]
		for range 2000 {
			x := Time(rng.Int64N(at + 50))
			k := int32(-1)
			for i := range c.Start {
				if c.Start[i] <= int64(x) {
					k = int32(i)
				}
			}
			for k >= 0 && c.End(int(k)) < int64(x) {
				k--
			}
			got := tr.Innermost(event.LanePython, 0, x)
			if (k < 0) != !got.Valid() || k >= 0 && got.Index() != int(k) {
				t.Fatalf("at %d: %v, want row %d (depth %d)", x, got.Index(), k, depth)
			}
		}
	}
}

// TestDeepStacksEnd asks for what encloses each of very many nested frames, and for what is left once all have ended:
// answers that look at every frame would take minutes.
func TestDeepStacksEnd(t *testing.T) {
	const depth = 300_000
	b := NewBuilder(Options{})
	for k := range int64(depth) {
		b.Add(EventData{Kind: event.Frame, Name: "f", Start: k, Duration: 2 * (depth - k), Thread: 1})
	}
	tr := finished(b)
	for i := 1; i < depth; i++ {
		if p := tr.At(trID(tr, i)).Parent(); p.Index() != i-1 {
			t.Fatalf("row %d lies in row %d, want %d", i, p.Index(), i-1)
		}
	}
	for x := Time(2 * depth); x > depth; x -= 2 { // row k ends at 2·depth − k
		if got, want := tr.Innermost(event.LanePython, 0, x).Index(), int(2*depth-x); got != want {
			t.Fatalf("at %d: row %d, want %d", x, got, want)
		}
	}
	n := 0
	for range tr.At(trID(tr, depth-1)).Enclosing() {
		n++
	}
	if n != MaxEnclosing {
		t.Errorf("%d events enclose the innermost, want %d", n, MaxEnclosing)
	}
}

func trID(t *Trace, row int) EventID { return t.base[event.LanePython] + EventID(row) }
