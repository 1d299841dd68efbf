package steps

import "github.com/llmstrata/strata/hostoverhead/internal/names"

// Steady are the indices of the steps that stand for the run: no context
// requests and the most generation requests. Where no step says how many, all
// generation steps, else all steps.
func Steady(steps []Step) []int {
	most := -1
	for _, s := range steps {
		if s.Phase == names.Generation {
			most = max(most, s.Gen)
		}
	}
	var out []int
	for i, s := range steps {
		if s.Phase == names.Generation && s.Gen == most {
			out = append(out, i)
		}
	}
	if len(out) >= MinPhase {
		return out
	}
	var generation []int
	for i, s := range steps {
		if s.Phase == names.Generation {
			generation = append(generation, i)
		}
	}
	if len(generation) >= MinPhase {
		return generation
	}
	all := make([]int, len(steps))
	for i := range all {
		all[i] = i
	}
	return all
}
