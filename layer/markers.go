package layer

import (
	"fmt"
	"sort"
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
	roles := false
	for _, c := range []struct {
		r    role
		what string
	}{{roleEmbed, "embedding kernels"}, {roleSample, "sampling kernels"}} {
		pos := clustered(s, c.r)
		roles = roles || len(pos) > 0
		if len(pos) >= 1 {
			out = append(out, marks{pos: pos, what: c.what, need: 1, exact: c.r == roleEmbed})
		}
	}
	if roles {
		return out
	}
	return append(out, stepGroups(s)...)
}

// clustered returns the first of each cluster of kernels of a role; kernels closer than clusterGap belong together (a word
// and a position embedding, the two kernels of an argmax).
func clustered(s *sequence, r role) []int {
	const clusterGap = 6
	var pos []int
	s.watch.Rows(s.len())
	last := -2 * clusterGap
	for i, x := range s.role {
		if x != r {
			continue
		}
		if i-last > clusterGap {
			pos = append(pos, i)
		}
		last = i
	}
	return pos
}

// stepGroups finds groups of names with equal counts whose occurrences interleave in step.
func stepGroups(s *sequence) []marks {
	s.watch.Rows(s.len())
	occ := occurrencesOf(s.fine)
	byCount := map[int][]int{}
	var counts []int
	for sym := range occ.symbols() {
		c := occ.count(sym)
		if c < 2 || 8*c > s.len() {
			continue
		}
		if byCount[c] == nil {
			counts = append(counts, c)
		}
		byCount[c] = append(byCount[c], sym)
	}
	sort.Ints(counts)
	const most = 12 // candidates that are tried; the right one is among the rarest
	var out []marks
	for _, c := range counts {
		syms := byCount[c]
		lead := syms[0]
		for _, sym := range syms {
			if occ.of(sym)[0] < occ.of(lead)[0] {
				lead = sym
			}
		}
		in := 0
		for _, sym := range syms {
			s.watch.Rows(c)
			if sym != lead && inStep(occ.of(lead), occ.of(sym)) {
				in++
			}
		}
		if in >= 2 {
			out = append(out, marks{pos: occ.of(lead), what: "names that occur once a pass", need: 2})
			if len(out) == most {
				break
			}
		}
	}
	return out
}

// inStep says whether b's occurrences fall one into each gap of a's.
func inStep(a, b []int) bool {
	for i := range a {
		if b[i] < a[i] || i+1 < len(a) && b[i] >= a[i+1] {
			return false
		}
	}
	return true
}

// passesFromMarks cuts a segment at marks and keeps the first candidate whose pieces hold a stack of layers each.
func (w *work) passesFromMarks(seg segment, model *modelFacts) ([]passSpan, Evidence, bool) {
	if model.useAnchors || len(seg.kernels) == 0 {
		return nil, Evidence{}, false
	}
	s := w.sequenceOf(seg.kernels)
	memo := map[uint64][2]int{} // piece → range of its layers, {0, 0} for none
	counts := map[uint64]int{}
	stack := func(from, to int) (lo, hi, n int) {
		s.watch.Rows(to - from)
		part := s.slice(from, to)
		h := hashNames(part.fine)
		if r, ok := memo[h]; ok {
			return from + r[0], from + r[1], counts[h]
		}
		var st structure
		ok := false
		if model.layers >= 2 {
			st, ok = findRepeats(part, model.layers)
			ok = ok && (st.sim >= minSimilarity || model.layers == 2) && st.anchors.cost < 0.5 && !overcounts(part, st, model.layers)
		} else if g := guessLayers(part, false); len(g) > 0 {
			st, ok = findRepeats(part, g[0].n)
		}
		if !ok {
			memo[h], counts[h] = [2]int{}, 0
			return from, from, 0
		}
		memo[h], counts[h] = [2]int{st.starts[0], st.starts[st.layers()]}, st.layers()
		return from + st.starts[0], from + st.starts[st.layers()], st.layers()
	}
	for _, m := range w.markCandidates(s) {
		bounds := append(append([]int{0}, m.pos...), s.len())
		votes, weights := map[int]int{}, map[int]int{} // pieces, and kernels in them, by the number of layers they hold
		inner, innerKernels := 0, 0
		covered := map[int]int{}   // kernels of inner pieces by the number of layers they hold
		var pieces, spans [][2]int // what the marks cut, and the layers in it
		var ns []int
		for k := 0; k+1 < len(bounds); k++ {
			if bounds[k] >= bounds[k+1] {
				continue
			}
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
		n := mostVotes(weights) // a draft model runs more often than its target, and less
		if n < 2 || votes[n] < m.need {
			continue
		}
		for k := range pieces { // a run without requests has no mixers to find N by, and the layers of the others
			const sure, even = 0.6, 0.1
			if ns[k] != 0 || model.layers >= 2 {
				continue
			}
			from := pieces[k][0]
			if st, ok := findRepeats(s.slice(from, pieces[k][1]), n); ok && st.sim >= sure && st.anchors.cost < even {
				ns[k], spans[k] = n, [2]int{from + st.starts[0], from + st.starts[n]}
				votes[n]++
			}
		}
		drafts := false
		if 5*votes[n] < 4*inner { // most pieces are something else: short ones between the stacks may be runs of a draft model
			if drafts = m.exact && 5*covered[n] >= 3*innerKernels; !drafts {
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
				mixers, last := mixersIn(s, pieces[k][0], pieces[k][1])
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
		kind, conf := "structure", 0.9
		if n := w.fullReplays(passes); 2*n > len(passes) {
			kind, conf = "graph", 0.97
		}
		for p := range passes {
			passes[p].evidence, passes[p].conf = kind, conf
		}
		return passes, Evidence{For: "passes", Kind: kind, Passes: len(passes), Confidence: conf,
			Detail: fmt.Sprintf("%s mark %d stacks of layers", m.what, len(passes))}, true
	}
	return nil, Evidence{}, false
}

// mixersIn counts the mixers of s in [from, to) and returns the position of the last one, −1 where there is none.
func mixersIn(s *sequence, from, to int) (count, last int) {
	last = -1
	for i := from; i < to; i++ {
		if s.role[i] == roleMixer {
			count, last = count+1, i
		}
	}
	return count, last
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
func (w *work) trimEnds(passes []passSpan, s *sequence, spans [][2]int, pos []int, seg segment) {
	isMixer := func(from, to int) bool {
		for i := from; i < to; i++ {
			if s.role[i] == roleMixer {
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
		if p := pos[k]; p > spans[last][1] && isMixer(p, s.len()) {
			l := &passes[last]
			l.kernels = l.kernels[:len(l.kernels)-(s.len()-p)]
			break
		}
	}
}
