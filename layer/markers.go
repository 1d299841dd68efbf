package layer

import (
	"fmt"

	"github.com/llmstrata/strata/layer/internal/segment"
)

// A pass begins with an embedding and ends with sampling, and runs a handful of kernels once: their occurrences are marks
// that hold even where prefill and decode share no layer kernel.

// marks are positions that occur once per pass, ascending, and what they are.
type marks struct {
	pos  []int
	what string
	need int // pieces that must hold a stack of layers
	// exact marks begin or end a run of a model, whichever model it is.
	exact bool
}

// markCandidates returns marks worth trying: kernels that embed, kernels that sample, and, where no name tells, groups of
// names that occur equally often and in step with each other, rarest first.
func (w *work) markCandidates(s *sequence) []marks {
	var out []marks
	if pos := params.Begins(s); len(pos) > 0 {
		out = append(out, marks{pos: pos, what: "embedding kernels", need: 1, exact: true})
	}
	if pos := params.Clusters(s, roleSample); len(pos) > 0 {
		out = append(out, marks{pos: pos, what: "sampling kernels", need: 1})
	}
	if len(out) > 0 {
		return out
	}
	for _, pos := range params.StepGroups(s) {
		out = append(out, marks{pos: pos, what: "names that occur once a pass", need: 2})
	}
	return out
}

// passesFromMarks cuts a segment at marks and keeps the first candidate whose pieces hold a stack of layers each.
func (w *work) passesFromMarks(seg stretch, model *modelFacts) ([]passSpan, Evidence, bool) {
	if model.useAnchors || len(seg.kernels) == 0 {
		return nil, Evidence{}, false
	}
	s := w.sequenceOf(seg.kernels)
	var memo segment.Memo[segment.Stack]
	stack := func(from, to int) (lo, hi, n int) {
		part := s.Slice(from, to)
		f := memo.Get(part.ID, func() segment.Stack { return params.StackIn(part, model.layers) })
		return from + f.From, from + f.To, f.N
	}
	for _, m := range w.markCandidates(s) {
		bounds := append(append([]int{0}, m.pos...), s.Len())
		votes, weights := map[int]int{}, map[int]int{} // pieces, and kernels in them, by the number of layers they hold
		inner, innerKernels := 0, 0
		covered := map[int]int{}   // kernels of inner pieces by the number of layers they hold
		var pieces, spans [][2]int // what the marks cut, and the layers in it
		var ns []int
		for k := 0; k+1 < len(bounds); k++ {
			if bounds[k] >= bounds[k+1] {
				continue
			}
			w.look()
			lo, hi, n := stack(bounds[k], bounds[k+1])
			if n > 0 {
				votes[n]++
				weights[n] += bounds[k+1] - bounds[k]
			}
			pieces = append(pieces, [2]int{bounds[k], bounds[k+1]})
			spans, ns = append(spans, [2]int{lo, hi}), append(ns, n)
			if k > 0 && k+2 < len(bounds) {
				inner++
				innerKernels += bounds[k+1] - bounds[k]
				covered[n] += bounds[k+1] - bounds[k]
			}
		}
		n := segment.MostVotes(weights) // a draft model runs more often than its target, and less
		if n < 2 || votes[n] < m.need {
			continue
		}
		for k := range pieces { // a run without requests has no mixers to find N by, and the layers of the others
			if ns[k] == n || model.layers >= 2 {
				continue
			}
			from := pieces[k][0]
			if ns[k] != 0 { // the others know better how many layers the model has
				if f := params.StackIn(s.Slice(from, pieces[k][1]), n); f.N == n {
					ns[k], spans[k] = n, [2]int{from + f.From, from + f.To}
					votes[n]++
				}
				continue
			}
			if c, ok := params.Best(s.Slice(from, pieces[k][1]), n); ok && params.Idle(c) {
				ns[k], spans[k] = n, [2]int{from + c.Starts[0], from + c.Starts[n]}
				votes[n]++
			}
		}
		drafts := false
		if !params.MarksHold(votes[n], inner) { // most pieces are something else: short ones between the stacks may be runs of a draft model
			if drafts = m.exact && params.DraftsHold(covered[n], innerKernels); !drafts {
				continue
			}
		}
		kept := spans[:0:0]
		var small []bool
		longest := 0 // mixers of the longest draft run
		for k := range spans {
			switch {
			case ns[k] == n:
				kept, small = append(kept, spans[k]), append(small, false)
			case drafts && ns[k] != n && pieces[k][0] >= m.pos[0]:
				mixers, last := segment.Mixers(s, pieces[k][0], pieces[k][1])
				if k+1 == len(pieces) && mixers > longest {
					continue // no draft is as long: a run of the target that the window cuts
				}
				longest = max(longest, mixers)
				if last >= 0 {
					kept, small = append(kept, [2]int{pieces[k][0], last + 1}), append(small, true)
				}
			}
		}
		if len(kept) == 0 {
			continue
		}
		passes := w.splitBetween(seg.kernels, kept)
		for p := range passes {
			passes[p].draft = small[p]
		}
		w.trimEnds(passes, s, kept, m.pos, seg)
		kind, conf := "structure", params.ConfidenceStructure
		if n := w.fullReplays(passes); 2*n > len(passes) {
			kind, conf = "graph", params.ConfidenceGraph
		}
		for p := range passes {
			passes[p].evidence, passes[p].conf = kind, conf
		}
		return passes, Evidence{For: "passes", Kind: kind, Passes: len(passes), Confidence: conf,
			Detail: fmt.Sprintf("%s mark %d stacks of layers", m.what, len(passes))}, true
	}
	return nil, Evidence{}, false
}

// fullReplays counts the passes of which one graph launch ran most.
func (w *work) fullReplays(passes []passSpan) int {
	n := 0
	for p := range passes {
		for _, r := range w.replaysIn(passes[p].kernels) {
			if 2*(r.to-r.from) > len(passes[p].kernels) {
				n++
				break
			}
		}
	}
	return n
}

// trimEnds takes from the first pass what a mark shows to be the end of the pass before it, and from the last pass what a
// mark shows to be the beginning of the next: the window cuts those, and addLoose looks at them.
func (w *work) trimEnds(passes []passSpan, s *sequence, spans [][2]int, pos []int, seg stretch) {
	isMixer := func(from, to int) bool {
		for i := from; i < to; i++ {
			if s.Role[i] == roleMixer {
				return true
			}
		}
		return false
	}
	for _, p := range pos {
		if p < spans[0][0] && isMixer(0, p) {
			passes[0].kernels = seg.kernels[p:len(passes[0].kernels)]
			break
		}
	}
	last := len(spans) - 1
	for k := len(pos) - 1; k >= 0; k-- {
		if p := pos[k]; p > spans[last][1] && isMixer(p, s.Len()) {
			l := &passes[last]
			l.kernels = l.kernels[:len(l.kernels)-(s.Len()-p)]
			break
		}
	}
}
