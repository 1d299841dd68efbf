package activity

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/roofline"
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
	Pass       int32   // index of the device's passes, None outside
	Stage      int8    // number of the stage
	Replay     bool
	Outside    bool // of any pass
	From       Origin
}

// Trace is one trace made ready for the tables.
type Trace struct {
	Analysis  *layer.Analysis // of the trace
	Trace     *trace.Trace
	Path      string                     // what reports call it
	Part      int32                      // which of the analysis' formal or mapping traces
	Acts      []Activity                 // in the GPU lane's order
	Queues    []Queue                    // the streams that activities number
	Stages    *Stages                    // of its passes
	Steps     []StepCount                // by stage
	Has       [NumStages]bool            // the stages of Acts
	OfKernel  map[trace.DeviceID][]int32 // the activities of the kernels of each device
	Hip, Cuda bool                       // launched through these APIs

	saved []bool                          // see Absorbed
	ops   map[trace.DeviceID]roofline.Ops // see CountOps
}

// Queue is a stream of a device.
type Queue struct {
	Device trace.DeviceID // that the stream is of
	Stream trace.StreamID // its number on the device
}

// Event returns an activity's event.
func (w *Trace) Event(a *Activity) trace.Event { return w.Trace.LaneAt(event.LaneGPU, int(a.Event)) }

// CountOps counts the work of ops whose inputs were recorded, which Op asks for.
func (w *Trace) CountOps(ctx context.Context) error {
	w.ops = map[trace.DeviceID]roofline.Ops{}
	for i := range w.Analysis.Devices {
		d := &w.Analysis.Devices[i]
		ops, err := roofline.OpsOf(ctx, d, roofline.GPUOf(w.Analysis, d))
		if err != nil {
			return err
		}
		w.ops[d.ID] = ops
	}
	return nil
}

// Op is the op that an activity works for; false where its work is not known.
func (w *Trace) Op(act int32) (roofline.Op, bool) {
	a := &w.Acts[act]
	if a.Replay {
		return roofline.Op{}, false
	}
	return w.ops[w.Queues[a.Queue].Device].Of(w.Analysis.Of(w.Event(a).ID()))
}

// CountByQueue returns how many activities of a stage each queue has.
func (w *Trace) CountByQueue(stage int) []int {
	n := make([]int, len(w.Queues))
	for i := range w.Acts {
		if a := &w.Acts[i]; int(a.Stage) == stage {
			n[a.Queue]++
		}
	}
	return n
}

// Spans are when activities of a stage run, by device; devices without one are left out.
func (w *Trace) Spans(stage int) map[trace.DeviceID][]interval.Span {
	first := map[trace.DeviceID]int{} // queue of each device: spans and room have what is the device's there
	at, room, spans := make([]int, len(w.Queues)), make([]int, len(w.Queues)), make([][]interval.Span, len(w.Queues))
	for q, n := range w.CountByQueue(stage) {
		d := w.Queues[q].Device
		if _, ok := first[d]; !ok {
			first[d] = q
		}
		at[q] = first[d]
		room[at[q]] += n
	}
	for q, n := range room {
		spans[q] = make([]interval.Span, 0, n)
	}
	for i := range w.Acts {
		if a := &w.Acts[i]; int(a.Stage) == stage {
			q := at[a.Queue]
			spans[q] = append(spans[q], interval.Span{Start: a.Start, End: a.End})
		}
	}
	out := map[trace.DeviceID][]interval.Span{}
	for d, q := range first {
		if len(spans[q]) > 0 {
			out[d] = spans[q]
		}
	}
	return out
}

// lookEvery is after how many activities Collect looks at its context: some milliseconds.
const lookEvery = 1 << 12

// Collect reads the GPU activities of an analysis: names, stages and sites. What it returns after the end of ctx is
// incomplete.
func (p *Pool) Collect(ctx context.Context, an *layer.Analysis, path, process string) *Trace {
	t := an.Trace()
	w := &Trace{Analysis: an, Trace: t, Path: path, Acts: make([]Activity, 0, t.Len(event.LaneGPU))}
	w.Stages = stagesOf(an, FileStage(path))
	w.Steps = w.Stages.countSteps(an)
	ids := kernelIDs{p, an, make([]knownKernel, t.NumNames())}
	queues := map[Queue]int32{}
	sites, framed := NewSites(p, t), t.Len(event.LanePython) > 0
	at := w.cursors()
	var cur *cursor
	for e := range t.Events(event.LaneGPU) {
		if e.Index()%lookEvery == lookEvery-1 && ctx.Err() != nil {
			break
		}
		if d := e.Device(); cur == nil || d != cur.d.ID {
			if at[d] == nil { // the analysis is about other GPUs
				continue
			}
			cur = at[d]
		}
		k := cur.of(e)
		if process != "" && !launchedBy(t, e, process) {
			continue
		}
		launch := e.Launch()
		a := Activity{Event: int32(e.Index()), Start: int64(e.Start()), End: int64(e.End()), Kernel: ids.of(e, k),
			Replay: e.IsReplay(), Stage: w.Stages.rest, Outside: true, Pass: trace.None}
		if q := (Queue{cur.d.ID, e.Stream()}); cur.queue == trace.None || w.Queues[cur.queue] != q {
			qi, ok := queues[q]
			if !ok {
				qi = int32(len(w.Queues))
				queues[q] = qi
				w.Queues = append(w.Queues, q)
			}
			cur.queue = qi
		}
		a.Queue = cur.queue
		if k.Valid() {
			if pass := k.Place().Pass; pass != trace.None {
				a.Stage, a.Outside, a.Pass = cur.stages[pass], false, int32(pass)
			}
			cur.acts[k.Index()] = int32(len(w.Acts))
			var operator profile.Operator
			operator, _, a.Sure = k.Operator()
			a.Operator = p.Operators.ID(string(operator))
			if !a.Replay && (framed || !launch.Valid()) { // else its line is that of no frames
				a.Model = p.model(k.ModelLine(), a.Operator)
			}
		}
		a.Site, a.Op, a.From = sites.of(e, launch, a.Replay)
		if a.Replay {
			a.ReplayedAt, a.Site, a.From = a.Site, SiteReplay, fromNothing
		}
		w.Has[a.Stage] = true
		w.Acts = append(w.Acts, a)
	}
	w.Hip, w.Cuda = sites.hip, sites.cuda
	return w
}

// cursor finds the kernels of a device's activities that are asked for in order of the trace.
type cursor struct {
	d      *layer.Device
	next   int
	stages []int8  // of its passes
	acts   []int32 // of its kernels
	queue  int32   // of its last activity, which is nearly always the next one's too; None: there was none
}

// cursors are before the first kernels of the analysis' devices.
func (w *Trace) cursors() map[trace.DeviceID]*cursor {
	w.OfKernel = map[trace.DeviceID][]int32{}
	out := map[trace.DeviceID]*cursor{}
	for i := range w.Analysis.Devices {
		d := &w.Analysis.Devices[i]
		w.OfKernel[d.ID] = make([]int32, d.NumKernels())
		out[d.ID] = &cursor{d, 0, w.Stages.Pass[d.ID], w.OfKernel[d.ID], trace.None}
	}
	return out
}

// of returns the kernel of an activity; it is not valid where the analysis has none.
func (c *cursor) of(e trace.Event) layer.Kernel {
	k := c.d.Kernel(c.next)
	c.next++
	if k.Valid() && k.Event() == e {
		return k
	}
	return c.d.Analysis().Of(e.ID())
}

// kernelIDs remembers the pool's ids of a trace's kernel names.
type kernelIDs struct {
	p    *Pool
	an   *layer.Analysis
	last []knownKernel // by name
}

// knownKernel is the kernel that a name of the trace was last found to be.
type knownKernel struct {
	id       int32 // in Pool.Facts + 1, 0 not asked yet
	category classify.Category
}

// of returns the pool's id of an activity.
func (k *kernelIDs) of(e trace.Event, in layer.Kernel) int32 {
	var category classify.Category = classify.CategoryOther
	if in.Valid() {
		category = in.Category()
	}
	c := &k.last[e.NameID()]
	if c.id == 0 || c.category != category {
		*c = knownKernel{k.p.kernel(e.Name(), e.Kind(), category, k.an.Facts(e.NameID())) + 1, category}
	}
	return c.id - 1
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
