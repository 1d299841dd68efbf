package operator

import (
	"slices"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
)

// write turns an alignment into answers.
func (w *work) write(units []unit, steps []step, path []place) {
	for i, p := range path {
		u := &units[i]
		if p.start < 0 || path == nil {
			continue
		}
		f := w.answer(u, steps, p.start)
		if split := splitPair(steps, path, i, w.images); split != "" && f.Evidence < ByDims {
			f.Operator = split
		}
		for _, k := range u.kernels {
			w.found[k] = f
			w.placed[k] = true
		}
	}
}

// answer is the operator of a unit that starts at a step.
func (w *work) answer(u *unit, steps []step, start int) Found {
	acts := u.acts
	if len(acts) > 1 && acts[0] == classify.RoleAdd && steps[start].Op != opname.ResidualAdd {
		acts = acts[1:]
	}
	names := []string{steps[start].Op}
	end := start
	for _, next := range acts[1:] {
		if s := w.follow(steps, end, next); s >= 0 {
			end = s
			names = append(names, steps[s].Op)
		}
	}
	f := Found{Operator: strings.Join(names, "+"), Layer: steps[start].layer, Evidence: Order, Confidence: w.p.ByOrder}
	if steps[start].Op == opname.ResidualAdd {
		f.Layer = steps[end].layer // an addition goes with the norm it is fused with
	}
	if f.Operator == opname.ResidualAdd && start > 0 && steps[start-1].layer != f.Layer &&
		f.Layer != int32(w.pass.First) {
		f.Layer = steps[start-1].layer // by itself it ends a layer; fused with the norm it begins the next
	}
	if w.layout.Given {
		f.Evidence, f.Confidence = Plan, w.p.ByPlan
	}
	g := steps[start].grades[acts[0]]
	first := &w.reads[u.kernels[0]]
	if g == weak || g == unknown || w.unclear[u.kernels[0]] || u.channels || first.convolves &&
		f.Operator != opname.Embed {
		f.Confidence = w.p.ByWeak
	}
	if f.Operator == opname.GateUpProj {
		f.Operator = w.opensFeed()
	}
	if u.k > 0 && steps[start].K > 0 && sameShape(u.k, u.n, steps[start].K, steps[start].N) {
		f.Evidence, f.Confidence = ByDims, w.p.ByShape
	}
	if u.hint.names(steps[start].Op) && (!w.unclear[u.kernels[0]] || u.hint.products() == 1) {
		f.Evidence = Module
		if g == exact || u.hint.few() {
			f.Confidence = w.p.ByModule
		}
	}
	return f
}

// opensFeed names the one product before the activation of a feed-forward part.
func (w *work) opensFeed() string {
	switch {
	case w.plain:
		return opname.UpProj
	case !w.gates:
		return fusedOrUp
	}
	return opname.GateUpProj
}

// Names of products that nothing separates are joined.
const (
	keyOrValue      = opname.KProj + "|" + opname.VProj
	queryKeyOrValue = opname.QProj + "|" + keyOrValue
	gateOrUp        = opname.GateProj + "|" + opname.UpProj
	fusedOrUp       = opname.GateUpProj + "|" + opname.UpProj
)

// splitPair is the answer where order cannot separate equal products: keys from values, nor queries from both in
// models of images, gate from up unless the activation is between.
func splitPair(steps []step, path []place, i int, images bool) string {
	op := steps[path[i].start].Op
	switch op {
	case opname.QProj, opname.KProj, opname.VProj:
		if images {
			return queryKeyOrValue
		}
		if op != opname.QProj {
			return keyOrValue
		}
	case opname.GateProj, opname.UpProj:
		for _, j := range []int{i - 1, i + 1} {
			if j < 0 || j >= len(path) || path[j].start < 0 {
				continue
			}
			if other := steps[path[j].start].Op; other != op && (other == opname.GateProj || other == opname.UpProj) {
				return gateOrUp
			}
		}
	}
	return ""
}

// vote lets layers with the same kernels in the same order agree: the answer of
// most is everyone's.
func (w *work) vote() {
	groups := map[string][][]int{}
	var order []string
	for _, layer := range w.layers() {
		var key strings.Builder
		for _, i := range layer {
			key.WriteString(w.reads[i].base) // tile variants are equal
			key.WriteByte('\n')
		}
		if groups[key.String()] == nil {
			order = append(order, key.String())
		}
		groups[key.String()] = append(groups[key.String()], layer)
	}
	for _, key := range order {
		g := groups[key]
		for pos := range g[0] {
			w.voteAt(g, pos)
		}
	}
}

// layers are the kernels of each layer, as the answers have it.
func (w *work) layers() [][]int {
	out := make([][]int, w.pass.Layers)
	for i := range w.found {
		if l := int(w.found[i].Layer) - w.pass.First; l >= 0 && l < len(out) {
			out[l] = append(out[l], i)
		}
	}
	return out
}

func (w *work) voteAt(group [][]int, pos int) {
	count := map[string]int{}
	for _, layer := range group {
		count[w.found[layer[pos]].Operator]++
	}
	for _, layer := range group { // first come wins a tie
		f := w.found[layer[pos]]
		if n := count[f.Operator]; float64(n) >= w.p.Votes*float64(len(group)) && n < len(group) {
			for _, l := range group {
				own := w.found[l[pos]].Layer
				w.found[l[pos]] = f
				w.found[l[pos]].Layer = own
			}
			return
		}
	}
}

// serve gives the kernels that serve others to the operator they serve: a
// reduction to the product or attention before it, a quantisation to what reads
// it, a copy beside a collective to that, any other copy to what follows in the
// layer, else to what went before.
func (w *work) serve() {
	for i := range w.found {
		a := w.reads[i].acts[0]
		if at := w.reads[i].serves - 1; at >= 0 && w.placed[at] {
			w.found[i] = w.found[at]
			w.found[i].Confidence = min(w.found[i].Confidence, w.p.ByWeak)
			continue
		}
		if w.placed[i] || !aux(a) && a != classify.RoleEmbed { // rows are also picked before the output projection
			continue
		}
		if a == classify.RoleCopy && w.pass.Kernels[i].Layer >= 0 && w.reads[i].transfer {
			continue // weights or results that the host keeps: the order does not show whose
		}
		s, known := servants[a]
		if !known {
			s.by, s.part = -1, Copy
		}
		owner := w.near(i, s.by, s.of...)
		switch {
		case !known && (owner < 0 || w.reads[owner].acts[0] != classify.RoleCollective):
			if after := w.near(i, 1); after >= 0 {
				owner = after
			}
		case owner < 0 && s.part == Quant:
			owner = w.near(i, -1)
		}
		if owner < 0 {
			continue
		}
		f := w.found[owner]
		own := w.pass.Kernels[i].Layer
		switch f.Part = s.part; s.part {
		case Reduce:
			f.Operator = lastOf(f.Operator)
		case Copy:
			f.Confidence = min(f.Confidence, w.p.ByWeak)
			if owner > i && (f.Operator == opname.Embed || own < 0 && w.pass.Kernels[owner].Layer >= 0) {
				f.Operator, f.Layer = opname.Prepare, own // inputs on their way to the GPU, to the first layer
			}
		}
		f.Operator = firstOf(f.Operator)
		w.found[i] = f
	}
}

// fill gives what has no step to the operator that it serves, where those before and after it are of one part of one
// layer: it prepares what follows, or works on what the last product or core left for the next product. Products and
// norms serve nothing, nothing serves a norm, and what exchanges heads or a name that says nothing stays without an
// operator.
func (w *work) fill() {
	for _, u := range w.units(func(*Kernel) bool { return true }) {
		i, a := u.kernels[0], u.acts[0]
		if w.placed[i] || heavy(a) || a == classify.RoleNorm || a == classify.RoleConv ||
			a == classify.RoleOther {
			continue
		}
		before, after := w.near(i, -1), w.near(u.kernels[len(u.kernels)-1], 1)
		if before < 0 || after < 0 || w.found[before].Layer != u.label || w.found[after].Layer != u.label {
			continue
		}
		b, f := onlyFirst(w.found[before].Operator), onlyFirst(w.found[after].Operator)
		side, exchanges := sideOf(b), a == classify.RoleDispatch || a == classify.RoleGather
		if side == 0 || side != sideOf(f) || exchanges && side == sideOf(opname.Attention) {
			continue
		}
		if isProduct(f) || kindOf[f] == norm {
			after = before
		}
		of := w.found[after]
		op := onlyFirst(of.Operator)
		switch writes := w.reads[i].writes && b != opname.Attention; {
		case kindOf[op] == norm:
			continue
		case isProduct(op):
			if op = worksOn(op); op == "" {
				continue
			}
		case op == opname.Attention && writes:
			op = opname.KVWrite
		case op == opname.KVWrite && !writes:
			op = opname.Attention
		}
		of.Operator, of.Part, of.Confidence = op, Main, min(of.Confidence, w.p.ByWeak)
		for _, k := range u.kernels {
			w.found[k] = of
		}
	}
}

// worksOn is the operator of what works on what a product leaves, "" for that of products that end a part.
func worksOn(product string) string {
	switch {
	case inputs[product]:
		return opname.Attention
	case product == opname.InProj:
		return opname.LinearAttention
	case product == opname.Router:
		return opname.Routing
	case product == opname.SharedGateUp:
		return opname.SharedActivation
	case product == opname.ExpertsGateUp:
		return opname.ExpertsActivation
	case product == opname.ExpertsDown:
		return opname.ExpertsCombine
	case beginsFeed[product]:
		return opname.Activation
	}
	return ""
}

// sideOf numbers the parts of a layer from 1, 0: the operator is of none.
func sideOf(op string) int {
	op = onlyFirst(op)
	if op == opname.ResidualAdd || op == opname.PostNorm || op == opname.MLPAllReduce {
		return 0
	}
	return 1 + slices.IndexFunc([][]string{attentionOps, denseOps, moeOps},
		func(ops []string) bool { return slices.Contains(ops, op) })
}

// servants says where the owner of what serves others is, what it does, and how it is served. Copies are beside a
// collective, else before what reads them.
var servants = map[classify.Role]struct {
	by   int
	of   []classify.Role
	part Part
}{
	classify.RoleProductReduce: {-1, []classify.Role{classify.RoleProduct, classify.RoleExperts,
		classify.RoleHeadProduct}, Reduce},
	classify.RoleAttentionReduce: {-1, []classify.Role{classify.RoleAttention, classify.RoleScan}, Reduce},
	classify.RoleScanInput:       {1, []classify.Role{classify.RoleScan}, Main},
	classify.RoleQuantize:        {1, nil, Quant},
}

// firstOf and lastOf are the ends of a fused operator.
func firstOf(op string) string   { s, _, _ := strings.Cut(op, "+"); return s }
func onlyFirst(op string) string { s, _, _ := strings.Cut(firstOf(op), "|"); return s }
func lastOf(op string) string    { return op[strings.LastIndexByte(op, '+')+1:] }

// near returns the nearest placed kernel of the same stream in a direction that has one of the roles, or any; −1 for
// none. It looks no further than the next layer's end: what is placed is dense.
func (w *work) near(i, by int, roles ...classify.Role) int {
	for j, seen := i+by, 0; j >= 0 && j < len(w.found) && seen < reachOfCopies; j += by {
		if w.pass.Kernels[j].Stream != w.pass.Kernels[i].Stream {
			continue
		}
		seen++
		if w.placed[j] && (len(roles) == 0 || slices.Contains(roles, w.reads[j].acts[0])) {
			return j
		}
	}
	return -1
}

// reachOfCopies is how many kernels of its stream a copy, quantisation or
// reduction may lie from its owner: transformers runs five copies in a row.
const reachOfCopies = 12
