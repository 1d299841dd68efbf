package operator

import (
	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
)

// Grades of a match between an act and an operator.
type grade uint8

const (
	never grade = iota
	exact
	weak    // the name allows it
	unknown // the name says nothing
)

// opKind says what an operator without a kernel of its own means, and what a kernel whose name says nothing may be.
type opKind uint8

const (
	other   opKind = iota // often fused or absent
	stored                // the same, and arithmetic alone is none
	small                 // every server runs it as a kernel, unless it is fused
	norm                  // the same
	product               // no layer is without it
	core                  // nor without one of these
	shared                // between GPUs, or what they look up: absent on one
)

type roles []classify.Role

// operators are the names with the act that says that a kernel is of them, and those that allow it.
var operators = []struct {
	names []string
	kind  opKind
	exact roles
	weak  roles
}{
	{productNames, product, roles{classify.RoleProduct}, roles{classify.RoleHeadProduct}},
	{[]string{opname.ExpertsGateUp, opname.ExpertsDown}, product, roles{classify.RoleExperts},
		roles{classify.RoleProduct, classify.RoleHeadProduct}},
	{[]string{opname.KAbsorb, opname.VAbsorb}, product, roles{classify.RoleHeadProduct}, roles{classify.RoleProduct}},
	{[]string{opname.Attention}, core, roles{classify.RoleAttention},
		roles{classify.RolePrepare, classify.RoleSoftmax}}, // its schedule
	{[]string{opname.LinearAttention}, core, roles{classify.RoleScan}, nil},
	{[]string{opname.AttnAllReduce, opname.MLPAllReduce}, shared, roles{classify.RoleCollective},
		roles{classify.RoleGather}},
	{[]string{opname.LogitsGather}, shared, roles{classify.RoleGather}, roles{classify.RoleCollective}},
	{[]string{opname.Embed}, shared, roles{classify.RoleEmbed},
		roles{classify.RoleCollective}}, // the sum over a divided vocabulary
	{[]string{opname.InputNorm, opname.PostNorm, opname.FinalNorm, opname.QANorm, opname.KVANorm, opname.GateNorm}, norm,
		roles{classify.RoleNorm}, roles{classify.RoleHeadNorm}},
	{[]string{opname.QKNorm}, norm, roles{classify.RoleNorm, classify.RoleHeadNorm}, nil},
	{[]string{opname.Activation, opname.SharedActivation}, small, roles{classify.RoleActivation},
		roles{classify.RoleElementwise}},
	{[]string{opname.Conv1D}, small, roles{classify.RoleConv}, nil},
	{[]string{opname.HCPre}, small, roles{classify.RoleMixIn}, nil},
	{[]string{opname.HCPost}, small, roles{classify.RoleMixOut}, nil},
	{[]string{opname.ExpertsActivation}, other, roles{classify.RoleActivation}, roles{classify.RoleElementwise}},
	{[]string{opname.Rope}, other, roles{classify.RoleRope}, nil},
	{[]string{opname.KVWrite}, stored, roles{classify.RoleCacheWrite}, nil},
	{[]string{opname.ResidualAdd}, other, roles{classify.RoleAdd}, roles{classify.RoleElementwise}},
	{[]string{opname.Routing}, other, roles{classify.RoleRouter},
		roles{classify.RoleElementwise, classify.RoleActivation, classify.RoleFinalize, classify.RoleSoftmax}},
	{[]string{opname.Dispatch}, other, roles{classify.RoleDispatch}, roles{classify.RoleGather}},
	{[]string{opname.ExpertsCombine}, other, roles{classify.RoleFinalize},
		roles{classify.RoleRouter, classify.RoleGather, classify.RoleElementwise}},
	{[]string{opname.Indexer}, other, // it makes queries, keys and weights of its own
		roles{classify.RoleIndexer, classify.RoleProduct, classify.RoleNorm, classify.RoleRope},
		roles{classify.RoleCacheWrite, classify.RoleElementwise}},
	{[]string{opname.IndexerTopK}, other, roles{classify.RoleIndexerTopK}, roles{classify.RoleIndexer}},
	{[]string{opname.Sampling}, other, roles{classify.RoleSample},
		roles{classify.RoleElementwise, classify.RoleRouter, classify.RoleSoftmax}},
	{[]string{opname.Prepare}, other, roles{classify.RolePrepare}, roles{classify.RoleElementwise}},
	{[]string{opname.Modulation, opname.Other}, other, nil, nil},
	// of patches, and where experts work in a space of their own, see newStep
	{[]string{opname.Embed + latentSuffix}, other, roles{classify.RoleProduct}, roles{classify.RoleAdd}},
	{[]string{opname.Dispatch + latentSuffix}, other, roles{classify.RoleDispatch, classify.RoleProduct},
		roles{classify.RoleGather}},
	{[]string{opname.ExpertsCombine + latentSuffix}, other, roles{classify.RoleFinalize, classify.RoleProduct},
		roles{classify.RoleRouter, classify.RoleGather}},
}

// productNames are the products of weights.
var productNames = []string{opname.QKVProj, opname.QProj, opname.KProj, opname.VProj, opname.OProj, opname.QKVAProj,
	opname.QAProj, opname.KVAProj, opname.QBProj, opname.KVBProj, opname.InProj, opname.OutProj, opname.GateUpProj,
	opname.GateProj, opname.UpProj, opname.DownProj, opname.Router, opname.SharedGateUp, opname.SharedDown, opname.LMHead}

// latentSuffix marks the operators that are products where routed experts work in a latent space.
const latentSuffix = " in a latent space"

// kindOf and gradesOf are the table by name, made once: the alignment looks at them for every kernel and step.
var kindOf, gradesOf = func() (map[string]opKind, map[string]*gradeRow) {
	kinds, grades := map[string]opKind{}, map[string]*gradeRow{}
	for _, o := range operators {
		row := &gradeRow{}
		if o.kind <= norm { // a small step may be anything
			row[classify.RoleOther] = unknown
			if o.kind != stored {
				row[classify.RoleElementwise] = unknown
			}
		}
		for _, a := range o.weak {
			row[a] = weak
		}
		for _, a := range o.exact {
			row[a] = exact
		}
		for _, name := range o.names {
			kinds[name], grades[name] = o.kind, row
		}
	}
	return kinds, grades
}()

func isProduct(op string) bool { return kindOf[op] == product }
