package operator

import "github.com/llmstrata/strata/classify"

// Plain products around those of experts. A router is one, a shared expert two with an activation between them and
// perhaps a gate directly after. Where there are more, the kernels alone do not say which is which: experts that
// work in a space of their own have one that leads into it and one that leads out.

// expertHalf are the plain products between a norm and the next on one stream, around products of experts.
type expertHalf struct {
	products []int // all of them, into the pass
	// loose are those that are not of a shared expert, gates those of them directly after one. The front
	// ones lead up to the experts.
	loose, front, gates, frontGates int
	// row is how much of a shared expert the last kernels are: a product, an activation, a product, and where that
	// was of the gate alone, a product of elements before one more.
	row int
	// opened by a norm, experts seen, closed by a norm.
	opened, experts, closed bool
}

// explained are the loose products of a half that need no explanation: its router.
const explained = 1

// unclear says that a half has more products than a router, a shared expert and its gate, or one after the experts
// that is of no shared one.
func (h *expertHalf) unclear() bool {
	gate := min(h.gates, 1)
	after := h.loose - h.front - (h.gates - h.frontGates)
	return h.closed && (h.loose > explained+gate || after > 0)
}

// latent says that products lead into a space of the experts and out of it: one before them besides the router,
// one after.
func (h *expertHalf) latent() bool { return h.unclear() && h.front > explained && h.loose > h.front }

// add takes one more kernel that serves no other.
func (h *expertHalf) add(i int, a classify.Role) {
	switch {
	case a == classify.RoleExperts && !h.experts:
		h.experts, h.front, h.frontGates, h.row = true, h.loose, h.gates, 0
	case a == classify.RoleProduct && h.row == 2: // the second product of a shared expert
		h.products = append(h.products, i)
		h.loose--
		h.row = 3
	case a == classify.RoleProduct && h.row == 4:
		h.products = append(h.products, i)
		h.row = 3
	case a == classify.RoleElementwise && h.row == 3:
		h.row = 4
	case a == classify.RoleProduct:
		h.products = append(h.products, i)
		h.loose++
		if h.row == 3 {
			h.gates++
		}
		h.row = 1
	case a == classify.RoleActivation && h.row == 1:
		h.row = 2
	default:
		h.row = 0
	}
}

// expertHalves finds the halves of layers that run experts.
func expertHalves(pass *Pass, reads []reading) []*expertHalf {
	var out []*expertHalf
	open := map[int32]*expertHalf{} // by stream
	end := func(stream int32, closed bool) {
		if h := open[stream]; h != nil && h.opened && h.experts {
			h.closed = closed
			out = append(out, h)
		}
		open[stream] = &expertHalf{opened: closed}
	}
	for i := range pass.Kernels {
		stream, acts := pass.Kernels[i].Stream, reads[i].acts
		switch a := acts[0]; {
		case acts[len(acts)-1] == classify.RoleNorm, reads[i].tag == classify.RoleRsqrt:
			end(stream, true)
		case a == classify.RoleAttention, a == classify.RoleScan, a == classify.RoleConv:
			end(stream, false)
		case !aux(a) && open[stream] != nil:
			open[stream].add(i, a)
		}
	}
	for stream := range open {
		end(stream, false)
	}
	return out
}

// unclearProducts are the products that the order assigns to no operator, and whether they show experts in
// a space of their own: most halves do.
func unclearProducts(pass *Pass, reads []reading) (unclear map[int]bool, latent bool) {
	halves := expertHalves(pass, reads)
	n := 0
	for _, h := range halves {
		if h.latent() {
			n++
		}
	}
	latent = 2*n > len(halves)
	unclear = map[int]bool{}
	for _, h := range halves {
		if latent || h.unclear() {
			for _, i := range h.products {
				unclear[i] = true
			}
		}
	}
	return unclear, latent
}
