package ladder

import (
	"slices"

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
	plainStep        // pointwise, of no known kind: what only its place shows, as that of a clamp that is an activation
	copyStep         // to another type or place
	inputStep        // such a copy by a kernel, or a number added to weights: what a whole norm may need before it
	meanStep         // the mean of a row
	rsqrtStep        // the reciprocal root
	softmaxStep      // the weights of attention, or those of experts
	pickStep         // the largest of a row, or the sum
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
			if f.Role == classify.RoleOther {
				out[i] = inputStep
			}
		case classify.RoleAddScalar:
			out[i] = inputStep
		case classify.RoleElementwise:
			if f.Category == classify.CategoryElementwise { // no sum or maximum, as a router takes
				out[i] = plainStep
			}
		default:
			if f.Role == classify.RoleElementwise {
				out[i] = pointStep
			}
		}
		if out[i] == otherStep && f.Category == classify.CategoryReduceTopK {
			out[i] = pickStep
		}
	}
	return out
}

// writtenParts gives what is written out its role: the first kernel of each norm that of one, and those up to its root
// none; the softmax of attention that of a mixer, and an operation between two products that of an activation.
func writtenParts(s *Sequence, steps []step) {
	at := func(i int) step {
		if i < 0 || i >= s.Len() {
			return otherStep
		}
		return steps[s.ID[i]]
	}
	is := func(i int, steps ...step) bool { return slices.Contains(steps, at(i)) }
	// past returns the first kernel from i on, or back, that is no single operation on elements.
	past := func(i, by int) int {
		for is(i, pointStep, plainStep, copyStep, inputStep) {
			i += by
		}
		return i
	}
	isProduct := func(i int) bool { return i >= 0 && i < s.Len() && s.Role[i] == RoleGemm }
	ofHeads := func(i int) bool { return isProduct(i) || i >= 0 && s.Role[i] == RoleNorm }
	for i := range s.Len() {
		switch at(i) {
		case otherStep:
			if s.Role[i] == RoleNorm && at(i-1) == inputStep && !ofHeads(i-2) {
				s.Role[i-1], s.Role[i] = RoleNorm, RoleOther
			}
		case plainStep:
			if isProduct(i-1) && isProduct(i+1) {
				s.Role[i] = roleActivation
			}
		case softmaxStep:
			if to := past(i+1, 1); at(to) == pickStep {
				s.Role[i] = RoleOther // experts, or tokens, are chosen by these weights
			} else if isProduct(to) && isProduct(past(i-1, -1)) {
				s.Role[i] = RoleMixer
			}
		case meanStep:
			root := past(i+1, 1)
			if at(root) != rsqrtStep || root > i+normSpan+1 {
				continue
			}
			from := i
			if is(from-1, pointStep, plainStep) { // the square
				from--
			}
			if center := past(from-1, -1); at(center) == meanStep && center >= from-normSpan {
				from = center
			}
			if is(from-1, copyStep, inputStep) {
				from--
			}
			for k := from; k <= root; k++ {
				s.Role[k] = RoleOther
			}
			s.Role[from] = RoleNorm
		}
	}
}
