package replay

import "github.com/llmstrata/strata/triage"

// With is an edit of the kind Chain with these occurrences.
func (e Edit) With(list []triage.Fused) Edit {
	e.fused = list
	return e
}
