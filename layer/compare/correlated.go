package compare

import (
	"math"

	"github.com/llmstrata/strata/internal/stat"
)

// NOTE on steps of the host. Each step resembles the one before it, so a series varies more than its steps show. An
// operation is modelled as an autoregressive process of first order with unknown mean. Its restricted likelihood
// (Patterson and Thompson 1971) gives the correlation without the bias of short series. One operation shows its
// correlation badly, all operations of two runs together show it well.

// inertia is how much a step resembles the one before it: their correlation, and its sampling variance.
type inertia struct{ rho, variance float64 }

// leastCorrelation is that of effective.
const leastCorrelation = (1 - effective) / (1 + effective)

// inertiaOf keeps a correlation within its bounds.
func inertiaOf(rho, variance float64) inertia {
	return inertia{min(max(rho, leastCorrelation), hostCorrelation), variance}
}

// correlate estimates the correlation of each operation's steps. Two runs of the same operations separate how
// operations differ from how estimates vary: each estimate is drawn towards the common one as far as chance explains.
// Fewer than hostOperations have the common one.
func (h *hostComparison) correlate() {
	if h.runs {
		return
	}
	type estimate struct{ a, b, both float64 }
	of := map[opKey]estimate{}
	var mean estimate
	var all []process
	for _, k := range h.keys {
		s := h.ops[k].series
		a, b := processOf(calm(s.a)), processOf(calm(s.b))
		if a != (process{}) && b != (process{}) {
			e := estimate{correlation(a), correlation(b), correlation(a, b)}
			of[k], mean = e, estimate{mean.a + e.a, mean.b + e.b, mean.both + e.both}
		}
		all = append(all, a, b)
	}
	common := correlation(all...)
	var differ, chance float64
	steps := 0.
	for _, p := range all {
		steps = max(steps, p.n)
	}
	known := (1 - common*common) / max(1, 2*steps)
	if n := float64(len(of)); n >= hostOperations {
		mean = estimate{mean.a / n, mean.b / n, mean.both / n}
		for _, k := range h.keys {
			if e, ok := of[k]; ok {
				differ += (e.a - mean.a) * (e.b - mean.b) / n
				chance += (e.a - e.b) * (e.a - e.b) / 4 / n
			}
		}
		if differ < 2*2*chance/math.Sqrt(n) { // two standard errors
			differ = 0
		}
		known = (differ + chance) / n
	}
	h.inertia = inertiaOf(common, known)
	h.effective = min(h.effective, (1-h.inertia.rho)/(1+h.inertia.rho))
	for k, op := range h.ops {
		rho, rest := common, 1.0
		if e, ok := of[k]; ok && differ > 0 {
			rest = chance / (differ + chance)
			rho += (1 - rest) * (e.both - mean.both)
		}
		op.series.inertia = inertiaOf(rho, differ*rest+rest*rest*known)
	}
}

// process is what the likelihood needs of a series, relative to its median: sums of values, of squares, and of
// products with the value before, and the same without the ends.
type process struct {
	n, sum, squares, products, inner, innerSquares float64
}

func processOf(x []float64) process {
	scale := median(x)
	if len(x) < 3 || scale <= 0 {
		return process{}
	}
	p := process{n: float64(len(x))}
	m := stat.Mean(x)
	last := 0.
	for i, v := range x {
		v = (v - m) / scale
		p.sum, p.squares, p.products = p.sum+v, p.squares+v*v, p.products+v*last
		if i > 0 && i < len(x)-1 {
			p.inner, p.innerSquares = p.inner+v, p.innerSquares+v*v
		}
		last = v
	}
	if p.squares < 1e-18 { // it does not vary
		return process{}
	}
	return p
}

// residual is the sum of squares around the mean that fits best, of steps of correlation rho: its expectation is n − 1
// times the variance of a step. ones is the information on the mean.
func (p process) residual(rho float64) (squares, ones float64) {
	const exact = 1e-12 // as far as sums of squares are
	scale := 1 / (1 - rho*rho)
	squares = scale * (p.squares + rho*rho*p.innerSquares - 2*rho*p.products)
	ones = ((1 + rho) + (p.n-1)*(1-rho)) / (1 + rho)
	mean := scale * (1 - rho) * (p.sum - rho*p.inner)
	return max(squares-mean*mean/ones, exact*p.squares), ones
}

// correlation is the most likely one that the processes share.
func correlation(of ...process) float64 {
	likelihood := func(rho float64) (sum float64) {
		for _, p := range of {
			if p != (process{}) {
				squares, ones := p.residual(rho)
				sum -= (p.n-1)*(math.Log(squares)+math.Log(1-rho*rho)) + math.Log(ones)
			}
		}
		return sum
	}
	// of 1000 steps, the standard error is 0.01 and more at the upper bound
	const by = 0.01
	best, most := 0., likelihood(0)
	for rho := by; rho < 1-by/2; rho += by {
		if l := likelihood(rho); l > most {
			best, most = rho, l
		}
	}
	return best
}

// ofSteps is the relative variance of the difference of the two typical steps, and its degrees of freedom.
func (s series) ofSteps() (v, df float64) {
	a, b := processOf(winsorised(s.a)), processOf(winsorised(s.b))
	free := max(0, a.n-1) + max(0, b.n-1)
	own := func(rho float64) (variance, means float64) {
		var sum, plain float64
		for _, p := range []process{a, b} {
			if p != (process{}) {
				squares, _ := p.residual(rho)
				sum, plain = sum+squares, plain+p.squares
			}
		}
		// what drifts smoothly adds little from step to step, and varies as much as it is seen to
		return max(sum, plain) / max(1, free), meanVariance(rho, len(s.a)) + meanVariance(rho, len(s.b))
	}
	variance, means := own(s.inertia.rho)
	if free > 0 { // the variance is known as well as its values and their correlation are
		const by = 1e-4
		x, y := own(s.inertia.rho + by)
		slope := (math.Log(x*y) - math.Log(variance*means)) / by
		free = 1 / (1/free + slope*slope/2*s.inertia.variance)
	}
	df = priorDF + free
	return (priorDF*hostPriorSD*hostPriorSD + free*variance) / df * means, df
}

// meanVariance is the variance of the mean of n values of variance 1; neighbours have a correlation of rho.
func meanVariance(rho float64, n int) float64 {
	if n == 0 {
		return 0
	}
	x := float64(n)
	return ((1+rho)/(1-rho) - 2*rho*(1-math.Pow(rho, x))/(x*(1-rho)*(1-rho))) / x
}

// typicalStep is the mean with steps that jump drawn in; 0 of an operation that most steps lack.
func typicalStep(x []float64) float64 {
	if median(x) <= 0 {
		return 0
	}
	return stat.Mean(winsorised(x))
}

// calm replaces values that jump by the mean of those beside them that do not.
func calm(x []float64) []float64 {
	near := winsorised(x)
	out := make([]float64, len(x))
	last := -1 // of those that do not jump
	for i, v := range x {
		if v != near[i] {
			continue
		}
		out[i] = v
		for k := last + 1; k < i; k++ {
			out[k] = v
			if last >= 0 {
				out[k] = (x[last] + v) / 2
			}
		}
		last = i
	}
	for k := last + 1; k < len(x); k++ {
		out[k] = x[max(last, 0)]
	}
	return out
}

// jumps is what single steps that jump add to the variance of a mean.
func jumps(x []float64) float64 {
	if len(x) < 2 {
		return 0
	}
	all, without := deviation(x), deviation(winsorised(x))
	return max(0, all*all-without*without) / float64(len(x))
}
