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

// Ends holds the latest ends of endsOf rows each, of endsOf times as many, and so on: by them a row that ends late
// enough is found without looking at all between. A row lies in the last one before it that ends no earlier, as rows
// are sorted by start.
type Ends [][]int64

// endsOf is how many ends are summed up in one, a power of two: with so few, a row that lies in none is known in a few
// dozen steps, and they take half a byte a row.
const (
	endsBits = 4
	endsOf   = 1 << endsBits
)

// Ends returns the latest ends of all rows.
func (c *Columns) Ends() (all Ends) {
	above := make([]int64, 0, c.Len()/endsOf)
	for i := endsOf; i <= c.Len(); i += endsOf {
		last := c.End(i - endsOf)
		for k := i - endsOf + 1; k < i; k++ {
			last = max(last, c.End(k))
		}
		above = append(above, last)
	}
	for len(above) > 0 {
		ends := above
		all, above = append(all, ends), nil
		for ; len(ends) >= endsOf; ends = ends[endsOf:] {
			above = append(above, slices.Max(ends[:endsOf]))
		}
	}
	return all
}

// Last returns the last of the rows lo up to i that ends at a time or later, −1 for none.
func (all Ends) Last(c *Columns, lo, i int, end int64) int {
	for i >= lo {
		if c.End(i) >= end {
			return i
		}
		bits := 0 // so many rows end before, as a power of two
		for l := 0; l < len(all); l++ {
			up := bits + endsBits
			if (i+1)&(1<<up-1) != 0 || all[l][i>>up] >= end {
				break
			}
			bits = up
		}
		i -= 1 << bits
	}
	return -1
}
