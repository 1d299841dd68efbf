package column

import (
	"context"
	"math"
	"slices"
)

// sortRuns sorts v by less, stably, and returns the sorted slice, which may be
// another one. It ends early when ctx does; v is then in disorder.
//
// Profilers write each thread's and each stream's events nearly in order, so v
// is first taken as the ascending runs it forms: in all our real traces a
// handful per lane. Sorted input costs one pass; r runs cost n log r.
func sortRuns[T any](ctx context.Context, v []T, less func(a, b T) bool) []T {
	runs := []int32{0}
	for i := 1; i < len(v); i++ {
		if less(v[i], v[i-1]) {
			runs = append(runs, int32(i))
		}
	}
	if len(runs) == 1 {
		return v
	}
	tmp := make([]T, len(v))
	runs = append(runs, int32(len(v)))
	for len(runs) > 2 && ctx.Err() == nil {
		out := runs[:1] // trails the reading position
		k := 0
		for ; k+2 < len(runs); k += 2 {
			mergeRuns(ctx, tmp, v, runs[k], runs[k+1], runs[k+2], less)
			out = append(out, runs[k+2])
		}
		if k+1 < len(runs) { // one run left over
			copy(tmp[runs[k]:runs[k+1]], v[runs[k]:runs[k+1]])
			out = append(out, runs[k+1])
		}
		v, tmp = tmp, v
		runs = out
	}
	return v
}

// CheckEvery is how many rows are worked on between two looks at the context:
// a millisecond's worth. It is a power of two.
const CheckEvery = 1 << 16

// ended looks at the context before some of the rows.
func ended(ctx context.Context, row int) bool { return row%CheckEvery == 0 && ctx.Err() != nil }

// mergeRuns merges the sorted v[lo:mid] and v[mid:hi] into dst[lo:hi].
func mergeRuns[T any](ctx context.Context, dst, v []T, lo, mid, hi int32, less func(a, b T) bool) {
	i, j := lo, mid
	for k := lo; k < hi; k++ {
		if ended(ctx, int(k)) {
			return
		}
		if i < mid && (j >= hi || !less(v[j], v[i])) {
			dst[k] = v[i]
			i++
		} else {
			dst[k] = v[j]
			j++
		}
	}
}

// Sort orders the rows: those of a CPU lane by thread, start, longest first, those
// of the GPU lane by start. Ties keep their input
// order, which is the last word of the order. first is what ThreadRows says of
// a CPU lane, nil of the GPU lane.
func (c *Columns) Sort(ctx context.Context, first []int32) {
	sorted := true
	for i := 1; i < c.Len() && sorted; i++ {
		sorted = !c.less(int32(i), int32(i-1))
	}
	if sorted {
		return
	}
	p := make([]int32, c.Len())
	if first == nil {
		for i := range p {
			p[i] = int32(i)
		}
		first = []int32{0, int32(len(p))}
	} else {
		// Once the threads are apart, their rows are usually in order.
		next := slices.Clone(first)
		for i, th := range c.Thread {
			p[next[th+1]] = int32(i)
			next[th+1]++
		}
	}
	for k := range len(first) - 1 {
		if part := p[first[k]:first[k+1]]; !c.sorted(part) {
			copy(part, sortRuns(ctx, part, c.less))
		}
	}
	c.Take(ctx, p)
}

// sorted reports whether rows of one thread, or of the GPU lane, are in order, as nearly all are: at a fraction of
// what less takes.
func (c *Columns) sorted(rows []int32) bool {
	last := int64(math.MinInt64)
	for i, row := range rows {
		start := c.Start[row]
		if start < last || start == last && i > 0 && c.less(row, rows[i-1]) {
			return false
		}
		last = start
	}
	return true
}

// less orders rows by thread, start, longest first (CPU lanes) or by start
// (GPU lane).
func (c *Columns) less(a, b int32) bool {
	if len(c.Thread) > 0 {
		if c.Thread[a] != c.Thread[b] {
			return c.Thread[a] < c.Thread[b]
		}
		if c.Start[a] != c.Start[b] {
			return c.Start[a] < c.Start[b]
		}
		return c.Dur[a] > c.Dur[b]
	}
	return c.Start[a] < c.Start[b]
}

// Rebase makes times relative to origin.
func (c *Columns) Rebase(origin int64) {
	for i := range c.Start {
		c.Start[i] -= origin
	}
}

// Bounds returns the first start and the last end, 0 and 0 when there are no
// rows. Rows are sorted by start only within a thread.
func (c *Columns) Bounds() (first, last int64) {
	for i, start := range c.Start {
		end := c.End(i)
		if i == 0 {
			first, last = start, end
		}
		first, last = min(first, start), max(last, end)
	}
	return first, last
}

// ThreadRows returns, at th+1, the first row of each of n threads; thread −1 is none.
func ThreadRows(thread []int32, n int) []int32 {
	r := make([]int32, n+2)
	for _, th := range thread {
		r[th+1]++
	}
	var sum int32
	for k, c := range r {
		r[k] = sum
		sum += c
	}
	return r
}
