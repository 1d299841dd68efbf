package ladder

import (
	"fmt"
	"slices"

	"github.com/llmstrata/strata/layer/internal/segment"
)

// passesFromStructure splits a segment without any marks. The layers of all its passes form one long comb; where a unit
// holds kernels that are rare among units (logits, sampling, the next embedding), a pass ends.
func (w *Work) passesFromStructure(kernels []int32, model *Model) ([]Span, Evidence) {
	if len(kernels) == 0 {
		return nil, Evidence{}
	}
	s := w.sequenceOf(kernels)
	if passes := w.rounds(kernels, s); len(passes) > 0 {
		return rung(passes, RungStructure, segment.ConfidenceStructure,
			fmt.Sprintf("%d times the same kernels of a model of convolutions", len(passes)))
	}
	comb, per, kind := w.longComb(kernels, s, model)
	var groups [][2]int
	if len(comb) >= 2 {
		groups = segment.SplitComb(s, comb, per)
	}
	switch {
	case len(groups) == 0, len(groups) == 1 && len(comb) > segment.MaxLayers:
		return rung([]Span{{Kernels: kernels}}, RungWhole, segment.ConfidenceWhole,
			"no marks and no repeating structure: everything is taken as one pass")
	case len(groups) == 1:
		return rung([]Span{{Kernels: kernels, Cut: cutOf(s, comb, groups, 0, per)}}, RungWhole,
			segment.ConfidenceOneStack, "no marks and one stack of layers: one pass")
	}
	spans := make([][2]int, len(groups))
	for g, r := range groups {
		pos := comb[r[0]:r[1]]
		end := s.Len()
		if g+1 < len(groups) {
			end = comb[groups[g+1][0]]
		}
		spans[g] = [2]int{pos[0], pos[len(pos)-1] + 1}
		if len(pos) >= 2 {
			c := segment.CutAt(s.Slice(0, end), segment.Comb{Pos: pos}, nil)
			// what two claim is of the first
			spans[g] = [2]int{min(spans[g][0], c.Starts[0]), max(spans[g][1], c.Starts[len(pos)])}
		}
	}
	passes := w.splitBetween(kernels, spans)
	for g := range passes {
		passes[g].Cut = cutOf(s, comb, groups, g, per)
	}
	return rung(passes, kind, segment.ConfidenceStructure,
		fmt.Sprintf("a comb of %d anchors (%s) in %d groups", len(comb), w.nameAt(kernels, comb[0]), len(groups)))
}

// rounds divides kernels of a model of convolutions, where none is known to mix tokens, at the places from which on it
// runs again what it ran before: its passes are stages of blocks, and blocks are no layers. What precedes the first
// place, or follows the last, is of the pass beside it unless it is large enough for one.
func (w *Work) rounds(kernels []int32, s *Sequence) (passes []Span) {
	if convolutions, _, mixes := w.convolutions(kernels); convolutions == 0 || mixes {
		return nil
	}
	from := 0
	for _, to := range segment.Rounds(s, smallPass) {
		if min(to-from, len(kernels)-to) >= smallPass {
			passes = append(passes, Span{Kernels: kernels[from:to:to]})
			from = to
		}
	}
	if from == 0 {
		return nil
	}
	return append(passes, Span{Kernels: kernels[from:]})
}

// cutOf says which ends of group g are cut: only the first and the last group of the window can be shorter than the
// others.
func cutOf(s *Sequence, comb []int, groups [][2]int, g, per int) Partial {
	switch {
	case groups[g][1]-groups[g][0] >= per:
	case len(groups) == 1:
		ends := segment.MissingEnds(s, segment.CutAt(s, segment.Comb{Pos: comb}, nil).Starts)
		if slices.Contains(s.Role[:comb[0]], roleEmbed) {
			ends = segment.Cuts{End: true}
		}
		if ends.Start && ends.End {
			return Uncut // nobody knows which
		}
		return partialOf(ends)
	case g == 0:
		return CutAtStart
	case g == len(groups)-1:
		return CutAtEnd
	}
	return Uncut
}

func (w *Work) nameAt(kernels []int32, k int) string {
	return clip(w.Names[w.ID[kernels[k]]], 48)
}

// longComb finds one position per layer (or per block) over a whole segment, and how many make a pass; per is 0 when
// unknown. A comb of fewer than two positions says nothing.
func (w *Work) longComb(kernels []int32, s *Sequence, model *Model) (comb []int, per int, kind Rung) {
	if model.UseAnchors {
		if pos := w.anchorPositions(kernels, model); len(pos) >= 2*model.Blocks {
			return pos, model.Layers * model.Blocks, RungAnchor
		}
	}
	guesses := segment.Guesses(s, true)
	if len(guesses) == 0 {
		if given := segment.Combs(s, model.Layers, 1); len(given) > 0 && given[0].Cost < segment.CombUneven {
			comb = given[0].Pos
		}
		return comb, model.Layers, RungStructure
	}
	n := model.Layers
	best := max(0, slices.IndexFunc(guesses, func(g segment.Guess) bool { return n >= 2 && g.N%n == 0 }))
	return guesses[best].Combs[0].Pos, n, RungStructure
}

// looseRuns returns the stretches of kernels, in launch order, that no pass claims.
func (w *Work) looseRuns(passes []Span) (loose [][]int32) {
	claimed := make([]bool, len(w.Acts))
	for p := range passes {
		for _, i := range passes[p].Kernels {
			claimed[i] = true
		}
	}
	for run := range runs(w.Order, func(a, b *int32) bool { return claimed[*a] == claimed[*b] }) {
		if !claimed[run[0]] {
			loose = append(loose, run)
		}
	}
	return loose
}
