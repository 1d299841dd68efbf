package intern_test

import (
	"slices"
	"testing"

	"github.com/llmstrata/strata/internal/intern"
)

// TestKeys: keys are numbered by first appearance, whether they come in runs or take turns.
func TestKeys(t *testing.T) {
	var keys intern.Keys[string]
	for range 2 {
		var got []int
		for _, k := range []string{"b", "b", "", "b", "a", "a", "", ""} {
			got = append(got, keys.ID(k))
		}
		if want := []int{0, 0, 1, 0, 2, 2, 1, 1}; !slices.Equal(got, want) || keys.Key(1) != "" || keys.Key(2) != "a" {
			t.Errorf("numbers %v, want %v", got, want)
		}
	}
}
