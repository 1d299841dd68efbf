package trace

import (
	"context"
	"slices"
	"sort"
	"strings"
	"sync"
)

// IsGraphLaunchName reports whether name is an API call that replays a
// captured graph: cudaGraphLaunch, cuGraphLaunch, hipGraphLaunch, with or
// without a version suffix.
func IsGraphLaunchName(name string) bool { return strings.Contains(name, "GraphLaunch") }

// IsLaunchName reports whether name is an API call that can put work on a
// stream: a kernel or graph launch, a copy or a set. Such a call explains an
// activity; others that share a correlation id, such as event queries, do not.
func IsLaunchName(name string) bool {
	return strings.Contains(name, "aunch") || strings.Contains(name, "emcpy") || strings.Contains(name, "emset")
}

type corrKey struct {
	scope uint16
	corr  CorrelationID
	row   int32
}

// lessCorr orders by scope, then correlation. Keys are made in the order of
// their rows, and sorted stably.
func lessCorr(a, b corrKey) bool {
	if a.scope != b.scope {
		return a.scope < b.scope
	}
	return a.corr < b.corr
}

func (t *Trace) corrKeys(ctx context.Context, l Lane) []corrKey {
	c := &t.lanes[l]
	out := make([]corrKey, 0, c.len())
	for i := range c.start {
		if id := c.corr.at(i); id != NoCorrelation {
			out = append(out, corrKey{c.scope.at(i), id, int32(i)})
		}
	}
	return sortCorr(ctx, out)
}

// sortCorr sorts keys that are in the order of their rows. Each process counts
// its ids upwards, so once the scopes are apart the keys are usually in order.
func sortCorr(ctx context.Context, keys []corrKey) []corrKey {
	if !slices.ContainsFunc(keys, func(k corrKey) bool { return k.scope != keys[0].scope }) {
		return sortRuns(ctx, keys, lessCorr)
	}
	var first []int // of each scope, in the result
	for _, k := range keys {
		for len(first) <= int(k.scope)+1 {
			first = append(first, 0)
		}
		first[int(k.scope)+1]++
	}
	for s := 1; s < len(first); s++ {
		first[s] += first[s-1]
	}
	next := slices.Clone(first)
	out := make([]corrKey, len(keys))
	for _, k := range keys {
		out[next[k.scope]] = k
		next[k.scope]++
	}
	for s := range len(first) - 1 {
		part := out[first[s]:first[s+1]]
		copy(part, sortRuns(ctx, part, lessCorr))
	}
	return out
}

// linkLaunches fills launchOf: the launch with the activity's scope and
// correlation. Correlation ids repeat when ranks were merged into one file or
// when a counter wrapped; then the last launch that began before the activity
// is its cause, or the first one if all began later. Calls that put work on a
// stream win over calls that merely share the id.
func (t *Trace) linkLaunches(ctx context.Context) error {
	n := t.lanes[LaneGPU].len()
	t.launchOf = make([]int32, n)
	for i := range t.launchOf {
		t.launchOf[i] = -1
	}
	var acts, calls []corrKey
	var both sync.WaitGroup
	both.Go(func() { acts = t.corrKeys(ctx, LaneGPU) })
	both.Go(func() { calls = t.corrKeys(ctx, LaneLaunch) })
	both.Wait()
	var group []int32 // reused: there is one group per correlation id
	g, c := &t.lanes[LaneGPU], &t.lanes[LaneLaunch]
	j, checked := 0, 0
	for i := 0; i < len(acts); {
		if i >= checked {
			if err := ctx.Err(); err != nil {
				return err
			}
			checked = i + checkEvery
		}
		a := acts[i]
		for j < len(calls) && (calls[j].scope < a.scope || calls[j].scope == a.scope && calls[j].corr < a.corr) {
			j++
		}
		lo := j
		hi := lo
		for hi < len(calls) && calls[hi].scope == a.scope && calls[hi].corr == a.corr {
			hi++
		}
		group = t.launchesFirst(group[:0], calls[lo:hi])
		for ; i < len(acts) && acts[i].scope == a.scope && acts[i].corr == a.corr; i++ {
			if len(group) == 0 {
				continue
			}
			row := acts[i].row
			// group is sorted by start: the last one that began before the activity.
			k := sort.Search(len(group), func(k int) bool { return c.start[group[k]] > g.start[row] })
			if k > 0 {
				k--
			}
			t.launchOf[row] = group[k]
		}
		j = hi
	}
	return ctx.Err()
}

// launchesFirst appends to rows those of one correlation id that explain
// activities, by start.
func (t *Trace) launchesFirst(rows []int32, keys []corrKey) []int32 {
	c := &t.lanes[LaneLaunch]
	for _, k := range keys {
		if IsLaunchName(t.names[c.name[k.row]]) {
			rows = append(rows, k.row)
		}
	}
	if len(rows) == 0 {
		for _, k := range keys {
			rows = append(rows, k.row)
		}
	}
	if len(rows) < 2 {
		return rows
	}
	slices.SortStableFunc(rows, func(a, b int32) int {
		switch {
		case c.start[a] < c.start[b]:
			return -1
		case c.start[a] > c.start[b]:
			return 1
		}
		return 0
	})
	return rows
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
	for i := int32(k); i >= 0; i = p[i] {
		if c.start[i]+Time(c.dur[i]) >= x {
			return Event{t, t.base[l] + EventID(i)}
		}
	}
	return Event{}
}

// OpAt returns the innermost CPU op on thread th that is running at x.
func (t *Trace) OpAt(th ThreadIndex, x Time) Event { return t.at(LaneOp, th, x) }

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
