package operator

import (
	"slices"

	"github.com/llmstrata/strata/internal/opname"
)

// step is one step of the pass being aligned.
type step struct {
	Step
	layer  int32 // −1 before and behind the layers
	skip   float64
	add    bool // the operator is residual_add
	grades *gradeRow
}

// gradeRow are the grades of all acts as one operator's kernel.
type gradeRow [numActs]grade

// gradesOf are the rows of all operators, made once: the alignment looks at them
// for every kernel and step.
var gradesOf = func() map[string]*gradeRow {
	m := map[string]*gradeRow{}
	for _, op := range opname.All {
		row := &gradeRow{}
		for a := range numActs {
			row[a] = match(a, op)
		}
		m[op] = row
	}
	return m
}()

// noGrades is for an operator that is not known: no kernel is of it.
var noGrades gradeRow

func newStep(s Step, layer int32, skip float64) step {
	row := gradesOf[s.Op]
	if row == nil {
		row = &noGrades
	}
	return step{Step: s, layer: layer, skip: skip, add: s.Op == opname.ResidualAdd, grades: row}
}

// variant chooses among the alternatives of a plan.
type variant struct {
	splitQKV, splitGate, sharedFirst bool
	// wholeQuery: latent attention without a low rank for queries, where no config tells.
	wholeQuery bool
}

// variants are those that make a difference to the layout.
func (l *Layout) variants() []variant {
	var or, gate, shared, latent bool
	for _, kind := range l.Kinds {
		for _, s := range kind {
			switch s.Op {
			case opname.GateUpProj:
				gate = gate || len(s.Or) > 0
			case opname.SharedGateUp:
				shared = true
			case opname.QKVAProj:
				or, latent = or || len(s.Or) > 0, !l.Given
			default:
				or = or || len(s.Or) > 0
			}
		}
	}
	out := []variant{{}}
	add := func(when bool, set func(*variant)) {
		if !when {
			return
		}
		for _, v := range out[:len(out):len(out)] {
			set(&v)
			out = append(out, v)
		}
	}
	add(or, func(v *variant) { v.splitQKV = true })
	add(gate, func(v *variant) { v.splitGate = true })
	add(shared, func(v *variant) { v.sharedFirst = true })
	add(latent, func(v *variant) { v.wholeQuery = true })
	return out
}

// steps writes out the steps of a pass with the chosen alternatives.
func (w *work) steps(v variant) []step {
	var out []step
	put := func(list []Step, layer int32) {
		for _, s := range list {
			if s.Op == opname.KVBProj && w.absorbed && !w.expanded || (s.Op == opname.KAbsorb || s.Op == opname.VAbsorb) && !w.absorbed {
				continue // the other way of computing latent attention
			}
			if (s.Op == opname.KAbsorb || s.Op == opname.VAbsorb) && !w.expanded {
				s.Optional = false // attention on a compressed cache needs both
			}
			st := newStep(s, layer, w.skipCost(s))
			if layer < 0 {
				st.skip = 0 // what surrounds the layers is often recorded only in part
			}
			out = append(out, st)
		}
	}
	last := len(w.layout.LayerKinds)
	if w.pass.First == 0 && !w.pass.CutStart {
		put(w.layout.Before, -1)
	}
	chosen := make([][]Step, len(w.layout.Kinds))
	for i := range w.pass.Layers {
		l := w.pass.First + i
		if l >= last {
			break
		}
		k := w.layout.LayerKinds[l]
		if chosen[k] == nil {
			chosen[k] = v.apply(w.layout.Kinds[k])
		}
		list := chosen[k]
		if l == 0 && len(list) > 0 && list[0].Op == opname.ResidualAdd {
			list = list[1:] // nothing to add yet
		}
		put(list, int32(l))
	}
	if w.pass.First+w.pass.Layers >= last && !w.pass.CutEnd {
		put(w.layout.After, -1)
	}
	return out
}

// apply returns the steps of one layer with the alternatives chosen.
func (v variant) apply(kind []Step) []Step {
	var out, shared []Step
	router := -1
	for _, s := range kind {
		switch {
		case s.Op == opname.GateUpProj && v.splitGate && len(s.Or) == 2:
			// transformers runs gate, activation, up, multiplication; others both products first.
			out = append(out, s.Or[0], Step{Op: opname.Activation, Optional: true}, s.Or[1])
		case v.wholeQuery && s.Op == opname.QKVAProj:
			out = append(out, must(opname.QProj), must(opname.KVAProj))
		case v.wholeQuery && (s.Op == opname.QANorm || s.Op == opname.QBProj):
		case s.Op == opname.KVANorm, s.Op == opname.QBProj && hasStep(kind, opname.KVANorm):
			// The norm of the compressed keys stands before or behind the queries' second product.
			if s.Optional = s.Op == opname.KVANorm && hasStep(kind, opname.QBProj) && !v.wholeQuery; s.Op == opname.QBProj {
				out = append(out, s, opt(opname.KVANorm))
			} else {
				out = append(out, s)
			}
		case s.Op == opname.KAbsorb:
			// The cache is written and rotary embeddings run before or behind the product of each head.
			out = append(out, opt(opname.KVWrite), s, opt(opname.Rope))
		case s.Op != opname.GateUpProj && v.splitQKV && len(s.Or) > 0:
			out = append(out, s.Or...)
		case v.sharedFirst && (s.Op == opname.SharedGateUp || s.Op == opname.SharedActivation || s.Op == opname.SharedDown):
			shared = append(shared, s)
		default:
			if s.Op == opname.Router {
				router = len(out)
			}
			out = append(out, s)
		}
	}
	if len(shared) > 0 && router >= 0 {
		out = append(out[:router:router], append(shared, out[router:]...)...)
	}
	return out
}

func hasStep(kind []Step, op string) bool {
	return slices.ContainsFunc(kind, func(s Step) bool { return s.Op == op })
}

func (w *work) skipCost(s Step) float64 {
	switch {
	case s.Op == opname.Indexer:
		return w.p.SkipOptional // its products and scores are fused in many ways
	case s.Optional:
		return w.p.SkipOptional
	case isNorm(s.Op), s.Op == opname.Activation, s.Op == opname.SharedActivation, s.Op == opname.HCPost, s.Op == opname.HCPre, s.Op == opname.Conv1D:
		return w.p.SkipSmall
	case isProduct(s.Op), s.Op == opname.Attention, s.Op == opname.LinearAttention:
		return w.p.SkipProduct
	}
	return w.p.SkipOptional
}

func isNorm(op string) bool {
	switch op {
	case opname.InputNorm, opname.PostNorm, opname.FinalNorm, opname.QANorm, opname.KVANorm, opname.GateNorm, opname.QKNorm:
		return true
	}
	return false
}

func isProduct(op string) bool {
	switch op {
	case opname.QKVProj, opname.QProj, opname.KProj, opname.VProj, opname.OProj, opname.QKVAProj, opname.QAProj, opname.KVAProj, opname.QBProj, opname.KVBProj,
		opname.InProj, opname.OutProj, opname.GateUpProj, opname.GateProj, opname.UpProj, opname.DownProj, opname.Router, opname.SharedGateUp, opname.SharedDown,
		opname.ExpertsGateUp, opname.ExpertsDown, opname.LMHead, opname.KAbsorb, opname.VAbsorb:
		return true
	}
	return false
}

// Grades of a match between an act and an operator.
type grade uint8

const (
	never grade = iota
	exact
	weak    // the name allows it
	unknown // the name says nothing
)

// match grades an act as an operator's kernel.
func match(a act, op string) grade {
	if a.aux() {
		return never
	}
	switch op {
	case opname.ExpertsGateUp, opname.ExpertsDown:
		return grades(a, actExperts, actProduct, actAbsorb)
	case opname.KAbsorb, opname.VAbsorb:
		return grades(a, actAbsorb, actProduct)
	case opname.Attention:
		return grades(a, actAttention, actPrepare) // its schedule
	case opname.LinearAttention:
		return grades(a, actScan)
	case opname.AttnAllReduce, opname.MLPAllReduce:
		return grades(a, actCollective, actGather)
	case opname.LogitsGather:
		return grades(a, actGather, actCollective)
	case opname.Embed:
		return grades(a, actEmbed, actCollective) // the sum over a divided vocabulary
	}
	if isProduct(op) {
		return grades(a, actProduct, actAbsorb)
	}
	g := matchSmall(a, op)
	if g == never && (a == actUnknown || a == actPointwise) {
		return unknown
	}
	return g
}

// matchSmall grades an act as an operator that is neither product nor attention
// nor collective.
func matchSmall(a act, op string) grade {
	if isNorm(op) {
		if op == opname.QKNorm && a == actQKNorm {
			return exact
		}
		return grades(a, actNorm, actQKNorm)
	}
	switch op {
	case opname.Rope:
		return grades(a, actRope)
	case opname.KVWrite:
		return grades(a, actCache)
	case opname.Activation, opname.SharedActivation, opname.ExpertsActivation:
		return grades(a, actActivation, actPointwise)
	case opname.ResidualAdd:
		return grades(a, actAdd, actPointwise)
	case opname.Routing:
		return grades(a, actRoute, actPointwise, actCombine)
	case opname.Dispatch:
		return grades(a, actDispatch, actGather)
	case opname.ExpertsCombine:
		return grades(a, actCombine, actRoute, actGather)
	case opname.Conv1D:
		return grades(a, actConv)
	case opname.Indexer:
		return grades(a, actIndex, actProduct, actNorm, actRope, actCache)
	case opname.IndexerTopK:
		return grades(a, actIndexTopK, actIndex)
	case opname.HCPre:
		return grades(a, actHCPre)
	case opname.HCPost:
		return grades(a, actHCPost)
	case opname.Sampling:
		return grades(a, actSample, actPointwise)
	case opname.Prepare:
		return grades(a, actPrepare, actPointwise)
	}
	return never
}

// grades is exact for best, weak for the others.
func grades(a, best act, others ...act) grade {
	if a == best {
		return exact
	}
	for _, o := range others {
		if a == o {
			return weak
		}
	}
	return never
}
