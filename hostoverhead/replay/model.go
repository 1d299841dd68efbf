package replay

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/internal/waits"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// none is no node.
const none = -1

// Times of the model, in ns.
const (
	crossLeast   = 10_000 // a start that is later than stream and launch explain by more may wait for another stream
	unknownLeast = 30_000 // and by more than this, for something that is not in the trace
	waitReturn   = 50_000 // a call that waits returns within this time of what it waits for
	emptySync    = 3_000  // what a synchronising call takes that has nothing to wait for
)

// act is one activity of the GPU.
type act struct {
	id     trace.EventID
	name   trace.NameID
	start  int64
	d      int64
	stream int32
	item   int32
	pass   int32
	prev   int32 // the act before it on its stream, in issue order
	cross  int32 // an act of another stream that it waits for
	crossG int64 // from the end of that to its start
	pred   int32 // the node before it in its graph
	predG  int64 // from the end of that to its start, may be negative
	lat    int64 // from the start of its call
	gap    int64 // from the end of prev
	hold   int64 // beyond what explains its start
	bound  bool  // by its launch
	tail   bool  // the first of a graph on its stream
	comm   bool  // it exchanges data with other GPUs
	copies bool
	runsOn bool // a copy that the host does not wait for
}

// item is one call of the host.
type item struct {
	id          trace.EventID
	name        trace.NameID
	thread      int32
	start, d    int64
	pre         int64 // host time since the call before on its thread
	first, acts int32 // its acts
	waits       int32 // the act that it waits for
	ret         int64 // from the end of that to its return
	lat         int64 // from its start to that of what it launches, fitted
	graph       bool
}

// model is the part of a trace on one device.
type model struct {
	t         *trace.Trace
	d         *layer.Device
	general   func(trace.NameID) string // the generalised form of a name
	items     []item
	acts      []act    // in issue order
	recorded  []edited // by act, see unedited
	planned   plan     // the room of the last plan
	launching []trace.ThreadIndex
	streams   map[trace.StreamID]int32
	gaps      [2][2]int64 // by whether an act, and the one before it, is a copy
	ret       int64
	agreed    map[edges][]bool // steps that replays without these edges reproduce, see agree
	passes    int
	hidden    string  // why nothing can be said at all
	base      []int64 // steps as recorded
	sound     []bool  // those that the replay reproduces, and that wait for nothing that is not in the trace
}

// build reads a device. The error is ctx's.
func build(ctx context.Context, d *layer.Device) (*model, error) {
	m := &model{t: d.Analysis().Trace(), d: d, streams: map[trace.StreamID]int32{}, passes: len(d.Passes),
		agreed: map[edges][]bool{}}
	m.general = names.ByName(m.t, names.Generalise)
	if err := m.read(ctx); err != nil {
		return nil, err
	}
	if m.hidden == "" {
		m.fit()
		m.explain()
		m.hidden = m.unfit()
	}
	if m.hidden == "" {
		m.base = m.measured()
		m.sound = slices.Clone(m.agree(0))
		m.withoutWaits()
	}
	return m, ctx.Err()
}

// read lists calls and acts.
func (m *model) read(ctx context.Context) error {
	// by call: 1 + the outer one, 0 for none: a driver call inside a call of the runtime is a part of it
	outer := make([]int32, m.t.Len(event.LaneLaunch))
	perThread := map[trace.ThreadIndex]int{}
	orphans, n := 0, m.d.NumKernels()
	for i := range n {
		if l := m.d.Kernel(i).Event().Launch(); l.Valid() && l.Thread() >= 0 {
			perThread[l.Thread()]++
		} else {
			orphans++
		}
	}
	if m.d.Basis() == finding.OfWindow {
		m.passes = 0 // all that runs is taken as one: these are no steps
	}
	switch {
	case m.passes < leastPasses:
		m.hidden = fmt.Sprintf("at least four steps are needed to see how steps differ, and the trace has %d", m.passes)
	case 50*orphans > n:
		m.hidden = "launches of more than 2% of the GPU activities are not in the trace"
	}
	threads := slices.Sorted(maps.Keys(perThread))
	if most := 0; m.hidden == "" {
		for _, c := range perThread {
			most = max(most, c)
		}
		if 20*most < 19*(n-orphans) {
			m.hidden = "several threads launch: how they wait for each other is not recorded"
		}
	}
	if m.hidden != "" {
		return nil
	}
	m.items = make([]item, 0, len(outer))
	for at, th := range threads {
		end, last := int64(0), int32(0)
		for e := range m.t.OnThread(event.LaneLaunch, th) {
			if int64(e.Start()) < end {
				outer[e.Index()] = last
				end = max(end, int64(e.End()))
				continue
			}
			last = int32(e.Index()) + 1
			outer[e.Index()] = last
			m.items = append(m.items, item{id: e.ID(), name: e.NameID(), thread: int32(at), start: int64(e.Start()),
				d: int64(e.Duration()), pre: int64(e.Start()) - end,
				waits: none, graph: kind.IsGraphLaunch(e.Name())})
			end = int64(e.End())
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	m.launching = threads
	slices.SortStableFunc(m.items, func(x, y item) int { return cmp.Compare(x.start, y.start) })
	place := make([]int32, len(outer)) // by call: of its item
	for i := range m.items {
		place[m.t.At(m.items[i].id).Index()] = int32(i)
	}
	m.acts = make([]act, 0, n-orphans)
	for i := range n {
		k := m.d.Kernel(i)
		e, l := k.Event(), k.Event().Launch()
		if e.Kind() == event.Graph {
			m.hidden = "graph replays were recorded as a whole"
			return nil
		}
		if !l.Valid() || l.Thread() < 0 {
			continue // of the start of the window: it seeds no order
		}
		s, known := m.streams[e.Stream()]
		if !known {
			s = int32(len(m.streams))
			m.streams[e.Stream()] = s
		}
		call := outer[l.Index()]
		if call == 0 {
			continue
		}
		m.acts = append(m.acts, act{id: e.ID(), name: e.NameID(), start: int64(e.Start()), d: int64(e.Duration()),
			stream: s, item: place[call-1], pass: int32(k.Place().Pass),
			prev: none, cross: none, pred: none, comm: k.Facts().Collective != classify.NotCollective,
			copies: e.Kind() == event.Memcpy || e.Kind() == event.Memset,
			runsOn: e.Kind() == event.Memcpy && waits.RunsOn(l, e)})
	}
	slices.SortStableFunc(m.acts, func(x, y act) int {
		return cmp.Or(cmp.Compare(x.item, y.item),
			cmp.Compare(x.start, y.start))
	})
	for i := range m.acts {
		it := &m.items[m.acts[i].item]
		if it.acts == 0 {
			it.first = int32(i)
		}
		it.acts++
	}
	return nil
}

func (a *act) end() int64 { return a.start + a.d }

// trimmed is the mean of the middle four fifths; sorts.
func trimmed(v []int64) int64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	cut := len(v) / 10
	v = v[cut : len(v)-cut]
	var sum int64
	for _, x := range v {
		sum += x
	}
	return sum / int64(len(v))
}

func median(v []int64) int64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[len(v)/2]
}

// fit finds the constants.
func (m *model) fit() {
	tails := map[int32]int32{}
	lats, gaps := map[trace.NameID][]int64{}, [2][2][]int64{}
	for i := range m.acts {
		a := &m.acts[i]
		it := &m.items[a.item]
		if p, ok := tails[a.stream]; ok {
			a.prev = p
		}
		tails[a.stream] = int32(i)
		if it.graph && int32(i) != it.first {
			continue
		}
		prevEnd := int64(0)
		if a.prev != none {
			prevEnd = m.acts[a.prev].end()
		}
		switch {
		case prevEnd <= it.start:
			lats[it.name] = append(lats[it.name], a.start-it.start)
		case it.start+it.d < prevEnd-crossLeast && a.start-prevEnd < crossLeast:
			of := &gaps[stat.Int(a.copies)][stat.Int(m.acts[a.prev].copies)]
			*of = append(*of, a.start-prevEnd)
		}
	}
	var all, allGaps []int64
	for _, v := range lats {
		all = append(all, v...)
	}
	for x := range gaps {
		allGaps = append(append(allGaps, gaps[x][0]...), gaps[x][1]...)
	}
	usual, usualGap := trimmed(all), trimmed(allGaps)
	lat := map[trace.NameID]int64{}
	for name, v := range lats {
		if len(v) >= 3 {
			lat[name] = trimmed(v)
		}
	}
	for i := range m.items {
		it := &m.items[i]
		known := false
		if it.lat, known = lat[it.name]; !known {
			it.lat = max(usual, 1_000)
		}
	}
	for x := range gaps {
		for y, v := range gaps[x] {
			if m.gaps[x][y] = usualGap; len(v) >= 3 {
				m.gaps[x][y] = trimmed(v)
			}
		}
	}
}

// explain says why each act started when it did, and what each call waited for.
func (m *model) explain() {
	ends := make([]int32, len(m.acts)) // acts by their end
	for i := range ends {
		ends[i] = int32(i)
	}
	slices.SortFunc(ends, func(x, y int32) int { return cmp.Compare(m.acts[x].end(), m.acts[y].end()) })
	endedBy := func(t int64) int { // how many
		n, _ := slices.BinarySearchFunc(ends, t+1, func(i int32,
			t int64) int {
			return cmp.Compare(m.acts[i].end(), t)
		})
		return n
	}
	var rets []int64
	for i := range m.items {
		it := &m.items[i]
		end := it.start + it.d
		name := m.t.Name(it.name)
		switch {
		case it.acts > 0 && m.acts[it.first].copies && !m.acts[it.first].runsOn && m.acts[it.first].end() <= end:
			it.waits = it.first
		case strings.Contains(name, "Synchronize"):
			for k, seen := endedBy(end)-1, 0; k >= 0 && seen < 64; k, seen = k-1, seen+1 {
				if a := ends[k]; m.acts[a].item < int32(i) {
					if e := m.acts[a].end(); end-e <= waitReturn && e > it.start {
						it.waits = a
					}
					break
				}
			}
		}
		if it.waits != none {
			it.ret = end - m.acts[it.waits].end()
			rets = append(rets, it.ret)
		}
	}
	m.ret = median(rets)
	for i := range m.acts {
		m.explainAct(int32(i), ends, endedBy)
	}
}

func (m *model) explainAct(i int32, ends []int32, endedBy func(int64) int) {
	a := &m.acts[i]
	it := &m.items[a.item]
	a.lat = a.start - it.start
	q := int64(0)
	if a.prev != none {
		p := &m.acts[a.prev]
		a.gap = a.start - p.end()
		q = p.end() + m.gaps[stat.Int(a.copies)][stat.Int(p.copies)]
	}
	if it.graph && i != it.first {
		a.pred = it.first
		for k := i - 1; k >= it.first && k > i-64; k-- { // the one that ends last of those that start before it
			if m.acts[k].end() <= a.start && (a.pred == it.first || m.acts[k].end() > m.acts[a.pred].end()) {
				a.pred = k
			}
		}
		a.predG = a.start - m.acts[a.pred].end()
		a.tail = a.prev == none || m.acts[a.prev].item != a.item
		return
	}
	l := it.start + it.lat
	a.bound = l >= q
	late := a.start - max(l, q)
	if late <= crossLeast {
		return
	}
	for k, seen := endedBy(a.start)-1, 0; k >= 0 && seen < 8; k, seen = k-1, seen+1 {
		o := &m.acts[ends[k]]
		if a.start-o.end() > crossLeast {
			break
		}
		if o.stream != a.stream && ends[k] < i {
			a.cross, a.crossG = ends[k], a.start-o.end()
			return
		}
	}
	if late > unknownLeast {
		a.hold = late
	}
}
