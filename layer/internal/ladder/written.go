package ladder

import (
	"github.com/llmstrata/strata/classify"
)

// Without fused kernels a norm is a handful of single operations: the input as a float, its square, the mean of that,
// an epsilon added, the reciprocal root, a product with the input and one with the weights; before the square another
// mean, and the input less that, where the norm centers it. Attention is two products around a softmax.

// normSpan is how many kernels may be between the mean and the root: transformers has one there, the epsilon, and
// two with casts to another type around it.
const normSpan = 3

// A step is what a kernel may be of a norm or of attention.
type step uint8

const (
	otherStep   step = iota
	pointStep        // pointwise: a square, a sum, a mask
	copyStep         // to another type or place
	meanStep         // the mean of a row
	rsqrtStep        // the reciprocal root
	softmaxStep      // the weights of attention, or those of experts
)

// writtenSteps reads the steps of names.
func writtenSteps(facts []classify.Facts) []step {
	out := make([]step, len(facts))
	for i := range facts {
		f := &facts[i]
		switch {
		case f.Role == classify.RoleSoftmax:
			out[i] = softmaxStep
			continue
		case f.Category == classify.CategoryMemory:
			out[i] = copyStep
		case f.Category != classify.CategoryElementwise && f.Category != classify.CategoryReduceTopK:
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
	}
	return out
}

// writtenParts gives what is written out its role: the first kernel of each norm that of one, and those up to its root
// none; the softmax of attention that of a mixer.
func writtenParts(s *Sequence, steps []step) {
	at := func(i int) step {
		if i < 0 || i >= s.Len() {
			return otherStep
		}
		return steps[s.ID[i]]
	}
	// past returns the first kernel from i on, or back, that is no single operation on elements.
	past := func(i, by int) int {
		for at(i) == pointStep || at(i) == copyStep {
			i += by
		}
		return i
	}
	isProduct := func(i int) bool { return i >= 0 && i < s.Len() && s.Role[i] == RoleGemm }
	for i := range s.Len() {
		switch at(i) {
		case softmaxStep:
			if isProduct(past(i-1, -1)) && isProduct(past(i+1, 1)) {
				s.Role[i] = RoleMixer
			}
		case meanStep:
			root := past(i+1, 1)
			if at(root) != rsqrtStep || root > i+normSpan+1 {
				continue
			}
			from := i
			if at(from-1) == pointStep { // the square
				from--
			}
			if center := past(from-1, -1); at(center) == meanStep && center >= from-normSpan {
				from = center
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
}
