package activity

import (
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/trace/event"
)

// TestCategoriesHaveAnEffort: of a new kind of work it must be said what it is to chains.
func TestCategoriesHaveAnEffort(t *testing.T) {
	for _, c := range classify.Categories() {
		work := c.Work()
		if _, ok := efforts[work]; !ok && c != classify.CategoryOther {
			t.Errorf("work %q of category %q is not in efforts", work, c)
		}
	}
	if got := EffortOf(event.Memcpy, classify.CategoryGEMM); got != EffortMove {
		t.Errorf("a copy is effort %d", got)
	}
	if got := EffortOf(event.Kernel, "a user's own"); got != effortOther {
		t.Errorf("a user's category is effort %d", got)
	}
}
