package layer

import (
	"fmt"
	"sort"
)

// minSimilarity is the least mean similarity of neighbouring units that counts as a repeat. Dense and MoE layers in turns
// share their attention half and reach 0.5; unrelated stretches of kernels stay below 0.2.
const minSimilarity = 0.3

// passesFromStructure splits a segment without any marks. The layers of all its passes form one long comb; where a unit
// holds kernels that are rare among units (logits, sampling, the next embedding), a pass ends.
func (w *work) passesFromStructure(seg segment, model *modelFacts) ([]passSpan, Evidence) {
	whole := func(why string) ([]passSpan, Evidence) {
		return []passSpan{{kernels: seg.kernels, evidence: "whole", conf: 0.3}},
			Evidence{For: "passes", Kind: "whole", Passes: 1, Confidence: 0.3, Detail: why}
	}
	if len(seg.kernels) == 0 {
		return nil, Evidence{}
	}
	s := w.sequenceOf(seg.kernels)
	comb, per, kind := w.longComb(seg.kernels, s, model)
	if len(comb) < 2 {
		return whole("no marks and no repeating structure: everything is taken as one pass")
	}
	groups := splitComb(s, comb, per)
	if len(groups) == 1 {
		p, ev := whole("no marks and one stack of layers: one pass")
		p[0].conf, ev.Confidence = 0.8, 0.8
		p[0].cut = cutOf(s, comb, groups, 0, per)
		return p, ev
	}
	spans := make([][2]int, len(groups))
	for g, r := range groups {
		w.watch.Rows(r[1] - r[0])
		pos := comb[r[0]:r[1]]
		lo, hi := 0, s.len()
		if g > 0 {
			lo = comb[groups[g-1][1]-1] + 1
		}
		if g+1 < len(groups) {
			hi = comb[groups[g+1][0]]
		}
		spans[g] = [2]int{max(lo, pos[0]), min(hi, pos[len(pos)-1]+1)}
		if len(pos) >= 2 {
			local := make([]int, len(pos))
			for k := range pos {
				local[k] = pos[k] - lo
			}
			st := cutAt(s.slice(lo, hi), anchorSet{pos: local}, nil)
			spans[g] = [2]int{min(spans[g][0], lo+st.starts[0]), max(spans[g][1], lo+st.starts[len(pos)])}
		}
		if g > 0 {
			spans[g][0] = max(spans[g][0], spans[g-1][1])
		}
	}
	passes := w.splitBetween(seg.kernels, spans)
	for g := range passes {
		passes[g].evidence, passes[g].conf = kind, 0.9
		passes[g].cut = cutOf(s, comb, groups, g, per)
	}
	return passes, Evidence{For: "passes", Kind: kind, Passes: len(passes), Confidence: 0.9,
		Detail: fmt.Sprintf("a comb of %d anchors (%s) in %d groups", len(comb), w.nameAt(seg.kernels, comb[0]), len(groups))}
}

// cutOf says which ends of group g are cut: only the first and the last group of the window can be shorter than the others.
func cutOf(s *sequence, comb []int, groups [][2]int, g, per int) Partial {
	if n := groups[g][1] - groups[g][0]; n >= per {
		return Whole
	}
	switch {
	case len(groups) == 1:
		// An embedding before the first anchor means that the start is there.
		for i := comb[0] - 1; i >= 0; i-- {
			if s.role[i] == roleEmbed {
				return CutAtEnd
			}
		}
		return CutAtStart
	case g == 0:
		return CutAtStart
	case g == len(groups)-1:
		return CutAtEnd
	}
	return Whole
}

func (w *work) nameAt(kernels []int32, k int) string {
	return clip(w.names[w.seq.fine[kernels[k]]], 48)
}

// longComb finds one position per layer (or per block) over a whole segment, and how many make a pass; per is 0 when unknown.
func (w *work) longComb(kernels []int32, s *sequence, model *modelFacts) (comb []int, per int, kind string) {
	if model.useAnchors {
		if pos := w.anchorPositions(kernels, model); len(pos) >= 2*model.blocks {
			return pos, model.layers * model.blocks, "anchor"
		}
	}
	guesses := guessLayers(s, true)
	if len(guesses) == 0 {
		if model.layers >= 2 {
			if sets := anchorsFor(s, model.layers, 1); len(sets) > 0 && sets[0].cost < 0.35 {
				return sets[0].pos, model.layers, "structure"
			}
		}
		return nil, 0, ""
	}
	best := guesses[0]
	if n := model.layers; n >= 2 {
		for _, g := range guesses {
			if g.n%n == 0 {
				best = g
				break
			}
		}
	}
	return best.anchors[0].pos, model.layers, "structure"
}

// splitComb groups the positions of a comb into passes of per positions; the first and last group may hold fewer. With
// per 0 the size is read from where foreign kernels stand.
func splitComb(s *sequence, comb []int, per int) [][2]int {
	m := len(comb)
	foreign := foreignKernels(s, comb)
	if per > 0 {
		if m <= per {
			return [][2]int{{0, m}}
		}
		// foreign[k] counts foreign kernels between positions k and k+1. Breaks stand every per units; the offset where
		// they hold most foreign kernels wins, and a whole first pass breaks ties.
		bestOff, best := per-1, -1
		for off := per - 1; off >= 0; off-- {
			s.watch.Rows(m / per)
			sum, n := 0, 0
			for k := off; k < m-1; k += per {
				sum += foreign[k]
				n++
			}
			if n > 0 && sum > best {
				best, bestOff = sum, off
			}
		}
		var groups [][2]int
		begin := 0
		for k := bestOff; k < m-1; k += per {
			groups = append(groups, [2]int{begin, k + 1})
			begin = k + 1
		}
		return append(groups, [2]int{begin, m})
	}
	breaks := breaksOf(foreign)
	var groups [][2]int
	begin := 0
	for _, k := range breaks {
		groups = append(groups, [2]int{begin, k + 1})
		begin = k + 1
	}
	return append(groups, [2]int{begin, m})
}

// foreignKernels counts, per unit, the kernels whose name is rare: in less than a sixth of the units. Sliding and full
// attention in turns, or one full layer in four, are not rare; what a pass runs once is.
func foreignKernels(s *sequence, comb []int) []int {
	s.watch.Rows(2 * s.len())
	top := int32(0)
	for _, f := range s.fine {
		top = max(top, f)
	}
	count := make([]int, top+1)
	for _, f := range s.fine {
		count[f]++
	}
	out := make([]int, len(comb)-1)
	for k := range out {
		for i := comb[k]; i < comb[k+1]; i++ {
			if 6*count[s.fine[i]] < len(comb) {
				out[k]++
			}
		}
	}
	return out
}

// breaksOf returns the units that hold at least half as many foreign kernels as the fullest one, when they stand at regular
// distances; a cluster of neighbours (leading dense layers hold foreign kernels too) counts as its fullest unit.
func breaksOf(foreign []int) []int {
	most := 0
	for _, f := range foreign {
		most = max(most, f)
	}
	const atLeast = 2 // one stray copy is no pass boundary
	if most < atLeast {
		return nil
	}
	var breaks []int
	for k, f := range foreign {
		if 2*f < most || f < atLeast {
			continue
		}
		if n := len(breaks); n > 0 && k-breaks[n-1] <= 3 {
			if f > foreign[breaks[n-1]] {
				breaks[n-1] = k
			}
			continue
		}
		breaks = append(breaks, k)
	}
	if len(breaks) < 2 {
		return breaks
	}
	gaps := make([]int, len(breaks)-1)
	for i := range gaps {
		gaps[i] = breaks[i+1] - breaks[i]
	}
	sort.Ints(gaps)
	med := gaps[len(gaps)/2]
	regular := 0
	for _, g := range gaps {
		if 10*abs(g-med) <= med {
			regular++
		}
	}
	if 3*regular < 2*len(gaps) {
		return nil
	}
	return breaks
}

// looseRuns returns the stretches of kernels, in launch order, that no pass claims.
func (w *work) looseRuns(passes []passSpan) [][]int32 {
	w.watch.Rows(2 * len(w.acts))
	claimed := make([]bool, len(w.acts))
	for p := range passes {
		for _, i := range passes[p].kernels {
			claimed[i] = true
		}
	}
	var runs [][]int32
	for k := 0; k < len(w.order); {
		if claimed[w.order[k]] {
			k++
			continue
		}
		from := k
		for k < len(w.order) && !claimed[w.order[k]] {
			k++
		}
		runs = append(runs, w.order[from:k])
	}
	return runs
}
