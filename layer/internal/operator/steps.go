package operator

import (
	"cmp"
	"slices"

	"github.com/llmstrata/strata/internal/opname"
)

// step is one step of the pass being aligned.
type step struct {
	*Step
	layer  int32 // −1 before and after the layers
	skip   float64
	add    bool // the operator is residual_add
	grades *gradeRow
}

// gradeRow are the grades of all acts as one operator's kernel.
type gradeRow [roleRoom]grade

// roleRoom is at least how many roles there are.
const roleRoom = 64

// noGrades is for an operator that is not known: no kernel is of it.
var noGrades gradeRow

func newStep(s *Step, layer int32, skip float64) step {
	row := gradesOf[s.Op]
	if s.Product {
		row = cmp.Or(gradesOf[s.Op+latentSuffix], row)
	}
	if row == nil {
		row = &noGrades
	}
	return step{Step: s, layer: layer, skip: skip, add: s.Op == opname.ResidualAdd, grades: row}
}

// variant chooses among the alternatives of a plan.
type variant struct {
	splitQKV, splitGate, splitIn bool
	// sharedFirst: the shared experts run before the router, sharedSecond: between it and the routing; else
	// after the routed ones.
	sharedFirst, sharedSecond bool
	// wholeQuery: latent attention without a low rank for queries, without a config.
	wholeQuery bool
	// lateIndexer: the indexer's keys are made beside the first products, and the rest of it runs after the absorbed
	// keys.
	lateIndexer bool
}

// variants are those that make a difference to the layout.
func (l *Layout) variants() []variant {
	var or, gate, in, shared, latent, indexer, ranked bool
	for _, kind := range l.Kinds {
		for _, s := range kind {
			switch s.Op {
			case opname.GateUpProj:
				gate = gate || s.Or != nil
			case opname.InProj:
				in = in || s.Or != nil
			case opname.SharedGateUp:
				shared, gate = true, true
			case opname.Indexer:
				indexer = indexer || hasStep(kind, opname.KAbsorb)
				ranked = true // it reads the queries of low rank
			case opname.QKVAProj:
				or, latent = or || s.Or != nil, !l.Given
			default:
				or = or || s.Or != nil
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
	add(in, func(v *variant) { v.splitIn = true })
	add(gate, func(v *variant) { v.splitGate = true })
	if n := len(out); shared {
		add(true, func(v *variant) { v.sharedFirst = true })
		for _, v := range out[:n:n] {
			v.sharedSecond = true
			out = append(out, v)
		}
	}
	add(indexer, func(v *variant) { v.lateIndexer = true })
	add(latent && !ranked, func(v *variant) { v.wholeQuery = true })
	return out
}

// steps writes out the steps of a pass with the chosen alternatives.
func (w *work) steps(v variant) []step {
	var out []step
	put := func(list []Step, layer int32) {
		for i := range list {
			s := &list[i]
			if s.Op == opname.KVBProj && w.absorbed && !w.expanded ||
				(s.Op == opname.KAbsorb || s.Op == opname.VAbsorb) && !w.absorbed {
				continue // the other way of computing latent attention
			}
			if (s.Op == opname.KAbsorb || s.Op == opname.VAbsorb) && !w.expanded {
				own := *s
				own.Optional, s = false, &own // attention on a compressed cache needs both
			}
			st := newStep(s, layer, w.skipCost(*s))
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
	kind = v.latent(kind)
	var out, shared []Step
	at := -1 // where the shared experts go
	for _, s := range kind {
		switch {
		case s.Op == opname.GateUpProj && v.splitGate && len(s.Or) == 2:
			// transformers runs gate, activation, up, multiplication; others both products first.
			out = append(out, s.Or[0], Step{Op: opname.Activation, Optional: true}, s.Or[1])
		case s.Op == opname.InProj && v.splitIn && s.Or != nil, s.Op != opname.GateUpProj && s.Op != opname.InProj &&
			v.splitQKV && s.Or != nil:
			out = append(out, separate(s.Or, kind)...)
		case s.Op == opname.QKNorm && hasStep(kind, opname.Rope):
			out = append(out, opt(opname.Rope), s) // Llama-4 normalises what it has rotated
		case s.Op == opname.Dispatch && s.Product:
			out = append(out, s, opt(opname.Routing)) // the routing runs before or after it
		case slices.Contains(sharedParts, s.Op):
			list := []Step{s}
			if s.Op == opname.SharedActivation && v.splitGate {
				list = append(list, Step{Op: opname.SharedGateUp, Optional: s.Optional}, opt(s.Op))
			}
			if v.sharedFirst || v.sharedSecond {
				shared = append(shared, list...)
			} else {
				out = append(out, list...)
			}
		default:
			if s.Op == opname.Router && v.sharedFirst {
				at = len(out)
			}
			out = append(out, s)
			if s.Op == opname.Router && v.sharedSecond {
				at = len(out)
			}
		}
	}
	if len(shared) > 0 && at >= 0 {
		out = slices.Insert(out, at, shared...)
	}
	return out
}

// separate are separate steps: of queries, keys and values each has its norm after it or after all of them.
func separate(steps, kind []Step) []Step {
	if !hasStep(kind, opname.QKNorm) {
		return steps
	}
	var out []Step
	for _, s := range steps {
		if out = append(out, s); s.Op == opname.QProj || s.Op == opname.KProj {
			out = append(out, opt(opname.QKNorm))
		}
	}
	return out
}

// latent are the steps of a layer with latent attention, in the orders that servers run: an operator that they run in
// one of two places has an optional step in both.
func (v variant) latent(kind []Step) []Step {
	if !hasStep(kind, opname.KVANorm) && !hasStep(kind, opname.KAbsorb) {
		return kind
	}
	late := v.lateIndexer && hasStep(kind, opname.KAbsorb)
	ranked := hasStep(kind, opname.QBProj) && !v.wholeQuery
	var out, indexer []Step
	for _, s := range kind {
		switch s.Op {
		case opname.Indexer, opname.IndexerTopK:
			if late {
				indexer = append(indexer, s)
				continue
			}
		case opname.QKVAProj:
			if v.wholeQuery {
				out = append(out, must(opname.QProj))
				s = must(opname.KVAProj)
			}
		case opname.QANorm, opname.QBProj:
			if v.wholeQuery {
				continue
			}
			if s.Op == opname.QANorm && late && hasStep(kind, opname.Indexer) {
				out = append(out, opt(opname.Indexer)) // its keys
			}
		case opname.KVANorm:
			s.Optional = s.Optional || ranked
		case opname.KAbsorb:
			out = append(out, opt(opname.KVWrite))
		}
		out = append(out, s)
		switch s.Op {
		case opname.QBProj:
			out = append(out, opt(opname.KVANorm))
		case opname.KVANorm:
			out = append(out, opt(opname.Rope), opt(opname.KVWrite)) // vLLM writes the cache in the same kernel
		case opname.KAbsorb:
			out = append(append(out, opt(opname.Rope)), indexer...)
		}
	}
	return out
}

func hasStep(kind []Step, op string) bool {
	return slices.ContainsFunc(kind, func(s Step) bool { return s.Op == op })
}

func (w *work) skipCost(s Step) float64 {
	kind := kindOf[s.Op]
	switch {
	case s.Optional, s.Op == opname.Indexer: // its products and scores are fused in many ways
		return w.p.SkipOptional
	case kind == norm, kind == small:
		return w.p.SkipSmall
	case kind == product, kind == core, s.Product && gradesOf[s.Op+latentSuffix] != nil:
		return w.p.SkipProduct
	}
	return w.p.SkipOptional
}
