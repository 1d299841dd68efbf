package table_test

import (
	"testing"

	"github.com/llmstrata/strata/internal/table"
)

// TestSteps: steps that count in part, or with others, are said beside their number; drafts alone are steps.
func TestSteps(t *testing.T) {
	for _, c := range []struct {
		n     int
		whole float64
		want  string
	}{{1, 1, "1 step"}, {40, 10, "40 steps (drafts count with their targets: 10)"}, {30, 0, "30 steps"},
		{4, 3.25, "4 steps (cut ones count in part: 3.25)"}} {
		if got := table.Steps(c.n, c.whole); got != c.want {
			t.Errorf("%d of which %v are counted: %q, want %q", c.n, c.whole, got, c.want)
		}
	}
}
