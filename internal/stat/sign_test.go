package stat

import (
	"math"
	"testing"
)

// TestSignTest: by counting all outcomes, and far out where counting cannot.
func TestSignTest(t *testing.T) {
	for n := range 13 {
		for k := range n + 2 {
			count := 0
			for set := range 1 << n {
				ones := 0
				for s := set; s != 0; s &= s - 1 {
					ones++
				}
				if ones >= k {
					count++
				}
			}
			if got, want := SignTest(k, n), float64(count)/float64(int(1)<<n); math.Abs(got-want) > 1e-12 {
				t.Errorf("SignTest(%d, %d) = %v, want %v", k, n, got, want)
			}
		}
	}
	for _, c := range []struct {
		k, n int
		want float64 // of the normal approximation, three standard deviations out
	}{{500_000 + 1500, 1_000_000, 0.00135}, {500_000 - 1500, 1_000_000, 0.99865}} {
		if got := SignTest(c.k, c.n); math.Abs(got-c.want) > 2e-5 {
			t.Errorf("SignTest(%d, %d) = %v, want about %v", c.k, c.n, got, c.want)
		}
	}
}
