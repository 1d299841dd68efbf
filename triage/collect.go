package triage

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// activity is what triage keeps of a GPU activity.
type activity struct {
	start, end int64   // ns
	event      int32   // index in the GPU lane
	kernel     int32   // pool.names
	site       int32   // pool.sites
	replayedAt int32   // pool.sites: the call that replays the graph, of replayed activities
	op         int32   // pool.ops
	operator   int32   // pool.operators
	model      int32   // pool.models
	sure       float32 // of the operator
	queue      int32   // dense stream index within the trace
	stage      int8    // number of the stage
	replay     bool
	outside    bool // of any pass
	from       origin
}

// work is one trace made ready for the tables.
type work struct {
	a         *layer.Analysis
	t         *trace.Trace
	path      string
	part      int32      // which of the analysis' formal or mapping traces
	acts      []activity // in the GPU lane's order
	queues    []queueRef
	stages    *stages
	steps     []stepCount   // by stage
	names     []knownKernel // by name
	hip, cuda bool          // launched through these APIs
}

type queueRef struct {
	device trace.DeviceID
	stream trace.StreamID
}

// event returns an activity's event.
func (w *work) event(a *activity) trace.Event { return w.t.LaneAt(trace.LaneGPU, int(a.event)) }

// countByQueue returns how many activities of a stage each queue has.
func (w *work) countByQueue(stage int) []int {
	n := make([]int, len(w.queues))
	for i := range w.acts {
		if a := &w.acts[i]; int(a.stage) == stage {
			n[a.queue]++
		}
	}
	return n
}

// collect reads the GPU activities of an analysis: names, stages and sites.
func (p *pool) collect(an *layer.Analysis, path, process string) *work {
	t := an.Trace()
	w := &work{a: an, t: t, path: path, acts: make([]activity, 0, t.LaneLen(trace.LaneGPU))}
	w.stages = stagesOf(an, fileStage(path))
	w.steps = w.stages.countSteps(an)
	ids := newKernelIDs(p, t)
	queues := map[queueRef]int32{}
	var last int32 // the last activity's queue, which is nearly always the next one's too
	sites := newSiteFinder(p, t)
	at := newCursor(an)
	for e := range t.Events(trace.LaneGPU) {
		k := at.of(e)
		if process != "" && !launchedBy(t, e, process) {
			continue
		}
		a := activity{event: int32(e.Index()), start: int64(e.Start()), end: int64(e.End()), kernel: ids.of(e, k), replay: e.IsReplay()}
		if q := (queueRef{e.Device(), e.Stream()}); len(w.queues) == 0 || w.queues[last] != q {
			qi, ok := queues[q]
			if !ok {
				qi = int32(len(w.queues))
				queues[q] = qi
				w.queues = append(w.queues, q)
			}
			last = qi
		}
		a.queue = last
		a.stage, a.outside = w.stages.of(k), !k.Valid() || k.Place().Pass == layer.None
		if k.Valid() {
			var operator profile.Operator
			operator, _, a.sure = k.Operator()
			a.operator = p.operators.id(string(operator))
			if !a.replay {
				a.model = p.model(k.ModelLine())
			}
		}
		a.site, a.op, a.from = sites.of(e)
		if a.replay {
			a.replayedAt, a.site, a.from = a.site, siteReplay, fromNothing
		}
		w.acts = append(w.acts, a)
	}
	w.names, w.hip, w.cuda = ids.last, sites.hip, sites.cuda
	return w
}

// cursor finds the kernels of activities that are asked for in order of the
// trace.
type cursor struct {
	a    *layer.Analysis
	next map[trace.DeviceID]*deviceCursor
}

type deviceCursor struct {
	d *layer.Device
	i int
}

func newCursor(a *layer.Analysis) *cursor {
	c := &cursor{a: a, next: map[trace.DeviceID]*deviceCursor{}}
	for i := range a.Devices {
		c.next[a.Devices[i].ID] = &deviceCursor{d: &a.Devices[i]}
	}
	return c
}

// of returns the kernel behind an activity; it is not valid where the analysis
// has none.
func (c *cursor) of(e trace.Event) layer.Kernel {
	d := c.next[e.Device()]
	if d == nil {
		return layer.Kernel{}
	}
	k := d.d.Kernel(d.i)
	d.i++
	if k.Valid() && k.Event() == e {
		return k
	}
	return c.a.Of(e.ID())
}

// kernelIDs remembers the pool's ids of a trace's kernel names.
type kernelIDs struct {
	p    *pool
	last []knownKernel // by name
}

type knownKernel struct {
	id       int32 // + 1, 0 not asked yet
	category classify.Category
}

func newKernelIDs(p *pool, t *trace.Trace) *kernelIDs {
	return &kernelIDs{p, make([]knownKernel, t.NumNames())}
}

// of returns the pool's id of an activity.
func (k *kernelIDs) of(e trace.Event, in layer.Kernel) int32 {
	category := classify.CategoryOther
	if in.Valid() {
		category = in.Category()
	}
	c := &k.last[e.NameID()]
	if c.id == 0 || c.category != category {
		*c = knownKernel{k.p.kernel(e.Name(), e.Kind(), category) + 1, category}
	}
	return c.id - 1
}

// processesOf lists the processes that launched GPU work, as a reader would name them; a few of many.
func processesOf(list []*layer.Analysis) []string {
	const few = 8
	var names []string
	seen := map[string]bool{}
	for _, a := range list {
		t := a.Trace()
		for e := range t.Events(trace.LaneGPU) {
			l := e.Launch()
			if !l.Valid() {
				continue
			}
			th := t.Thread(l.Thread())
			name := strings.Join(strings.Fields(fmt.Sprint(th.Process, " ", table.Clean(th.ProcessLabel), " ", table.Clean(th.ProcessName))), " ")
			if seen[name] {
				continue
			}
			if seen[name] = true; len(names) == few {
				return append(names, "…")
			}
			names = append(names, name)
		}
	}
	return names
}

// launchedBy reports whether an activity's launching process matches text.
func launchedBy(t *trace.Trace, e trace.Event, text string) bool {
	l := e.Launch()
	if !l.Valid() {
		return false
	}
	th := t.Thread(l.Thread())
	return strings.Contains(strconv.FormatInt(int64(th.Process), 10), text) || strings.Contains(th.ProcessLabel, text) ||
		strings.Contains(th.ProcessName, text)
}

// hasCallStacks says that ops carry their Python frames.
func (w *work) hasCallStacks() bool {
	for e := range w.t.Events(trace.LaneOp) {
		if e.CallStack() != "" {
			return true
		}
	}
	return false
}

// mappingRefused says why the mapping trace tells nothing of this one, "" where it does or there is none.
func (w *work) mappingRefused() string {
	if len(w.a.Devices) == 0 {
		return ""
	}
	return w.a.Devices[0].MappingRefused()
}
