package column

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"
)

// corrKey is a correlation id and the scope it counts in.
type corrKey struct {
	scope uint16
	corr  uint64
}

// callIndex finds the rows of the launch lane by scope and correlation id.
//
// Each process counts its ids upwards, so they index a table directly; where the
// ids of a scope lie too far apart for that, a map numbers them.
type callIndex struct {
	spans []idSpan          // by scope
	rest  map[corrKey]int32 // numbers of the ids of scopes without a span

	// Rows of id number k, in the order Launches wants: row[first[k]:first[k+1]].
	// Rows of calls that do not count are replaced by −1, after the others.
	first, row []int32
}

// idSpan is the range of one scope's ids. Id low is number base; size is 0
// where the map has the numbers.
type idSpan struct {
	low   uint64
	size  uint64
	count uint64 // of calls
	base  int32
}

// maxSpread is how many numbers a table may have for each call.
const maxSpread = 8

// number returns the number of an id, −1 for one that no call has.
func (x *callIndex) number(k corrKey) int32 {
	if int(k.scope) < len(x.spans) {
		s := &x.spans[k.scope]
		if d := k.corr - s.low; d < s.size {
			return s.base + int32(d)
		}
	}
	if n, ok := x.rest[k]; ok {
		return n
	}
	return -1
}

// indexCalls indexes the calls c by ids. Those that launch win, see orderCalls.
func (c *Columns) indexCalls(ctx context.Context, ids *Sparse[uint64], launches func(name uint32) bool) (*callIndex,
	error) {
	x := &callIndex{}
	for i := range c.Start {
		id := ids.At(i)
		if id == 0 {
			continue
		}
		scope := int(c.Scope.At(i))
		for len(x.spans) <= scope {
			x.spans = append(x.spans, idSpan{})
		}
		s := &x.spans[scope]
		if s.count++; s.count == 1 {
			s.low = id
		}
		// Until all are seen, size is the distance of the highest id from the lowest.
		if id < s.low {
			s.size += s.low - id
			s.low = id
		}
		s.size = max(s.size, id-s.low)
	}
	var n int32
	for i := range x.spans {
		s := &x.spans[i]
		if s.count == 0 || s.size >= maxSpread*s.count || s.size >= uint64(math.MaxInt32-n) {
			s.size = 0
			continue
		}
		s.size++
		s.base = n
		n += int32(s.size)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	numbers := make([]int32, c.Len())
	for i := range numbers {
		if ended(ctx, i) {
			return nil, ctx.Err()
		}
		numbers[i] = -1
		k := corrKey{c.Scope.At(i), ids.At(i)}
		if k.corr == 0 {
			continue
		}
		if numbers[i] = x.number(k); numbers[i] < 0 {
			if x.rest == nil {
				x.rest = map[corrKey]int32{}
			}
			x.rest[k] = n
			numbers[i] = n
			n++
		}
	}
	x.first, x.row = Group(numbers, int(n))
	return x, c.orderCalls(ctx, x, launches)
}

// orderCalls puts the calls that share an id in the order of their starts. Calls
// that put work on a stream win over calls that merely share the id.
func (c *Columns) orderCalls(ctx context.Context, x *callIndex, launches func(name uint32) bool) error {
	for k := range len(x.first) - 1 {
		if ended(ctx, k) {
			return ctx.Err()
		}
		rows := x.row[x.first[k]:x.first[k+1]]
		if len(rows) < 2 {
			continue
		}
		n := 0
		for _, row := range rows {
			if launches(c.Name[row]) {
				n++
			}
		}
		if n > 0 && n < len(rows) {
			keep := rows[:0]
			for _, row := range rows {
				if launches(c.Name[row]) {
					keep = append(keep, row)
				}
			}
			for i := n; i < len(rows); i++ {
				rows[i] = -1
			}
			rows = keep
		}
		// Stable: rows are in the order of thread and start.
		slices.SortStableFunc(rows, func(a, b int32) int { return cmp.Compare(c.Start[a], c.Start[b]) })
	}
	return nil
}

// IDs are numbers by which activities find their launches: those of the
// activities, and those of the calls.
type IDs struct {
	Activities *Sparse[uint64] // by row of the activities
	Calls      *Sparse[uint64] // by row of the calls
}

// Link fills launchOf for the activities of g that have no launch in c yet, −1,
// and returns how many it linked: the launch is the call with the activity's
// scope and id. Ids repeat when ranks were merged into one file or when a counter
// wrapped; then the last call that began before the activity is its cause, or the
// first one if all began later. Calls whose name launches nothing give way to
// those that do; strict leaves them out.
func Link(ctx context.Context, g, c *Columns, ids IDs, launchOf []int32, launches func(name uint32) bool,
	strict bool) (linked int, err error) {
	if len(ids.Activities.V) == 0 || len(ids.Calls.V) == 0 {
		return 0, ctx.Err()
	}
	x, err := c.indexCalls(ctx, ids.Calls, launches)
	if err != nil {
		return 0, err
	}
	for i := range launchOf {
		if ended(ctx, i) {
			return linked, ctx.Err()
		}
		id := ids.Activities.At(i)
		if id == 0 || launchOf[i] >= 0 {
			continue
		}
		k := x.number(corrKey{g.Scope.At(i), id})
		if k < 0 {
			continue
		}
		rows := x.row[x.first[k]:x.first[k+1]]
		if len(rows) == 0 { // an id between those of the calls
			continue
		}
		// The last one that began before the activity.
		j := 0
		if len(rows) > 1 {
			j = max(0, sort.Search(len(rows), func(j int) bool {
				return rows[j] < 0 ||
					c.Start[rows[j]] > g.Start[i]
			})-1)
		}
		if strict && !launches(c.Name[rows[j]]) {
			continue
		}
		launchOf[i] = rows[j]
		linked++
	}
	return linked, ctx.Err()
}
