package triage

import (
	"cmp"
	"container/heap"
	"slices"
	"sort"
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
// time becomes a difference of two values of one cumulated function: O(n log n)
// for any amount of overlap.

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

// cumulated is a non-decreasing piecewise linear function of time, which rises
// with slope 1 or stays level between points.
type cumulated struct {
	at     []int64 // ascending
	sum    []int64 // value at at[i]
	rising []bool  // between at[i] and at[i+1]
}

func (c *cumulated) value(t int64) int64 {
	i := sort.Search(len(c.at), func(i int) bool { return c.at[i] > t }) - 1
	if i < 0 {
		return 0
	}
	if c.rising[i] {
		return c.sum[i] + t - c.at[i]
	}
	return c.sum[i]
}

func (c *cumulated) between(a, b int64) int64 { return c.value(b) - c.value(a) }

// set says that the function rises (or not) from t on.
func (c *cumulated) set(t int64, rising bool) {
	n := len(c.at)
	if n > 0 && c.rising[n-1] == rising || n == 0 && !rising {
		return
	}
	v := int64(0)
	if n > 0 {
		v = c.sum[n-1]
		if c.rising[n-1] {
			v += t - c.at[n-1]
		}
	}
	c.at, c.sum, c.rising = append(c.at, t), append(c.sum, v), append(c.rising, rising)
}

// edge is a start or an end in the sweep.
type edge struct {
	t    int64
	span int32
	open bool
}

// sweep fills the ledger of all spans, which must belong to one device. One
// function: it follows the published script step by step, so that the two can be
// read side by side.
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
	// Ends before starts at one instant: touching spans do not overlap.
	slices.SortFunc(edges, func(a, b edge) int {
		if c := cmp.Compare(a.t, b.t); c != 0 {
			return c
		}
		if a.open != b.open {
			if a.open {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.span, b.span)
	})

	var (
		active  = make([]int32, streams) // open spans of each stream
		compute = make([]int32, streams) // open compute spans of each stream
		nActive int                      // streams with open spans
		nComp   int                      // streams with open compute spans
		compSum int64                    // sum of their indices: the index itself when there is one

		two     cumulated                    // two or more streams active
		twoComp cumulated                    // two or more streams with compute
		oneComp cumulated                    // exactly one
		onlyMy  = make([]cumulated, streams) // exactly one, and it is this one
		last    = int64(-1)                  // stream whose onlyMy is rising, -1 none
	)
	for i := 0; i < len(edges); {
		t := edges[i].t
		for ; i < len(edges) && edges[i].t == t; i++ {
			s := spans[edges[i].span]
			d := int32(1)
			if !edges[i].open {
				d = -1
			}
			was := active[s.stream]
			active[s.stream] += d
			if was == 0 {
				nActive++
			} else if active[s.stream] == 0 {
				nActive--
			}
			if s.bucket == BucketCompute {
				was := compute[s.stream]
				compute[s.stream] += d
				if was == 0 {
					nComp++
					compSum += int64(s.stream)
				} else if compute[s.stream] == 0 {
					nComp--
					compSum -= int64(s.stream)
				}
			}
		}
		two.set(t, nActive >= 2)
		twoComp.set(t, nComp >= 2)
		oneComp.set(t, nComp == 1)
		now := int64(-1)
		if nComp == 1 {
			now = compSum
		}
		if now != last {
			if last >= 0 {
				onlyMy[last].set(t, false)
			}
			if now >= 0 {
				onlyMy[now].set(t, true)
			}
			last = now
		}
	}
	for i, s := range spans {
		e := &out[i]
		e.hidden = two.between(s.start, s.end)
		if e.hidden == 0 {
			continue
		}
		e.hiddenByCompute = twoComp.between(s.start, s.end) + oneComp.between(s.start, s.end) - onlyMy[s.stream].between(s.start, s.end)
	}
	findHiders(spans, edges, out, int(streams))
	return out
}

// hiderLess orders spans by how well they explain that something is hidden:
// bucket, then duration, then position. It is a strict total order.
func hiderLess(spans []span, a, b int32) bool {
	if a < 0 || b < 0 {
		return b >= 0 && a < 0
	}
	x, y := spans[a], spans[b]
	if px, py := x.bucket.hiderRank(), y.bucket.hiderRank(); px != py {
		return px < py
	}
	if dx, dy := x.end-x.start, y.end-y.start; dx != dy {
		return dx < dy
	}
	return a > b
}

// findHiders names the best hider of each hidden span. What overlaps a span is
// either open when it starts or starts while it runs. The first is the best of
// all streams but its own in a tournament over streams, the second a range
// maximum over spans ordered by start.
func findHiders(spans []span, edges []edge, out []overlapEntry, streams int) {
	open := newTournament(spans, streams)
	byStart := make([]int32, 0, len(edges)/2)
	for _, e := range edges {
		if e.open {
			byStart = append(byStart, e.span)
		}
	}
	starts := make([]int64, len(byStart))
	for i, s := range byStart {
		starts[i] = spans[s].start
	}
	ranges := newRangeBest(spans, byStart)
	for i := 0; i < len(edges); {
		t := edges[i].t
		j := i
		for ; j < len(edges) && edges[j].t == t; j++ {
			e := edges[j]
			if e.open {
				open.push(e.span)
			} else {
				open.expire(spans[e.span].stream, t)
			}
		}
		for ; i < j; i++ {
			k := edges[i].span
			if !edges[i].open || out[k].hidden == 0 {
				continue
			}
			best := open.bestOutside(spans[k].stream)
			lo := sort.Search(len(starts), func(n int) bool { return starts[n] > t })
			hi := sort.Search(len(starts), func(n int) bool { return starts[n] >= spans[k].end })
			if other := ranges.best(lo, hi, spans[k].stream); hiderLess(spans, best, other) {
				best = other
			}
			out[k].hider = best
		}
	}
}

// tournament keeps the best open span of each stream and of all of them.
type tournament struct {
	spans []span
	heaps []spanHeap
	tree  []int32 // tree[size+s] is stream s's best, inner nodes the better child; -1 none
	size  int
}

func newTournament(spans []span, streams int) *tournament {
	size := 1
	for size < streams {
		size *= 2
	}
	t := &tournament{spans: spans, heaps: make([]spanHeap, streams), tree: make([]int32, 2*size), size: size}
	for i := range t.tree {
		t.tree[i] = -1
	}
	for i := range t.heaps {
		t.heaps[i].spans = spans
	}
	return t
}

func (t *tournament) push(s int32) {
	st := t.spans[s].stream
	heap.Push(&t.heaps[st], s)
	t.update(st)
}

// expire drops spans of a stream that ended by now from the top of its heap;
// those below the top are dropped when they get there.
func (t *tournament) expire(stream int32, now int64) {
	h := &t.heaps[stream]
	for len(h.ids) > 0 && t.spans[h.ids[0]].end <= now {
		heap.Pop(h)
	}
	t.update(stream)
}

func (t *tournament) update(stream int32) {
	i := t.size + int(stream)
	t.tree[i] = -1
	if h := t.heaps[stream].ids; len(h) > 0 {
		t.tree[i] = h[0]
	}
	for i /= 2; i >= 1; i /= 2 {
		a, b := t.tree[2*i], t.tree[2*i+1]
		if hiderLess(t.spans, a, b) {
			a = b
		}
		t.tree[i] = a
	}
}

func (t *tournament) bestOutside(stream int32) int32 {
	best := int32(-1)
	for i := t.size + int(stream); i > 1; i /= 2 {
		if other := t.tree[i^1]; hiderLess(t.spans, best, other) {
			best = other
		}
	}
	return best
}

type spanHeap struct {
	spans []span
	ids   []int32
}

func (h *spanHeap) Len() int           { return len(h.ids) }
func (h *spanHeap) Less(i, j int) bool { return hiderLess(h.spans, h.ids[j], h.ids[i]) }
func (h *spanHeap) Swap(i, j int)      { h.ids[i], h.ids[j] = h.ids[j], h.ids[i] }
func (h *spanHeap) Push(x any)         { h.ids = append(h.ids, x.(int32)) }
func (h *spanHeap) Pop() any {
	n := len(h.ids) - 1
	x := h.ids[n]
	h.ids = h.ids[:n]
	return x
}

// rangeBest answers the best span of a range of positions that is not of a
// given stream: each node keeps its best span and the best of another stream.
type rangeBest struct {
	spans []span
	first []int32
	other []int32
	size  int
}

func newRangeBest(spans []span, order []int32) *rangeBest {
	size := 1
	for size < len(order) {
		size *= 2
	}
	r := &rangeBest{spans: spans, first: make([]int32, 2*size), other: make([]int32, 2*size), size: size}
	for i := range r.first {
		r.first[i], r.other[i] = -1, -1
	}
	copy(r.first[size:], order)
	for i := size - 1; i >= 1; i-- {
		r.first[i], r.other[i] = r.join(r.first[2*i], r.other[2*i], r.first[2*i+1], r.other[2*i+1])
	}
	return r
}

func (r *rangeBest) join(a1, a2, b1, b2 int32) (first, other int32) {
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

func (r *rangeBest) best(lo, hi int, stream int32) int32 {
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
