package ladder

import (
	"slices"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/layer/internal/segment"
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
	sumStep          // of two tensors, as of the residual stream
	chooseStep       // the largest ones of a row, or their order
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
		case classify.RoleAdd:
			out[i] = sumStep
		case classify.RoleTopK:
			out[i] = chooseStep
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
		for is(i, pointStep, sumStep, plainStep, copyStep, inputStep) {
			i += by
		}
		return i
	}
	last, next := RoleOther, 0
	opened := func(to int) Role {
		for ; next <= to; next++ {
			if r := s.Role[next]; r == RoleNorm || r == roleEmbed || r == roleSample {
				last = r
			}
		}
		return last
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
			if to := past(i+1, 1); is(to, pickStep, chooseStep) {
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
			if is(from-1, pointStep, sumStep, plainStep) { // the square
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
			if s.Role[from] = RoleNorm; !ofStream(s, steps, from, root, opened) {
				s.Role[from] = RoleOther
			}
		}
	}
	writtenMixers(s, steps)
}

// ofStream says whether a norm is of the residual stream, and not of heads or of a state: its input is a sum, or what
// no single operation made, or a sum follows it, or it is the first one. It begins at kernel i and has its root later.
// opened returns the role of the last norm, embedding or sampling up to a kernel.
func ofStream(s *Sequence, steps []step, i, root int, opened func(to int) Role) bool {
	k := i - 1
	for k >= 0 && (steps[s.ID[k]] == copyStep || steps[s.ID[k]] == inputStep) && s.Role[k] != roleEmbed {
		k--
	}
	if k < 0 || steps[s.ID[k]] == sumStep || steps[s.ID[k]] == otherStep && s.Role[k] != roleActivation &&
		s.Role[k] != RoleGemm {
		return true
	}
	for k := root + 1; k < min(root+normEnd, s.Len()); k++ {
		if steps[s.ID[k]] == sumStep {
			return true
		}
		if steps[s.ID[k]] == otherStep {
			break
		}
	}
	return opened(k) != RoleNorm
}

// normEnd is how many kernels of a norm follow its root, and the first one after them: products with the input and the
// weights, and a cast between them.
const normEnd = 5

// A part is a norm of the residual stream and what follows it up to the next one.
type part struct {
	from, to int
	kind     partKind
	at       int // the kernel that shows the kind
}

// partKind is what a part does. Of two kinds that a part shows the later one counts.
type partKind uint8

const (
	idlePart   partKind = iota // no two products
	feedPart                   // nothing but operations on elements is between two products
	movePart                   // what is between two products moves, joins, sums or scans
	choosePart                 // it chooses experts
	mixPart                    // it has a kernel that is known to mix tokens
)

// writtenMixers gives parts that mix tokens in single operations, as a state space does or a delta rule, the role of a
// mixer: where some parts are known to feed forward, the others between two products do more than an activation does.
// What follows a part that mixes each time is the other half of its layer, and feeds forward, too. An activation that
// no product separates from a mixer is the mixer's own.
func writtenMixers(s *Sequence, steps []step) {
	parts, feeds := partsOf(s, steps)
	var kinds [mixPart + 1]int
	after, last := 0, idlePart
	for _, p := range parts {
		if kinds[p.kind]++; p.kind == movePart && last == mixPart {
			after++
		}
		if p.kind != idlePart {
			last = p.kind
		}
	}
	working := len(parts) - kinds[idlePart]
	mixes := feeds && partsInTurns*kinds[movePart] >= working && !segment.AtLeast(after, mostAfter, kinds[movePart])
	for _, p := range parts {
		switch {
		case p.kind == feedPart:
			s.Role[p.at] = roleActivation
		case p.kind == movePart && mixes:
			for k := p.from; k < p.to; k++ {
				if s.Role[k] == roleActivation {
					s.Role[k] = RoleElementwise
				}
			}
			s.Role[p.at] = RoleMixer
		}
	}
}

// Where parts that move are the other halves of layers, mostAfter of them follow one that mixes. One part of
// partsInTurns mixes at least: layers have two parts and are of four kinds at most. What runs between two stacks of
// layers moves, too.
const (
	mostAfter    = .9
	partsInTurns = 8
)

// partsOf returns the parts of a sequence, and whether one of them is known to feed forward.
func partsOf(s *Sequence, steps []step) (parts []part, feeds bool) {
	begin := func(i int) { parts = append(parts, part{from: i, to: s.Len()}) }
	begin(0)
	product, mixes := false, false // the part has a product, and a mixer after the last one
	last, at := idlePart, 0        // what is after the last product, and the kernel that shows it
	scales := besideProducts(s, steps)
	show := func(kind partKind, i int) {
		if p := &parts[len(parts)-1]; kind > p.kind {
			p.kind, p.at = kind, i
		}
	}
	for i, r := range s.Role {
		switch st := steps[s.ID[i]]; {
		case r == RoleNorm:
			parts[len(parts)-1].to = i
			begin(i)
			product, mixes, last = false, false, idlePart
		case r == RoleMixer:
			mixes = true
			show(mixPart, i)
		case r == RoleGemm:
			if product {
				show(last, at)
				p := &parts[len(parts)-1]
				feeds = feeds || last == feedPart && (p.kind == feedPart || p.kind == mixPart && s.Role[at] == roleActivation)
			}
			product, mixes, last = true, false, idlePart
		case r == roleMoE, st == chooseStep:
			show(choosePart, i)
			feeds = true
		case r == roleCollective:
			mixes = false
		case scales[i]:
		case r == roleActivation && mixes:
			s.Role[i] = RoleElementwise
		case st == copyStep, st == pickStep, st == meanStep, st == otherStep && r != roleActivation:
			last, at = movePart, i
		case last == idlePart, last == feedPart && r == roleActivation:
			last, at = feedPart, i
		}
	}
	return parts, feeds
}

// mostProducts of the products, and fewProducts at least, have what belongs to products beside them.
const (
	mostProducts = .6
	fewProducts  = 8
)

// besideProducts says of each kernel whether it belongs to the product before or after it: what runs next to most
// products makes their inputs integers, by the largest of a row, and numbers of their results. It says nothing of what
// a part does.
func besideProducts(s *Sequence, steps []step) []bool {
	of := make([]bool, s.Len())
	var products []int
	for i, r := range s.Role {
		if r == RoleGemm {
			products = append(products, i)
		}
	}
	rows := false
	for _, step := range []int{-1, 1} {
		at := func(i, far int) int32 {
			if k := i + step*far; k >= 0 && k < s.Len() && s.Role[k] != RoleGemm {
				return s.Base[k]
			}
			return None
		}
		var chain []int32 // from the product on
		for left := products; len(left) > 0; {
			counts, most := map[int32]int{}, int32(None)
			for _, i := range left {
				if b := at(i, len(chain)+1); b != None {
					if counts[b]++; counts[b] > counts[most] {
						most = b
					}
				}
			}
			if counts[most] < fewProducts || !segment.AtLeast(counts[most], mostProducts, len(products)) {
				break
			}
			chain = append(chain, most)
			left = slices.DeleteFunc(slices.Clone(left), func(i int) bool { return at(i, len(chain)) != most })
			rows = rows || steps[s.ID[left[0]+step*len(chain)]] == pickStep
		}
		if !rows {
			return of
		}
		for _, i := range products {
			for k, c := 1, 0; c < len(chain); k, c = k+1, c+1 {
				if b := at(i, k); b != chain[c] {
					if c++; c == len(chain) || b != chain[c] { // more than one record is lost, or it ends
						break
					}
				}
				of[i+step*k] = true
			}
		}
	}
	return of
}
