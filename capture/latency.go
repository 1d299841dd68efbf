package capture

import (
	"slices"
	"time"
)

// Latency summarises how long requests took, in milliseconds. Percentiles are
// by nearest rank: the smallest value that so many per cent do not exceed.
type Latency struct {
	// Count is the number of requests that were answered.
	Count int `json:"count"`
	// MeanMs is the arithmetic mean.
	MeanMs float64 `json:"mean_ms"`
	// P50Ms and P95Ms are percentiles.
	P50Ms float64 `json:"p50_ms"`
	P95Ms float64 `json:"p95_ms"`
	// MinMs and MaxMs are the extremes.
	MinMs float64 `json:"min_ms"`
	MaxMs float64 `json:"max_ms"`
}

// summarise is the zero value for no requests.
func summarise(times []time.Duration) Latency {
	if len(times) == 0 {
		return Latency{}
	}
	sorted := slices.Sorted(slices.Values(times))
	var sum time.Duration
	for _, t := range sorted {
		sum += t
	}
	rank := func(percent int) float64 {
		return ms(sorted[(percent*len(sorted)+99)/100-1])
	}
	return Latency{
		Count: len(sorted), MeanMs: ms(sum / time.Duration(len(sorted))),
		P50Ms: rank(50), P95Ms: rank(95), MinMs: ms(sorted[0]), MaxMs: ms(sorted[len(sorted)-1]),
	}
}

// ms is d in milliseconds, to the microsecond.
func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// seconds is d in seconds, to the millisecond.
func seconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1e3 }
