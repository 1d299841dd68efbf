package hostoverhead

import "github.com/llmstrata/strata/hostoverhead/internal/names"

// steadySteps are the indices of the steps that represent the run: no context
// requests and the most generation requests. Where no step says how many, all
// generation steps, else all steps.
func steadySteps(steps []hostStep) (out []int) {
	most := -1
	for _, s := range steps {
		if s.Phase == names.Generation {
			most = max(most, s.Gen)
		}
	}
	for _, keep := range []func(*hostStep) bool{
		func(s *hostStep) bool { return s.Phase == names.Generation && s.Gen == most },
		func(s *hostStep) bool { return s.Phase == names.Generation }, func(*hostStep) bool { return true }} {
		out = nil
		for i := range steps {
			if keep(&steps[i]) {
				out = append(out, i)
			}
		}
		if len(out) >= minPhase {
			break
		}
	}
	return out
}
