package severity_test

import (
	"testing"

	"github.com/llmstrata/strata/internal/severity"
)

func TestWorseComesLater(t *testing.T) {
	words := []string{"", "ok", "degraded", "unusable"}
	for i, a := range words {
		for j, b := range words {
			if got := severity.Compare(a, b); got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("%q to %q: %d", a, b, got)
			}
		}
	}
}
