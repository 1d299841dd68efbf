package ladder

import (
	"github.com/llmstrata/strata/classify"
)

// Without fused kernels a norm is a handful of single operations: the input as a float, its square, the mean of that,
// an epsilon added, the reciprocal root, a product with the input and one with the weights.

// normSpan is how many kernels may be between the mean and the root: transformers has one there, the epsilon, and
// two with casts to another type around it.
const normSpan = 3

// A normStep is what a kernel may be of such a norm.
type normStep uint8

const (
	otherStep normStep = iota
	pointStep          // pointwise: a square, a sum
	copyStep           // to another type
	meanStep           // the mean of a row
	rsqrtStep          // the reciprocal root
)

// normSteps reads the steps of names; nil where no norm is written out, as some name is a whole one or none is a step
// that decides.
func normSteps(facts []classify.Facts) []normStep {
	out := make([]normStep, len(facts))
	seen := map[normStep]bool{}
	for i := range facts {
		f := &facts[i]
		switch {
		case f.Role == classify.RoleNorm:
			return nil
		case f.Category != classify.CategoryElementwise && f.Category != classify.CategoryReduceTopK &&
			f.Category != classify.CategoryMemory:
			continue
		}
		switch f.Op() {
		case classify.RoleRsqrt:
			out[i] = rsqrtStep
		case classify.RoleMean:
			out[i] = meanStep
		case classify.RoleCopy:
			out[i] = copyStep
		default:
			if f.Role == classify.RoleElementwise {
				out[i] = pointStep
			}
		}
		seen[out[i]] = true
	}
	if !seen[meanStep] || !seen[rsqrtStep] {
		return nil
	}
	return out
}

// writtenNorms gives the first kernel of each norm that is written out the role of one, and those up to its root none.
func writtenNorms(s *Sequence, steps []normStep) {
	at := func(i int) normStep {
		if i < 0 || i >= s.Len() {
			return otherStep
		}
		return steps[s.ID[i]]
	}
	for i := range s.Len() {
		if at(i) != meanStep {
			continue
		}
		root := i + 1
		for root <= i+normSpan && (at(root) == pointStep || at(root) == copyStep) {
			root++
		}
		if at(root) != rsqrtStep {
			continue
		}
		from := i
		if at(from-1) == pointStep { // the square
			from--
		}
		if at(from-1) == copyStep {
			from--
		}
		for k := from; k <= root; k++ {
			s.Role[k] = RoleOther
		}
		s.Role[from] = RoleNorm
	}
}
