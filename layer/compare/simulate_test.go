package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/internal/testdata"
)

// The simulator makes pairs of runs that differ only as two runs of one program do, or by one known change besides.
// Who has twenty real repeated runs can put the noise of those into a world and see whether the defaults hold.
//
// Two worlds imitate two decode traces that were measured: operator totals vary by 0.31% of themselves from pass to
// pass on an H100 and by 1.4% on an MI300X, collectives four times as much, and neighbouring passes resemble each
// other.
type world struct {
	name      string
	sd        float64 // of an operator's total, from pass to pass
	common    float64 // of all operators of a pass together
	rho       float64 // autocorrelation
	offset    float64 // between runs, of each operator
	offsetAll float64 // between runs, of all operators
	layers    float64 // how many times more a pass varies than its layers do, were they independent
}

var (
	quiet = world{"quiet", 0.0031, 0.0009, 0.4, 0.0075, 0.0075, 1.2}
	noisy = world{"noisy", 0.014, 0.0044, 0.4, 0.0075, 0.0075, 2.7}
)

// shares of the operators of a pass, the largest first.
func shares(n int, largest float64) []float64 {
	s := make([]float64, n)
	rest := 1 - largest
	var sum float64
	for i := 1; i < n; i++ {
		s[i] = math.Pow(0.8, float64(i))
		sum += s[i]
	}
	for i := 1; i < n; i++ {
		s[i] *= rest / sum
	}
	s[0] = largest
	return s
}

// run draws the pass totals of one run: operator → pass.
func (w world) run(r *rand.Rand, shares []float64, passes int) [][]float64 {
	out := make([][]float64, len(shares))
	all := w.offsetAll * r.NormFloat64()
	common := make([]float64, passes)
	for i := range common {
		common[i] = w.common * r.NormFloat64()
	}
	for o, share := range shares {
		own := w.offset * r.NormFloat64()
		out[o] = make([]float64, passes)
		x := r.NormFloat64()
		for i := range out[o] {
			x = w.rho*x + math.Sqrt(1-w.rho*w.rho)*r.NormFloat64()
			out[o][i] = 1e7 * share * math.Exp(all+own+common[i]+w.sd*x)
		}
	}
	return out
}

// layerRatios draws the log ratios of an operator's layers around that of its totals.
func (w world) layerRatios(r *rand.Rand, around float64) []float64 {
	const n = 36
	out := make([]float64, n)
	for i := range out {
		out[i] = around + math.Sqrt2*w.sd/w.layers*math.Sqrt(n)*r.NormFloat64()
	}
	return out
}

// outcome of a simulated pair.
type outcome struct {
	found   []bool
	uniform bool
}

// pair compares two runs; operator changed of side B takes factor times as long, all of it if changed is −1.
func (w world) pair(r *rand.Rand, passes, changed int, factor float64, largest float64) outcome {
	sh := shares(20, largest)
	a, b := w.run(r, sh, passes), w.run(r, sh, passes)
	rows := make([]series, len(sh))
	var pass float64
	for o := range sh {
		if o == changed || changed < 0 {
			for i := range b[o] {
				b[o][i] *= factor
			}
		}
		rows[o] = series{class: Memory, a: a[o], b: b[o]}
		if passes == 1 {
			rows[o].layers = w.layerRatios(r, math.Log(b[o][0]/a[o][0]))
		}
		pass += stat.Mean(a[o])
	}
	return decide(rows, pass, w.offset) // the floor is what the runs of this world differ by
}

// decide is what a comparison does with its rows.
func decide(rows []series, pass, floor float64) outcome {
	j := rulerOf(pass, false).judgeAll(rows, floors{common: floor}, true)
	out := outcome{uniform: j.uniform}
	for i := range j.rows {
		out.found = append(out.found, j.rows[i].found)
	}
	return out
}

// pairs is how many pairs a rate is taken over: 2% of 1000 differ clearly from 1% and 3%, of 200 they do not.
func pairs() int { return 1000 }

func rate(n int, f func() bool) float64 {
	k := 0
	for range n {
		if f() {
			k++
		}
	}
	return float64(k) / float64(n)
}

func anyOf(o outcome) bool {
	for _, f := range o.found {
		if f {
			return true
		}
	}
	return o.uniform
}

// Pairs without a difference, but with the offset between runs that the floor assumes: at most 2% may show one.
func TestSimulatedPairsWithoutDifference(t *testing.T) {
	for i, w := range []world{quiet, noisy} {
		for k, passes := range []int{1, 3, 5, 40} {
			if !testdata.Long() && (k%2 != i || passes > 5) {
				continue
			}
			t.Run(fmt.Sprintf("%s/passes=%d", w.name, passes), func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, uint64(passes)))
				got := rate(pairs(), func() bool { return anyOf(w.pair(r, passes, 0, 1, 0.27)) })
				t.Logf("false findings in %.1f%% of %d pairs", 100*got, pairs())
				if got > 0.02 {
					t.Errorf("false findings in %.1f%% of the pairs, want at most 2%%", 100*got)
				}
			})
		}
	}
}

// One operator that changed by 3% of the pass is found, where its share is at most 40%; in the noisy world, where its
// total varies by 1.4% from pass to pass, at most 27 %.
func TestSimulatedChangeOfOneOperator(t *testing.T) {
	for _, w := range []world{quiet, noisy} {
		for _, largest := range []float64{0.1, 0.27, 0.4} {
			if w.sd > quiet.sd && largest > 0.27 {
				continue
			}
			t.Run(fmt.Sprintf("%s/share=%.2f", w.name, largest), func(t *testing.T) {
				r := rand.New(rand.NewPCG(2, 5))
				got := rate(pairs(), func() bool { return w.pair(r, 5, 0, 1+0.03/largest, largest).found[0] })
				t.Logf("found in %.1f%% of %d pairs", 100*got, pairs())
				if got < 0.95 {
					t.Errorf("found in %.1f%% of the pairs, want at least 95%%", 100*got)
				}
			})
		}
	}
}

// A uniform shift of 3% is found in single runs only where runs are known to differ by 0.35% or less.
func TestSimulatedUniformShift(t *testing.T) {
	w := quiet
	w.offset, w.offsetAll = 0.0035, 0.0035
	r := rand.New(rand.NewPCG(3, 5))
	got := rate(pairs(), func() bool { return w.pair(r, 5, -1, 1.03, 0.27).uniform })
	t.Logf("found in %.1f%% of %d pairs", 100*got, pairs())
	if got < 0.95 {
		t.Errorf("found in %.1f%% of the pairs, want at least 95%%", 100*got)
	}
}
