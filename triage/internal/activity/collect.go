package activity

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// Activity is what triage keeps of a GPU activity.
type Activity struct {
	Start, End int64   // ns
	Event      int32   // index in the GPU lane
	Kernel     int32   // Pool.Facts
	Site       int32   // Pool.Sites
	ReplayedAt int32   // Pool.Sites: the call that replays the graph, of replayed activities
	Op         int32   // Pool.Ops
	Operator   int32   // Pool.Operators
	Model      int32   // Pool.Models
	Sure       float32 // of the operator
	Queue      int32   // dense stream index within the trace
	Pass       int32   // index of the device's passes, [trace.None] outside
	Stage      int8    // number of the stage
	Replay     bool
	From       Origin
}

// Trace is one trace made ready for the tables.
type Trace struct {
	Analysis  *layer.Analysis // of the trace
	Trace     *trace.Trace
	Path      string                        // what reports call it
	Part      int32                         // which of the analysis' formal or mapping traces
	Acts      []Activity                    // by device and start
	Queues    []Queue                       // the streams that activities number
	Stages    *Stages                       // of its passes
	Steps     []StepCount                   // by stage
	Has       [NumStages]bool               // the stages of Acts
	OfDevice  map[trace.DeviceID][]Activity // Acts by device, one for each kernel where no process was asked for
	Hip, Cuda bool                          // launched through these APIs

	held []*Hold // see Hold
	own  []int64 // by row of the GPU lane, see Alone
	idle []int64 // by row: how long its device was idle until it started
}

// Queue is a stream of a device.
type Queue struct {
	Device trace.DeviceID // that the stream is of
	Stream trace.StreamID // its number on the device
}

// Event returns an activity's event.
func (w *Trace) Event(a *Activity) trace.Event { return w.Trace.LaneAt(event.LaneGPU, int(a.Event)) }

// lookEvery is after how many activities Collect looks at its context: some milliseconds.
const lookEvery = 1 << 12

// Collect reads the GPU activities of an analysis: names, stages and sites. What it returns after the end of ctx is
// incomplete.
func (p *Pool) Collect(ctx context.Context, an *layer.Analysis, path, process string) *Trace {
	t := an.Trace()
	w := &Trace{Analysis: an, Trace: t, Path: path, Stages: stagesOf(an, FileStage(path)),
		Acts:     make([]Activity, 0, t.Len(event.LaneGPU)), // room for all: OfDevice divides it
		OfDevice: map[trace.DeviceID][]Activity{}}
	w.Steps = w.Stages.countSteps(an)
	c := collector{w, p, NewSites(p, an), t.Len(event.LanePython) > 0, make([]knownKernel, t.NumNames()),
		map[Queue]int32{}}
	p.Facts = slices.Grow(p.Facts, t.NumNames())
	for i := range an.Devices {
		d := &an.Devices[i]
		from := len(w.Acts)
		for k := range d.Kernels() {
			if k.Index()%lookEvery == lookEvery-1 && ctx.Err() != nil {
				break
			}
			if process == "" || launchedBy(t, k.Event(), process) {
				c.add(k)
			}
		}
		w.OfDevice[d.ID] = w.Acts[from:]
	}
	w.Hip, w.Cuda = c.sites.hip, c.sites.cuda
	return w
}

// collector reads the activities of a trace.
type collector struct {
	*Trace
	pool   *Pool
	sites  *Sites
	framed bool          // the trace has Python frames
	known  []knownKernel // by name
	queues map[Queue]int32
}

// knownKernel is the kernel that a name of the trace was last found to be.
type knownKernel struct {
	id       int32 // in Pool.Facts + 1, 0 not asked yet
	category classify.Category
}

// add reads one activity.
func (c *collector) add(k layer.Kernel) {
	e, d := k.Event(), k.Device()
	launch := e.Launch()
	a := Activity{Event: int32(e.Index()), Start: int64(e.Start()), End: int64(e.End()), Kernel: c.kernel(k),
		Replay: e.IsReplay(), Stage: c.Stages.rest, Pass: trace.None}
	q := Queue{d.ID, e.Stream()}
	queue, ok := c.queues[q]
	if !ok {
		queue = int32(len(c.Queues))
		c.queues[q], c.Queues = queue, append(c.Queues, q)
	}
	a.Queue = queue
	if pass := k.Place().Pass; pass != trace.None {
		a.Stage, a.Pass = c.Stages.Pass[d.ID][pass], int32(pass)
	}
	var operator profile.Operator
	operator, _, a.Sure = k.Operator()
	a.Operator = c.pool.Operators.ID(string(operator))
	if !a.Replay && (c.framed || !launch.Valid()) { // else its line is that of no frames
		a.Model = c.pool.model(k.ModelLine(), a.Operator)
	}
	a.Site, a.Op, a.From = c.sites.of(e, launch, a.Replay)
	if a.Replay {
		a.ReplayedAt, a.Site, a.From = a.Site, SiteReplay, fromNothing
	}
	c.Has[a.Stage] = true
	c.Acts = append(c.Acts, a)
}

// kernel returns the pool's id of a kernel.
func (c *collector) kernel(k layer.Kernel) int32 {
	e, category := k.Event(), k.Does()
	known := &c.known[e.NameID()]
	if known.id == 0 || known.category != category {
		*known = knownKernel{c.pool.kernel(e.Name(), e.Kind(), category, k.Facts()) + 1, category}
	}
	return known.id - 1
}

// Processes lists the processes that launched GPU work, as a reader would name them; a few of many.
func Processes(list []*layer.Analysis) []string {
	const few = 8
	var names []string
	seen := map[string]bool{}
	for _, a := range list {
		t := a.Trace()
		for e := range t.Events(event.LaneGPU) {
			l := e.Launch()
			if !l.Valid() {
				continue
			}
			th := t.Thread(l.Thread())
			name := strings.Join(strings.Fields(fmt.Sprint(th.Process, " ", table.Clean(th.ProcessLabel), " ",
				table.Clean(th.ProcessName))), " ")
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
	return strings.Contains(strconv.FormatInt(int64(th.Process), 10), text) ||
		strings.Contains(th.ProcessLabel, text) ||
		strings.Contains(th.ProcessName, text)
}

// HasCallStacks says that ops carry their Python frames.
func (w *Trace) HasCallStacks() bool {
	for e := range w.Trace.Events(event.LaneOp) {
		if e.Data().CallStack != "" {
			return true
		}
	}
	return false
}

// mappingRefused says why the mapping trace does not apply to this one, "" where it does or there is none.
func (w *Trace) mappingRefused() string {
	if len(w.Analysis.Devices) == 0 {
		return ""
	}
	return w.Analysis.Devices[0].MappingRefused()
}
