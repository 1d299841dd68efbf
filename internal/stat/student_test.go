package stat_test

import (
	"math"
	"testing"

	"github.com/llmstrata/strata/internal/stat"
)

// TestCDF: closed forms for one, two and four degrees of freedom, and the
// normal distribution at the limit.
func TestCDF(t *testing.T) {
	for _, x := range []float64{-50, -3, -1, -0.1, 0, 0.2, 1, 2.5, 8, 200} {
		for _, c := range []struct{ df, want float64 }{
			{1, 0.5 + math.Atan(x)/math.Pi},
			{2, 0.5 + x/(2*math.Sqrt(2+x*x))},
			{4, 0.5 + 3.0/8*x/math.Sqrt(1+x*x/4)*(1-x*x/(1+x*x/4)/12)},
			{1e7, math.Erfc(-x/math.Sqrt2) / 2},
			{math.Inf(1), math.Erfc(-x/math.Sqrt2) / 2},
		} {
			if got := stat.StudentCDF(x, c.df); math.Abs(got-c.want) > 2e-8 {
				t.Errorf("CDF(%v, %v) = %v, want %v", x, c.df, got, c.want)
			}
		}
	}
}

// TestQuantile: the values of printed tables, and the way back.
func TestQuantile(t *testing.T) {
	for _, c := range []struct{ p, df, want float64 }{
		{0.975, 1, 12.706}, {0.975, 2, 4.303}, {0.975, 5, 2.571}, {0.975, 10, 2.228}, {0.975, 30, 2.042},
		{0.95, 3, 2.353}, {0.995, 7, 3.499}, {0.025, 10, -2.228}, {0.5, 3, 0},
	} {
		got := stat.StudentQuantile(c.p, c.df)
		if math.Abs(got-c.want) > 6e-4 {
			t.Errorf("Quantile(%v, %v) = %v, want %v", c.p, c.df, got, c.want)
		}
		if back := stat.StudentCDF(got, c.df); math.Abs(back-c.p) > 1e-12 {
			t.Errorf("CDF(Quantile(%v, %v)) = %v", c.p, c.df, back)
		}
	}
	for _, c := range [][2]float64{{0.5, 0}, {0.5, -1}, {-0.1, 3}, {1.1, 3}, {math.NaN(), 3}} {
		if got := stat.StudentQuantile(c[0], c[1]); !math.IsNaN(got) {
			t.Errorf("Quantile(%v, %v) = %v, want NaN", c[0], c[1], got)
		}
	}
	if got := stat.StudentQuantile(1, 3); !math.IsInf(got, 1) {
		t.Errorf("Quantile(1, 3) = %v, want infinity", got)
	}
}
