package capture

import (
	"github.com/llmstrata/strata/capture/internal/label"
	"github.com/llmstrata/strata/capture/internal/whole"
)

// CheckWhole is for tests.
var CheckWhole = whole.Check

// ParseRank is for tests.
var ParseRank = label.Parse

// Missing is Missing for a count of ranks.
func Missing(complete []string, expect int) []string {
	return label.Missing(complete, label.Want(nil, expect, false))
}

// Summarise is for tests.
var Summarise = summarise
