package table_test

import (
	"testing"

	"github.com/llmstrata/strata/internal/table"
)

// TestSteps: steps that count in part are said beside their number.
func TestSteps(t *testing.T) {
	for _, c := range []struct {
		n        int
		complete float64
		want     string
	}{{1, 1, "1 step"}, {30, 30, "30 steps"}, {4, 3.25, "4 steps (cut ones count in part: 3.25)"}} {
		if got := table.Steps(c.n, c.complete); got != c.want {
			t.Errorf("%d of which %v are counted: %q, want %q", c.n, c.complete, got, c.want)
		}
	}
}
