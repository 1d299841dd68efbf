package ladder

import (
	"github.com/llmstrata/strata/layer/internal/segment"
	"github.com/llmstrata/strata/trace"
)

// A replay is the kernels of one graph launch within a segment.
type replay struct {
	from, to int // range in the segment's kernels
	launch   trace.EventID
}

// replaysIn returns the graph launches of a segment with their kernels, in launch order.
func (w *Work) replaysIn(kernels []int32) []replay {
	var out []replay
	for k, i := range kernels {
		if !w.Replayed(i) || !w.call(i).Valid() {
			continue
		}
		id := w.call(i).ID()
		if n := len(out); n > 0 && out[n-1].launch == id {
			out[n-1].to = k + 1
			continue
		}
		out = append(out, replay{k, k + 1, id})
	}
	return out
}

// isStack says whether kernels repeat as a stack of layers does.
func (w *Work) isStack(s *Sequence) bool {
	return segment.GraphStack(segment.Number(s))
}

// outside says whether a name stands before the first and after the last of several stacks of layers.
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
