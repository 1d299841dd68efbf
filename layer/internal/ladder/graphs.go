package ladder

import (
	"github.com/llmstrata/strata/trace"
)

// byLaunches says what passes rest on that were found by their kernels: on graph launches where most of them are the
// replay of one.
func (w *Work) byLaunches(passes []Span) Rung {
	whole := 0
	for p := range passes {
		most, n, last := 0, 0, trace.Event{} // kernels of one launch, of the last one
		for _, i := range passes[p].Kernels {
			if call := w.call(i); w.Replayed(i) && call.Valid() {
				if call != last {
					n, last = 0, call
				}
				n++
				most = max(most, n)
			}
		}
		if 2*most > len(passes[p].Kernels) {
			whole++
		}
	}
	if 2*whole > len(passes) {
		return RungGraph
	}
	return RungStructure
}

// outside reports whether a name is before the first and after the last of several stacks of layers.
type outside struct{ head, tail bool }

// splitBetween extends spans (disjoint, ascending ranges of kernels) to passes that cover all kernels: what lies
// between two spans is split where names known from the very end of the sequence give way to names known from its
// very beginning.
func (w *Work) splitBetween(kernels []int32, spans [][2]int) []Span {
	where := make([]outside, len(w.Names))
	for _, i := range kernels[:spans[0][0]] {
		where[w.ID[i]].head = true
	}
	for _, i := range kernels[spans[len(spans)-1][1]:] {
		where[w.ID[i]].tail = true
	}
	out := make([]Span, len(spans))
	begin := 0
	for p := range spans {
		end := len(kernels)
		if p+1 < len(spans) {
			end = w.bestSplit(kernels, spans[p][1], spans[p+1][0], where)
		}
		out[p].Kernels = kernels[begin:end]
		begin = end
	}
	return out
}

// bestSplit chooses k in [from, to], which lie after the first kernel and before the last one, so that
// kernels[from:k] look like an epilogue and kernels[k:to] like a prologue. Among equal choices the one before the
// longest pause between launches wins.
func (w *Work) bestSplit(kernels []int32, from, to int, where []outside) int {
	score, best, at := 0, 0, from
	pause := func(k int) trace.Time {
		a, b := kernels[k-1], kernels[k]
		if w.Known(a) && w.Known(b) && w.at(a) != w.at(b) {
			return w.at(b) - w.at(a)
		}
		return w.Act(b).Start() - w.Act(a).End()
	}
	longest := pause(from)
	for k := from; k < to; k++ {
		i := kernels[k]
		switch name := where[w.ID[i]]; {
		case name.tail && !name.head:
			score++
		case name.head && !name.tail:
			score--
		case w.RoleOf(i) == roleSample:
			score++
		case w.RoleOf(i) == roleEmbed:
			score--
		}
		if p := pause(k + 1); score > best || score == best && p > longest {
			best, at, longest = score, k+1, p
		}
	}
	return at
}
