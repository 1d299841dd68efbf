package column

import "slices"

// Group lists, for each key in [0, n), the indices of keys that hold it, in
// order: row[first[k]:first[k+1]]. Negative keys belong to no group.
func Group(keys []int32, n int) (first, row []int32) {
	first = make([]int32, n+1)
	for _, k := range keys {
		if k >= 0 {
			first[k+1]++
		}
	}
	for k := range n {
		first[k+1] += first[k]
	}
	row = make([]int32, first[n])
	next := slices.Clone(first)
	for i, k := range keys {
		if k >= 0 {
			row[next[k]] = int32(i)
			next[k]++
		}
	}
	return first, row
}

// Parents returns, for each row, the row of the event of its thread that encloses
// it, −1 for none. Rows are sorted.
func (c *Columns) Parents() []int32 {
	type open struct {
		row int32
		end int64
	}
	parents := make([]int32, c.Len())
	var stack []open
	for i, start := range c.Start {
		if i > 0 && c.Thread[i] != c.Thread[i-1] {
			stack = stack[:0]
		}
		end, n := start+c.Dur[i], len(stack)
		for n > 0 && (stack[n-1].end < end || stack[n-1].end == start && end > start) {
			n--
		}
		parents[i] = -1
		if n > 0 {
			parents[i] = stack[n-1].row
		}
		stack = append(stack[:n], open{int32(i), end})
	}
	return parents
}

// Jumps returns, for each row, one further out, −1 for none, so that any row
// around it is reached in a number of jumps and steps that grows with the
// logarithm of the depth (a skew-binary list).
func Jumps(parents []int32) []int32 {
	jumps := make([]int32, len(parents))
	length := make([]int32, len(parents)) // of each jump, in steps
	for i, up := range parents {
		jumps[i], length[i] = up, 1
		if up < 0 {
			continue
		}
		if j := jumps[up]; j >= 0 && jumps[j] >= 0 && length[up] == length[j] {
			jumps[i], length[i] = jumps[j], 2*length[up]+1
		}
	}
	return jumps
}
