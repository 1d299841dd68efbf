package hostoverhead

import (
	"math/rand/v2"
	"slices"

	"github.com/llmstrata/strata/internal/stop"
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
	return Stats{N: n, Avg: mean(s), Min: s[0], Max: s[n-1], P50: s[n/2], P90: s[min(n*9/10, n-1)]}
}

func mean(s []float64) float64 {
	if len(s) == 0 {
		return 0
	}
	var sum float64
	for _, x := range s {
		sum += x
	}
	return sum / float64(len(s))
}

func median(s []float64) float64 {
	if len(s) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(s))[len(s)/2]
}

// Bootstrap parameters: 1000 resamples give a 95 % interval whose ends are
// themselves stable to a few per cent of its width, which is all the words
// "regression" and "inconclusive" need. Longer runs are first averaged into
// blocks, which also keeps what is correlated from step to step together.
const (
	resamples = 1000
	maxBlocks = 300
)

// Interval95 is a 95 % confidence interval of a difference, in µs.
type Interval95 [2]float64

// spansZero reports whether the difference may as well be none.
func (i Interval95) spansZero() bool { return i[0] <= 0 && i[1] >= 0 }

// bootstrap estimates the interval of stat(b) − stat(a) by resampling both,
// nil where a run has fewer than five samples: resampling them says nothing of
// how they vary. The same seed and samples give the same interval.
func bootstrap(watch *stop.Watch, a, b []float64, stat func([]float64) float64, seed uint64) *Interval95 {
	if len(a) < minPhase || len(b) < minPhase {
		return nil
	}
	a, b = blocks(a), blocks(b)
	rng := rand.New(rand.NewPCG(seed, 0x5deece66d))
	draw := func(from, to []float64) []float64 {
		for i := range to {
			to[i] = from[rng.IntN(len(from))]
		}
		return to
	}
	x, y := make([]float64, len(a)), make([]float64, len(b))
	d := make([]float64, resamples)
	for i := range d {
		if watch.Add(len(a) + len(b)) {
			return nil
		}
		d[i] = stat(draw(b, y)) - stat(draw(a, x))
	}
	slices.Sort(d)
	return &Interval95{round3(d[resamples*25/1000]), round3(d[resamples*975/1000])}
}

// blocks averages consecutive samples so that at most maxBlocks are left.
func blocks(s []float64) []float64 {
	if len(s) <= maxBlocks {
		return s
	}
	out := make([]float64, maxBlocks)
	for i := range out {
		out[i] = mean(s[i*len(s)/maxBlocks : (i+1)*len(s)/maxBlocks])
	}
	return out
}

// us converts ns to µs.
func us(ns int64) float64 { return float64(ns) / 1e3 }
