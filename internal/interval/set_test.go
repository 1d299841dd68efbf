package interval_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/llmstrata/strata/internal/interval"
)

type span = interval.Span

// The twin of every function below is a bitmap of the points 0…domain−1: slow,
// obvious, and independent of the code under test.
const domain = 64

type bitmap [domain]bool

func paint(spans []span) bitmap {
	var b bitmap
	for _, s := range spans {
		for t := s.Start; t < s.End; t++ {
			b[t] = true
		}
	}
	return b
}

func (b bitmap) spans() []span {
	var out []span
	for t := range b {
		if !b[t] {
			continue
		}
		if n := len(out); n > 0 && out[n-1].End == int64(t) {
			out[n-1].End++
			continue
		}
		out = append(out, span{int64(t), int64(t) + 1})
	}
	return out
}

func combine(a, b bitmap, f func(x, y bool) bool) bitmap {
	var out bitmap
	for t := range out {
		out[t] = f(a[t], b[t])
	}
	return out
}

func randomSpans(r *rand.Rand) []span {
	out := make([]span, r.IntN(12))
	for i := range out {
		s := r.Int64N(domain)
		// Some are empty, some inverted.
		e := min(s+r.Int64N(14)-2, domain)
		out[i] = span{s, e}
	}
	return out
}

func TestAgainstBitmap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 20000 {
		raw := randomSpans(r)
		points := paint(raw)
		set := interval.UnionInPlace(slices.Clone(raw))
		check := func(name string, got []span, want bitmap) {
			t.Helper()
			if !slices.Equal(got, want.spans()) {
				t.Fatalf("case %d: %s of %v = %v, want %v", i, name, raw, got, want.spans())
			}
		}
		check("UnionInPlace", set, points)
		w := span{r.Int64N(domain), r.Int64N(domain)}
		both := combine(points, paint([]span{w}), func(x, y bool) bool { return x && y })
		if got, want := interval.Covered(set, w), interval.Total(both.spans()); got != want {
			t.Fatalf("case %d: Covered(%v, %v) = %d, want %d", i, set, w, got, want)
		}
		hull := interval.Hull(set)
		gaps := combine(points, paint([]span{hull}), func(x, y bool) bool { return !x && y })
		if got := interval.Total(set) + interval.Total(gaps.spans()); got != hull.Len() {
			t.Fatalf("case %d: set and gaps of %v add up to %d, want %d", i, set, got, hull.Len())
		}
	}
}

func TestTouchingSpansAreOne(t *testing.T) {
	got := interval.UnionInPlace([]span{{5, 9}, {0, 5}, {9, 9}, {12, 10}})
	if want := []span{{0, 9}}; !slices.Equal(got, want) {
		t.Errorf("UnionInPlace = %v, want %v", got, want)
	}
}

func TestHugeValuesSaturate(t *testing.T) {
	whole := span{math.MinInt64, math.MaxInt64}
	if got := whole.Len(); got != math.MaxInt64 {
		t.Errorf("Len(%v) = %d, want MaxInt64", whole, got)
	}
	set := interval.UnionInPlace([]span{{math.MinInt64, -1}, {1, math.MaxInt64}})
	if got := interval.Total(set); got != math.MaxInt64 {
		t.Errorf("Total(%v) = %d, want MaxInt64", set, got)
	}
}

func TestContains(t *testing.T) {
	s := span{3, 5}
	for at, want := range map[int64]bool{2: false, 3: true, 4: true, 5: false} {
		if got := s.Contains(at); got != want {
			t.Errorf("Contains(%d) = %v, want %v", at, got, want)
		}
	}
}

func BenchmarkUnion(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	spans := make([]span, 1<<16)
	for i := range spans {
		s := r.Int64N(1 << 30)
		spans[i] = span{s, s + r.Int64N(1<<14)}
	}
	b.ReportAllocs()
	for b.Loop() {
		interval.UnionInPlace(slices.Clone(spans))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(spans)), "ns/span")
}
