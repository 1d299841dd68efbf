package operator

import (
	"cmp"
	"slices"

	"github.com/llmstrata/strata/classify"
)

// writtenScans finds scans that are written as single PyTorch operations: what makes the gates of a scan runs between
// two sums of the residual stream, and no scan does. What is between the first product there and the last, but for
// the convolution, norms and the products before the gates, is then the scan.
func writtenScans(pass *Pass, reads []reading) {
	rows := map[int32][]int{} // of streams that make such gates
	for i := range reads {
		if reads[i].acts[0] == classify.RoleScanInput {
			rows[pass.Kernels[i].Stream] = nil
		}
	}
	for i := range reads {
		if row, ok := rows[pass.Kernels[i].Stream]; ok {
			rows[pass.Kernels[i].Stream] = append(row, i)
		}
	}
	for _, row := range rows {
		var h scanHalf
		last := classify.RoleOther // of the operator before
		for at := 0; at < len(row); {
			n, act := findMacro(reads, row[at:])
			if n == 0 {
				n, act = 1, reads[row[at]].acts[0]
			}
			if act == classify.RoleNorm && last == classify.RoleAdd || slices.Equal(reads[row[at]].acts, sumAndNorm) {
				h.take(reads)
				h = scanHalf{after: h.attention}
			}
			h.add(row[at:at+n], act, last)
			if !aux(act) {
				last = act
			}
			if reads[row[at]].tag == classify.RoleMultiply && n == 1 {
				last = classify.RoleMultiply
			}
			at += n
		}
		h.take(reads)
	}
}

// sumAndNorm are the operations of a kernel that begins a half.
var sumAndNorm = []classify.Role{classify.RoleAdd, classify.RoleNorm}

// scanHalf is what runs between two sums of the residual stream.
type scanHalf struct {
	body []int // kernels from the first product on that may be of a scan
	// How many of the body precede the gates, less one for the gates themselves, and how many precede the first and
	// the last product after them that reads what was multiplied or normalised; 0: none was seen.
	gates, first, last int
	attention          bool
	conv, scans        bool
	after              bool // it follows a half with attention, as a feed-forward part does
}

// add takes the kernels of one more operator.
func (h *scanHalf) add(kernels []int, act, before classify.Role) {
	switch act {
	case classify.RoleNorm, classify.RoleHeadNorm:
		return
	case classify.RoleConv:
		h.conv = true
		return
	case classify.RoleScan, classify.RoleExperts:
		h.scans = true
	case classify.RoleAttention:
		h.attention = true
	case classify.RoleScanInput:
		if h.gates == 0 {
			h.gates = len(h.body)
		}
	case classify.RoleProduct:
		if h.gates == 0 && len(h.body) > 0 {
			return
		}
		if h.gates > 0 && !h.attention && (before == classify.RoleMultiply || before == classify.RoleNorm) {
			h.last = len(h.body)
			h.first = cmp.Or(h.first, h.last)
		}
		h.body = append(h.body, kernels...)
		return
	}
	if len(h.body) > 0 {
		h.body = append(h.body, kernels...)
	}
}

// take gives the kernels of a half to its scan. Where attention is beside it, the first product that may end the scan
// does.
func (h *scanHalf) take(reads []reading) {
	out := h.last
	if h.attention {
		out = h.first
	}
	if out == 0 || h.scans || h.after && !h.conv {
		return
	}
	lead := h.body[h.gates]
	for _, i := range h.body[1:out] {
		reads[i] = reading{base: reads[i].base, acts: []classify.Role{classify.RoleScanInput}, serves: lead + 1}
	}
	reads[lead].acts, reads[lead].serves = []classify.Role{classify.RoleScan}, 0
}
