package operator

import (
	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
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
