package trace

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"strings"

	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/internal/vocabulary"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/internal/column"
)

// isLaunchName reports whether name is an API call that can put work on a
// stream: a kernel or graph launch, a copy or a set. Such a call explains an
// activity; others that share a correlation id, such as event queries, do not.
func isLaunchName(name string) bool {
	return strings.Contains(name, "aunch") || strings.Contains(name, "emcpy") || strings.Contains(name, "emset")
}

// Link is what joins an activity with the call that launched it, or with its op.
type Link uint8

// The links, the best first after none.
const (
	LinkNone        Link = iota // an orphan
	LinkCorrelation             // activity and call carry the same correlation
	// a flow arrow whose id is that of another arrow's end at the call, the call's correlation or its External id
	LinkFlow
	LinkExternal // activity and call carry the same External id
	LinkGraph    // other activities of the same graph belong to the call
	LinkOp       // no call: activity and op carry the same External id
	links
)

var linkNames = [links]string{"", "correlation", "flow", "external-id", "graph-id", "op-external-id"}

// String returns the link's name, "" for none.
func (l Link) String() string {
	if l >= links {
		return "unknown"
	}
	return linkNames[l]
}

// MarshalText returns the link's name.
func (l Link) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText sets l to the link of a name; others are an error.
func (l *Link) UnmarshalText(text []byte) error {
	return vocabulary.Read(l, "link", append(Links(), LinkNone), text)
}

// Links lists all links but none.
func Links() []Link {
	return []Link{LinkCorrelation, LinkFlow, LinkExternal, LinkGraph, LinkOp}
}

// linkLaunches fills launchOf, the call that caused each activity, and linkOf.
func (t *Trace) linkLaunches(ctx context.Context, flows []flow) error {
	known := make([]int8, len(t.names)) // of each name: 1 launches, −1 does not
	launches := func(name uint32) bool {
		k := &known[name]
		if *k == 0 {
			if *k = -1; isLaunchName(t.names[name]) {
				*k = 1
			}
		}
		return *k > 0
	}
	t.graph = make([]bool, len(t.names))
	for i, name := range t.names {
		t.graph[i] = kind.IsGraphLaunch(name)
	}
	g, c := &t.lanes[event.LaneGPU], &t.lanes[event.LaneLaunch]
	t.launchOf = make([]int32, g.Len())
	for i := range t.launchOf {
		t.launchOf[i] = -1
	}
	left := g.Len()
	n, err := column.Link(ctx, g, c, column.IDs{Activities: &g.Corr, Calls: &c.Corr}, t.launchOf, launches, false)
	if left -= n; err != nil || left == 0 || c.Len() == 0 {
		return err
	}
	t.mark(LinkCorrelation)
	ends := t.flowsOf(flows)
	var external column.Sparse[uint64]
	for i := range t.launchOf {
		if t.uncorrelated(i) {
			external.Set(i, g.Ext.At(i))
		}
	}
	for _, step := range []struct {
		ids  column.IDs
		link Link
	}{
		{column.IDs{Activities: &ends[0], Calls: &ends[1]}, LinkFlow},
		{column.IDs{Activities: &ends[0], Calls: &c.Corr}, LinkFlow},
		{column.IDs{Activities: &ends[0], Calls: &c.Ext}, LinkFlow},
		{column.IDs{Activities: &external, Calls: &c.Ext}, LinkExternal},
	} {
		if n, err = column.Link(ctx, g, c, step.ids, t.launchOf, launches, true); err != nil {
			return err
		}
		if left -= n; n > 0 {
			t.mark(step.link)
		}
		if left == 0 {
			return nil
		}
	}
	t.linkGraphs()
	return nil
}

// uncorrelated reports whether an activity was recorded without a correlation. The call of
// one that has it and no call is outside the window.
func (t *Trace) uncorrelated(i int) bool {
	return t.lanes[event.LaneGPU].Corr.At(i) == 0 || len(t.lanes[event.LaneLaunch].Corr.V) == 0
}

// mark notes that launches that no link is noted for rest on l.
func (t *Trace) mark(l Link) {
	if t.linkOf == nil {
		t.linkOf = make([]Link, len(t.launchOf))
	}
	for i, row := range t.launchOf {
		if row >= 0 && t.linkOf[i] == LinkNone {
			t.linkOf[i] = l
		}
	}
}

// flowsOf returns the ids of the flows that end at activities and begin at calls,
// by row. A flow belongs to the event that starts at its place and time.
func (t *Trace) flowsOf(flows []flow) (ends [2]column.Sparse[uint64]) {
	if len(flows) == 0 {
		return ends
	}
	type place struct{ start, pid, tid int64 }
	var at [2]map[place]uint64
	for i := range at {
		at[i] = map[place]uint64{}
	}
	for _, f := range flows {
		side := 1
		if f.finish {
			side = 0
		}
		at[side][place{f.start - t.origin, f.pid, f.tid}] = f.id
	}
	g, c := &t.lanes[event.LaneGPU], &t.lanes[event.LaneLaunch]
	for i, start := range g.Start {
		q := t.queues[g.Queue[i]]
		ends[0].Set(i, at[0][place{start, int64(q.device), int64(q.stream)}])
	}
	for i, start := range c.Start {
		th := t.Thread(ThreadIndex(c.Thread[i]))
		ends[1].Set(i, at[1][place{start, th.Process, th.ID}])
	}
	return ends
}

// linkGraphs gives activities of a graph that have no launch the last replay before them
// that other activities of the graph belong to. A replay runs each node once.
func (t *Trace) linkGraphs() {
	g, c := &t.lanes[event.LaneGPU], &t.lanes[event.LaneLaunch]
	if len(g.Graph.V) == 0 || len(g.Node.V) == 0 {
		return
	}
	type run struct {
		launch int32
		node   uint64
	}
	ran, missing := map[run]bool{}, false
	for i, l := range t.launchOf {
		switch {
		case l >= 0 && g.Graph.At(i) != 0:
			ran[run{l, g.Node.At(i)}] = true
		case l < 0:
			missing = missing || g.Node.At(i) != 0 && t.uncorrelated(i)
		}
	}
	if !missing {
		return
	}
	last := map[uint64]int32{} // launch by graph
	for i := range t.launchOf {
		id, node := g.Graph.At(i), g.Node.At(i)
		if id == 0 || node == 0 {
			continue
		}
		if l := t.launchOf[i]; l >= 0 {
			last[id] = l
		} else if l, ok := last[id]; ok && t.uncorrelated(i) && t.replays(l) && c.Start[l] <= g.Start[i] &&
			!ran[run{l, node}] {
			t.launchOf[i] = l
			ran[run{l, node}] = true
		}
	}
	t.mark(LinkGraph)
}

// replays reports whether launch row l replays a graph.
func (t *Trace) replays(l int32) bool { return t.graph[t.lanes[event.LaneLaunch].Name[l]] }

func (t *Trace) launchEvent(i int) Event {
	if l := t.launchOf[i]; l >= 0 {
		return Event{t, l, event.LaneLaunch}
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

// endsOf are the ends of lane l.
func (t *Trace) endsOf(l event.Lane) column.Ends {
	z := &t.lazy.ends[l]
	z.Do(func() { z.Ends = t.lanes[l].Ends() })
	return z.Ends
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
	if k = t.endsOf(l).Last(c, lo, k, int64(x)); k < 0 {
		return Event{}
	}
	return Event{t, int32(k), l}
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
	return Event{t, z.row[k], event.LaneOp}
}
