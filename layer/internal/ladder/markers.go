package ladder

import (
	"fmt"
	"slices"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer/internal/segment"
)

// A pass begins with an embedding and ends with sampling, and runs a handful of kernels once: their occurrences are
// marks that hold even where prefill and decode share no layer kernel.

// marks are positions that occur once per pass, ascending, and what they are.
type marks struct {
	pos  []int
	what string
	need int // pieces that must hold a stack of layers
	// layers is how many a stack must have: the names of each layer are in step, too.
	layers int
	// exact marks begin or end a run of a model, whichever model it is.
	exact bool
}

// markCandidates returns marks worth trying: kernels that embed, kernels that sample, and, where no name shows it,
// groups of names that occur equally often and in step with each other, rarest first.
func (w *Work) markCandidates(s *Sequence) []marks {
	var out []marks
	if pos := segment.Clusters(s, roleEmbed); len(pos) > 0 {
		out = append(out, marks{pos: pos, what: "embedding kernels", need: 1, exact: true})
	}
	// numbers drawn before the first layer are an input
	if pos := segment.Clusters(s, roleSample); len(pos) > 0 && pos[len(pos)-1] > slices.Index(s.Role, RoleMixer) {
		out = append(out, marks{pos: pos, what: "sampling kernels", need: 1})
	}
	if len(out) > 0 {
		return out
	}
	if pos := w.transfers(s); len(pos) > 0 {
		out = append(out, marks{pos: pos, what: "transfers between pipeline ranks", need: 2})
	}
	for _, pos := range segment.StepGroups(s) {
		out = append(out, marks{pos: pos, what: "names that occur once a pass", need: 2,
			layers: segment.StackLayers})
	}
	return out
}

// transfers returns the first of each cluster of transfers between two GPUs: a rank of a pipeline without embedding
// and head begins a pass with those of hidden states that it gets, and ends it with those that it hands on.
func (w *Work) transfers(s *Sequence) []int {
	alone := &Sequence{Role: make([]Role, s.Len())}
	for i, id := range s.ID {
		if w.Facts[id].Collective == classify.SendRecv {
			alone.Role[i] = roleCollective
		}
	}
	return segment.Clusters(alone, roleCollective)
}

// pieces are what marks cut a sequence into, and the layers in each.
type pieces struct {
	bounds [][2]int // of each piece
	spans  [][2]int // of the layers in it
	ns     []int    // their number, 0 for none
	votes  map[int]int
	n      int // the number of layers of most kernels; draft models run more often than their target, and less
	// Pieces between two marks, and the kernels in them by the number of layers they hold.
	inner, innerKernels int
	covered             map[int]int
	all                 map[int]int // kernels by the number of layers of their piece, at the edges, too
}

// cutAtMarks looks for a stack of layers in each piece. given is N where config or flags say it. It is nil when the
// caller's context has ended.
func (w *Work) cutAtMarks(s *Sequence, pos []int, memo *segment.Memo[segment.Stack], given int) *pieces {
	b := &pieces{votes: map[int]int{}, covered: map[int]int{}, all: map[int]int{}}
	ends := append(append([]int{0}, pos...), s.Len())
	for k := 0; k+1 < len(ends); k++ {
		from, to := ends[k], ends[k+1]
		if from >= to {
			continue
		}
		if w.Ended() != nil {
			return nil
		}
		part := s.Slice(from, to)
		f := memo.Get(part.Base, func() segment.Stack { return segment.StackIn(part, given) })
		b.bounds = append(b.bounds, [2]int{from, to})
		b.spans, b.ns = append(b.spans, [2]int{from + f.From, from + f.To}), append(b.ns, f.N)
		inner := k > 0 && k+2 < len(ends)
		if inner {
			b.inner++
			b.innerKernels += to - from
		}
		if f.N > 0 {
			b.votes[f.N]++
			b.all[f.N] += to - from
		}
		if f.N > 0 && inner {
			b.covered[f.N] += to - from
		}
	}
	// pieces at the edges may be cut: two of fewer layers do not outvote a whole one between them
	b.n = max(segment.MostVotes(b.all), segment.MostVotes(b.covered))
	return b
}

// stacks counts the pieces that hold n layers, or fewer where the window may cut them.
func (b *pieces) stacks() int {
	n := b.votes[b.n]
	for _, edge := range []int{0, len(b.ns) - 1} {
		if b.ns[edge] > 0 && b.ns[edge] < b.n {
			n++
		}
	}
	return n
}

// adopt gives the others' number of layers to pieces that seem to hold another one, and to runs without requests,
// which have no mixers to find N by, and the layers of the others.
func (b *pieces) adopt(s *Sequence) {
	for k := range b.bounds {
		from := b.bounds[k][0]
		part := s.Slice(from, b.bounds[k][1])
		var f segment.Stack
		switch {
		case b.ns[k] == b.n:
			continue
		case b.ns[k] != 0:
			f = segment.StackIn(part, b.n)
		default:
			if c, ok := segment.Best(part, b.n); ok && c.Similarity >= segment.IdleSimilarity &&
				c.Comb.Cost < segment.IdleUneven {
				f = segment.Stack{From: c.Starts[0], To: c.Starts[b.n], N: b.n}
			}
		}
		if f.N == b.n {
			b.ns[k], b.spans[k] = b.n, [2]int{from + f.From, from + f.To}
			b.votes[b.n]++
		}
	}
}

// keep returns the spans of layers that are passes, and which of them are runs of a draft model.
func (b *pieces) keep(s *Sequence, m marks) (kept [][2]int, small []bool) {
	drafts := false
	// most pieces are something else: short ones between the stacks may be runs of a draft model
	if !segment.AtLeast(b.votes[b.n], segment.MarkShare, b.inner) {
		// no other piece holds a stack, though the window shows one pass only
		alone := len(b.votes) == 1 && segment.AtLeast(b.all[b.n], segment.DraftShare, s.Len())
		drafts = m.exact && (alone || segment.AtLeast(b.covered[b.n], segment.DraftShare, b.innerKernels))
		if !drafts {
			return nil, nil
		}
	}
	longest := 0 // mixers of the longest draft run
	for k := range b.spans {
		switch {
		case b.ns[k] == b.n:
			kept, small = append(kept, b.spans[k]), append(small, false)
		case drafts && b.bounds[k][0] >= m.pos[0]:
			mixers, last := segment.Mixers(s, b.bounds[k][0], b.bounds[k][1])
			if k+1 == len(b.bounds) && mixers > longest {
				continue // no draft is as long: a run of the target that the window cuts
			}
			longest = max(longest, mixers)
			if mixers > 0 {
				kept, small = append(kept, [2]int{b.bounds[k][0], last + 1}), append(small, true)
			}
		}
	}
	return kept, small
}

// passesFromMarks cuts a stretch at marks and keeps the first candidate whose pieces hold a stack of layers each.
func (w *Work) passesFromMarks(kernels []int32, model *Model) ([]Span, Evidence) {
	if model.UseAnchors {
		return nil, Evidence{}
	}
	s := w.sequenceOf(kernels)
	var memo segment.Memo[segment.Stack]
	for _, m := range w.markCandidates(s) {
		b := w.cutAtMarks(s, m.pos, &memo, model.Layers)
		if b == nil {
			break
		}
		if b.stacks() < m.need || b.n < m.layers {
			continue
		}
		if model.Layers < 2 {
			b.adopt(s)
		}
		kept, small := b.keep(s, m)
		if len(kept) == 0 {
			continue
		}
		passes := w.splitBetween(kernels, kept)
		w.trimEnds(passes, s, kept, m.pos)
		for p := range passes {
			passes[p].Draft = small[p]
		}
		return rung(passes, w.byLaunches(passes), segment.ConfidenceStructure,
			fmt.Sprintf("%s mark %s of layers", m.what, table.Counted(len(passes), "stack", "stacks")))
	}
	return nil, Evidence{}
}

// trimEnds takes from the last pass what a mark shows to be the beginning of the next. From the first pass it takes
// what a mark shows to be the end of the pass before it, and what runs before the mark that begins it where that is
// more than a whole pass: a start, which the other passes lack. Of the only pass a whole one is what follows its mark.
// The window cuts those, and addLoose looks at them.
func (w *Work) trimEnds(passes []Span, s *Sequence, spans [][2]int, pos []int) {
	last := len(spans) - 1
	for _, p := range slices.Backward(pos) {
		if p >= spans[last][1] && slices.Contains(s.Role[p:], RoleMixer) {
			l := &passes[last]
			l.Kernels = l.Kernels[:len(l.Kernels)-(s.Len()-p)]
			break
		}
	}
	begin, before, longest := 0, 0, 0 // kernels before a mark that begins a pass, and of it, the most of any but the first
	for p := range passes {
		n := len(passes[p].Kernels)
		if k, _ := slices.BinarySearch(pos, begin); p > 0 && k < len(pos) && pos[k] <= spans[p][0] {
			before, longest = max(before, pos[k]-begin), max(longest, n)
		}
		begin += n
	}
	if last == 0 {
		longest = len(passes[0].Kernels) - pos[0]
	}
	front := func(p int) bool { return p <= spans[0][0] && slices.Contains(s.Role[:p], RoleMixer) }
	if longest > 0 && pos[0] > longest && pos[0] <= spans[0][0] {
		passes[0].Kernels = passes[0].Kernels[pos[0]-before:]
	} else if k := slices.IndexFunc(pos, front); k >= 0 { // a run of a draft model begins at its mark
		passes[0].Kernels = passes[0].Kernels[pos[k]:]
	}
}
