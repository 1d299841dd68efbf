package hostoverhead

import "github.com/llmstrata/strata/hostoverhead/internal/names"

// steadySteps are the indices of the steps that represent the run: no context
// requests and the most generation requests. Where no step says how many, all
// generation steps, else all steps.
func steadySteps(steps []hostStep) []int {
	most := -1
	for _, s := range steps {
		if s.Phase == names.Generation {
			most = max(most, s.Gen)
		}
	}
	where := func(keep func(s *hostStep) bool) (out []int) {
		for i := range steps {
			if keep(&steps[i]) {
				out = append(out, i)
			}
		}
		return out
	}
	generation := where(func(s *hostStep) bool { return s.Phase == names.Generation })
	if out := where(func(s *hostStep) bool { return s.Phase == names.Generation && s.Gen == most }); len(out) >= minPhase {
		return out
	}
	if len(generation) >= minPhase {
		return generation
	}
	return where(func(*hostStep) bool { return true })
}
