package trace

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
		thread     ThreadIndex
		start      Time
		dur        int64
		name       NameID
		kind       Kind
		correlated CorrelationID
	}
	for round := range 400 {
		n := rng.IntN(60)
		gpu := round%2 == 0
		var c columns
		var want []row
		for i := range n {
			r := row{start: Time(rng.IntN(20)), dur: int64(rng.IntN(3)), name: NameID(i), kind: KindOp, correlated: CorrelationID(rng.IntN(3))}
			if round%3 == 0 { // nearly sorted
				r.start = Time(i + rng.IntN(3))
			}
			c.start, c.dur, c.name, c.kind = append(c.start, r.start), append(c.dur, r.dur), append(c.name, r.name), append(c.kind, r.kind)
			if !gpu {
				r.thread = ThreadIndex(rng.IntN(3))
				c.thread = append(c.thread, r.thread)
			}
			c.corr.set(i, r.correlated)
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
			first = threadRows(c.thread, 3)
		}
		c.sort(t.Context(), first)
		for i, w := range want {
			got := row{start: c.start[i], dur: c.dur[i], name: c.name[i], kind: c.kind[i], correlated: c.corr.at(i)}
			if !gpu {
				got.thread = c.thread[i]
			}
			if got != w {
				t.Fatalf("round %d: row %d = %+v, want %+v", round, i, got, w)
			}
		}
	}
}

func TestSparseExtendKeepsRows(t *testing.T) {
	none := func(int) int { return 0 }
	var a, b columns
	a.start, b.start = make([]Time, 5), make([]Time, 4)
	a.corr.set(1, 7)
	b.corr.set(2, 9)
	b.ext.set(0, 3)
	a.appendAll(&b, none)
	if a.corr.at(1) != 7 || a.corr.at(7) != 9 || a.ext.at(5) != 3 || a.ext.at(4) != 0 || a.len() != 9 {
		t.Errorf("corr %v, ext %v, %d rows", a.corr.v, a.ext.v, a.len())
	}
}
