package trace

import (
	"bytes"
	"iter"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/internal/column"
)

// Trace is a loaded profiler trace. It is immutable and safe for concurrent
// readers.
type Trace struct {
	meta     Meta
	names    []string // by NameID; names[0] is ""
	graph    []bool   // by NameID: a call of this name replays a graph
	lanes    [laneCount]column.Columns
	base     [laneCount + 1]EventID // base[l] is the id of lane l's first event
	threads  []Thread
	queues   []queue // (device, stream) pairs seen
	origin   int64   // raw ns of the first event
	first    Time
	last     Time
	health   Health
	decisive Decisive

	// threadRow[l][k] is the first row of thread k−1 in lane l, which is sorted
	// by thread; index 0 is no thread.
	threadRow [laneCount][]int32

	launchOf []int32 // launch row per activity, −1 for orphans
	linkOf   []Link  // what launchOf rests on; nil where it is the correlation of all

	lazy lazyLinks
}

// lazyLinks are links that most analyses do not need; each is made once, on
// first use.
type lazyLinks struct {
	activities struct {
		sync.Once
		first []int32 // first[l]..first[l+1] in row
		row   []int32
	}
	ends [laneCount]struct {
		sync.Once
		column.Ends
	}
	external struct {
		sync.Once
		id  []uint64 // sorted
		row []int32
	}
	streams struct {
		sync.Once
		of    map[queue]int32
		first []int32
		row   []int32
	}
}

// How many lanes and kinds there are; number 0 is none.
const (
	laneInvalid = event.Lane(kind.NoLane)
	laneCount   = kind.Lanes
	kindCount   = kind.Kinds
)

// queue is one stream of one device.
type queue struct {
	device DeviceID
	stream StreamID
}

// Meta returns what the file says about the recording.
func (t *Trace) Meta() Meta { return t.meta }

// Len returns the number of stored events of the lanes, of all where none is given.
func (t *Trace) Len(lanes ...event.Lane) int {
	if len(lanes) == 0 {
		return int(t.base[laneCount])
	}
	n := 0
	for _, l := range lanes {
		n += t.laneLen(l)
	}
	return n
}

func (t *Trace) laneLen(l event.Lane) int {
	if l >= laneCount {
		return 0
	}
	return t.lanes[l].Len()
}

// At returns the event with the given id; it is not valid when id is out of range.
func (t *Trace) At(id EventID) Event {
	if id < 0 || id >= t.base[laneCount] {
		return Event{}
	}
	l := t.laneOf(id)
	return Event{t, int32(id - t.base[l]), l}
}

// LaneAt returns the i-th event of lane l in the lane's order; it is not valid
// when there is none.
func (t *Trace) LaneAt(l event.Lane, i int) Event {
	if l >= laneCount || i < 0 || i >= t.lanes[l].Len() {
		return Event{}
	}
	return Event{t, int32(i), l}
}

// Events iterates over lane l in the lane's order (see [event.Lane]).
func (t *Trace) Events(l event.Lane) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for i := range t.laneLen(l) {
			if !yield(Event{t, int32(i), l}) {
				return
			}
		}
	}
}

// OfKind iterates over the events of a kind in the order of their lane. Those of other kinds cost next to nothing.
func (t *Trace) OfKind(k event.Kind) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		l := k.Lane()
		if l >= laneCount {
			return
		}
		kinds := t.lanes[l].Kind
		for i := 0; ; i++ {
			n := bytes.IndexByte(kinds[i:], uint8(k))
			if i += n; n < 0 || !yield(Event{t, int32(i), l}) {
				return
			}
		}
	}
}

// OnThread iterates over the events of lane l on one thread, by start.
func (t *Trace) OnThread(l event.Lane, th ThreadIndex) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		lo, hi := t.threadRange(l, th)
		for i := lo; i < hi; i++ {
			if !yield(Event{t, int32(i), l}) {
				return
			}
		}
	}
}

// OnStream iterates over the activities of one stream, by start.
func (t *Trace) OnStream(d DeviceID, s StreamID) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		z := &t.lazy.streams
		z.Do(t.indexStreams)
		k, ok := z.of[queue{d, s}]
		if !ok {
			return
		}
		for _, i := range z.row[z.first[k]:z.first[k+1]] {
			if !yield(Event{t, i, event.LaneGPU}) {
				return
			}
		}
	}
}

// Devices returns the GPUs that have activities, in ascending order.
func (t *Trace) Devices() []DeviceID {
	var out []DeviceID
	seen := map[DeviceID]bool{}
	for _, q := range t.usedQueues() {
		if !seen[q.device] {
			seen[q.device] = true
			out = append(out, q.device)
		}
	}
	slices.Sort(out)
	return out
}

// Streams returns the streams of device d that have activities, in ascending order.
func (t *Trace) Streams(d DeviceID) []StreamID {
	var out []StreamID
	for _, q := range t.usedQueues() {
		if q.device == d {
			out = append(out, q.stream)
		}
	}
	slices.Sort(out)
	return out
}

func (t *Trace) usedQueues() []queue {
	z := &t.lazy.streams
	z.Do(t.indexStreams)
	var out []queue
	for k, q := range t.queues {
		if z.first[k+1] > z.first[k] {
			out = append(out, q)
		}
	}
	return out
}

// Threads returns the CPU threads; an Event's ThreadIndex points into it.
func (t *Trace) Threads() []Thread { return append([]Thread(nil), t.threads...) }

// Thread returns one thread; the zero Thread when i is out of range.
func (t *Trace) Thread(i ThreadIndex) Thread {
	if i < 0 || int(i) >= len(t.threads) {
		return Thread{}
	}
	return t.threads[i]
}

// Name returns the text of an interned name, "" when id is out of range.
func (t *Trace) Name(id NameID) string {
	if int(id) < len(t.names) {
		return t.names[id]
	}
	return ""
}

// NumNames returns how many NameIDs exist; valid ids are below it.
func (t *Trace) NumNames() int { return len(t.names) }

// Raw returns x as a raw timestamp of the file in nanoseconds. Raw(0) is the
// smallest one of any event that is not metadata. Perfetto's SQL tables and deep
// links use raw timestamps.
func (t *Trace) Raw(x Time) int64 { return t.origin + int64(x) }

// Epoch returns the wall-clock time of Time 0, false when the file's clock
// cannot be related to one.
func (t *Trace) Epoch() (time.Time, bool) {
	ns := t.origin + t.meta.BaseTime
	const year2010 = 1262304000_000000000 // before any profiler that writes these files
	if ns < year2010 {
		return time.Time{}, false
	}
	return time.Unix(0, ns).UTC(), true
}

// Window returns the start of the first and the end of the last stored event, 0
// and 0 where none is stored.
func (t *Trace) Window() (start, end Time) { return t.first, t.last }

// Health returns what was found wrong with the trace and what that touches.
func (t *Trace) Health() Health { return t.health.clone() }

func (t *Trace) laneOf(id EventID) event.Lane {
	l := event.LaneGPU
	for l < laneCount-1 && id >= t.base[l+1] {
		l++
	}
	return l
}

// threadAt is the thread of row i of lane l, None in the GPU lane.
func (t *Trace) threadAt(l event.Lane, i int) ThreadIndex {
	r := t.threadRow[l]
	if len(r) == 0 {
		return None
	}
	return ThreadIndex(sort.Search(len(r), func(k int) bool { return int(r[k]) > i }) - 2)
}

func (t *Trace) threadRange(l event.Lane, th ThreadIndex) (lo, hi int) {
	if l >= laneCount || th < None {
		return lo, hi
	}
	r := t.threadRow[l]
	k := int(th) + 1
	if k+1 >= len(r) {
		return lo, hi
	}
	return int(r[k]), int(r[k+1])
}
