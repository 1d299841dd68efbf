package operator

import (
	"slices"

	"github.com/llmstrata/strata/classify"
)

// units are the kernels that take steps, decomposed operators put together.
// Kernels that serve others are left out.
func (w *work) units(on func(*Kernel) bool) []unit {
	var idx []int
	for i := range w.pass.Kernels {
		if on(&w.pass.Kernels[i]) {
			idx = append(idx, i)
		}
	}
	var out []unit
	for at := 0; at < len(idx); {
		if n, a := w.macro(idx[at:]); n != 0 {
			out = append(out, w.unit(idx[at:at+n], []classify.Role{a}))
			at += n
			continue
		}
		i := idx[at]
		at++
		if aux(w.reads[i].acts[0]) {
			continue
		}
		u := w.unit([]int{i}, w.reads[i].acts)
		u.first, u.second = w.reads[i].first, w.reads[i].second
		out = append(out, u)
	}
	return out
}

func (w *work) unit(kernels []int, acts []classify.Role) unit {
	k := &w.pass.Kernels[kernels[0]]
	u := unit{kernels: kernels, acts: acts, label: k.Layer, k: k.K, n: k.N}
	if len(w.hints) > 0 {
		u.hint = w.hints[kernels[0]]
	}
	return u
}

// macros are operators written as single PyTorch operations, as transformers and
// eager code run them. Optional tags are in small letters of the pattern's second
// list.
var macros = []struct {
	tags     []classify.Role
	optional []bool
	act      classify.Role
}{
	// x.float(); x.pow(2).mean(); rsqrt(… + eps); x * r; .to(dtype); weight * x
	{[]classify.Role{classify.RoleCopy, classify.RolePower, classify.RoleMean, classify.RoleAddScalar,
		classify.RoleRsqrt, classify.RoleMultiply, classify.RoleCopy, classify.RoleMultiply},
		[]bool{true, false, false, true, false, false, true, true}, classify.RoleNorm},
	{[]classify.Role{classify.RoleCopy, classify.RoleMultiply, classify.RoleMean, classify.RoleAddScalar,
		classify.RoleRsqrt, classify.RoleMultiply, classify.RoleCopy, classify.RoleMultiply},
		[]bool{true, false, false, true, false, false, true, true}, classify.RoleNorm},
	// q * cos + cat(−q2, q1) * sin
	{[]classify.Role{classify.RoleMultiply, classify.RoleNegate, classify.RoleConcat, classify.RoleMultiply,
		classify.RoleAdd}, []bool{false, false, false, false, false}, classify.RoleRope},
	{[]classify.Role{classify.RoleNegate, classify.RoleConcat, classify.RoleMultiply, classify.RoleMultiply,
		classify.RoleAdd}, []bool{false, false, false, true, false}, classify.RoleRope},
}

// macro returns how many of the kernels, in order, are one decomposed operator.
func (w *work) macro(idx []int) (int, classify.Role) {
	for m := range macros {
		if n := w.matchMacro(macros[m].tags, macros[m].optional, idx); n > 0 {
			return n, macros[m].act
		}
	}
	return 0, classify.RoleOther
}

func (w *work) matchMacro(tags []classify.Role, optional []bool, idx []int) int {
	n := 0
	for j, t := range tags {
		switch {
		case n < len(idx) && w.reads[idx[n]].tag == t:
			n++
		case !optional[j]:
			return 0
		}
	}
	return n
}

// helpers places what runs beside the lanes: runs of kernels of one stream, each
// among the steps of the layers around it that no lane has.
func (w *work) helpers(steps []step) {
	lanes := w.lanes()
	var streams []int32
	for i := range w.pass.Kernels {
		if s := w.pass.Kernels[i].Stream; !slices.Contains(lanes, s) && !slices.Contains(streams, s) {
			streams = append(streams, s)
		}
	}
	if len(streams) == 0 {
		return
	}
	w.taken = map[stepID]bool{}
	for i := range w.found {
		if w.placed[i] && w.found[i].Part == Main {
			w.taken[stepID{w.found[i].Layer, w.found[i].Operator}] = true
		}
	}
	for _, s := range streams {
		units := w.units(func(k *Kernel) bool { return k.Stream == s })
		for from := 0; from < len(units); {
			to := from + 1
			for to < len(units) && units[to].label == units[from].label {
				to++
			}
			w.alignRun(units[from:to], steps)
			from = to
		}
	}
}

// alignRun aligns kernels of one layer on a helper stream with that layer's
// steps; leaving out steps costs nothing.
func (w *work) alignRun(units []unit, steps []step) {
	var own []step
	for _, s := range steps {
		if s.layer == units[0].label {
			s.skip = 0
			own = append(own, s)
		}
	}
	if path, _ := w.align(units, own, w.taken, infinite); path != nil {
		w.write(units, own, path)
	}
}
