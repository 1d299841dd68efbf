package operator

import (
	"slices"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
)

// A layer that has its feed-forward part twice (the image's and the text's of a denoiser, a parallel one) has more
// products after its attention than the steps of a layer explain, and the alignment makes inputs of the next
// attention of them. An activation between a product and the attention that it is to feed contradicts that.

// inputs are the operators that attention reads.
var inputs = map[string]bool{opname.QKVProj: true, opname.QProj: true, opname.KProj: true, opname.VProj: true,
	keyOrValue: true, queryKeyOrValue: true, opname.QKVAProj: true, opname.QAProj: true, opname.KVAProj: true,
	opname.QBProj: true, opname.KVBProj: true}

// afterAttention labels the products after the attention of such layers again: those around an activation are of a
// feed-forward part; others are unknown.
func (w *work) afterAttention() {
	type place struct {
		layer, stream int32
	}
	rows := map[place][]int{}  // of a layer on one stream, what serves no other
	tails := map[place][]int{} // what of it is after the last attention
	mixed := map[place]bool{}
	for i := range w.pass.Kernels {
		k := &w.pass.Kernels[i]
		at := place{k.Layer, k.Stream}
		a := w.reads[i].acts[0]
		if k.Layer < 0 || aux(a) {
			continue
		}
		rows[at] = append(rows[at], i)
		switch {
		case a == classify.RoleAttention:
			mixed[at], tails[at] = true, tails[at][:0]
		case mixed[at]:
			tails[at] = append(tails[at], i)
		}
	}
	for _, tail := range tails {
		w.doubtRow(tail)
		if w.contradicts(tail) {
			w.readTail(tail)
		}
	}
	if w.layout.Given || slices.ContainsFunc(w.reads, func(r reading) bool { // products of experts have other names
		return r.acts[0] == classify.RoleExperts || r.acts[0] == classify.RoleRouter
	}) {
		return
	}
	for _, row := range rows {
		for n := 1; n < len(row)-1; n++ {
			if !multiplies(w.reads, row, n+2) { // what is multiplied is of a gate
				w.plainFeed(row, n)
			}
		}
	}
}

// plainFeed labels again two products with nothing but an activation between, where those of a feed-forward part are
// labelled anything else: layers may have more of such parts than their steps, as MobileBERT's have.
func (w *work) plainFeed(row []int, n int) {
	up, act, down := row[n-1], row[n], row[n+1]
	u, d := &w.found[up], &w.found[down]
	r := &w.reads[act]
	acts := r.ungated || r.acts[0] == classify.RoleElementwise && r.tag == classify.RoleOther // ReLU is a bound
	if !w.reads[up].isProduct() || !acts || !w.reads[down].isProduct() || u.Evidence > Order ||
		d.Evidence > Order {
		return
	}
	ops := map[int]string{}
	if !beginsFeed[onlyFirst(u.Operator)] || !closesFeed[d.Operator] {
		ops[up], ops[act], ops[down] = opname.UpProj, opname.Activation, opname.DownProj
	}
	if n+2 < len(row) && w.reads[row[n+2]].acts[0] == classify.RoleAdd && !w.placed[row[n+2]] {
		ops[row[n+2]] = opname.ResidualAdd
	}
	for i, op := range ops {
		w.found[i] = Found{Operator: op, Evidence: Order, Confidence: w.p.ByWeak, Layer: w.pass.Kernels[i].Layer}
		w.placed[i] = true
	}
}

// beginsFeed and closesFeed are the products before and after an activation.
var (
	beginsFeed = map[string]bool{opname.GateUpProj: true, opname.GateProj: true, opname.UpProj: true,
		opname.SharedGateUp: true, opname.ExpertsGateUp: true}
	closesFeed = map[string]bool{opname.DownProj: true, opname.SharedDown: true, opname.ExpertsDown: true}
)

// doubtRow lowers the confidence where only the order shows which of two products in a row after attention is the
// output projection: one of them may scale what the other part of the layer reads, as in Flux's second kind of block.
func (w *work) doubtRow(tail []int) {
	for n := range len(tail) - 1 {
		first, second := &w.found[tail[n]], &w.found[tail[n+1]]
		if first.Operator == opname.OProj && first.Evidence == Order &&
			w.reads[tail[n]].acts[0] == classify.RoleProduct && w.reads[tail[n+1]].acts[0] == classify.RoleProduct {
			first.Confidence, second.Confidence = min(first.Confidence, w.p.ByWeak), min(second.Confidence, w.p.ByWeak)
		}
	}
}

// contradicts says whether a product after the attention of its layer is labelled an input of the next one, with an
// activation between.
func (w *work) contradicts(tail []int) bool {
	input := false
	for _, i := range tail {
		switch f := &w.found[i]; {
		case w.reads[i].acts[0] == classify.RoleActivation && input:
			return true
		case inputs[f.Operator] && f.Evidence < ByDims:
			input = true
		}
	}
	return false
}

// readTail finds the products of a feed-forward part by their activation; what is labelled an input of an attention
// and is beside none is unknown.
func (w *work) readTail(tail []int) {
	for n, i := range tail {
		f := &w.found[i]
		next := func(by int) bool {
			k := n + by
			return k >= 0 && k < len(tail) && w.reads[tail[k]].acts[0] == classify.RoleActivation
		}
		op := ""
		switch a := w.reads[i].acts[0]; {
		case f.Evidence >= ByDims:
		case a == classify.RoleActivation:
			op = opname.Activation
		case a == classify.RoleProduct && next(1):
			op = w.opensFeed()
		case a == classify.RoleProduct && next(-1):
			op = opname.DownProj
		case inputs[f.Operator], a == classify.RoleProduct && isFeedForward(f.Operator):
			*f, w.placed[i] = Found{Operator: opname.Other, Layer: w.pass.Kernels[i].Layer}, false
		}
		if op != "" {
			*f, w.placed[i] = Found{Operator: op, Evidence: Order, Confidence: w.p.ByWeak,
				Layer: w.pass.Kernels[i].Layer}, true
		}
	}
}

// isFeedForward reports a product of a feed-forward part, also if it is unclear which.
func isFeedForward(op string) bool {
	first, _, _ := strings.Cut(op, "|")
	return isProduct(first) && slices.Contains(denseOps, first)
}
