package trace

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"strings"

	"github.com/llmstrata/strata/internal/apicall"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/internal/column"
)

// isLaunchName reports whether name is an API call that can put work on a
// stream: a kernel or graph launch, a copy or a set. Such a call explains an
// activity; others that share a correlation id, such as event queries, do not.
func isLaunchName(name string) bool {
	return strings.Contains(name, "aunch") || strings.Contains(name, "emcpy") || strings.Contains(name, "emset")
}

// linkLaunches fills launchOf: the call that caused each activity.
func (t *Trace) linkLaunches(ctx context.Context) (err error) {
	known := make([]int8, len(t.names)) // of each name: 1 launches, −1 does not
	t.launchOf, err = column.Launches(ctx, &t.lanes[event.LaneGPU], &t.lanes[event.LaneLaunch], func(name uint32) bool {
		k := &known[name]
		if *k == 0 {
			if *k = -1; isLaunchName(t.names[name]) {
				*k = 1
			}
		}
		return *k > 0
	})
	t.graph = make([]bool, len(t.names))
	for i, name := range t.names {
		t.graph[i] = apicall.IsGraphLaunch(name)
	}
	return err
}

// replays reports whether launch row l replays a graph.
func (t *Trace) replays(l int32) bool { return t.graph[t.lanes[event.LaneLaunch].Name[l]] }

func (t *Trace) launchEvent(i int) Event {
	if l := t.launchOf[i]; l >= 0 {
		return Event{t, t.base[event.LaneLaunch] + EventID(l)}
	}
	return Event{}
}

// activitiesOf returns the activity rows of launch row l.
func (t *Trace) activitiesOf(l int) []int32 {
	z := &t.lazy.activities
	z.Do(func() {
		z.first, z.row = column.Group(t.launchOf, t.lanes[event.LaneLaunch].Len())
	})
	return z.row[z.first[l]:z.first[l+1]]
}

func (t *Trace) indexStreams() {
	z := &t.lazy.streams
	z.first, z.row = column.Group(t.lanes[event.LaneGPU].Queue, len(t.queues))
	z.of = make(map[queue]int32, len(t.queues))
	for k, q := range t.queues {
		z.of[q] = int32(k)
	}
}

// parents returns, per row of lane l, the row of the enclosing event on the
// same thread, −1 for none.
func (t *Trace) parents(l event.Lane) []int32 {
	z := &t.lazy.parents[l]
	z.Do(func() {
		z.row = t.lanes[l].Parents()
	})
	return z.row
}

func (t *Trace) parentOf(e Event) Event {
	l := e.lane()
	if p := t.parents(l)[int(e.id-t.base[l])]; p >= 0 {
		return Event{t, t.base[l] + EventID(p)}
	}
	return Event{}
}

// Innermost returns the innermost event of lane l on thread th that is running
// at x: a frame, an annotation or NVTX range, an op. Both ends of an event belong
// to it.
func (t *Trace) Innermost(l event.Lane, th ThreadIndex, x Time) Event {
	lo, hi := t.threadRange(l, th)
	if lo == hi || th == None {
		return Event{}
	}
	c := &t.lanes[l]
	k := lo + sort.Search(hi-lo, func(i int) bool { return c.Start[lo+i] > int64(x) }) - 1
	if k < lo {
		return Event{}
	}
	p := t.parents(l)
	var jumps []int32
	for i, steps := int32(k), 0; i >= 0; steps++ {
		if c.End(int(i)) >= int64(x) {
			return Event{t, t.base[l] + EventID(i)}
		}
		if steps == plainSteps {
			jumps = t.jumps(l)
		}
		// What encloses an event ends no earlier: where the jump has ended, all before it have.
		if jumps != nil && jumps[i] >= 0 && c.End(int(jumps[i])) < int64(x) {
			i = jumps[i]
		}
		i = p[i]
	}
	return Event{}
}

// plainSteps is how many ended events are stepped over one by one before the
// jumps of the lane are made. Stacks of programs have some dozens.
const plainSteps = 64

// jumps returns, per row of lane l, a row further out; see column.Jumps.
func (t *Trace) jumps(l event.Lane) []int32 {
	z := &t.lazy.jumps[l]
	z.Do(func() { z.row = column.Jumps(t.parents(l)) })
	return z.row
}

// opAt returns the innermost CPU op on thread th that is running at x.
func (t *Trace) opAt(th ThreadIndex, x Time) Event { return t.Innermost(event.LaneOp, th, x) }

// OpByExternalID returns the CPU op that carries an External id; when several
// do, the first by thread and start.
func (t *Trace) OpByExternalID(id uint64) Event {
	if id == 0 {
		return Event{}
	}
	z := &t.lazy.external
	z.Do(func() {
		c := &t.lanes[event.LaneOp]
		z.row = make([]int32, 0, c.Len())
		for i := range c.Start {
			if c.Ext.At(i) != 0 {
				z.row = append(z.row, int32(i))
			}
		}
		slices.SortStableFunc(z.row, func(a, b int32) int { return cmp.Compare(c.Ext.At(int(a)), c.Ext.At(int(b))) })
		z.id = make([]uint64, len(z.row))
		for k, i := range z.row {
			z.id[k] = c.Ext.At(int(i))
		}
	})
	k, ok := slices.BinarySearch(z.id, id)
	if !ok {
		return Event{}
	}
	return Event{t, t.base[event.LaneOp] + EventID(z.row[k])}
}
