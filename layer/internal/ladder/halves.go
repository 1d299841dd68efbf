package ladder

import (
	"cmp"
	"slices"
	"sort"

	"github.com/llmstrata/strata/layer/internal/segment"
	"github.com/llmstrata/strata/trace"
)

// Servers hide communication by running a batch in two halves beside each other, each on a stream of its own
// (two-batch overlap in SGLang, dual-batch overlap in vLLM). Both streams then run every layer, and not at the same
// time: merged they are no stack of layers, each by itself is one.

// secondHalf returns the stream that runs a second half of the batch beside the busiest stream of the kernels, given
// in launch order. It runs norms, products and mixers; nine in ten of its kernels have names that the busiest stream
// runs too, which is more than a stream of shared experts or of collectives has in common with it; and the streams
// take turns within layers, unlike those of passes that run on a stream each.
func (w *Work) secondHalf(kernels []int32) (trace.StreamID, bool) {
	streams, count := w.streamsOf(kernels)
	if len(streams) < 2 || segment.HalfShare*count[streams[1]] < count[streams[0]] {
		return 0, false
	}
	first, second := streams[0], streams[1]
	known := map[int32]bool{}
	for _, i := range kernels {
		if w.Act(i).Stream() == first {
			known[w.baseOf(i)] = true
		}
	}
	shared, turns := 0, 0
	var roles [roleBackward + 1]int
	last := first
	for _, i := range kernels {
		s := w.Act(i).Stream()
		if s != first && s != second {
			continue
		}
		if s != last {
			turns++
			last = s
		}
		if s == second {
			roles[w.RoleOf(i)]++
			if known[w.baseOf(i)] {
				shared++
			}
		}
	}
	return second, roles[RoleNorm] > 0 && roles[RoleGemm] > 0 && roles[RoleMixer] > 1 && turns > roles[RoleMixer] &&
		segment.AtLeast(shared, segment.HalfNames, count[second])
}

// withoutHalf splits off the kernels of a second half of the batch; second is empty where there is none.
func (w *Work) withoutHalf(kernels []int32) (first, second []int32) {
	stream, ok := w.secondHalf(kernels)
	if !ok {
		return kernels, nil
	}
	return split(kernels, func(i int32) bool { return w.Act(i).Stream() != stream })
}

// addHalf gives the kernels of a second half to the passes that were found without them: each goes where the kernels
// launched around it are. What is launched before the first pass belongs to that one.
func (w *Work) addHalf(passes []Span, second []int32) {
	if len(passes) == 0 || len(second) == 0 {
		return
	}
	place := make([]int, len(w.Acts)) // of a kernel in launch order
	for k, i := range w.Order {
		place[i] = k
	}
	begins := make([]int, len(passes))
	for p := range passes {
		begins[p] = place[passes[p].Kernels[0]]
		passes[p].Kernels = slices.Clone(passes[p].Kernels) // passes share theirs with what they were found in
	}
	for _, i := range second {
		p := &passes[max(0, sort.SearchInts(begins, place[i])-1)]
		p.Kernels = append(p.Kernels, i)
	}
	for _, p := range passes {
		slices.SortFunc(p.Kernels, func(a, b int32) int { return cmp.Compare(place[a], place[b]) })
	}
}

// assignHalf cuts the second half of the batch into as many layers as the first one has, by the same anchor and at
// the same place of the unit.
func (w *Work) assignHalf(r *Result, layerOf map[int32]int32) {
	c, s := r.st, w.sequenceOf(r.Second)
	layers := slices.Repeat([]int32{None}, len(r.Second))
	if c != nil {
		own, ok := c, true
		if pos := c.Comb.Same(r.Seq, s, r.Cut.ends()); len(pos) == c.Layers() {
			comb := c.Comb
			comb.Pos = pos
			own = segment.CutAt(s, comb, c.Reference())
		} else {
			own, ok = segment.Best(s, c.Layers())
		}
		if ok {
			layersBetween(own.Starts, layers)
		}
	}
	for k, i := range r.Second {
		layerOf[i] = layers[k]
	}
}
