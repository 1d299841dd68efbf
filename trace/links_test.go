package trace

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSortCorr compares with a plain sort, on keys of many processes, in and
// out of order.
func TestSortCorr(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 300 {
		keys := make([]corrKey, n)
		for i := range keys {
			keys[i] = corrKey{scope: uint16(rng.IntN(1 + n%5*100)), corr: CorrelationID(i), row: int32(i)}
			if n%3 == 0 {
				keys[i].corr = CorrelationID(rng.IntN(20))
			}
		}
		want := slices.Clone(keys)
		slices.SortStableFunc(want, func(a, b corrKey) int {
			return cmp.Or(cmp.Compare(a.scope, b.scope), cmp.Compare(a.corr, b.corr))
		})
		if got := sortCorr(t.Context(), keys); !slices.Equal(got, want) {
			t.Fatalf("%d keys: got %v, want %v", n, got, want)
		}
	}
}
