package capture

// CheckWhole is for tests.
var CheckWhole = checkWhole

// Missing is missing for a count of ranks.
func Missing(complete []string, expect int) []string {
	return missing(complete, wantedTraces(nil, expect, false))
}

// Summarise is for tests.
var Summarise = summarise
