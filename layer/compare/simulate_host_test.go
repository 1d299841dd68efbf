package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/internal/testdata"
)

// hostWorld says how operations of the host vary: the measured quantiles of their relative spread are 2, 7 and 40%,
// single samples jump, and two runs differ by the floor.
type hostWorld struct {
	rho, offset, spikes float64
}

// host draws the operations of one run; operation 3 takes factor times as long.
func (w hostWorld) host(r *rand.Rand, ops, steps int, factor float64) *Host {
	h := &Host{}
	for range steps {
		h.Passes, h.Walls = append(h.Passes, 0), append(h.Walls, 10*time.Millisecond)
	}
	for o := range ops {
		us := 20 * math.Pow(1.2, float64(o%20)) // 20 to 640 µs
		sd := []float64{0.02, 0.07, 0.07, 0.07, 0.4}[o%5]
		run := math.Exp(w.offset * r.NormFloat64())
		x := r.NormFloat64()
		op := Operation{Kind: "range", Name: fmt.Sprint("op", o), Class: "host", Count: 1}
		if o == 3 {
			us, run = 700, run*factor
		}
		for range steps {
			x = w.rho*x + math.Sqrt(1-w.rho*w.rho)*r.NormFloat64()
			v := us * run * math.Exp(sd*x)
			if r.Float64() < w.spikes {
				v *= 1 + 8*r.Float64()
			}
			op.Steps = append(op.Steps, time.Duration(1e3*v))
		}
		h.Operations = append(h.Operations, op)
	}
	return h
}

// simulated is how many of n pairs are simulated without STRATA_LONG.
func simulated(n int) int {
	if testdata.Long() {
		return n
	}
	return n / 4
}

// Equal runs whose steps resemble their neighbours and jump: at most 2% of the pairs show a difference.
func TestSimulatedHostsWithoutDifference(t *testing.T) {
	for i, w := range []hostWorld{{0.4, 0, 0.01}, {0.8, 0.05, 0.01}} {
		for k, steps := range []int{12, 40, 120} {
			if !testdata.Long() && k != i {
				continue
			}
			n := simulated(200)
			r := rand.New(rand.NewPCG(4, uint64(steps)))
			got := rate(n, func() bool {
				rep := CompareHost([]*Host{w.host(r, 40, steps, 1)}, []*Host{w.host(r, 40, steps, 1)}, Options{})
				for i := range rep.Rows {
					if rep.Rows[i].Significant {
						return true
					}
				}
				return false
			})
			t.Logf("%+v, %d steps: false findings in %.1f%% of %d pairs", w, steps, 100*got, n)
			// at a rate of 2% a quarter of the samples of fifty pairs has two or more
			if most := max(0.02, 2/float64(n)); got > most {
				t.Errorf("%+v, %d steps: false findings in %.1f%% of the pairs, want at most %.0f%%", w, steps, 100*got,
					100*most)
			}
		}
	}
}

// An operation of 700 µs that takes half as long again is found, and one that takes a fifth longer over 80 steps where
// runs differ by up to 2%, or steps have a correlation of 0.8. The bound, which is logged beside each figure, is what a
// test finds that knows the noise instead of estimating it from forty operations: none that tests as many at once with
// as few false findings finds more.
func TestSimulatedChangeOfAnOperation(t *testing.T) {
	n := simulated(200)
	for i, c := range []struct {
		w                   hostWorld
		steps               int
		factor, least, most float64
	}{
		{hostWorld{0.4, 0.02, 0.01}, 40, 1.5, 0.9, 1}, {hostWorld{0.4, 0.02, 0.01}, 40, 1.05, 0, 0.05},
		{hostWorld{0.4, 0.01, 0}, 80, 1.2, 0.9, 1}, {hostWorld{0.4, 0, 0.01}, 80, 1.2, 0.9, 1},
		{hostWorld{0.4, 0.02, 0}, 80, 1.2, 0.8, 1}, {hostWorld{0.8, 0.01, 0}, 80, 1.2, 0.85, 1},
		{hostWorld{0.8, 0.02, 0}, 80, 1.3, 0.9, 1}, {hostWorld{0.4, 0.05, 0}, 80, 1.2, 0, 1},
	} {
		if !testdata.Long() && !slices.Contains([]int{0, 1, 5}, i) { // found, not found, steps that are alike
			continue
		}
		r := rand.New(rand.NewPCG(5, 40))
		var logs []float64
		judged := 0
		got := rate(n, func() bool {
			a, b := c.w.host(r, 40, c.steps, 1), c.w.host(r, 40, c.steps, c.factor)
			rep := CompareHost([]*Host{a}, []*Host{b}, Options{})
			k := hostComparison{ruler: rulerOf(1, false)}
			before, after := k.typical(series{class: OfHost, a: k.unit(a.Operations[3].Steps),
				b: k.unit(b.Operations[3].Steps)})
			logs = append(logs, math.Log(after/before))
			judged = 0
			for i := range rep.Rows {
				if max(rep.Rows[i].A, rep.Rows[i].B) >= rep.Least {
					judged++
				}
			}
			for i := range rep.Rows {
				if row := &rep.Rows[i]; row.Name == "op3" {
					return row.Significant
				}
			}
			return false
		})
		const known = 1e6 // degrees of freedom
		bound := stat.StudentCDF(stat.Mean(logs)/deviation(logs)-quantile(known, 1-alpha/2/float64(judged)), known)
		t.Logf("%+v, %d steps, × %.2f: found in %.1f%% of %d pairs, the bound is %.1f%%", c.w, c.steps, c.factor,
			100*got, n, 100*bound)
		if got < c.least || got > c.most {
			t.Errorf("× %.1f is found in %.1f%% of the pairs, want %v to %v", c.factor, 100*got, c.least, c.most)
		}
	}
}

// Intervals of equal runs exclude 0 in at most 7% of the operations however much a step resembles the one before it,
// however many operations there are, and where single steps jump: the interval is that of the mean, which they move.
func TestSimulatedCorrelatedSteps(t *testing.T) {
	for i, c := range []struct {
		w          hostWorld
		ops, steps int
	}{
		{hostWorld{0, 0.02, 0}, 40, 80}, {hostWorld{0.8, 0, 0}, 40, 80}, {hostWorld{0.8, 0.02, 0}, 40, 80},
		{hostWorld{0.8, 0.05, 0}, 40, 80}, {hostWorld{0.95, 0, 0}, 40, 80}, {hostWorld{0.95, 0.02, 0}, 40, 80},
		{hostWorld{0.95, 0.05, 0}, 40, 80}, {hostWorld{0.4, 0.08, 0}, 40, 80}, {hostWorld{0.4, 0, 0.01}, 14, 12},
		{hostWorld{0.4, 0, 0.01}, 14, 80}, {hostWorld{0.8, 0.02, 0.01}, 14, 40}, {hostWorld{0.95, 0.02, 0.01}, 14, 80},
		{hostWorld{0.4, 0.02, 0.01}, 40, 40}, {hostWorld{0.95, 0.02, 0.01}, 40, 12},
	} {
		if !testdata.Long() && i%3 != 1 {
			continue
		}
		r := rand.New(rand.NewPCG(6, uint64(100*c.w.rho)))
		outside, all := 0, 0
		for range simulated(100) {
			rep := CompareHost([]*Host{c.w.host(r, c.ops, c.steps, 1)}, []*Host{c.w.host(r, c.ops, c.steps, 1)}, Options{})
			for i := range rep.Rows {
				if row := &rep.Rows[i]; row.Judged {
					all++
					if row.Low > 0 || row.High < 0 {
						outside++
					}
				}
			}
		}
		share := float64(outside) / float64(max(all, 1))
		t.Logf("%+v: %.1f%% of %d intervals exclude 0", c, 100*share, all)
		if all == 0 || share > 0.07 {
			t.Errorf("%+v: %.1f%% of %d intervals exclude 0, want at most 7%%", c, 100*share, all)
		}
	}
}
