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
		p := tr.parents(event.LanePython)
		for range 2000 {
			x := Time(rng.Int64N(at + 50))
			k := int32(-1)
			for i := range c.Start {
				if c.Start[i] <= int64(x) {
					k = int32(i)
				}
			}
			for k >= 0 && c.End(int(k)) < int64(x) {
				k = p[k]
			}
			got := tr.Innermost(event.LanePython, 0, x)
			if (k < 0) != !got.Valid() || k >= 0 && got.Index() != int(k) {
				t.Fatalf("at %d: %v, want row %d (depth %d)", x, got.Index(), k, depth)
			}
		}
	}
}

// TestJumpsAreFew counts the rows that are looked at for one time after a deep
// stack that has ended: some dozens, not the depth.
func TestJumpsAreFew(t *testing.T) {
	const depth = 100_000
	b := NewBuilder(Options{})
	for k := range int64(depth) {
		b.Add(EventData{Kind: event.Frame, Name: "f", Start: k, Duration: 2 * (depth - k), Thread: 1})
	}
	tr := finished(b)
	p, j := tr.parents(event.LanePython), tr.jumps(event.LanePython)
	steps := 0
	for i := int32(depth - 1); i >= 0; steps++ {
		if j[i] >= 0 {
			i = j[i]
		}
		i = p[i]
	}
	if steps > 64 {
		t.Errorf("%d steps out of %d frames, want at most 64", steps, depth)
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
