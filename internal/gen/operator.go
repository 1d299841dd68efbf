package gen

import "github.com/llmstrata/strata/internal/opname"

// operators are those of roles that serve one operator only.
var operators = [numRoles]string{
	roleEmbed: opname.Embed, roleQKV: opname.QKVProj, roleQKNorm: opname.QKNorm, roleRope: opname.Rope,
	roleStoreKV:     opname.KVWrite,
	rolePrefillAttn: opname.Attention, roleDecodeAttn: opname.Attention, roleOut: opname.OProj,
	roleSplitK: opname.OProj, roleReduceK: opname.OProj,
	roleDown: opname.DownProj, roleRouter: opname.Router, roleTopK: opname.Routing, roleAlign: opname.Routing,
	roleExpert1: opname.ExpertsGateUp, roleExpert2: opname.ExpertsDown, roleExpertSum: opname.ExpertsCombine,
	roleSharedGateUp: opname.SharedGateUp, roleSharedDown: opname.SharedDown, roleAdd: opname.ResidualAdd,
	roleInProj: opname.InProj, roleConv: opname.Conv1D, roleScan: opname.LinearAttention,
	roleState:     opname.LinearAttention,
	roleGatedNorm: opname.GateNorm, roleMixOut: opname.OutProj, roleLMHead: opname.LMHead,
	roleCast: opname.LMHead + "|" + opname.Sampling + "|" + opname.LogitsGather, roleArgMax: opname.Sampling,
}

// operator is what a kernel of a role computes here.
func (s *sim) operator(r role, stream int) string {
	attention := s.half == halfAttention
	switch r {
	case roleNorm, roleAddNorm:
		switch {
		case s.layer < 0:
			return opname.FinalNorm
		case attention:
			return opname.InputNorm
		}
		return opname.PostNorm
	case roleAllReduceBig, roleAllReduceSmall:
		switch {
		case s.layer < 0:
			return opname.Embed
		case attention:
			return opname.AttnAllReduce
		}
		return opname.MLPAllReduce
	case roleGateUp, roleAct:
		switch {
		case s.layer < 0: // of a head
			return opname.Other
		case r == roleGateUp:
			return opname.GateUpProj
		case s.cfg.Arch.Layers[s.layer].FFN != MoE:
			return opname.Activation
		case s.cfg.Arch.SharedExperts && stream == sideStream:
			return opname.SharedActivation
		}
		return opname.ExpertsActivation
	}
	return operators[r]
}
