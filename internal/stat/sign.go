package stat

import "math"

// SignTest is the probability that at least k of n signs are positive where each is with probability 1/2: the
// one-sided sign test. Ties are no signs: the caller leaves them out of n. It is 1 where k ≤ 0, and 0 where k > n.
func SignTest(k, n int) float64 {
	switch {
	case k <= 0:
		return 1
	case k > n:
		return 0
	case 2*k <= n: // of the shorter tail less is lost to rounding
		return 1 - SignTest(n-k+1, n)
	}
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	term := math.Exp(lg(n) - lg(k) - lg(n-k) - float64(n)*math.Ln2)
	sum := 0.0
	for i := k; i <= n && sum+term > sum; i++ { // each term is smaller than the one before
		sum += term
		term *= float64(n-i) / float64(i+1)
	}
	return min(sum, 1)
}
