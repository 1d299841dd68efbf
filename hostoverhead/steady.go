package hostoverhead

// steadySteps are the indices of the steps that stand for the run: no context
// requests and the most generation requests. Where no step says how many, all
// generation steps, else all steps.
func steadySteps(steps []step) []int {
	most := -1
	for _, s := range steps {
		if s.phase == phaseGeneration {
			most = max(most, s.gen)
		}
	}
	var out []int
	for i, s := range steps {
		if s.phase == phaseGeneration && s.gen == most {
			out = append(out, i)
		}
	}
	if len(out) >= minPhase {
		return out
	}
	var generation []int
	for i, s := range steps {
		if s.phase == phaseGeneration {
			generation = append(generation, i)
		}
	}
	if len(generation) >= minPhase {
		return generation
	}
	all := make([]int, len(steps))
	for i := range all {
		all[i] = i
	}
	return all
}
