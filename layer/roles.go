package layer

import "github.com/llmstrata/strata/classify"

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

// interchangeable says whether kernels of a role may stand for each other where names differ: a plain and a fused norm,
// two tiles of a GEMM. Element-wise kernels, copies and the rest may not: half of any prologue would match.
func interchangeable(r role) bool {
	switch r {
	case roleNorm, roleMixer, roleGemm, roleMoE, roleRope, roleCollective:
		return true
	}
	return false
}

// factsOf reads a name for the segmentation: the default rules only, since users' rules label but do not cut.
func factsOf(name string) classify.Facts { return classify.Default().Facts(name) }
