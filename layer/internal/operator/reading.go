package operator

import (
	"slices"

	"github.com/llmstrata/strata/classify"
)

// reading is what a kernel does as its name says it, before its place shows which
// operator that serves.
type reading struct {
	// acts are its operations in order, those that serve others left out where it
	// has one that does not.
	acts []classify.Role
	// base is the name without its tile variants.
	base string
	// tag is the single operation of PyTorch that it runs, for finding decomposed
	// operators; RoleOther for none.
	tag classify.Role
	// first, second: which of two products of experts the name says it to be.
	first, second bool
	// softmax: it is a softmax and nothing else. latent: it works on a compressed
	// cache. transfer: it copies between host and GPU.
	softmax, latent, transfer bool
	// gated: it is an activation that multiplies with a second input.
	gated bool
	// ungated: it is an activation, and its name shows that it multiplies no second input.
	ungated bool
	// convolves: it is a convolution of images or sound. channels: it is a norm of their channels. writes: it
	// writes rows that indices choose.
	convolves, channels, writes bool
	// part is what it is of an attention written op by op, see takeAttention.
	part Part
	// serves is 1 more than the kernel whose operator it has, 0 for none, see writtenScans.
	serves int
}

// folded are roles that serve an operator as another one does.
var folded = map[classify.Role]classify.Role{
	classify.RolePermute: classify.RoleRouter, classify.RoleMoE: classify.RoleRouter,
	classify.RoleTopK:    classify.RoleRouter,
	classify.RoleCombine: classify.RoleFinalize, classify.RoleTransfer: classify.RoleCopy,
	classify.RoleConcat: classify.RoleCopy,
	classify.RoleRows:   classify.RoleElementwise, classify.RoleMultiply: classify.RoleElementwise,
	classify.RolePower: classify.RoleElementwise, classify.RoleMean: classify.RoleElementwise,
	classify.RoleRsqrt: classify.RoleElementwise, classify.RoleNegate: classify.RoleElementwise,
	classify.RoleAddScalar: classify.RoleElementwise,
}

// tags are the operations that decomposed operators are made of.
var tags = []classify.Role{
	classify.RoleCopy, classify.RolePower, classify.RoleMean, classify.RoleAddScalar, classify.RoleAdd,
	classify.RoleRsqrt, classify.RoleMultiply,
	classify.RoleNegate, classify.RoleConcat,
}

// aux reports a role that serves another operator and has no step of its own.
func aux(a classify.Role) bool {
	switch a {
	case classify.RoleCopy, classify.RoleQuantize, classify.RoleProductReduce, classify.RoleAttentionReduce,
		classify.RoleScanInput:
		return true
	}
	return false
}

// heavy reports a role that is never invented and hardly ever left out.
func heavy(a classify.Role) bool {
	switch a {
	case classify.RoleProduct, classify.RoleExperts, classify.RoleAttention, classify.RoleCollective, classify.RoleScan,
		classify.RoleHeadProduct:
		return true
	}
	return false
}

// read reads what a name shows.
func read(f *classify.Facts) reading {
	r := reading{base: f.Base, first: f.ExpertStage == 1, second: f.ExpertStage == 2, latent: f.Latent, gated: f.Gated,
		ungated: f.Ungated()}
	r.convolves, r.channels, r.writes = f.Convolves(), f.OfChannels(), f.WritesRows()
	for _, a := range f.Ops {
		if len(f.Ops) == 1 && slices.Contains(tags, a) {
			r.tag = a
		}
		r.softmax = a == classify.RoleSoftmax
		r.transfer = a == classify.RoleTransfer
		if to, ok := folded[a]; ok {
			a = to
		}
		r.acts = append(r.acts, a)
	}
	if own := slices.DeleteFunc(slices.Clone(r.acts),
		func(a classify.Role) bool {
			return aux(a) || len(r.acts) > 1 &&
				a == classify.RoleElementwise
		}); len(own) > 0 {
		r.acts = own
	}
	if len(r.acts) == 0 {
		r.acts = []classify.Role{classify.RoleOther}
	}
	return r
}
