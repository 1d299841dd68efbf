package ladder

import (
	"slices"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/layer/internal/segment"
)

// Role is what the segmentation needs to know about a kernel's meaning: never needed for finding the period, only for
// placing a boundary that structure leaves open and for telling a layer from half of one.
type Role = segment.Role

// The roles that cuts separate.
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

// Structural says what a role counts as when layers are cut. Norms of heads, cache writes and the like are inside a
// layer at places that differ between servers: they must neither open a layer nor make kernels alike.
var Structural = map[classify.Role]Role{
	classify.RoleOther:       RoleOther,
	classify.RoleNorm:        RoleNorm,
	classify.RoleHeadNorm:    RoleOther,
	classify.RoleAttention:   RoleMixer,
	classify.RoleScan:        RoleMixer,
	classify.RoleSoftmax:     RoleOther, // but see structuralRoles, writtenParts
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
	// Of fused operations only, never what a whole kernel is.
	classify.RoleAdd: RoleElementwise, classify.RoleGather: roleCollective, classify.RoleDispatch: roleCollective,
	classify.RoleCombine: roleCollective,
	classify.RoleConv:    RoleOther, classify.RoleScanInput: RoleOther, classify.RoleIndexer: RoleOther,
	classify.RoleIndexerTopK: RoleOther,
	classify.RoleMixIn:       RoleElementwise, classify.RoleMixOut: RoleElementwise, classify.RoleHeadProduct: RoleGemm,
	classify.RoleProductReduce: RoleGemm, classify.RoleAttentionReduce: RoleMixer, classify.RolePrepare: RoleOther,
	classify.RoleTransfer: RoleOther, classify.RoleTopK: RoleOther, classify.RoleRows: RoleOther,
	classify.RoleMultiply: RoleElementwise, classify.RolePower: RoleElementwise,
	classify.RoleMean: RoleElementwise, classify.RoleRsqrt: RoleElementwise, classify.RoleNegate: RoleElementwise,
	classify.RoleConcat:    RoleOther,
	classify.RoleAddScalar: RoleElementwise,
}

// structuralRoles folds the roles of names. Where no name is a mixer, a softmax counts as one, as attention is written
// out. Beside attention, where none is a scan, a short convolution is no input of one, but mixes tokens.
func structuralRoles(facts []classify.Facts) []Role {
	out := make([]Role, len(facts))
	mixers := slices.ContainsFunc(facts, func(f classify.Facts) bool { return f.Role.Mixer() })
	scans := slices.ContainsFunc(facts, func(f classify.Facts) bool { return f.Role == classify.RoleScan })
	for i, f := range facts {
		out[i] = Structural[f.Role]
		if f.Role == classify.RoleSoftmax && !mixers || f.Op() == classify.RoleConv && mixers && !scans {
			out[i] = RoleMixer
		}
	}
	return out
}

// Sequence is what the structural core works on, package segment: pure, and with every number that decides.
type Sequence = segment.Sequence
