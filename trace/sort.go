package trace

// sort orders the rows as the Lane constants promise.
//
// Profilers write each thread's and each stream's events nearly in order, so
// the rows are first taken as the ascending runs they form: in all our real
// traces a handful per lane. Sorted input costs one pass; r runs cost n log r.
// Ties keep their input order, which is the last word of the order.
func (c *columns) sort() {
	n := c.len()
	runs := []int32{0}
	for i := 1; i < n; i++ {
		if c.less(int32(i), int32(i-1)) {
			runs = append(runs, int32(i))
		}
	}
	if len(runs) == 1 {
		return
	}
	p := make([]int32, n)
	for i := range p {
		p[i] = int32(i)
	}
	tmp := make([]int32, n)
	runs = append(runs, int32(n))
	for len(runs) > 2 {
		out := runs[:1] // trails the reading position
		k := 0
		for ; k+2 < len(runs); k += 2 {
			c.merge(tmp, p, runs[k], runs[k+1], runs[k+2])
			out = append(out, runs[k+2])
		}
		if k+1 < len(runs) { // one run left over
			copy(tmp[runs[k]:runs[k+1]], p[runs[k]:runs[k+1]])
			out = append(out, runs[k+1])
		}
		p, tmp = tmp, p
		runs = out
	}
	c.applyOrder(p)
}

// merge merges the sorted p[lo:mid] and p[mid:hi] into dst[lo:hi].
func (c *columns) merge(dst, p []int32, lo, mid, hi int32) {
	i, j := lo, mid
	for k := lo; k < hi; k++ {
		if i < mid && (j >= hi || !c.less(p[j], p[i])) {
			dst[k] = p[i]
			i++
		} else {
			dst[k] = p[j]
			j++
		}
	}
}

// less orders rows by thread, start, longest first (CPU lanes) or by start
// (GPU lane).
func (c *columns) less(a, b int32) bool {
	if len(c.thread) > 0 {
		if c.thread[a] != c.thread[b] {
			return c.thread[a] < c.thread[b]
		}
		if c.start[a] != c.start[b] {
			return c.start[a] < c.start[b]
		}
		return c.dur[a] > c.dur[b]
	}
	return c.start[a] < c.start[b]
}
