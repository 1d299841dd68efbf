package finding_test

import (
	"fmt"
	"time"

	"github.com/llmstrata/strata/layer/finding"
)

// A finding has its advice from its cause, and says what its share is a share of.
func Example() {
	c := finding.Synchronisation
	f := finding.Finding{Kind: finding.IdleTime, Cause: c, Text: c.Info().Title, Advice: c.Info().Advice,
		Size: finding.SizeOf(finding.Recoverable, finding.OfStep, 3*time.Millisecond, 2, 12*time.Millisecond)}
	fmt.Printf("%s: at most %v per step (%.0f%% %s)\n%s\n", f.Text, f.PerStep, 100*f.Share, f.Of.Title(), f.Do)
	// Output:
	// Synchronising calls drain the queue: at most 1.5ms per step (25% of step time)
	// Hoist the synchronisation out of the step, or keep what it waits for on the GPU.
}
