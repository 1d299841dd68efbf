package triage

import "github.com/llmstrata/strata/examples/internal/app"

// Program returns the program with fresh flags.
func Program() app.Program { return program() }
