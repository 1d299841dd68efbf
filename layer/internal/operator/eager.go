package operator

import (
	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/stat"
)

// eagerAttention finds attention that is written as single PyTorch operations:
// a product, scale and mask, a softmax, a product. The products are the
// attention's, whatever comes before and after: a router's softmax has a top-k
// after it, not a product.
func eagerAttention(pass *Pass, reads []reading) {
	byStream := map[int32][]int{} // of streams that run a softmax
	for i := range pass.Kernels {
		if reads[i].softmax {
			byStream[pass.Kernels[i].Stream] = nil
		}
	}
	for i := range pass.Kernels {
		if idx, ok := byStream[pass.Kernels[i].Stream]; ok {
			byStream[pass.Kernels[i].Stream] = append(idx, i)
		}
	}
	for _, idx := range byStream {
		for at, i := range idx {
			if reads[i].softmax {
				scores, values := toProduct(pass, reads, idx, at, -1), toProduct(pass, reads, idx, at, 1)
				if scores >= 0 && values >= 0 {
					takeAttention(reads, idx[scores:values+1], at-scores)
				}
			}
		}
	}
}

// toProduct is where the next product is in a direction with nothing between
// but scales, masks, casts and copies, or what the same attention module runs: its
// first layer computes T5's bias of positions. −1 for none.
func toProduct(pass *Pass, reads []reading, idx []int, at, by int) int {
	around := pass.Kernels[idx[at]].Modules
	own := len(around) - 1
	if own >= 0 && !hasAny(classOf(around[own]), attentionWords) {
		own = -1
	}
	for at += by; at >= 0 && at < len(idx); at += by {
		m := pass.Kernels[idx[at]].Modules
		switch r := &reads[idx[at]]; {
		case r.isProduct():
			return at
		case own >= 0 && own < len(m) && m[own] == around[own]:
		case !aux(r.acts[0]) && r.acts[0] != classify.RoleElementwise && r.acts[0] != classify.RoleAdd ||
			len(r.acts) > 1:
			return -1
		}
	}
	return -1
}

// takeAttention gives kernels to the attention whose softmax is among them, at softmax.
func takeAttention(reads []reading, idx []int, softmax int) {
	for n, i := range idx {
		switch r := &reads[i]; {
		case r.isProduct(), r.softmax:
			r.acts = []classify.Role{classify.RoleAttention}
			switch {
			case n < softmax:
				r.part = Scores
			case n > softmax:
				r.part = Values
			default:
				r.part = Softmax
			}
		default:
			r.acts, r.tag = []classify.Role{classify.RoleCopy}, classify.RoleOther
		}
	}
}

// leastLoop is how many products in a row are of experts that run one after the other: no other part of a layer reads
// one input by so many.
const leastLoop = 8

// loopedExperts finds products of experts that run in a loop: many after the choice of experts, with nothing but copies
// between. The first is the product, the others serve it.
func loopedExperts(pass *Pass, reads []reading) {
	type row struct {
		run      []int // from a product on: products and copies
		products int
		chosen   bool // the choice of experts is before it
	}
	rows := map[int32]*row{} // by stream
	for i := range reads {
		r := rows[pass.Kernels[i].Stream]
		if r == nil {
			r = &row{}
			rows[pass.Kernels[i].Stream] = r
		}
		a, product := reads[i].acts[0], reads[i].isProduct()
		if !product && (!aux(a) || len(r.run) == 0) {
			if !aux(a) {
				r.run, r.products = r.run[:0], 0
				r.chosen = a == classify.RoleRouter || r.chosen && a != classify.RoleNorm && a != classify.RoleAttention
			}
			continue
		}
		r.run = append(r.run, i)
		r.products += stat.Int(product)
		if !r.chosen || r.products < leastLoop {
			continue
		}
		for _, k := range r.run[1:] {
			reads[k] = reading{base: reads[k].base, acts: []classify.Role{classify.RoleProductReduce}, serves: r.run[0] + 1}
		}
		reads[r.run[0]].acts, r.run = []classify.Role{classify.RoleExperts}, r.run[:1]
	}
}

func (r *reading) isProduct() bool {
	return len(r.acts) == 1 && (r.acts[0] == classify.RoleProduct || r.acts[0] == classify.RoleHeadProduct)
}

// written notes of the kernels of attentions that are written op by op which part of it they compute.
func (w *work) written() {
	for i := range w.found {
		if p := w.reads[i].part; p != Main && w.placed[i] && w.found[i].Operator == opname.Attention {
			w.found[i].Part = p
		}
	}
}
