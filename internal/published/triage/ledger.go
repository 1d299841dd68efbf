package triage

import (
	"cmp"
	"slices"
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
		streams = max(streams, s.stream+1)
		if s.end > s.start {
			edges = append(edges, edge{s.start, int32(i), true}, edge{s.end, int32(i), false})
		}
	}
	if streams < 2 {
		return out
	}
	slices.SortFunc(edges, func(a, b edge) int { // ends before starts at one instant: touching spans do not overlap
		return cmp.Or(cmp.Compare(a.t, b.t), cmp.Compare(truth(a.open), truth(b.open)), cmp.Compare(a.span, b.span))
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
		s, o, step := &spans[e.span], &out[e.span], 2*truth(e.open)-1
		o.hidden -= int64(step) * two
		o.hiddenByCompute -= int64(step) * (anyComp - onlyMy[s.stream])
		nActive += flip(&active[s.stream], step)
		if s.bucket == BucketCompute {
			n := flip(&compute[s.stream], step)
			nComp, compSum = nComp+n, compSum+n*s.stream
		}
	}
	return out
}

func truth(yes bool) int32 {
	if yes {
		return 1
	}
	return 0
}

// flip changes how many spans are open by one, and says by how much it changed whether any is.
func flip(open *int32, step int32) int32 {
	was := min(*open, 1)
	*open += step
	return min(*open, 1) - was
}
