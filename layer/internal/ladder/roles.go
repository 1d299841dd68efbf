package ladder

import (
	"slices"

	"github.com/llmstrata/strata/classify"
)

// Role is what the segmentation needs to know about a kernel's meaning: never needed for finding the period, only for
// placing a boundary that structure leaves open and for telling a layer from half of one.
type Role = classify.Role

// The roles that cuts tell apart.
const (
	RoleOther       = classify.RoleOther
	RoleNorm        = classify.RoleNorm
	RoleMixer       = classify.RoleMixer
	RoleGemm        = classify.RoleProduct
	roleMoE         = classify.RoleMoE
	roleRope        = classify.RoleRope
	roleCollective  = classify.RoleCollective
	roleEmbed       = classify.RoleEmbed
	roleSample      = classify.RoleSample
	RoleElementwise = classify.RoleElementwise
	roleActivation  = classify.RoleActivation
	roleBackward    = classify.RoleBackward
)

// FactsOf reads a name for the segmentation: the default rules only, since users' rules label but do not cut.
func FactsOf(name string) classify.Facts { return classify.Default().Facts(name) }

// Structural says what a role counts as when layers are cut. Norms of heads, cache writes and the like stand inside a
// layer at places that differ between servers: they must neither open a layer nor make kernels alike.
var Structural = map[classify.Role]Role{
	classify.RoleOther:       RoleOther,
	classify.RoleNorm:        RoleNorm,
	classify.RoleHeadNorm:    RoleOther,
	classify.RoleMixer:       RoleMixer,
	classify.RoleSoftmax:     RoleOther, // but see structuralRoles
	classify.RoleProduct:     RoleGemm,
	classify.RoleRouter:      roleMoE,
	classify.RolePermute:     roleMoE,
	classify.RoleExperts:     roleMoE,
	classify.RoleFinalize:    roleMoE,
	classify.RoleMoE:         roleMoE,
	classify.RoleRope:        roleRope,
	classify.RoleCacheWrite:  RoleOther,
	classify.RoleCollective:  roleCollective,
	classify.RoleEmbed:       roleEmbed,
	classify.RoleSample:      roleSample,
	classify.RoleCopy:        RoleOther,
	classify.RoleElementwise: RoleElementwise,
	classify.RoleActivation:  roleActivation,
	classify.RoleQuantize:    RoleOther,
	classify.RoleBackward:    roleBackward,
}

// structuralRoles folds the roles of names. Where no name is a mixer, attention is written out as two products around a
// softmax, which then stands for it.
func structuralRoles(facts []classify.Facts) []Role {
	out := make([]Role, len(facts))
	mixers := slices.ContainsFunc(facts, func(f classify.Facts) bool { return f.Role == classify.RoleMixer })
	for i, f := range facts {
		out[i] = Structural[f.Role]
		if f.Role == classify.RoleSoftmax && !mixers {
			out[i] = RoleMixer
		}
	}
	return out
}
