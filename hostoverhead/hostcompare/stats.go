package hostcompare

import (
	"slices"

	"github.com/llmstrata/strata/internal/stat"
)

// Stats are order statistics of one duration, in µs.
type Stats struct {
	N   int     `json:"n"` // samples
	Avg float64 `json:"avg"`
	Min float64 `json:"min"`
	Max float64 `json:"max"`
	P50 float64 `json:"p50"` // sorted[n/2]
	P90 float64 `json:"p90"` // sorted[⌊0.9 n⌋]
}

// statsOf computes Stats of samples in µs; the zero Stats for none.
func statsOf(samples []float64) Stats {
	if len(samples) == 0 {
		return Stats{}
	}
	s := slices.Sorted(slices.Values(samples))
	n := len(s)
	return Stats{N: n, Avg: stat.Mean(s), Min: s[0], Max: s[n-1], P50: s[n/2], P90: s[min(n*9/10, n-1)]}
}

// spansZero reports whether the difference may as well be none.
func spansZero(i *[2]float64) bool { return i[0] <= 0 && i[1] >= 0 }

// us converts nanoseconds to µs.
func us(ns int64) float64 { return float64(ns) / 1e3 }
