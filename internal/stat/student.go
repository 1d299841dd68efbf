package stat

import "math"

// normalFrom is from how many degrees of freedom the normal distribution is
// for Student's: they differ by less than 1e-8 there, and the gamma functions
// lose more.
const normalFrom = 1e7

// StudentCDF is the chance that a value with df degrees of freedom is at most t. It is
// NaN where df is not positive.
func StudentCDF(t, df float64) float64 {
	switch {
	case !(df > 0) || math.IsNaN(t):
		return math.NaN()
	case math.IsInf(t, 0):
		return (1 + math.Copysign(1, t)) / 2
	case df >= normalFrom:
		return math.Erfc(-t/math.Sqrt2) / 2
	}
	// The tails are the incomplete beta function of df/(df+t²), which keeps its
	// digits where they are small.
	tail := incompleteBeta(df/2, 0.5, df/(df+t*t)) / 2
	if t > 0 {
		return 1 - tail
	}
	return tail
}

// StudentQuantile is the t below which a value lies with the chance p: the inverse of
// [StudentCDF].
func StudentQuantile(p, df float64) float64 {
	switch {
	case !(df > 0) || !(p >= 0 && p <= 1):
		return math.NaN()
	case p == 0.5:
		return 0
	case p < 0.5:
		return -StudentQuantile(1-p, df)
	case p == 1:
		return math.Inf(1)
	}
	low, high := 0.0, 1.0
	for StudentCDF(high, df) < p {
		low, high = high, 2*high
		if math.IsInf(high, 0) {
			return high
		}
	}
	for {
		mid := low + (high-low)/2
		if mid == low || mid == high { // no number lies between
			return mid
		}
		if StudentCDF(mid, df) < p {
			low = mid
		} else {
			high = mid
		}
	}
}

// incompleteBeta is the regularised incomplete beta function I_x(a, b).
func incompleteBeta(a, b, x float64) float64 {
	if x <= 0 || x >= 1 {
		return math.Max(0, math.Min(1, x))
	}
	// The fraction converges fast on one side of the mean; the other is its
	// mirror image.
	if x > (a+1)/(a+b+2) {
		return 1 - incompleteBeta(b, a, 1-x)
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	return math.Exp(lab-la-lb+a*math.Log(x)+b*math.Log1p(-x)) / a / betaFraction(a, b, x)
}

// betaFraction evaluates the continued fraction of the incomplete beta function
// from its front, by Lentz' method.
func betaFraction(a, b, x float64) float64 {
	const (
		tiny  = 1e-300 // replaces 0 where a quotient of it is taken
		close = 1e-16  // to 1: the product does not change any more
		most  = 10_000 // terms; a few dozen suffice for sensible arguments
	)
	nonzero := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	f, c, d := 1.0, 1.0, 0.0
	for i := 1; i < most; i++ {
		m := float64(i / 2)
		term := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		if i%2 == 0 {
			term = m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		}
		d = 1 / nonzero(1+term*d)
		c = nonzero(1 + term/c)
		f *= c * d
		if math.Abs(1-c*d) < close {
			break
		}
	}
	return f
}
