package stat_test

import (
	"testing"

	"github.com/llmstrata/strata/internal/stat"
)

func TestMean(t *testing.T) {
	for _, tc := range []struct {
		of   []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{1, 2, 6}, 3}} {
		if got := stat.Mean(tc.of); got != tc.want {
			t.Errorf("Mean(%v) = %v, want %v", tc.of, got, tc.want)
		}
	}
}
