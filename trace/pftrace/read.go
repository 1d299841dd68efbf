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
	b       *trace.Builder
	tracks  map[uint64]*track
	seqs    map[uint64]*interned
	slices  []slice
	limit   int64      // of slices
	bad     int64      // packets that do not parse
	orphan  int64      // ends without begin
	inline  counterSet // counters described without a number
	samples int64      // of counters
	base    int64      // to add for wall-clock time
	o       *trace.Options
	shapes  map[[2][3]int64]string
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
	maxEvents = 1 << 28  // of 130 bytes each while the trace is read
)

func read(ctx context.Context, r io.Reader, name string, o trace.Options) (*trace.Trace, error) {
	most, events := o.Limits.EventBytes, o.Limits.Events
	if most <= 0 {
		most = maxPacket
	}
	if events <= 0 {
		events = maxEvents
	}
	p := &packets{r: bufio.NewReaderSize(r, 256<<10), most: most}
	d := &reader{b: trace.NewBuilder(), tracks: map[uint64]*track{}, seqs: map[uint64]*interned{}, limit: events, o: &o, shapes: map[[2][3]int64]string{}}
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
	switch {
	case packets == 0 && errors.Is(err, errFrame):
		return fmt.Errorf("trace: %w: %w", trace.ErrFormat, err)
	case errors.As(err, new(*decompress.Damage)):
		d.b.Lose(trace.LossBadCompression, offset)
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

// packet reads one packet.
func (d *reader) packet(m []byte) error {
	var ts int64
	var seq, flags uint64
	var body, names, descriptor, stage, counter, clocks []byte
	var f field
	c := fields{rest: m}
	for c.next(&f) {
		switch f.id {
		case packetTimestamp:
			ts = int64(f.num)
		case packetSequence:
			seq = f.num
		case packetFlags:
			flags = f.num
		case packetTrackEvent:
			body = f.bytes
		case packetInterned:
			names = f.bytes
		case packetDescriptor:
			descriptor = f.bytes
		case packetRenderStage:
			stage = f.bytes
		case packetCounter:
			counter = f.bytes
		case packetClocks:
			clocks = f.bytes
		}
	}
	ok := !c.bad
	s := d.seqs[seq]
	if s == nil {
		s = newInterned()
		d.seqs[seq] = s
	}
	if flags&flagCleared != 0 {
		s.clear()
	}
	ok = ok && s.learn(names) && d.describe(descriptor)
	if !ok {
		d.bad++
		return nil
	}
	if int64(len(d.slices))+d.samples >= d.limit {
		return errEvents
	}
	switch {
	case body != nil:
		s.ordered = s.ordered && ts >= s.last
		s.last = ts
		ok = d.event(s, ts, body)
	case stage != nil:
		ok = d.renderStage(s, ts, stage)
	case counter != nil:
		ok = d.gpuCounter(s, ts, counter)
	case clocks != nil:
		ok = d.clocks(clocks)
	}
	if !ok {
		d.bad++
	}
	return nil
}

// describe reads a track_descriptor.
func (d *reader) describe(m []byte) bool {
	if m == nil {
		return true
	}
	var id uint64
	t := &track{}
	var f, g field
	c := fields{rest: m}
	for c.next(&f) {
		switch f.id {
		case descriptorID:
			id = f.num
		case descriptorParent:
			t.parent = f.num
		case descriptorName:
			t.name = string(f.bytes)
		case descriptorProcess:
			for p := (fields{rest: f.bytes}); p.next(&g); {
				switch g.id {
				case 1:
					t.process = int64(g.num)
				case 6:
					t.label = string(g.bytes)
				}
			}
		case descriptorThread:
			for p := (fields{rest: f.bytes}); p.next(&g); {
				switch g.id {
				case 1:
					t.process = int64(g.num)
				case 2:
					t.thread = int64(g.num)
				case 5:
					t.name = string(g.bytes)
				}
			}
		}
	}
	d.tracks[id] = t
	return !c.bad
}

// event reads a track_event: the begin or the end of a slice.
func (d *reader) event(s *interned, ts int64, m []byte) bool {
	e := slice{start: ts, end: math.MinInt64}
	var typ uint64
	var value float64
	good := true
	var f field
	c := fields{rest: m}
	for c.next(&f) {
		switch f.id {
		case eventType:
			typ = f.num
		case eventTrack:
			e.track = f.num
		case eventNameID:
			e.name = s.names[f.num]
		case eventName:
			e.name = string(f.bytes)
		case eventCategoryID:
			e.category = s.categories[f.num]
		case eventCategory:
			e.category = string(f.bytes)
		case eventInt:
			value = float64(int64(f.num))
		case eventDouble:
			value = f.double()
		case eventArg:
			good = e.take(s, f.bytes) && good
		}
	}
	if c.bad || !good {
		return false
	}
	switch typ {
	case typeBegin:
		s.marks[e.track] = append(s.marks[e.track], int32(len(d.slices)))
		d.slices = append(d.slices, e)
	case typeEnd:
		s.marks[e.track] = append(s.marks[e.track], ^int32(len(s.ends)))
		s.ends = append(s.ends, ts)
	case typeCounter:
		d.trackCounter(e.track, ts, value)
	}
	return true
}

// pair gives the begins of each track their ends.
func (d *reader) pair(s *interned) {
	for _, marks := range s.marks {
		var open []int32
		for _, m := range marks {
			switch {
			case m >= 0:
				open = append(open, m)
			case len(open) == 0:
				d.orphan++
			case s.ordered: // the last one that is open
				d.slices[open[len(open)-1]].end = s.ends[^m]
				open = open[:len(open)-1]
			default: // the first one
				d.slices[open[0]].end = s.ends[^m]
				open = open[1:]
			}
		}
	}
}

// renderStage reads a gpu_render_stage_event: a whole GPU activity.
func (d *reader) renderStage(s *interned, ts int64, m []byte) bool {
	e := slice{start: ts, device: int64(trace.NoDevice), stream: int64(trace.NoStream), has: onGPU}
	var duration, queue, stage, event uint64
	good, extra := true, false
	var f field
	c := fields{rest: m}
	for c.next(&f) {
		switch f.id {
		case stageEventID:
			event = f.num
		case stageDuration:
			duration = f.num
		case stageDevice:
			e.device = int64(f.num)
		case stageQueueID:
			queue = f.num
		case stageID:
			stage = f.num
		case stageNameID:
			e.name = s.names[f.num]
		case stageKernelID:
			if e.name == "" {
				e.name = s.kernels[f.num]
			}
		case stageLaunch:
			good = e.launch(f.bytes) && good
		case stageExtra:
			good, extra = e.extra(f.bytes) && good, true
		}
	}
	if c.bad || !good || duration > math.MaxInt64 {
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
	switch name := s.stages[stage]; name {
	case "Kernel":
		e.has |= isKernel
	case "Memcpy", "Memset":
		e.has |= map[string]evidence{"Memcpy": isCopy, "Memset": isSet}[name]
		if e.name == "" {
			e.name = name
		}
	case "Annotation":
		e.has |= isAnnotation
	case "Graph":
		e.has |= isGraph
	case "":
	default: // a host's function, the recording of an event: parts of a graph, no work
		e.has |= isOther
		if e.name == "" {
			e.name = name
		}
	}
	d.slices = append(d.slices, e)
	return true
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
	var f, g field
	c := fields{rest: m}
	for c.next(&f) {
		if f.id != 1 {
			continue
		}
		var id uint64
		var ts int64
		for e := (fields{rest: f.bytes}); e.next(&g); {
			switch g.id {
			case 1:
				id = g.num
			case 2:
				ts = int64(g.num)
			}
		}
		switch id {
		case clockBoot:
			boot = ts
		case clockReal:
			real = ts
		}
	}
	if boot != 0 && real != 0 {
		d.base = real - boot
	}
	return !c.bad
}

// wanted reports whether an event of a kind and time is to be stored.
func (d *reader) wanted(k trace.Kind, start, end int64) bool {
	w := d.o.Window
	return d.o.Wants(k) && (w == nil || start < w.To && end >= w.From)
}

// launch reads a kernel's grid and block.
func (e *slice) launch(m []byte) bool {
	var f, g field
	c := fields{rest: m}
	for c.next(&f) {
		if f.id != launchGrid && f.id != launchBlock {
			continue
		}
		var dims [3]int64
		for d := (fields{rest: f.bytes}); d.next(&g); {
			if g.id >= 1 && g.id <= 3 {
				dims[g.id-1] = int64(g.num)
			}
		}
		e.setShape(f.id == launchBlock, dims)
	}
	return !c.bad
}

// extra reads one named text of a render stage.
func (e *slice) extra(m []byte) bool {
	var name, text []byte
	var f field
	c := fields{rest: m}
	for c.next(&f) {
		switch f.id {
		case 1:
			name = f.bytes
		case 2:
			text = f.bytes
		}
	}
	if v, ok := number(text); ok {
		e.set(name, v)
	}
	return !c.bad
}

// finish tells the kinds and hands everything to the builder.
func (d *reader) finish(tooLarge int64) {
	for _, s := range d.seqs {
		d.pair(s)
	}
	d.findGPUs()
	open := int64(0)
	for i := range d.slices {
		e := &d.slices[i]
		if e.end == math.MinInt64 {
			open++
			continue
		}
		t := d.tracks[e.track]
		if t == nil {
			t = &track{}
		}
		if t.gpu {
			e.has |= onGPU
		}
		kind := e.kindOf()
		if !d.wanted(kind, e.start, e.end) {
			d.b.See(e.start)
			continue
		}
		d.b.Add(d.data(e, t, kind))
	}
	for id, t := range d.tracks {
		d.name(id, t)
	}
	d.report(open, tooLarge)
}

// findGPUs marks the tracks of GPUs: those of processes on whose tracks activities with a device and a stream lie, and that make no calls.
// Annotations of a GPU carry nothing that tells where they lie, and need not share a track with kernels.
func (d *reader) findGPUs() {
	activities, calls := map[int64]bool{}, map[int64]bool{}
	for i := range d.slices {
		e := &d.slices[i]
		t := d.tracks[e.track]
		switch {
		case t == nil || e.has&onGPU != 0:
		case e.has&(hasCallID|hasPython) != 0:
			calls[t.process] = true
		case e.has&(hasDevice|hasStream) == hasDevice|hasStream:
			activities[t.process] = true
		}
	}
	for _, t := range d.tracks {
		t.gpu = activities[t.process] && !calls[t.process]
	}
}

// shapeOf is an activity's grid and block as text; equal ones share it.
func (d *reader) shapeOf(e *slice) string {
	k := [2][3]int64{e.grid, e.block}
	s, ok := d.shapes[k]
	if !ok {
		s = e.shape()
		if len(d.shapes) < 1<<16 { // a hostile file can make every activity's its own
			d.shapes[k] = s
		}
	}
	return s
}

// data is an event as the builder takes it.
func (d *reader) data(e *slice, t *track, kind trace.Kind) trace.EventData {
	out := trace.EventData{Kind: kind, Category: e.category, Domain: e.domain, Name: e.name, Start: e.start, Duration: e.end - e.start, Device: trace.NoDevice, Stream: trace.NoStream,
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
		if e.has&hasGrid != 0 {
			out.Shape = d.shapeOf(e)
		}
		return out
	}
	out.Process, out.Thread = trace.ProcessRef{ID: trace.ProcessID(t.process)}, trace.ThreadID(t.thread)
	return out
}

// name tells the builder what threads are called.
func (d *reader) name(id uint64, t *track) {
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
	lose(trace.LossBadEvent, d.orphan, "ends of slices without a begin")
	lose(trace.LossLimit, tooLarge, "packets that are too large")
	d.b.SetMeta(trace.Meta{Source: "torch.profiler", Format: "pftrace", Rank: -1, BaseTime: d.base, WithStack: d.has(hasPython), RecordShape: false})
}

// has reports whether any event carries something.
func (d *reader) has(what evidence) bool {
	for i := range d.slices {
		if d.slices[i].has&what != 0 {
			return true
		}
	}
	return false
}
