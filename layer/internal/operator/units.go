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
		if n, a := findMacro(w.reads, idx[at:]); n != 0 {
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
		u.first, u.second, u.scales = w.reads[i].first, w.reads[i].second, w.reads[i].tag == classify.RoleMultiply
		out = append(out, u)
	}
	for i := 1; i < len(out); i++ {
		out[i].summed = out[i-1].acts[len(out[i-1].acts)-1] == classify.RoleAdd && out[i].acts[0] == classify.RoleNorm
	}
	return out
}

func (w *work) unit(kernels []int, acts []classify.Role) unit {
	k := &w.pass.Kernels[kernels[0]]
	u := unit{kernels: kernels, acts: acts, label: k.Layer, k: k.K, n: k.N,
		channels: w.reads[kernels[0]].channels}
	if len(w.hints) > 0 {
		u.hint = w.hints[kernels[0]]
	}
	return u
}

// element is a part of an operator written as single PyTorch operations: at least so many kernels of a tag, and at
// most so many.
type element struct {
	tag         classify.Role
	least, most int
}

func one(tag classify.Role) element   { return element{tag, 1, 1} }
func maybe(tag classify.Role) element { return element{tag, 0, 1} }

// moves are copies and concatenations of halves.
var moves = element{classify.RoleConcat, 1, mostMoves}

// mostMoves is how many kernels put the halves of a vector together: a stack is two copies, and may be cast.
const mostMoves = 3

// macro is such an operator as transformers and eager code run it.
type macro struct {
	elements []element
	act      classify.Role
}

// macros are the known ones. Of several that begin alike the longer is first.
var macros = func() (out []macro) {
	root := []element{maybe(classify.RoleAddScalar), one(classify.RoleRsqrt), one(classify.RoleMultiply)}
	for _, head := range [][]element{ // x.float(), its square and mean, or that of its distance from the mean
		{maybe(classify.RoleCopy), one(classify.RolePower), one(classify.RoleMean)},
		{maybe(classify.RoleCopy), one(classify.RoleMultiply), one(classify.RoleMean)},
		{maybe(classify.RoleCopy), one(classify.RoleMean), one(classify.RoleAdd), one(classify.RolePower),
			one(classify.RoleMean), one(classify.RoleAdd)},
	} {
		for _, tail := range [][]element{ // the weight, which may be cast and have 1 added, and casts of the result
			{one(classify.RoleCopy), one(classify.RoleAddScalar), one(classify.RoleMultiply), one(classify.RoleCopy)},
			{one(classify.RoleMultiply), one(classify.RoleCopy)},
			{maybe(classify.RoleCopy), maybe(classify.RoleMultiply)},
		} {
			out = append(out, macro{slices.Concat(head, root, tail), classify.RoleNorm})
		}
	}
	// q * cos + cat(−q2, q1) * sin, or cat(q1 * cos − q2 * sin, q2 * cos + q1 * sin)
	rotated := []element{one(classify.RoleNegate), moves, one(classify.RoleMultiply)}
	turned := []element{one(classify.RoleMultiply), one(classify.RoleMultiply), one(classify.RoleAdd)}
	for _, e := range [][]element{
		slices.Concat([]element{one(classify.RoleMultiply)}, rotated, []element{one(classify.RoleAdd)}),
		slices.Concat(rotated, []element{maybe(classify.RoleMultiply), one(classify.RoleAdd)}),
		slices.Concat(turned, turned, []element{moves}),
	} {
		out = append(out, macro{e, classify.RoleRope})
	}
	return out
}()

// findMacro returns how many of the kernels, in order, are one decomposed operator.
func findMacro(reads []reading, idx []int) (int, classify.Role) {
	for m := range macros {
		if n := matchMacro(reads, macros[m].elements, idx); n > 0 {
			return n, macros[m].act
		}
	}
	return 0, classify.RoleOther
}

func matchMacro(reads []reading, elements []element, idx []int) int {
	n := 0
	for _, e := range elements {
		found := 0
		for found < e.most && n < len(idx) && e.is(reads[idx[n]].tag) {
			found++
			n++
		}
		if found < e.least {
			return 0
		}
	}
	return n
}

// is reports the tag of an element; halves are put together by copies, too.
func (e element) is(tag classify.Role) bool {
	return tag == e.tag || e.tag == classify.RoleConcat && tag == classify.RoleCopy
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
