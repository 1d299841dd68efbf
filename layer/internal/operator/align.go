package operator

import (
	"cmp"
	"maps"
	"slices"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
)

// unit is what takes one step: a kernel, or the kernels of a decomposed operator.
type unit struct {
	kernels []int // into the pass
	acts    []classify.Role
	first   bool
	second  bool
	hint    hint
	k, n    int
	label   int32
	// summed: it normalises a sum of the residual stream. scales: it multiplies elements, as what is added after may be.
	// channels: it is a norm of channels.
	summed, scales, channels bool
}

// lanes returns the streams that are aligned by themselves: the one with most
// kernels, and every other that runs attention in as many layers, as the second
// half of a batch does. What is on no lane is placed beside the lanes.
func (w *work) lanes() []int32 {
	count := map[int32]int{}
	core := map[int32]map[int32]bool{}
	for i := range w.pass.Kernels {
		k := &w.pass.Kernels[i]
		count[k.Stream]++
		if a := w.reads[i].acts[0]; (a == classify.RoleAttention || a == classify.RoleScan) && k.Layer >= 0 {
			if core[k.Stream] == nil {
				core[k.Stream] = map[int32]bool{}
			}
			core[k.Stream][k.Layer] = true
		}
	}
	streams := slices.SortedFunc(maps.Keys(count), func(a, b int32) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	lanes := streams[:1:1]
	for _, s := range streams[1:] {
		if float64(len(core[s])) >= w.p.Streams*float64(w.pass.Layers) {
			lanes = append(lanes, s)
		}
	}
	return lanes
}

// alignLane aligns the kernels of a lane, then those of the helper streams if it
// is the last.
func (w *work) alignLane(stream int32) {
	units := w.units(func(k *Kernel) bool { return k.Stream == stream })
	if len(units) == 0 {
		return
	}
	best := infinite
	var steps []step
	var path []place
	try := func(v variant) {
		s := w.steps(v)
		if p, cost := w.align(units, s, nil, best); cost < best-rounding {
			best, steps, path = cost, s, p
		}
	}
	for _, v := range w.choose(units, w.layout.variants()) {
		try(v)
	}
	w.write(units, steps, path)
	if stream == w.lanes()[len(w.lanes())-1] {
		w.helpers(steps)
	}
}

// maxCells bounds the states of one alignment, and so its memory: 128 MB, a pass
// of 130 000 kernels. The largest pass known has 11 000; what is beyond is no
// forward pass, and its kernels are of no operator.
const maxCells = 8 << 20

// maxSample is how many layers the variants are tried on at most, before the pass
// is aligned with the best: enough for one of each kind where kinds take turns.
const maxSample = 8

// choose returns the variant that fits layers in the middle of the pass best; all
// of them where the pass is short or has kinds of layers that the middle has not.
func (w *work) choose(units []unit, list []variant) []variant {
	kinds := func(first, n int) map[int]bool {
		m := map[int]bool{}
		for l := first; l < first+n && l < len(w.layout.LayerKinds); l++ {
			m[w.layout.LayerKinds[l]] = true
		}
		return m
	}
	all := len(kinds(w.pass.First, w.pass.Layers))
	first, n := w.pass.First+w.pass.Layers/2, 2
	for n < maxSample && len(kinds(first, n)) < all {
		n++
	}
	if len(list) < 2 || 2*(n+1) > w.pass.Layers || len(kinds(first, n)) < all {
		return list
	}
	sample := *w
	sample.pass = &Pass{Kernels: w.pass.Kernels, First: first, Layers: n, CutStart: true, CutEnd: true}
	var inside []unit
	for _, u := range units {
		if int(u.label) >= first && int(u.label) < first+n {
			inside = append(inside, u)
		}
	}
	if len(inside) == 0 {
		return list
	}
	best, cheapest := list[0], infinite
	for _, v := range list {
		if _, cost := sample.align(inside, sample.steps(v), nil, cheapest); cost < cheapest-rounding {
			best, cheapest = v, cost
		}
	}
	return []variant{best}
}

// rounding is below every difference of costs that is meant, and above those that
// come from adding up in another order: equal variants keep their order.
const rounding = 1e-6

// place is where a unit went: the steps from start to end, none for start −1.
type place struct {
	start, end int
}

// band is the range of steps that a unit may take.
type band struct{ lo, hi int }

// align finds the cheapest monotone alignment. taken are steps that other streams
// have. An infinite cost means that nothing fits. What costs most or more is not followed to
// its end where that shows before, and then is infinite, too.
func (w *work) align(units []unit, steps []step, taken map[stepID]bool, most float64) ([]place, float64) {
	if len(steps) == 0 {
		return nil, infinite
	}
	skips := make([]float64, len(steps)+1)
	for i, s := range steps {
		skips[i+1] = skips[i] + s.skip
	}
	bands := make([]band, len(units))
	for i := range bands {
		bands[i] = band{0, len(steps)}
	}
	if taken == nil { // else the steps are of one layer
		bands = w.bands(units, steps)
	}
	total := 0
	for _, b := range bands {
		total += b.hi - b.lo + 1
	}
	if total > maxCells {
		return nil, infinite
	}
	w.cells = slices.Grow(w.cells[:0], total)
	slab := w.cells[:total]
	rows := make([]states, len(units)) // index: last step + 1 − lo
	prev := states{cells: []cell{{}}}  // position 0: no step taken
	for i := range units {
		n := bands[i].hi - bands[i].lo + 1
		rows[i] = states{slab[:n:n], bands[i].lo}
		slab = slab[n:]
		w.advance(rows[i], &units[i], steps, skips, bands[i].hi, prev, taken, i == 0)
		prev = rows[i]
		if !prev.below(most) {
			return nil, infinite // costs only add up
		}
	}
	var at int // some state is alive, and what is left to skip costs no more than a number
	best := infinite
	for j := range prev.cells {
		c := prev.cells[j].cost
		if !w.pass.CutEnd {
			c += skips[len(steps)] - skips[prev.lo+j]
		}
		if c < best {
			best, at = c, prev.lo+j
		}
	}
	path := make([]place, len(units))
	for i := len(units) - 1; i >= 0; i-- {
		c := rows[i].cells[at-rows[i].lo]
		path[i] = place{start: int(c.start), end: at - 1}
		at = int(c.from)
	}
	return path, best
}

// bands says which positions each unit may end at: those of the layers around its
// label. Position p means that step p−1 was the last one taken.
func (w *work) bands(units []unit, steps []step) []band {
	first, last := map[int32]int{}, map[int32]int{}
	for i, s := range steps {
		if _, ok := first[s.layer]; !ok {
			first[s.layer] = i
		}
		last[s.layer] = i
	}
	low, high := int32(w.pass.First), int32(w.pass.First+w.pass.Layers-1)
	out := make([]band, len(units))
	label := int32(-1) // of the last unit that has one
	for i := range units {
		if units[i].label >= 0 {
			label = units[i].label
		}
		if from := label - int32(w.p.Band); label >= 0 && from > low {
			out[i].lo = first[min(from, high)]
		}
	}
	label = -1 // of the next one
	for i, u := range slices.Backward(units) {
		if u.label >= 0 {
			label = u.label
		}
		out[i].hi = len(steps)
		if to := label + int32(w.p.Band); label >= 0 && to < high {
			out[i].hi = last[max(to, low)] + 1
		}
	}
	for i := 1; i < len(out); i++ { // never before what was reached: labels may jump
		out[i].lo = min(out[i].lo, out[i-1].hi)
		out[i].hi = max(out[i].hi, out[i].lo)
	}
	return out
}

func (w *work) extraCost(u *unit) float64 {
	if heavy(u.acts[0]) {
		return w.p.ExtraProduct
	}
	return w.p.ExtraSmall
}

func (w *work) againCost(u *unit, op string) float64 {
	if op == opname.Indexer {
		return 0 // it is many kernels
	}
	if u.acts[0] == classify.RoleProduct || u.acts[0] == classify.RoleExperts || u.acts[0] == classify.RoleCollective {
		if op == opname.Embed {
			return w.p.Again
		}
		return w.p.AgainProduct
	}
	return w.p.Again
}

// emit says which steps a unit covers when it starts at step a, and at what cost.
func (w *work) emit(u *unit, steps []step, a int, taken map[stepID]bool) (end int, cost float64, ok bool) {
	acts := u.acts
	if len(acts) > 1 && acts[0] == classify.RoleAdd && steps[a].Op != opname.ResidualAdd {
		acts = acts[1:] // an addition is dropped where none is planned
	}
	g := steps[a].grades[acts[0]]
	if g == never || g != exact && steps[a].Op == opname.ResidualAdd && (steps[a].layer < 0 || !u.scales) {
		return 0, 0, false
	}
	if g == weak && w.experts && (steps[a].Op == opname.ExpertsGateUp || steps[a].Op == opname.ExpertsDown) {
		return 0, 0, false // experts have kernels of their own here
	}
	cost = w.gradeCost(g)
	if len(taken) > 0 && taken[stepID{steps[a].layer, steps[a].Op}] {
		cost += w.p.Taken
	}
	if !u.hint.allows(steps[a].Op, steps[a].layer) {
		cost += w.p.Miss
	}
	if u.summed && steps[a].Op == opname.QKNorm {
		cost += w.p.Miss
	}
	if u.channels && !slices.Contains(streamNorms, steps[a].Op) {
		return 0, 0, false
	}
	if u.first && steps[a].Op == opname.ExpertsDown || u.second && steps[a].Op == opname.ExpertsGateUp {
		cost += w.p.Weak
	}
	cost += w.shapeCost(u, &steps[a])
	end = a
	for _, next := range acts[1:] {
		if s := w.follow(steps, end, next); s >= 0 {
			end = s
		} else {
			cost += w.p.Weak
		}
	}
	return end, cost, true
}

// follow returns the step that a fused kernel's next classify.Role takes: the nearest one
// with nothing but optional steps between; −1 when there is none.
func (w *work) follow(steps []step, end int, next classify.Role) int {
	for s := end + 1; s < len(steps); s++ {
		if steps[s].grades[next] == exact {
			return s
		}
		if steps[s].skip > w.p.SkipOptional {
			return -1
		}
	}
	return -1
}

// streamNorms are of the residual stream: norms of channels are of no other.
var streamNorms = []string{opname.InputNorm, opname.PostNorm, opname.FinalNorm}

func (w *work) gradeCost(g grade) float64 {
	switch g {
	case weak:
		return w.p.Weak
	case unknown:
		return w.p.Unknown
	}
	return 0
}

// shapeCost is for products whose op gives the sizes of its weight: free where they
// agree with the step's, which tensor parallelism may divide.
func (w *work) shapeCost(u *unit, s *step) float64 {
	if u.k == 0 || u.n == 0 || s.K == 0 || s.N == 0 || sameShape(u.k, u.n, s.K, s.N) {
		return 0
	}
	return w.p.Shape
}

// sameShape reports sizes that are the whole model's or a rank's share of one of them.
func sameShape(k, n, wholeK, wholeN int) bool {
	divides := func(part, whole int) bool { return part > 0 && whole%part == 0 && whole/part <= maxRanks }
	return k == wholeK && divides(n, wholeN) || n == wholeN && divides(k, wholeK)
}

// maxRanks bounds what tensor parallelism divides by: 72 GPUs share one link
// domain at most, and sizes are divided by powers of two.
const maxRanks = 64
