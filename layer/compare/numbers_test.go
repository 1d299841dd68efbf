package compare

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
)

// A number is the case of one number of params.go: a question whose answer is no at one input and yes at another,
// close by. With another value of the number, one of the two answers is another.
type number struct {
	no, yes float64
	decide  func(x float64) bool
}

// Every number of params.go has a case on either side of it (that of transferMost is TestTransferOfACollective).
func TestEveryNumberDecides(t *testing.T) {
	for _, cases := range []map[string]number{numbersOfRows(), numbersOfShifts(), numbersOfSides(), numbersOfHosts(),
		numbersOfIdentity()} {
		for name, c := range cases {
			if no, yes := c.decide(c.no), c.decide(c.yes); no || !yes {
				t.Errorf("%s: %v at %v and %v at %v, want false and true (it flips at %s)", name, no, c.no, yes, c.yes,
					flips(c))
			}
		}
	}
}

// flips searches around a case's inputs for where its answer changes.
func flips(c number) string {
	last := false
	for i := range 4000 {
		x := c.yes * math.Pow(1.002, float64(i-2000))
		now := c.decide(x)
		if now != last && i > 0 {
			return fmt.Sprintf("%.5g", x)
		}
		last = now
	}
	return "no input"
}

// values are so many totals of passes around a mean, sd of it apart.
func values(n int, mean, sd float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = mean * (1 + sd*[]float64{1, -1, -1, 1, 0}[i%5])
	}
	return out
}

// larger is whether the first row, which has half of the pass and takes so many times as long on side B, is a
// finding; edit changes it.
func larger(floors floors, passes int, sd, times float64, edit func(s *series)) bool {
	var rows []series
	for i, share := range []float64{0.5, 0.08, 0.07, 0.07, 0.07, 0.07, 0.07, 0.07} {
		s := series{class: Memory, a: values(passes, share*1e7, 0), b: values(passes, share*1e7, 0)}
		if i == 0 {
			s.a, s.b = values(passes, share*1e7, sd), values(passes, share*1e7*times, sd)
			if edit != nil {
				edit(&s)
			}
		}
		rows = append(rows, s)
	}
	return rulerOf(1e7, false).judgeAll(rows, floors, true).rows[0].found
}

// numbersOfRows are the numbers that say whether one row differs.
func numbersOfRows() map[string]number {
	exact := floors{common: 1e-5}
	row := func(passes int, sd float64, edit func(s *series)) func(x float64) bool {
		return func(x float64) bool { return larger(exact, passes, sd, 1+x, edit) }
	}
	// idle is a row of waiting time that takes x of the pass more on side B.
	idle := func(passes int) func(x float64) bool {
		return func(x float64) bool {
			return larger(exact, passes, 0, 1, func(s *series) {
				s.class, s.b = Waiting, values(passes, 0.5e7+x*1e7, 0)
			})
		}
	}
	return map[string]number{
		"Alpha":           {0.0138, 0.0141, row(5, 0, nil)},
		"MinShare":        {0.0099, 0.0101, row(40, 0, nil)}, // of half of the pass
		"MinWait":         {0.0099, 0.0101, idle(40)},
		"WaitPasses":      {4, 5, func(x float64) bool { return idle(int(x))(0.4) }},
		"PriorSD":         {0.0138, 0.0141, row(5, 0, nil)},
		"PriorDF":         {0.0819, 0.0835, row(5, 0.02, nil)},
		"CollectivePrior": {0.0562, 0.0574, row(5, 0, func(s *series) { s.class = Transfer })},
		"WaitPriorSD":     {0.0547, 0.0558, idle(5)},
		"MedianCost":      {0.0138, 0.0141, row(5, 0, nil)},
		"Effective":       {0.0264, 0.0269, row(10, 0.01, nil)},
		"WinsorMAD":       {0.0626, 0.0639, row(6, 0.01, func(s *series) { s.b[0] *= 1.5 })},
		"LayerSE":         {0.821, 0.838, row(1, 0, func(s *series) { s.layers = values(8, 1, 0.05) })},
		"SingleSD":        {0.186, 0.19, row(1, 0, func(s *series) { s.single = true })},
		"FloorDF": {0.0604, 0.0617, func(x float64) bool {
			return larger(floors{common: 0.01}, 5, 0, 1+x,
				nil)
		}},
		"Presence": {3, 4, func(x float64) bool {
			return oneSided(series{a: append(values(int(x), 1, 0), values(8-int(x), 0, 0)...),
				b: values(8, 0, 0)}) == Removed
		}},
	}
}

// numbersOfShifts are those of what all rows have in common.
func numbersOfShifts() map[string]number {
	// common is the shift of one large row and of so many small ones that do not shift.
	common := func(small int, share float64) float64 {
		rows := []series{{class: Memory, a: values(3, 0.4, 0), b: values(3, 0.42, 0)}}
		for range small {
			rows = append(rows, series{class: Memory, a: values(3, share, 0), b: values(3, share, 0)})
		}
		return rulerOf(1, false).shift(rows, func(Class) bool { return true })
	}
	// uniform is whether all rows together are found to take 1+x times as long.
	uniform := func(floor float64) func(x float64) bool {
		return func(x float64) bool {
			var rows []series
			for range 8 {
				rows = append(rows, series{class: Memory, a: values(5, 1, 0), b: values(5, math.Exp(x), 0)})
			}
			return rulerOf(8, false).judgeAll(rows, floors{common: floor}, true).uniform
		}
	}
	return map[string]number{
		"MinShift": {0.0099, 0.01, uniform(1e-5)},
		"ShiftSE": {0.00757, 0.00772, func(x float64) bool {
			return rulerOf(8, false).shiftTest(x, 1e-5, 5, 5) < alpha
		}},
		"ShiftRows": {4, 5, func(x float64) bool { return common(int(x), 0.001) > 0 }},
		"ShareCap":  {-0.0101, -0.0099, func(x float64) bool { return common(5, -x) > 0 }},
		"BimodalRuns": {3, 4, func(x float64) bool {
			_, _, ok := bimodal([]float64{1, 2, 1, 2, 1}[:int(x)])
			return ok
		}},
		"BimodalPasses": {5, 6, func(x float64) bool {
			_, _, ok := apart([]float64{1, 1, 1, 2, 2, 1}[:int(x)])
			return ok
		}},
		"BimodalShare": {-5, -4, func(x float64) bool { // one slow run out of so many
			_, _, ok := bimodal(append([]float64{2}, values(int(-x)-1, 1, 0)...))
			return ok
		}},
		"BimodalGap": {0.049, 0.051, func(x float64) bool { // of the median
			_, _, ok := bimodal([]float64{1 - x/2, 1 - x/2, 1 + x/2, 1 + x/2})
			return ok
		}},
	}
}

// plain is a side of one run: passes of eight rows; the first takes so many times as long as on the other
// side.
func plain(times float64) *Side {
	run := Run{GPU: "a", Health: "ok"}
	for i := range 8 {
		run.Parts = append(run.Parts, MadePart(fmt.Sprint("row", i), fmt.Sprint("k", i), Memory))
	}
	for i := range 5 {
		all := slices.Repeat([]time.Duration{time.Millisecond}, 8)
		all[0] = time.Duration(times * 1e6)
		run.AddPass(Pass{Index: i, Stage: "decode", Batch: 8, Tokens: 8, Graph: 1}, 1, all...)
	}
	return &Side{Runs: []Run{run}}
}

// What is said of passes that are not steady: two kinds, or nothing.
func TestUnsteadyPasses(t *testing.T) {
	for _, c := range []struct {
		name  string
		times []float64
		want  string
	}{
		{"steady", values(20, 1e6, 0.01), ""},
		{"a few", []float64{1, 2, 3, 4, 5}, ""},
		{"two kinds", []float64{1e6, 1e6, 2e6, 1e6, 2e6, 1e6, 2e6, 1e6},
			"passes are of two kinds: 3 of 8 take about 2.00 ms, the others 1.00 ms"},
	} {
		if got := unsteady(c.times); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// The variance of an operation of the host, by hand: steps without what they share with those before them, fitted by a
// mean, give the variance of a step; the mean of eleven steps that resemble each other varies more.
func TestVarianceOfCorrelatedSteps(t *testing.T) {
	k := rulerOf(1e3, false)
	const n, rho, known, floor = 11, 0.5, 0.01, 0.02
	s := series{class: OfHost, a: values(n, 100, 0.1), b: values(n, 100, 0.1), inertia: inertia{rho, known}}
	// ofStep is the variance of a step and that of the difference of two means.
	ofStep := func(rho float64) (step, means float64) {
		var fresh, ones []float64
		for i, v := range s.a {
			if i == 0 {
				fresh, ones = append(fresh, v/100), append(ones, 1)
				continue
			}
			scale := math.Sqrt(1 - rho*rho)
			fresh, ones = append(fresh, (v-rho*s.a[i-1])/100/scale), append(ones, (1-rho)/scale)
		}
		var product, square float64
		for i := range ones {
			product, square = product+fresh[i]*ones[i], square+ones[i]*ones[i]
		}
		for i := range ones {
			d := fresh[i] - ones[i]*product/square
			step += d * d / (n - 1)
			for j := range ones {
				means += 2 * math.Pow(rho, math.Abs(float64(i-j))) / n / n
			}
		}
		return step, means
	}
	step, means := ofStep(rho)
	x, y := ofStep(rho + 1e-6)
	slope := (math.Log(x*y) - math.Log(step*means)) / 1e-6
	free := 1 / (1/(2.*(n-1)) + slope*slope/2*known)
	within := (priorDF*hostPriorSD*hostPriorSD + free*step) / (priorDF + free) * means
	between := 2 * floor * floor
	v, df := k.variance(s, floor)
	if want := within + between; math.Abs(v-want) > 1e-4*want {
		t.Errorf("variance %v, want %v", v, want)
	}
	if want := v * v / (within*within/(priorDF+free) + between*between/floorDF); math.Abs(df-want) > 1e-2 {
		t.Errorf("%v degrees of freedom, want %v", df, want)
	}
	two := series{class: OfHost, a: values(2, 100, 0.1), b: values(2, 100, 0.1)} // show nothing
	if v, _ := k.variance(two, 0); v <= 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		t.Errorf("of two steps %v", v)
	}
}
