package framework_test

import (
	"testing"

	"github.com/llmstrata/strata/internal/framework"
)

// FuzzNames feeds names to everything that takes names apart.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"a/b.py(12): f", "TP-0_rank3.trace.json.gz"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if fr, ok := framework.ParseFrame(s); ok {
			if fr.Rank(false) == framework.NoFrame || fr.Location() == "" {
				t.Errorf("frame %q has no rank or location", s)
			}
		}
	})
}
