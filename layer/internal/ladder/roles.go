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

// structuralRoles folds the roles of names; ran is which of them ran, in order. Where no name is a mixer, a softmax
// counts as one, as attention is written out. Beside attention, where none is a scan, a short convolution is no input
// of one, but mixes tokens, unless it follows attention: then it is of the feed-forward part, as in transformers of
// images.
func structuralRoles(facts []classify.Facts, ran []int32) []Role {
	out := make([]Role, len(facts))
	mixers := slices.ContainsFunc(facts, func(f classify.Facts) bool { return f.Role.Mixer() })
	scans := slices.ContainsFunc(facts, func(f classify.Facts) bool { return f.Role == classify.RoleScan })
	mix := mixers && !scans && convolvesAlone(facts, ran)
	for i, f := range facts {
		out[i] = Structural[f.Role]
		if f.Role == classify.RoleSoftmax && !mixers || f.Op() == classify.RoleConv && mix {
			out[i] = RoleMixer
		}
	}
	return out
}

// convolvesAlone says whether one short convolution in eight or more follows another one without attention in between.
func convolvesAlone(facts []classify.Facts, ran []int32) bool {
	all, alone, attends := 0, 0, true
	for _, id := range ran {
		switch f := &facts[id]; {
		case f.Role.Mixer():
			attends = true
		case f.Op() == classify.RoleConv:
			if all++; !attends {
				alone++
			}
			attends = false
		}
	}
	return 8*alone >= all
}

// Sequence is what the structural core works on, package segment: pure, and with every number that decides.
type Sequence = segment.Sequence
