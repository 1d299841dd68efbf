package trace

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"
	"strings"
)

// IsGraphLaunchName reports whether name is an API call that replays a
// captured graph: cudaGraphLaunch, cuGraphLaunch, hipGraphLaunch, with or
// without a version suffix.
func IsGraphLaunchName(name string) bool { return strings.Contains(name, "GraphLaunch") }

// isLaunchName reports whether name is an API call that can put work on a
// stream: a kernel or graph launch, a copy or a set. Such a call explains an
// activity; others that share a correlation id, such as event queries, do not.
func isLaunchName(name string) bool {
	return strings.Contains(name, "aunch") || strings.Contains(name, "emcpy") || strings.Contains(name, "emset")
}

// corrKey is a correlation id and the scope it counts in.
type corrKey struct {
	scope uint16
	corr  CorrelationID
}

// callIndex finds the rows of the launch lane by scope and correlation id.
//
// Each process counts its ids upwards, so they index a table directly; where the
// ids of a scope lie too far apart for that, a map numbers them.
type callIndex struct {
	spans []idSpan          // by scope
	rest  map[corrKey]int32 // numbers of the ids of scopes without a span

	// Rows of id number k, in the order linkLaunches wants: row[first[k]:first[k+1]].
	// Rows of calls that do not count are replaced by −1, behind the others.
	first, row []int32
}

// idSpan is the range of one scope's ids. Id low is number base; size is 0
// where the map has the numbers.
type idSpan struct {
	low   CorrelationID
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
		if d := uint64(k.corr - s.low); d < s.size {
			return s.base + int32(d)
		}
	}
	if n, ok := x.rest[k]; ok {
		return n
	}
	return -1
}

// indexCalls indexes the launch lane.
func (t *Trace) indexCalls(ctx context.Context) (*callIndex, error) {
	c := &t.lanes[LaneLaunch]
	x := &callIndex{}
	for i := range c.start {
		id := c.corr.at(i)
		if id == NoCorrelation {
			continue
		}
		scope := int(c.scope.at(i))
		for len(x.spans) <= scope {
			x.spans = append(x.spans, idSpan{})
		}
		s := &x.spans[scope]
		if s.count++; s.count == 1 {
			s.low = id
		}
		// Until all are seen, size is the distance of the highest id from the lowest.
		if id < s.low {
			s.size += uint64(s.low - id)
			s.low = id
		}
		s.size = max(s.size, uint64(id-s.low))
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
	numbers := make([]int32, c.len())
	for i := range numbers {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		numbers[i] = -1
		k := corrKey{c.scope.at(i), c.corr.at(i)}
		if k.corr == NoCorrelation {
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
	x.first, x.row = group(numbers, int(n))
	return x, t.orderCalls(ctx, x)
}

// orderCalls puts the calls that share an id in the order of their starts. Calls
// that put work on a stream win over calls that merely share the id.
func (t *Trace) orderCalls(ctx context.Context, x *callIndex) error {
	c := &t.lanes[LaneLaunch]
	known := make([]int8, len(t.names)) // of each name: 1 launches, −1 does not
	launches := func(row int32) bool {
		k := &known[c.name[row]]
		if *k == 0 {
			if *k = -1; isLaunchName(t.names[c.name[row]]) {
				*k = 1
			}
		}
		return *k > 0
	}
	for k := range len(x.first) - 1 {
		if k%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		rows := x.row[x.first[k]:x.first[k+1]]
		if len(rows) < 2 {
			continue
		}
		n := 0
		for _, row := range rows {
			if launches(row) {
				n++
			}
		}
		if n > 0 && n < len(rows) {
			keep := rows[:0]
			for _, row := range rows {
				if launches(row) {
					keep = append(keep, row)
				}
			}
			for i := n; i < len(rows); i++ {
				rows[i] = -1
			}
			rows = keep
		}
		// Stable: rows are in the order of thread and start.
		slices.SortStableFunc(rows, func(a, b int32) int { return cmp.Compare(c.start[a], c.start[b]) })
	}
	return nil
}

// linkLaunches fills launchOf: the launch with the activity's scope and
// correlation. Correlation ids repeat when ranks were merged into one file or
// when a counter wrapped; then the last launch that began before the activity
// is its cause, or the first one if all began later.
func (t *Trace) linkLaunches(ctx context.Context) error {
	x, err := t.indexCalls(ctx)
	if err != nil {
		return err
	}
	g, c := &t.lanes[LaneGPU], &t.lanes[LaneLaunch]
	t.launchOf = make([]int32, g.len())
	for i := range t.launchOf {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		t.launchOf[i] = -1
		id := g.corr.at(i)
		if id == NoCorrelation {
			continue
		}
		k := x.number(corrKey{g.scope.at(i), id})
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
			j = max(0, sort.Search(len(rows), func(j int) bool { return rows[j] < 0 || c.start[rows[j]] > g.start[i] })-1)
		}
		t.launchOf[i] = rows[j]
	}
	return ctx.Err()
}

func (t *Trace) launchEvent(i int) Event {
	if l := t.launchOf[i]; l >= 0 {
		return Event{t, t.base[LaneLaunch] + EventID(l)}
	}
	return Event{}
}

// activitiesOf returns the activity rows of launch row l.
func (t *Trace) activitiesOf(l int) []int32 {
	z := &t.lazy.activities
	z.Do(func() {
		z.first, z.row = group(t.launchOf, t.lanes[LaneLaunch].len())
	})
	return z.row[z.first[l]:z.first[l+1]]
}

func (t *Trace) indexStreams() {
	z := &t.lazy.streams
	z.first, z.row = group(t.lanes[LaneGPU].queue, len(t.queues))
	z.of = make(map[queue]int32, len(t.queues))
	for k, q := range t.queues {
		z.of[q] = int32(k)
	}
}

// group lists, for each key in [0, n), the indices of keys that hold it, in
// order: row[first[k]:first[k+1]]. Negative keys belong to no group.
func group(keys []int32, n int) (first, row []int32) {
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

// parents returns, per row of lane l, the row of the enclosing event on the
// same thread, −1 for none.
func (t *Trace) parents(l Lane) []int32 {
	z := &t.lazy.parents[l]
	z.Do(func() {
		c := &t.lanes[l]
		z.row = make([]int32, c.len())
		var stack []int32
		for i := range c.start {
			if i > 0 && c.thread[i] != c.thread[i-1] {
				stack = stack[:0]
			}
			for len(stack) > 0 {
				top := stack[len(stack)-1]
				if c.start[top]+Time(c.dur[top]) >= c.start[i]+Time(c.dur[i]) && (c.start[top]+Time(c.dur[top]) > c.start[i] || c.dur[i] == 0) {
					break
				}
				stack = stack[:len(stack)-1]
			}
			z.row[i] = -1
			if len(stack) > 0 {
				z.row[i] = stack[len(stack)-1]
			}
			stack = append(stack, int32(i))
		}
	})
	return z.row
}

func (t *Trace) parentOf(e Event) Event {
	l := e.Lane()
	if p := t.parents(l)[int(e.id-t.base[l])]; p >= 0 {
		return Event{t, t.base[l] + EventID(p)}
	}
	return Event{}
}

// at returns the innermost event of lane l on thread th whose closed interval
// holds x.
func (t *Trace) at(l Lane, th ThreadIndex, x Time) Event {
	lo, hi := t.threadRange(l, th)
	if lo == hi || th == NoThread {
		return Event{}
	}
	c := &t.lanes[l]
	k := lo + sort.Search(hi-lo, func(i int) bool { return c.start[lo+i] > x }) - 1
	if k < lo {
		return Event{}
	}
	p := t.parents(l)
	var jumps []int32
	for i, steps := int32(k), 0; i >= 0; steps++ {
		if c.start[i]+Time(c.dur[i]) >= x {
			return Event{t, t.base[l] + EventID(i)}
		}
		if steps == plainSteps {
			jumps = t.jumps(l)
		}
		// What encloses an event ends no earlier: where the jump has ended, all before it have.
		if jumps != nil && jumps[i] >= 0 && c.start[jumps[i]]+Time(c.dur[jumps[i]]) < x {
			i = jumps[i]
		}
		i = p[i]
	}
	return Event{}
}

// plainSteps is how many ended events are stepped over one by one before the
// jumps of the lane are made. Stacks of programs have some dozens.
const plainSteps = 64

// jumps returns, per row of lane l, a row further out, −1 for none, so that any
// row around it is reached in a number of jumps and steps that grows with the
// logarithm of the depth (a skew-binary list).
func (t *Trace) jumps(l Lane) []int32 {
	z := &t.lazy.jumps[l]
	z.Do(func() {
		p := t.parents(l)
		z.row = make([]int32, len(p))
		length := make([]int32, len(p)) // of each jump, in steps
		for i, up := range p {
			z.row[i], length[i] = up, 1
			if up < 0 {
				continue
			}
			if j := z.row[up]; j >= 0 && z.row[j] >= 0 && length[up] == length[j] {
				z.row[i], length[i] = z.row[j], 2*length[up]+1
			}
		}
	})
	return z.row
}

// opAt returns the innermost CPU op on thread th that is running at x.
func (t *Trace) opAt(th ThreadIndex, x Time) Event { return t.at(LaneOp, th, x) }

// FrameAt returns the innermost Python or module frame on thread th at x.
func (t *Trace) FrameAt(th ThreadIndex, x Time) Event { return t.at(LanePython, th, x) }

// AnnotationAt returns the innermost annotation or NVTX range on thread th at x.
func (t *Trace) AnnotationAt(th ThreadIndex, x Time) Event { return t.at(LaneAnnotation, th, x) }

// OpByExternalID returns the CPU op that carries an External id; when several
// do, the first by thread and start.
func (t *Trace) OpByExternalID(id uint64) Event {
	if id == 0 {
		return Event{}
	}
	z := &t.lazy.external
	z.Do(func() {
		c := &t.lanes[LaneOp]
		z.row = make([]int32, 0, c.len())
		for i := range c.start {
			if c.ext.at(i) != 0 {
				z.row = append(z.row, int32(i))
			}
		}
		slices.SortStableFunc(z.row, func(a, b int32) int {
			x, y := c.ext.at(int(a)), c.ext.at(int(b))
			switch {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		})
		z.id = make([]uint64, len(z.row))
		for k, i := range z.row {
			z.id[k] = c.ext.at(int(i))
		}
	})
	k, ok := slices.BinarySearch(z.id, id)
	if !ok {
		return Event{}
	}
	return Event{t, t.base[LaneOp] + EventID(z.row[k])}
}
