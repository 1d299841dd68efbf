package trace

import (
	"iter"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/internal/scan"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/internal/column"
)

// Event is a view of one stored event: a small comparable value that reads
// the Trace's columns. The zero Event is "no event"; its Valid is false and
// its accessors return "none" values.
type Event struct {
	t    *Trace     // nil: no event
	row  int32      // of its lane
	lane event.Lane // [laneInvalid] of no event
}

// Valid reports whether e denotes an event.
func (e Event) Valid() bool { return e.t != nil }

// ID returns the event's id, None if e is not valid.
func (e Event) ID() EventID {
	if !e.Valid() {
		return None
	}
	return e.t.base[e.lane] + EventID(e.row)
}

// loc returns the columns and the row of e; e must be valid.
func (e Event) loc() (*column.Columns, int) { return &e.t.lanes[e.lane], int(e.row) }

// Index returns the event's position in its lane, −1 if e is not valid.
func (e Event) Index() int {
	if !e.Valid() {
		return -1
	}
	return int(e.row)
}

// Kind returns what the event is.
func (e Event) Kind() event.Kind {
	if !e.Valid() {
		return 0
	}
	c, i := e.loc()
	return event.Kind(c.Kind[i])
}

// NameID returns the interned name.
func (e Event) NameID() NameID {
	if !e.Valid() {
		return 0
	}
	c, i := e.loc()
	return NameID(c.Name[i])
}

// Name returns the event's name as recorded.
func (e Event) Name() string {
	if !e.Valid() {
		return ""
	}
	return e.t.Name(e.NameID())
}

// Start returns when the event began.
func (e Event) Start() Time {
	if !e.Valid() {
		return 0
	}
	c, i := e.loc()
	return Time(c.Start[i])
}

// Duration returns how long the event took; never negative.
func (e Event) Duration() time.Duration {
	if !e.Valid() {
		return 0
	}
	c, i := e.loc()
	return time.Duration(c.Dur[i])
}

// End returns Start plus Duration.
func (e Event) End() Time {
	if !e.Valid() {
		return 0
	}
	c, i := e.loc()
	return Time(c.End(i))
}

// Thread returns the CPU thread of the event, None for GPU activities.
func (e Event) Thread() ThreadIndex {
	if !e.Valid() {
		return None
	}
	return e.t.threadAt(e.lane, int(e.row))
}

func (e Event) queue() (queue, bool) {
	if !e.Valid() {
		return queue{}, false
	}
	c, i := e.loc()
	if i < len(c.Queue) {
		return e.t.queues[c.Queue[i]], true
	}
	if q := c.AnnQueue.At(i); q > 0 {
		return e.t.queues[q-1], true
	}
	return queue{}, false
}

// Device returns the GPU of an activity, GPU annotation, sync event or counter.
func (e Event) Device() DeviceID {
	if q, ok := e.queue(); ok {
		return q.device
	}
	return None
}

// Stream returns the stream of an activity, GPU annotation or sync event.
func (e Event) Stream() StreamID {
	if q, ok := e.queue(); ok {
		return q.stream
	}
	return None
}

// Shape returns the launch configuration of an activity as "gx,gy,gz|bx,by,bz",
// or the raw JSON text of an op's "Input Dims"; "" where it is not recorded.
func (e Event) Shape() string {
	if l := e.lane; l != event.LaneGPU && l != event.LaneOp {
		return ""
	}
	c, i := e.loc()
	return e.t.names[c.Shape.At(i)]
}

// inputSeparator is between the parts of [Event.Inputs] in the table of names.
const inputSeparator = string(rune(column.InputSeparator))

// Inputs returns what is recorded of an op's inputs beside their sizes, which
// [Event.Shape] has: the raw JSON texts of "Input type", "Input Strides" and
// "Concrete Inputs", each "" where it is not recorded.
func (e Event) Inputs() (types, strides, values string) {
	if e.lane != event.LaneOp {
		return "", "", ""
	}
	c, i := e.loc()
	types, rest, _ := strings.Cut(e.t.names[c.Inputs.At(i)], inputSeparator)
	strides, values, _ = strings.Cut(rest, inputSeparator)
	return types, strides, values
}

// Exchange is what a collective says of itself.
type Exchange struct {
	// Group is the name of its process group, Ranks its members, as far as they are recorded.
	Group string
	Ranks []int
	// Bytes is what each rank gives, 0 where it is unknown.
	Bytes int64
}

// widths are the bytes of an element by the names that torch gives types.
var widths = map[string]int64{"Float": 4, "Half": 2, "BFloat16": 2, "Double": 8, "Byte": 1, "Char": 1, "Short": 2,
	"Int":  4,
	"Long": 8, "Bool": 1, "Float8_e4m3fn": 1, "Float8_e5m2": 1, "Float8_e4m3fnuz": 1, "Float8_e5m2fnuz": 1}

// Exchange returns what a collective's kernel says of itself. The second result is false for other activities, and for
// collectives that no library of torch launched, which say nothing.
func (e Event) Exchange() (x Exchange, ok bool) {
	if e.lane != event.LaneGPU {
		return x, false
	}
	c, i := e.loc()
	parts := strings.Split(e.t.names[c.Inputs.At(i)], inputSeparator)
	if len(parts) != scan.ExchangeParts {
		return x, false
	}
	text := func(i int) string { return strings.Trim(parts[i], `"`) }
	if n, err := strconv.ParseInt(text(scan.ExchangeElements), 10, 64); err == nil && n > 0 && n < math.MaxInt64/8 {
		x.Bytes = n * widths[text(scan.ExchangeType)]
	}
	x.Group = text(scan.ExchangeGroup)
	for _, f := range strings.FieldsFunc(text(scan.ExchangeRanks),
		func(r rune) bool { return strings.ContainsRune("[], ", r) }) {
		n, err := strconv.Atoi(f)
		if err != nil || n < 0 { // torch writes "[0, 1, ..., 63]" for large groups
			x.Ranks = nil
			break
		}
		x.Ranks = append(x.Ranks, n)
	}
	return x, x.Group != "" || x.Ranks != nil || x.Bytes > 0
}

// ExternalID returns the profiler's id of the linked CPU op, 0 for none; see [Trace.OpByExternalID].
func (e Event) ExternalID() uint64 {
	if !e.Valid() {
		return 0
	}
	c, i := e.loc()
	return c.Ext.At(i)
}

// Bytes is how many bytes a copy or set moves, 0 where it is not recorded.
func (e Event) Bytes() int64 {
	if !e.Valid() {
		return 0
	}
	c, i := e.loc()
	return c.Bytes.At(i)
}

// Data returns all that is recorded of the event, as [Builder.Add] takes it: a
// raw start, and the duration that the profiler recorded, which is that of
// [Event.Duration] except for activities whose recorded end cannot be true.
// The scope of a process is not kept. The caller must not change Args.
func (e Event) Data() EventData {
	if !e.Valid() {
		return EventData{Device: None, Stream: None}
	}
	t, c, i := e.t, &e.t.lanes[e.lane], e.Index()
	k := c.Kind[i]
	th := t.Thread(e.Thread())
	d := EventData{
		Kind: event.Kind(k), Name: e.Name(), Start: t.Raw(e.Start()), Duration: c.Dur[i],
		Process: th.Process, ProcessLabel: th.ProcessLabel, Thread: th.ID, Label: th.Label,
		Device: e.Device(), Stream: e.Stream(),
		Correlation: c.Corr.At(i), ExternalID: c.Ext.At(i), GraphID: c.Graph.At(i), GraphNode: c.Node.At(i),
		Shape: e.Shape(), Bytes: c.Bytes.At(i), Value: math.Float64frombits(c.Value.At(i)),
		Unfinished: c.Unended.At(i) != 0,
	}
	d.Types, d.Strides, d.Values = e.Inputs()
	if cat := c.Cat.At(i); cat != 0 {
		d.Category = t.names[cat]
	} else {
		d.Category = kind.Category(k)
	}
	if r := c.Recorded.At(i); r > 0 {
		d.Duration = r - 1
	}
	if text := t.names[c.Domain.At(i)]; e.lane == event.LaneOp {
		d.CallStack = text
	} else {
		d.Domain = text
	}
	if id := c.Args.At(i); id != 0 {
		d.Args = []byte(t.names[id])
	}
	return d
}

// Launch returns the API call that launched an activity. It is not valid for
// orphans: activities whose call is outside the recorded window.
func (e Event) Launch() Event {
	if e.lane != event.LaneGPU {
		return Event{}
	}
	return e.t.launchEvent(int(e.row))
}

// Activities iterates over the GPU activities that a launch caused, by start.
func (e Event) Activities() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		if e.lane != event.LaneLaunch {
			return
		}
		for _, i := range e.t.activitiesOf(int(e.row)) {
			if !yield(Event{e.t, i, event.LaneGPU}) {
				return
			}
		}
	}
}

// Link returns what [Event.Launch] and [Event.Op] of an activity rest on,
// [LinkNone] for orphans and for events that are no activities.
func (e Event) Link() Link {
	if e.lane != event.LaneGPU {
		return LinkNone
	}
	i := e.Index()
	switch {
	case e.t.launchOf[i] >= 0 && i < len(e.t.linkOf):
		return e.t.linkOf[i]
	case e.t.launchOf[i] >= 0:
		return LinkCorrelation
	case e.t.OpByExternalID(e.ExternalID()).Valid():
		return LinkOp
	}
	return LinkNone
}

// IsReplay reports whether an activity was replayed from a graph: its launch
// is a graph launch, or it carries a graph node id, or it is a graph row.
func (e Event) IsReplay() bool {
	if e.lane != event.LaneGPU {
		return false
	}
	if e.Kind() == event.Graph {
		return true
	}
	if c, i := e.loc(); c.Node.At(i) != 0 {
		return true
	}
	l := e.t.launchOf[e.Index()]
	return l >= 0 && e.t.replays(l)
}

// Op returns the innermost CPU op that encloses an activity's launch, or a
// launch call; for an activity without a launch, the op that its External id
// names. For ops, frames and annotations it is the innermost op around their
// start on the same thread.
func (e Event) Op() Event {
	switch e.lane {
	case laneInvalid:
		return Event{}
	case event.LaneGPU:
		if l := e.Launch(); l.Valid() {
			if op := l.Op(); op.Valid() {
				return op
			}
		}
		return e.t.OpByExternalID(e.ExternalID())
	}
	return e.t.opAt(e.Thread(), e.Start())
}

// Frame returns the innermost Python or module frame around an activity's
// launch, or around the start of a CPU event on its thread. The whole stack is
// that of its [Event.Enclosing].
func (e Event) Frame() Event {
	switch e.lane {
	case laneInvalid:
		return Event{}
	case event.LaneGPU:
		if l := e.Launch(); l.Valid() {
			return l.Frame()
		}
		if op := e.Op(); op.Valid() {
			return op.Frame()
		}
		return Event{}
	case event.LanePython:
		return e.Parent()
	}
	return e.t.Innermost(event.LanePython, e.Thread(), e.Start())
}

// Parent returns the event of the same lane and thread that encloses e: the
// outer op of an op, the calling frame of a frame.
func (e Event) Parent() Event {
	w := e.outwards()
	return w.next()
}

// MaxEnclosing is how many events [Event.Enclosing] goes through. Python stops at a
// thousand calls; deeper nesting is not of a program, and for each of its events
// would cost as much as there are events.
const MaxEnclosing = 1024

// Enclosing iterates over e and the events of its lane and thread around it,
// innermost first, [MaxEnclosing] at most.
func (e Event) Enclosing() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		if !e.Valid() || !yield(e) {
			return
		}
		w := e.outwards()
		for n := 1; n < MaxEnclosing; n++ {
			if f := w.next(); !f.Valid() || !yield(f) {
				return
			}
		}
	}
}

// outwards are the events of one lane and thread around one, innermost first.
type outwards struct {
	t    *Trace
	lane event.Lane
	ends column.Ends
	lo   int // the thread's first row
	i    int // the last one found; before lo there are none
}

func (e Event) outwards() outwards {
	l, t := e.lane, e.t
	if l == laneInvalid || l == event.LaneGPU {
		return outwards{i: None}
	}
	w := outwards{t, l, t.endsOf(l), 0, e.Index()}
	w.lo, _ = t.threadRange(l, t.threadAt(l, w.i))
	return w
}

// next is the next one, not valid at the end.
func (w *outwards) next() Event {
	if w.i < w.lo {
		return Event{}
	}
	c := &w.t.lanes[w.lane]
	if w.i = w.ends.Last(c, w.lo, w.i-1, c.End(w.i)); w.i < 0 {
		return Event{}
	}
	return Event{w.t, int32(w.i), w.lane}
}
