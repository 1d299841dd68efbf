package published

import (
	"cmp"
	"slices"
	"sort"

	"github.com/llmstrata/strata/internal/stat"
)

// NOTE. The overlap sweep works on plain columns so that it can be tested
// against an obvious quadratic twin. Its result is a ledger: for each span
//
//	exclusive + hidden = end − start,   0 ≤ hiddenByCompute ≤ hidden.
//
// A span is hidden while a span of another stream runs. Spans of one stream
// may overlap each other (programmatic dependent launch): they do not hide
// each other, and each keeps its full duration. While a span of stream s runs,
// s itself is active, so it is hidden exactly while two or more streams are
// active. That is a property of the point in time, not of the pair, and hidden
// time is a difference of two values of one sum: O(n log n) for any amount of
// overlap.

// span is one activity in the sweep.
type span struct {
	start, end int64 // ns; end ≥ start
	stream     int32 // dense index
	bucket     Bucket
}

// overlapEntry is the ledger of one span.
type overlapEntry struct {
	hidden          int64 // ns while another stream was active
	hiddenByCompute int64 // ns while a compute span of another stream was active
	hider           int32 // index of the most important span of another stream that overlapped it, -1 if none
}

// edge is a start or an end in the sweep.
type edge struct {
	t    int64
	span int32
	open bool
}

// sweep fills the ledger of all spans, which must belong to one device.
func sweep(spans []span) []overlapEntry {
	out := make([]overlapEntry, len(spans))
	streams := int32(0)
	edges := make([]edge, 0, 2*len(spans))
	for i, s := range spans {
		out[i].hider = -1
		streams = max(streams, s.stream+1)
		if s.end > s.start {
			edges = append(edges, edge{s.start, int32(i), true}, edge{s.end, int32(i), false})
		}
	}
	if streams < 2 {
		return out
	}
	slices.SortFunc(edges, func(a, b edge) int { // ends before starts at one instant: touching spans do not overlap
		return cmp.Or(cmp.Compare(a.t, b.t), cmp.Compare(stat.Int(a.open), stat.Int(b.open)), cmp.Compare(a.span, b.span))
	})
	var (
		// open spans, and those of them that compute, of each stream
		active, compute = make([]int32, streams), make([]int32, streams)
		nActive, nComp  int32 // streams with such spans
		// sum of their indices: the index itself when there is one
		compSum int32

		two, anyComp int64                    // time so far with two or more streams active, and with compute
		onlyMy       = make([]int64, streams) // with compute of this stream alone
		last         int64                    // so far
		hiders       = newHiders(spans, edges)
	)
	for _, e := range edges {
		dt := e.t - last
		last = e.t
		if nActive >= 2 {
			two += dt
		}
		if nComp > 0 {
			anyComp += dt
		}
		if nComp == 1 {
			onlyMy[compSum] += dt
		}
		s, o, step := &spans[e.span], &out[e.span], int32(2*stat.Int(e.open)-1)
		o.hidden -= int64(step) * two
		o.hiddenByCompute -= int64(step) * (anyComp - onlyMy[s.stream])
		nActive += flip(&active[s.stream], step)
		if s.bucket == BucketCompute {
			n := flip(&compute[s.stream], step)
			nComp, compSum = nComp+n, compSum+n*s.stream
		}
		if hiders.turn(e.span, e.open); e.open {
			o.hider = hiders.of(e.span)
		}
	}
	return out
}

// flip changes how many spans are open by one, and says by how much it changed whether any is.
func flip(open *int32, step int32) int32 {
	was := min(*open, 1)
	*open += step
	return min(*open, 1) - was
}

// hiderLess orders spans by how well they explain that something is hidden:
// bucket, then duration, then position. It is a strict total order.
func hiderLess(spans []span, a, b int32) bool {
	if a < 0 || b < 0 {
		return b >= 0 && a < 0
	}
	x, y := &spans[a], &spans[b]
	if px, py := buckets[x.bucket].rank, buckets[y.bucket].rank; px != py {
		return px < py
	}
	dx, dy := x.end-x.start, y.end-y.start
	return dx < dy || dx == dy && a > b
}

// hiders finds the best hider of a span: what overlaps it is either open when it starts or starts while it runs.
type hiders struct {
	spans     []span
	byStart   []int32 // spans in the order in which they open
	at        []int   // the place of each in it
	open, all *ranking
}

func newHiders(spans []span, edges []edge) *hiders {
	h := &hiders{spans: spans, at: make([]int, len(spans)), open: newRanking(spans, len(edges)/2),
		all: newRanking(spans, len(edges)/2)}
	for _, e := range edges {
		if e.open {
			h.at[e.span] = len(h.byStart)
			h.all.set(len(h.byStart), e.span)
			h.byStart = append(h.byStart, e.span)
		}
	}
	return h
}

// turn opens or closes a span.
func (h *hiders) turn(s int32, open bool) {
	if !open {
		h.open.set(h.at[s], -1)
		return
	}
	h.open.set(h.at[s], s)
}

// of is the best hider of the span that was opened last, −1 for none.
func (h *hiders) of(s int32) int32 {
	end := sort.Search(len(h.byStart), func(n int) bool { return h.spans[h.byStart[n]].start >= h.spans[s].end })
	best, later := h.open.best(0, len(h.byStart), h.spans[s].stream), h.all.best(h.at[s]+1, end, h.spans[s].stream)
	if hiderLess(h.spans, best, later) {
		return later
	}
	return best
}

// ranking answers the best span of a range of places that is not of a given stream: each node of its tree keeps its
// best span and the best of another stream.
type ranking struct {
	spans        []span
	first, other []int32 // −1 none
	size         int
}

func newRanking(spans []span, n int) *ranking {
	size := 1
	for size < n {
		size *= 2
	}
	none := slices.Repeat([]int32{-1}, 2*size)
	return &ranking{spans: spans, first: none, other: slices.Clone(none), size: size}
}

// set puts a span, −1 for none, into a place.
func (r *ranking) set(i int, s int32) {
	i += r.size
	r.first[i] = s
	for i /= 2; i >= 1; i /= 2 {
		first, other := r.join(r.first[2*i], r.other[2*i], r.first[2*i+1], r.other[2*i+1])
		if first == r.first[i] && other == r.other[i] {
			return
		}
		r.first[i], r.other[i] = first, other
	}
}

func (r *ranking) join(a1, a2, b1, b2 int32) (first, other int32) {
	if hiderLess(r.spans, a1, b1) {
		a1, a2, b1, b2 = b1, b2, a1, a2
	}
	if b1 >= 0 && a1 >= 0 && r.spans[a1].stream == r.spans[b1].stream {
		b1 = b2
	}
	if hiderLess(r.spans, a2, b1) {
		a2 = b1
	}
	return a1, a2
}

func (r *ranking) best(lo, hi int, stream int32) int32 {
	f, o := int32(-1), int32(-1)
	for lo, hi = lo+r.size, hi+r.size; lo < hi; lo, hi = lo/2, hi/2 {
		if lo&1 == 1 {
			f, o = r.join(f, o, r.first[lo], r.other[lo])
			lo++
		}
		if hi&1 == 1 {
			hi--
			f, o = r.join(f, o, r.first[hi], r.other[hi])
		}
	}
	if f >= 0 && r.spans[f].stream == stream {
		return o
	}
	return f
}
