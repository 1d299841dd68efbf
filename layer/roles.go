package layer

import (
	"slices"

	"github.com/llmstrata/strata/classify"
)

// A role is what the segmentation needs to know about a kernel's meaning: never needed for finding the period, only for
// placing a boundary that structure leaves open and for telling a layer from half of one.
type role = classify.Role

const (
	roleOther       = classify.RoleOther
	roleNorm        = classify.RoleNorm
	roleMixer       = classify.RoleMixer
	roleGemm        = classify.RoleProduct
	roleMoE         = classify.RoleMoE
	roleRope        = classify.RoleRope
	roleCollective  = classify.RoleCollective
	roleEmbed       = classify.RoleEmbed
	roleSample      = classify.RoleSample
	roleElementwise = classify.RoleElementwise
	roleActivation  = classify.RoleActivation
	roleBackward    = classify.RoleBackward
)

// factsOf reads a name for the segmentation: the default rules only, since users' rules label but do not cut.
func factsOf(name string) classify.Facts { return classify.Default().Facts(name) }

// structural says what a role counts as when layers are cut. Norms of heads, cache writes and the like stand inside a
// layer at places that differ between servers: they must neither open a layer nor make kernels alike.
var structural = map[classify.Role]role{
	classify.RoleOther:       roleOther,
	classify.RoleNorm:        roleNorm,
	classify.RoleHeadNorm:    roleOther,
	classify.RoleMixer:       roleMixer,
	classify.RoleSoftmax:     roleOther, // but see structuralRoles
	classify.RoleProduct:     roleGemm,
	classify.RoleRouter:      roleMoE,
	classify.RolePermute:     roleMoE,
	classify.RoleExperts:     roleMoE,
	classify.RoleFinalize:    roleMoE,
	classify.RoleMoE:         roleMoE,
	classify.RoleRope:        roleRope,
	classify.RoleCacheWrite:  roleOther,
	classify.RoleCollective:  roleCollective,
	classify.RoleEmbed:       roleEmbed,
	classify.RoleSample:      roleSample,
	classify.RoleCopy:        roleOther,
	classify.RoleElementwise: roleElementwise,
	classify.RoleActivation:  roleActivation,
	classify.RoleQuantize:    roleOther,
	classify.RoleBackward:    roleBackward,
}

// structuralRoles folds the roles of names. Where no name is a mixer, attention is written out as two products around a
// softmax, which then stands for it.
func structuralRoles(facts []classify.Facts) []role {
	out := make([]role, len(facts))
	mixers := slices.ContainsFunc(facts, func(f classify.Facts) bool { return f.Role == classify.RoleMixer })
	for i, f := range facts {
		out[i] = structural[f.Role]
		if f.Role == classify.RoleSoftmax && !mixers {
			out[i] = roleMixer
		}
	}
	return out
}
