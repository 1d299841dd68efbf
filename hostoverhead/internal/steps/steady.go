package steps

import "github.com/llmstrata/strata/hostoverhead/internal/names"

// Steady are the indices of the steps that represent the run: no context
// requests and the most generation requests. Where no step says how many, all
// generation steps, else all steps.
func Steady(steps []Step) []int {
	most := -1
	for _, s := range steps {
		if s.Phase == names.Generation {
			most = max(most, s.Gen)
		}
	}
	where := func(keep func(s *Step) bool) (out []int) {
		for i := range steps {
			if keep(&steps[i]) {
				out = append(out, i)
			}
		}
		return out
	}
	generation := where(func(s *Step) bool { return s.Phase == names.Generation })
	if out := where(func(s *Step) bool { return s.Phase == names.Generation && s.Gen == most }); len(out) >= MinPhase {
		return out
	}
	if len(generation) >= MinPhase {
		return generation
	}
	return where(func(*Step) bool { return true })
}
