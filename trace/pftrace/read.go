package pftrace

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/llmstrata/strata/internal/decompress"
	"github.com/llmstrata/strata/trace"
)

// NOTE on how slices are put together.
//
// A slice is a packet for its begin and one for its end, and an end does not say which begin it ends. Perfetto's own writers write packets as
// time goes on, and an end belongs to the last begin of its track that is open. PyTorch writes all begins of a kind in the order of its buffers
// and then all ends in the same order; overlapping kernels of one stream, which a stack could not tell apart, come out right that way. Which of
// the two a sequence is, its timestamps tell: in the second one they go back from the last begin to the first end.

// reader collects the events of a trace.
type reader struct {
	b        *trace.Builder
	tracks   map[uint64]*track
	seqs     map[uint64]*interned
	recent   *interned // the sequence of the packet before
	recentID uint64
	chunks   [][]kept // of chunkSize each
	n        int      // events in them
	texts    []string
	textID   map[string]uint32
	limit    int64      // of slices
	bad      int64      // packets that do not parse
	inline   counterSet // counters described without a number
	samples  int64      // of counters
	base     int64      // to add for wall-clock time
	stacks   bool       // Python frames were recorded
	o        *trace.Options
	shapes   map[[2][3]int64]uint32
}

// chunkSize is how many events are stored together: they are not copied as their number grows.
const chunkSize = 1 << 13

// at is the i-th event.
func (d *reader) at(i int32) *kept { return &d.chunks[i/chunkSize][i%chunkSize] }

// store keeps an event and returns its number.
func (d *reader) store(e *kept) int32 {
	i := d.n
	switch t := e.track; {
	case e.has&onGPU != 0:
	case e.has&(hasCallID|hasPython) != 0:
		t.calls = true
		d.stacks = d.stacks || e.has&hasPython != 0
	case e.has&(hasDevice|hasStream) == hasDevice|hasStream:
		t.activities = true
	}
	if i%chunkSize == 0 {
		d.chunks = append(d.chunks, make([]kept, 0, chunkSize))
	}
	c := &d.chunks[i/chunkSize]
	*c = append(*c, *e)
	d.n++
	return int32(i)
}

// errEvents says that the limit of events is exceeded.
var errEvents = errors.New("more events than allowed")

// Read loads a trace from r, decompressed. Everything that could be read of a damaged file is kept, and the trace's health says what was lost.
// The error wraps [trace.ErrFormat] where r holds no packet, [trace.ErrLimit] above a limit; it is ctx's error when cancelled.
func Read(ctx context.Context, r io.Reader, o trace.Options) (*trace.Trace, error) {
	return read(ctx, r, "", o)
}

// The defaults of limits that mean something here.
const (
	maxPacket = 64 << 20 // bytes, as of one JSON event
	maxEvents = 1 << 28
	// eventBytes is what an event takes while the trace is read: its record, and its row of the trace's columns.
	eventBytes = 104 + 60
)

func read(ctx context.Context, r io.Reader, name string, o trace.Options) (*trace.Trace, error) {
	most, events := o.Limits.EventBytes, o.Limits.Events
	if most <= 0 {
		most = maxPacket
	}
	if events <= 0 {
		events = maxEvents
	}
	if o.MemoryBudget > 0 {
		events = min(events, o.MemoryBudget/eventBytes)
	}
	source := newAhead(r)
	defer source.close()
	p := &packets{r: bufio.NewReaderSize(source, aheadSize), most: most}
	d := &reader{b: trace.NewBuilder(), tracks: map[uint64]*track{}, seqs: map[uint64]*interned{}, limit: events, o: &o, shapes: map[[2][3]int64]uint32{},
		texts: []string{""}, textID: map[string]uint32{"": 0}}
	d.b.RepairOrder(o.RepairOrder)
	n := 0
	for ; ; n++ {
		if n&(1<<12-1) == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		m, err := p.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			if stop := d.damage(err, p.offset, n); stop != nil {
				return nil, stop
			}
			break
		}
		if err := d.packet(m); err != nil {
			return nil, fmt.Errorf("trace: %w: %w: %d", trace.ErrLimit, err, d.limit)
		}
	}
	if n == 0 {
		return nil, fmt.Errorf("trace: %w: it holds no packet", trace.ErrFormat)
	}
	d.finish(p.lost)
	d.b.Meta().Path = name
	return d.b.FinishContext(ctx)
}

// damage notes what ended the stream early; it returns the errors that are not damage.
func (d *reader) damage(err error, offset int64, packets int) error {
	var broken *decompress.Damage
	switch {
	case packets == 0 && errors.Is(err, errFrame):
		return fmt.Errorf("trace: %w: %w", trace.ErrFormat, err)
	case errors.Is(err, decompress.ErrLimit):
		return fmt.Errorf("trace: %w: %w", trace.ErrLimit, err)
	case errors.As(err, &broken):
		d.b.Lose(trace.LossBadCompression, offset)
		d.b.LoseDetail(trace.LossBadCompression, 0, broken.Err.Error()+", "+broken.Extent())
	case errors.Is(err, io.ErrUnexpectedEOF):
		d.b.Lose(trace.LossTruncated, offset)
	case errors.Is(err, errFrame):
		d.b.Lose(trace.LossBadEvent, offset)
		d.b.LoseDetail(trace.LossBadEvent, 0, "everything behind a place that is no packet")
	default:
		return err
	}
	return nil
}

// packet is what one holds, as far as it is read.
type packet struct {
	ts                                          int64
	seq, flags                                  uint64
	event, names, track, stage, counter, clocks []byte
}

// parse reads a packet's fields, and reports whether they are well formed.
func (p *packet) parse(m []byte) bool {
	for len(m) > 0 {
		f, num, body, rest := next(m)
		switch m = rest; f {
		case 0:
			return false
		case packetTimestamp:
			p.ts = int64(num)
		case packetSequence:
			p.seq = num
		case packetFlags:
			p.flags = num
		case packetTrackEvent:
			p.event = body
		case packetInterned:
			p.names = body
		case packetDescriptor:
			p.track = body
		case packetRenderStage:
			p.stage = body
		case packetCounter:
			p.counter = body
		case packetClocks:
			p.clocks = body
		}
	}
	return true
}

// packet reads one packet.
func (d *reader) packet(m []byte) error {
	var p packet
	ok := p.parse(m)
	s := d.sequence(p.seq)
	if p.flags&flagCleared != 0 {
		s.clear()
	}
	ok = ok && (p.names == nil || d.learn(s, p.names)) && d.describe(p.track)
	if !ok {
		d.bad++
		return nil
	}
	if int64(d.n)+d.samples >= d.limit {
		return errEvents
	}
	switch {
	case p.event != nil:
		if s.ordered && p.ts < s.last {
			d.reorder(s)
		}
		s.last = p.ts
		ok = d.event(s, p.ts, p.event)
	case p.stage != nil:
		ok = d.renderStage(s, p.ts, p.stage)
	case p.counter != nil:
		ok = d.gpuCounter(s, p.ts, p.counter)
	case p.clocks != nil:
		ok = d.clocks(p.clocks)
	}
	if !ok {
		d.bad++
	}
	return nil
}

// sequence is what is known of a packet sequence; files have one, or take turns.
func (d *reader) sequence(id uint64) *interned {
	if d.recent != nil && d.recentID == id {
		return d.recent
	}
	s := d.seqs[id]
	if s == nil {
		s = newInterned()
		d.seqs[id] = s
	}
	d.recent, d.recentID = s, id
	return s
}

// track is the one with a number, which may be described later.
func (d *reader) track(id uint64) *track {
	t := d.tracks[id]
	if t == nil {
		t = &track{}
		d.tracks[id] = t
	}
	return t
}

// describe reads a track_descriptor.
func (d *reader) describe(m []byte) bool {
	if m == nil {
		return true
	}
	var id uint64
	t := &track{}
	good := true
	for len(m) > 0 && good {
		f, num, body, rest := next(m)
		switch m = rest; f {
		case 0:
			good = false
		case descriptorID:
			id = num
		case descriptorParent:
			t.parent = num
		case descriptorName:
			t.name = string(body)
		case descriptorProcess:
			good = t.describe(body, 0, 6)
		case descriptorThread:
			good = t.describe(body, 2, 5)
		}
	}
	known := d.track(id)
	t.activities, t.calls = known.activities, known.calls
	*known = *t
	return good
}

// describe reads what a descriptor says of a process or of a thread, which has a number in one field and its name in another.
func (t *track) describe(m []byte, thread, name int) bool {
	for len(m) > 0 {
		f, num, body, rest := next(m)
		switch m = rest; f {
		case 0:
			return false
		case 1:
			t.process = int64(num)
		case thread:
			t.thread = int64(num)
		case name:
			if thread == 0 {
				t.label = string(body)
			} else {
				t.name = string(body)
			}
		}
	}
	return true
}

// event reads a track_event: the begin or the end of a slice.
func (d *reader) event(s *interned, ts int64, m []byte) bool {
	var e slice
	e.start, e.end = ts, math.MinInt64
	var typ, track uint64
	var value float64
	for len(m) > 0 {
		f, num, body, rest := next(m)
		switch m = rest; f {
		case 0:
			return false
		case eventType:
			typ = num
		case eventTrack:
			track = num
		case eventNameID:
			e.name = s.names.get(num)
		case eventName:
			e.name = d.text(body)
		case eventCategoryID:
			e.category = s.categories.get(num)
		case eventCategory:
			e.category = d.text(body)
		case eventInt:
			value = float64(int64(num))
		case eventDouble:
			value = math.Float64frombits(num)
		case eventArg:
			if !e.take(d, s, body) {
				return false
			}
		}
	}
	switch typ {
	case typeBegin:
		q := d.queue(s, track)
		e.track = q.track
		d.shape(&e)
		d.begin(s, q, d.store(&e.kept))
	case typeEnd:
		d.end(s, d.queue(s, track), ts)
	case typeCounter:
		d.trackCounter(track, ts, value)
	}
	return true
}

// renderStage reads a gpu_render_stage_event: a whole GPU activity.
func (d *reader) renderStage(s *interned, ts int64, m []byte) bool {
	e := slice{kept: kept{start: ts, device: int64(trace.NoDevice), stream: int64(trace.NoStream), has: onGPU, track: &noTrack}}
	var duration, queue, stage, event uint64
	good, extra := true, false
	for len(m) > 0 && good {
		f, num, body, rest := next(m)
		switch m = rest; f {
		case 0:
			good = false
		case stageEventID:
			event = num
		case stageDuration:
			duration = num
		case stageDevice:
			e.device = int64(num)
		case stageQueueID:
			queue = num
		case stageID:
			stage = num
		case stageNameID:
			e.name = s.names.get(num)
		case stageKernelID:
			if e.name == 0 {
				e.name = s.kernels.get(num)
			}
		case stageLaunch:
			good = e.launch(body)
		case stageExtra:
			good, extra = e.extra(body), true
		}
	}
	if !good || duration > math.MaxInt64 {
		return false
	}
	e.end = ts + int64(duration)
	if !extra { // else the event's number is one of its own
		e.correlation = event
	}
	if e.stream == int64(trace.NoStream) {
		e.stream = queueStream(s.stages[queue])
	}
	e.has |= hasDevice | hasStream
	d.kindOfStage(&e, s.stages[stage])
	d.shape(&e)
	d.store(&e.kept)
	return true
}

// kindOfStage sets what the name of a stage says of an activity: its kind, and a
// name where it has none of its own.
func (d *reader) kindOfStage(e *slice, name string) {
	switch name {
	case "Kernel":
		e.has |= isKernel
	case "Memcpy", "Memset":
		if e.has |= isCopy; name == "Memset" {
			e.has ^= isCopy | isSet
		}
		if e.name == 0 {
			e.name = d.text([]byte(name))
		}
	case "Annotation":
		e.has |= isAnnotation
	case "Graph":
		e.has |= isGraph
	case "":
	default: // a host's function, the recording of an event: parts of a graph, no work
		e.has |= isOther
		if e.name == 0 {
			e.name = d.text([]byte(name))
		}
	}
}

// queueStream reads a stream from the name of its queue: "stream 7" or "[07] stream 7"; where streams have names, "[07] side comms".
func queueStream(name string) int64 {
	if id, rest, ok := strings.Cut(strings.TrimPrefix(name, "["), "]"); ok {
		if !strings.HasPrefix(rest, " stream ") {
			rest = id
		}
		name = strings.TrimSpace(rest)
	}
	if n, ok := number([]byte(strings.TrimPrefix(name, "stream "))); ok {
		return n
	}
	return int64(trace.NoStream)
}

// clocks reads a clock_snapshot: what must be added to the trace's clock for wall-clock time.
func (d *reader) clocks(m []byte) bool {
	var boot, real int64
	good := true
	for len(m) > 0 && good {
		f, _, body, rest := next(m)
		switch m = rest; f {
		case 0:
			good = false
		case clockOne:
			id, ts, _, ok := numbered(body, clockTime)
			switch good = ok; id {
			case clockBoot:
				boot = int64(ts)
			case clockReal:
				real = int64(ts)
			}
		}
	}
	if boot != 0 && real != 0 {
		d.base = real - boot
	}
	return good
}

// wanted reports whether an event of a kind and time is to be stored.
func (d *reader) wanted(k trace.Kind, start, end int64) bool {
	w := d.o.Window
	return d.o.Wants(k) && (w == nil || start < w.To && end >= w.From)
}

// launch reads a kernel's grid and block.
func (e *slice) launch(m []byte) bool {
	for len(m) > 0 {
		f, _, body, rest := next(m)
		if m = rest; f == 0 {
			return false
		}
		if f != launchGrid && f != launchBlock {
			continue
		}
		var dims [3]int64
		for len(body) > 0 {
			g, num, _, rest := next(body)
			if body = rest; g >= 1 && g <= len(dims) {
				dims[g-1] = int64(num)
			}
		}
		e.setShape(f == launchBlock, dims)
	}
	return true
}

// extra reads one named text of a render stage.
func (e *slice) extra(m []byte) bool {
	var name, text []byte
	for len(m) > 0 {
		f, _, body, rest := next(m)
		switch m = rest; f {
		case 0:
			return false
		case 1:
			name = body
		case 2:
			text = body
		}
	}
	if v, ok := number(text); ok {
		e.set(keyOf(name), v)
	}
	return true
}

// noTrack is the track of render stages, which have none.
var noTrack track

// finish tells the kinds and hands everything to the builder.
func (d *reader) finish(tooLarge int64) {
	d.findGPUs()
	kinds := make([]trace.Kind, 0, d.n)
	var rows [256]int // by lane
	for _, chunk := range d.chunks {
		for i := range chunk {
			e := &chunk[i]
			if e.track.gpu {
				e.has |= onGPU
			}
			k := e.kindOf(d)
			kinds = append(kinds, k)
			if e.end != math.MinInt64 && d.wanted(k, e.start, e.end) {
				rows[k.Lane()]++
			}
		}
	}
	for lane, n := range rows {
		d.b.Grow(trace.Lane(lane), n)
	}
	open := int64(0)
	for c, chunk := range d.chunks {
		for i := range chunk {
			e, kind := &chunk[i], kinds[c*chunkSize+i]
			switch {
			case e.end == math.MinInt64:
				open++
			case !d.wanted(kind, e.start, e.end):
				d.b.See(e.start)
			default:
				d.b.Add(d.data(e, kind))
			}
		}
		d.chunks[c] = nil // both would be most of the load's peak
	}
	for _, id := range sorted(d.tracks) {
		d.name(d.tracks[id])
	}
	d.report(open, tooLarge)
}

// findGPUs marks the tracks of GPUs: those of processes on whose tracks activities with a device and a stream lie, and that make no calls.
// Annotations of a GPU carry nothing that tells where they lie, and need not share a track with kernels.
func (d *reader) findGPUs() {
	activities, calls := map[int64]bool{}, map[int64]bool{}
	for _, t := range d.tracks {
		activities[t.process] = activities[t.process] || t.activities
		calls[t.process] = calls[t.process] || t.calls
	}
	for _, t := range d.tracks {
		t.gpu = activities[t.process] && !calls[t.process]
	}
}

// shape numbers an activity's grid and block as text.
func (d *reader) shape(e *slice) {
	if e.has&hasGrid == 0 {
		return
	}
	k := [2][3]int64{e.grid, e.block}
	id, ok := d.shapes[k]
	if !ok {
		id = d.text(e.shapeText())
		if len(d.shapes) < 1<<16 { // a hostile file can make every activity's its own
			d.shapes[k] = id
		}
	}
	e.kept.shape = id
}

// data is an event as the builder takes it.
func (d *reader) data(e *kept, kind trace.Kind) trace.EventData {
	t := e.track
	out := trace.EventData{Kind: kind, Category: d.texts[e.category], Domain: d.texts[e.domain], Name: d.texts[e.name], Start: e.start, Duration: e.end - e.start,
		Device: trace.NoDevice, Stream: trace.NoStream,
		Correlation: trace.CorrelationID(e.correlation), ExternalID: e.external, GraphID: e.graph, GraphNode: e.node, Bytes: e.bytes}
	lane := kind.Lane()
	if lane == trace.LaneGPU || kind == trace.KindGPUAnnotation || kind == trace.KindSync {
		out.Device, out.Stream = trace.DeviceID(t.process), trace.StreamID(t.thread)
		if e.has&hasDevice != 0 {
			out.Device = trace.DeviceID(e.device)
		}
		if e.has&hasStream != 0 {
			out.Stream = trace.StreamID(e.stream)
		}
	}
	if lane == trace.LaneGPU {
		out.Shape = d.texts[e.shape]
		return out
	}
	out.Process, out.Thread = trace.ProcessRef{ID: trace.ProcessID(t.process)}, trace.ThreadID(t.thread)
	return out
}

// name tells the builder what threads are called.
func (d *reader) name(t *track) {
	if t.gpu {
		return
	}
	process := trace.ProcessRef{ID: trace.ProcessID(t.process)}
	if t.thread != 0 && t.name != "" {
		d.b.NameThread(process, trace.ThreadID(t.thread), t.name)
	}
	if t.thread == 0 && t.label != "" {
		d.b.NameProcess(process, t.label)
	}
}

// report tells what was lost, and where the trace is from.
func (d *reader) report(open, tooLarge int64) {
	lose := func(reason trace.LossReason, n int64, what string) {
		for range min(n, 1) {
			d.b.LoseDetail(reason, n, what)
		}
	}
	lose(trace.LossTruncated, open, "slices without an end")
	lose(trace.LossBadEvent, d.bad, "packets that cannot be read")
	var orphans int64
	for _, s := range d.seqs {
		orphans += s.orphans
	}
	lose(trace.LossBadEvent, orphans, "ends of slices without a begin")
	lose(trace.LossLimit, tooLarge, "packets that are too large")
	d.b.SetMeta(trace.Meta{Source: "torch.profiler", Format: "pftrace", Rank: -1, BaseTime: d.base, WithStack: d.stacks, RecordShape: false})
}
