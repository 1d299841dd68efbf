package ladder

import (
	"slices"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/kernelword"
	"github.com/llmstrata/strata/layer/internal/segment"
)

// Role is what the segmentation needs to know about a kernel's meaning: never needed for finding the period, only for
// placing a boundary that structure leaves open and for telling a layer from half of one.
type Role = segment.Role

// The roles that cuts tell apart.
const (
	RoleOther       = segment.Other
	RoleNorm        = segment.Norm
	RoleMixer       = segment.Mixer
	RoleGemm        = segment.Product
	roleMoE         = segment.MoE
	roleRope        = segment.Rope
	roleCollective  = segment.Collective
	roleEmbed       = segment.Embed
	roleSample      = segment.Sample
	RoleElementwise = segment.Elementwise
	roleActivation  = segment.Activation
	roleBackward    = segment.Backward
)

// FactsOf reads a name for the segmentation: the default rules only, since users' rules label but do not cut.
func FactsOf(name string) classify.Facts { return classify.Default().Facts(name) }

// Structural says what a role counts as when layers are cut. Norms of heads, cache writes and the like stand inside a
// layer at places that differ between servers: they must neither open a layer nor make kernels alike.
var Structural = map[string]Role{
	kernelword.RoleOther:       RoleOther,
	kernelword.RoleNorm:        RoleNorm,
	kernelword.RoleHeadNorm:    RoleOther,
	kernelword.RoleMixer:       RoleMixer,
	kernelword.RoleSoftmax:     RoleOther, // but see structuralRoles
	kernelword.RoleProduct:     RoleGemm,
	kernelword.RoleRouter:      roleMoE,
	kernelword.RolePermute:     roleMoE,
	kernelword.RoleExperts:     roleMoE,
	kernelword.RoleFinalize:    roleMoE,
	kernelword.RoleMoE:         roleMoE,
	kernelword.RoleRope:        roleRope,
	kernelword.RoleCacheWrite:  RoleOther,
	kernelword.RoleCollective:  roleCollective,
	kernelword.RoleEmbed:       roleEmbed,
	kernelword.RoleSample:      roleSample,
	kernelword.RoleCopy:        RoleOther,
	kernelword.RoleElementwise: RoleElementwise,
	kernelword.RoleActivation:  roleActivation,
	kernelword.RoleQuantize:    RoleOther,
	kernelword.RoleBackward:    roleBackward,
}

// structuralRoles folds the roles of names. Where no name is a mixer, attention is written out as two products around a
// softmax, which then stands for it.
func structuralRoles(facts []classify.Facts) []Role {
	out := make([]Role, len(facts))
	mixers := slices.ContainsFunc(facts, func(f classify.Facts) bool { return f.Role == kernelword.RoleMixer })
	for i, f := range facts {
		out[i] = Structural[f.Role]
		if f.Role == kernelword.RoleSoftmax && !mixers {
			out[i] = RoleMixer
		}
	}
	return out
}

// Sequence is what the structural core works on, package segment: pure, and where every number that decides stands.
type Sequence = segment.Sequence

// params are the numbers that every analysis decides by.
var params = segment.DefaultParams()

// Params returns a copy of them: nobody outside can change what others decide by.
func Params() *segment.Params { return segment.DefaultParams() }
