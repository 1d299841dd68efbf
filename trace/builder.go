package trace

import (
	"math"
	"strings"

	"github.com/llmstrata/strata/internal/intern"
	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/internal/column"
)

// EventData is one event as a source records it: what a [Builder] takes and
// [Event.Data] gives. Fields that a source does not know stay zero; Device and
// Stream must then be None.
type EventData struct {
	Kind     event.Kind // decides the lane
	Category string     // as written in the file ("cpu_op", "Kernel", …); "" is what Kineto writes for Kind
	Name     string
	Start    int64 // raw ns on the source's own clock
	Duration int64 // ns; negative events are dropped and counted

	Process      int64  // pid of a CPU event; 0 when it is text
	ProcessLabel string // pid as written when it is text
	Thread       int64  // tid of a CPU event; 0 when it is text
	Label        string // tid as written when it is text
	// of Correlation: two processes with different scopes never share one; "" for files of one process
	Scope string

	Device      DeviceID // None where there is none
	Stream      StreamID // None where there is none
	Correlation uint64   // pairs launches and activities of one Scope; 0 is none
	ExternalID  uint64   // the profiler's id of the linked op; 0 is none
	GraphID     uint64   // the graph an activity was replayed from; 0 is none or not recorded, see [Event.IsReplay]
	GraphNode   uint64   // 0 is none
	Shape       string   // op: raw "Input Dims"; activity: "gx,gy,gz|bx,by,bz"
	Types       string   // op: raw "Input type", with Shape
	Strides     string   // op: raw "Input Strides"
	Values      string   // op: raw "Concrete Inputs"
	Domain      string   // NVTX domain of a range, "" for the default one
	// op: the Python frames around it, "file.py(12): f;file.py(34): g", the innermost first, as older profilers write
	// them; newer ones record frames as events, see [Event.Frame]
	CallStack  string
	Args       []byte  // raw args object, copied; kept by a load where [Options.Args] asks for it
	Bytes      int64   // of a copy or set; 0 is not recorded
	Value      float64 // of a counter's sample, in the unit that its name gives
	Unfinished bool    // activity: it was running when recording stopped, Duration is a guess
	Open       bool    // its end is not known yet: Duration is not looked at, and [Builder.End] gives it
}

// Builder collects events in any order and makes a Trace of them. It is for
// one goroutine. Times are raw; Finish makes them relative to the earliest.
type Builder struct {
	// Meta becomes the trace's. Its rank is −1, unknown, at first.
	Meta Meta

	t       Trace
	nameID  map[string]uint32
	queueID map[queue]int32
	devices map[DeviceID]bool // of the queues
	thrID   map[threadKey]ThreadIndex
	scopeID map[string]uint16
	counts  map[[2]string]int64
	minRaw  int64
	losses  losses
	procs   map[procKey]string
	threads map[threadKey]string

	// The last thread and scope looked up, which are nearly always the next ones too.
	lastKey     threadKey
	lastThread  ThreadIndex
	lastScope   string
	lastScopeID uint16

	recent [intern.Slots]uint32 // names interned lately

	unwanted [kindCount]bool // see NewBuilder

	open  [laneCount]bool  // lanes with events that were added without an end
	input *Input           // nil where its size is not known
	begun [laneCount]int64 // bytes of the input that were read at a lane's first event

	flows     []flow   // of events without a correlation
	notes     []Remark // for the health report
	scrambled column.Scrambled
	textBytes int64 // of names and labels
}

type procKey struct {
	id    int64
	label string
}

type threadKey struct {
	proc  procKey
	tid   int64
	label string
}

// thread is the thread that the event ran on.
func (e *EventData) thread() threadKey {
	return threadKey{procKey{e.Process, e.ProcessLabel}, e.Thread, e.Label}
}

// NewBuilder returns an empty Builder. It takes over what the options of a load
// say of building: what is not asked for with [Options.Lanes] and Kinds
// is left out, and moves only the trace's origin; [Options.RepairOrder]; and how
// large the input is, by which columns are given their room.
func NewBuilder(o Options) *Builder {
	b := newBuilder(&o)
	for k := range b.unwanted {
		b.unwanted[k] = !o.wants(event.Kind(k))
	}
	return b
}

// newBuilder is NewBuilder for a load that leaves out what is not asked for itself.
func newBuilder(o *Options) *Builder {
	b := &Builder{
		Meta:    Meta{Rank: -1},
		t:       Trace{names: []string{""}},
		nameID:  map[string]uint32{"": 0},
		queueID: map[queue]int32{}, devices: map[DeviceID]bool{}, thrID: map[threadKey]ThreadIndex{},
		scopeID: map[string]uint16{"": 0},
		counts:  map[[2]string]int64{}, minRaw: math.MaxInt64,
		procs: map[procKey]string{}, threads: map[threadKey]string{}, lastThread: None,
		input: o.input,
	}
	b.scrambled.Repair = o.RepairOrder
	return b
}

// lose counts one event or part of one that could not be kept, at a byte
// offset of the decompressed input, −1 when that means nothing.
func (b *Builder) lose(reason event.Loss, offset int64) { b.losses.add(reason, offset) }

// see widens the trace's origin to a raw timestamp of an event that is not stored.
func (b *Builder) see(raw int64) {
	if raw < b.minRaw {
		b.minRaw = raw
	}
}

// Name records the display names of a thread and of its process; one that is ""
// is not touched.
func (b *Builder) Name(t Thread) {
	p := procKey{t.Process, t.ProcessLabel}
	if t.ProcessName != "" {
		b.procs[p] = t.ProcessName
	}
	if t.Name != "" {
		b.threads[threadKey{p, t.ID, t.Label}] = t.Name
	}
}

func (b *Builder) intern(s string) uint32 {
	recent := &b.recent[intern.Slot(s)]
	if b.t.names[*recent] == s {
		return *recent
	}
	id, ok := b.nameID[s]
	if !ok {
		id = b.internOwned(strings.Clone(s))
	}
	*recent = id
	return id
}

// internOwned is intern for a string that nothing else holds in memory.
func (b *Builder) internOwned(s string) uint32 {
	if id, ok := b.nameID[s]; ok {
		return id
	}
	id := uint32(len(b.t.names))
	b.t.names = append(b.t.names, s)
	b.nameID[s] = id
	b.textBytes += int64(len(s))
	return id
}

// scope numbers a process scope; 0 is "", and what all share beyond 65,534 of them.
func (b *Builder) scope(s string) uint16 {
	if s == b.lastScope {
		return b.lastScopeID
	}
	id, ok := b.scopeID[s]
	if !ok && len(b.scopeID) < math.MaxUint16 {
		id = uint16(len(b.scopeID))
		b.scopeID[s] = id
	}
	b.lastScope, b.lastScopeID = s, id
	return id
}

func (b *Builder) queue(q queue) int32 {
	id, ok := b.queueID[q]
	if !ok {
		id = int32(len(b.t.queues))
		b.t.queues = append(b.t.queues, q)
		b.queueID[q] = id
		b.devices[q.device] = true
	}
	return id
}

func (b *Builder) thread(k threadKey) ThreadIndex {
	if b.lastThread != None && k == b.lastKey {
		return b.lastThread
	}
	id, ok := b.thrID[k]
	if !ok {
		id = ThreadIndex(len(b.t.threads))
		b.t.threads = append(b.t.threads, Thread{Process: k.proc.id, ProcessLabel: k.proc.label, ID: k.tid,
			Label: k.label})
		b.thrID[k] = id
	}
	b.lastKey, b.lastThread = k, id
	return id
}

// Add stores one event. Events with a negative duration, and activities whose
// start and duration are both zero (the profiler could not collect them), are
// counted as lost instead. It returns where [Builder.End] finds the event, −1
// for one that is lost or not asked for (see [NewBuilder]).
func (b *Builder) Add(e EventData) (at int64) {
	l := e.Kind.Lane()
	if !b.admits(&e, l) {
		return -1
	}
	c := &b.t.lanes[l]
	i := c.Len()
	c.Start = append(c.Start, e.Start)
	c.Dur = append(c.Dur, e.Duration)
	c.Name = append(c.Name, b.intern(e.Name))
	c.Kind = append(c.Kind, uint8(e.Kind))
	if l == event.LaneGPU {
		c.Queue = append(c.Queue, b.queue(queue{e.Device, e.Stream}))
	} else {
		th := ThreadIndex(None)
		if e.Kind != event.GPUAnnotation && l != event.LaneCounter {
			th = b.thread(e.thread())
		}
		c.Thread = append(c.Thread, int32(th))
		if e.Kind == event.GPUAnnotation || e.Kind == event.Sync || l == event.LaneCounter {
			c.AnnQueue.Set(i, b.queue(queue{e.Device, e.Stream})+1)
		}
	}
	if e.Category != "" && e.Category != kind.Category(uint8(e.Kind)) {
		c.Cat.Set(i, b.intern(e.Category))
	}
	room := cap(c.Start)
	c.Corr.Fill(i, uint64(e.Correlation), room)
	c.Ext.Set(i, e.ExternalID)
	c.Graph.Set(i, e.GraphID)
	c.Node.Set(i, e.GraphNode)
	c.Bytes.Set(i, e.Bytes)
	if l == event.LaneCounter {
		c.Value.Set(i, math.Float64bits(e.Value))
	}
	if l == event.LaneGPU && e.Unfinished {
		c.Unended.Set(i, 1)
	}
	if e.Shape != "" {
		c.Shape.Fill(i, b.intern(e.Shape), room)
	}
	text := e.Domain
	if l == event.LaneOp {
		text = e.CallStack
		if e.Types+e.Strides+e.Values != "" {
			c.Inputs.Set(i, b.intern(strings.Join([]string{e.Types, e.Strides, e.Values}, inputSeparator)))
		}
	}
	if text != "" {
		c.Domain.Set(i, b.intern(text))
	}
	if len(e.Args) > 0 {
		c.Args.Set(i, b.intern(string(e.Args)))
	}
	if e.Scope != "" {
		c.Scope.Fill(i, b.scope(e.Scope), room)
	}
	return int64(i)*int64(laneCount) + int64(l)
}

// admits reports whether an event can be kept, counts it if not, and makes room for it if it can.
func (b *Builder) admits(e *EventData, l event.Lane) bool {
	if e.Open {
		e.Duration = 0
	}
	if r := refusal(l, e.Start, e.Duration, e.Open); r != "" {
		b.losses.add(r, -1)
		return false
	}
	if b.unwanted[e.Kind] {
		b.see(e.Start)
		return false
	}
	if e.Open {
		e.Duration = openDuration
		b.open[l] = true
	} else {
		b.see(e.Start)
	}
	if c := &b.t.lanes[l]; c.Len() == cap(c.Start) {
		b.widen(l)
	}
	return true
}

// refusal says why an event cannot be kept, "" where it can.
func refusal(l event.Lane, start, dur int64, open bool) event.Loss {
	switch {
	case l == laneInvalid:
		return event.UnknownKind
	case dur < 0:
		return event.NegativeDuration
	case l == event.LaneGPU && start == 0 && dur == 0 && !open:
		return event.NotCollected
	case !column.Plausible(start, dur):
		return event.BadTime
	}
	return ""
}

// Grow makes room for n more events of lane l. It only saves time and memory:
// columns that grow step by step are copied again and again.
func (b *Builder) Grow(l event.Lane, n int) {
	if l >= laneCount || n <= 0 {
		return
	}
	c := &b.t.lanes[l]
	c.Start, c.Dur = column.Grow(c.Start, n), column.Grow(c.Dur, n)
	c.Name, c.Kind = column.Grow(c.Name, n), column.Grow(c.Kind, n)
	switch l {
	case event.LaneGPU:
		c.Queue = column.Grow(c.Queue, n)
	default:
		c.Thread = column.Grow(c.Thread, n)
	}
	if l == event.LaneGPU || l == event.LaneLaunch {
		c.Corr.V = column.Grow(c.Corr.V, n)
	}
}
