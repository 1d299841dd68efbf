package column

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSortAgainstTheObviousOne compares with a stable sort of whole rows.
func TestSortAgainstTheObviousOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	type row struct {
		thread     int32
		start      int64
		dur        int64
		name       uint32
		kind       uint8
		correlated uint64
	}
	for round := range 400 {
		n := rng.IntN(60)
		gpu := round%2 == 0
		var c Columns
		var want []row
		for i := range n {
			r := row{start: int64(rng.IntN(20)), dur: int64(rng.IntN(3)), name: uint32(i), kind: 7,
				correlated: uint64(rng.IntN(3))}
			if round%3 == 0 { // nearly sorted
				r.start = int64(i + rng.IntN(3))
			}
			c.Start, c.Dur, c.Name, c.Kind = append(c.Start, r.start), append(c.Dur, r.dur), append(c.Name, r.name),
				append(c.Kind, r.kind)
			if !gpu {
				r.thread = int32(rng.IntN(3))
				c.Thread = append(c.Thread, r.thread)
			}
			c.Corr.Set(i, r.correlated)
			want = append(want, r)
		}
		slices.SortStableFunc(want, func(a, b row) int {
			if gpu {
				return cmp.Compare(a.start, b.start)
			}
			return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.start, b.start), cmp.Compare(b.dur, a.dur))
		})
		var first []int32
		if !gpu {
			first = ThreadRows(c.Thread, 3)
		}
		c.Sort(t.Context(), first)
		for i, w := range want {
			got := row{start: c.Start[i], dur: c.Dur[i], name: c.Name[i], kind: c.Kind[i], correlated: c.Corr.At(i)}
			if !gpu {
				got.thread = c.Thread[i]
			}
			if got != w {
				t.Fatalf("round %d: row %d = %+v, want %+v", round, i, got, w)
			}
		}
	}
}

func TestSparseExtendKeepsRows(t *testing.T) {
	none := func(int) int { return 0 }
	var a, b Columns
	a.Start, b.Start = make([]int64, 5), make([]int64, 4)
	a.Corr.Set(1, 7)
	b.Corr.Set(2, 9)
	b.Ext.Set(0, 3)
	a.Append(&b, none)
	if a.Corr.At(1) != 7 || a.Corr.At(7) != 9 || a.Ext.At(5) != 3 || a.Ext.At(4) != 0 || a.Len() != 9 {
		t.Errorf("corr %v, ext %v, %d rows", a.Corr.V, a.Ext.V, a.Len())
	}
}
