package pftrace

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/llmstrata/strata/internal/decompress"
	"github.com/llmstrata/strata/trace"
)

// reader hands the events of a trace to a builder.
type reader struct {
	b         *trace.Builder
	tracks    map[uint64]*track
	processes map[int64]*process
	seqs      map[uint64]*interned
	recent    *interned // the sequence of the packet before
	recentID  uint64
	n         int64 // events
	waits     int64 // of them in the lists of tracks
	texts     []string
	textID    map[string]uint32
	limit     int64      // of events
	budget    int64      // bytes, 0 for none
	checked   int64      // events when full looked last
	bad       int64      // packets that do not parse
	inline    counterSet // counters described without a number
	samples   int64      // of counters
	base      int64      // to add for wall-clock time
	stacks    bool       // Python frames were recorded
	o         *trace.Options
	shapes    map[[2][3]int64]uint32
	kinds     []trace.Kind // by category's text; invalid is not looked up yet
	slice     slice        // that is being read
	alike     [alikeSlots]alike
}

// full says which limit is reached, nil for none.
func (d *reader) full() error {
	n := d.n + d.samples
	if n == d.checked {
		return nil
	}
	d.checked = n
	switch {
	case n > d.limit:
		return fmt.Errorf("more events than allowed: %d", d.limit)
	case d.budget > 0 && n*eventBytes+d.waits*waitBytes > d.budget:
		return fmt.Errorf("%d events need more than the memory budget of %d MB", n, d.budget/1e6)
	}
	return nil
}

// Read loads a trace from r, decompressed. Everything that could be read of a damaged file is kept, and the trace's health says what was lost.
// The error wraps [trace.ErrFormat] where r holds no packet, [trace.ErrLimit] above a limit; it is ctx's error when cancelled.
func Read(ctx context.Context, r io.Reader, o trace.Options) (*trace.Trace, error) {
	return read(ctx, r, "", o)
}

// The defaults of limits that mean something here.
const (
	maxPacket = 64 << 20 // bytes, as of one JSON event
	maxEvents = 1 << 28
	// eventBytes is what an event takes while the trace is read: its row of the trace's columns, what sorting takes, and its place in a queue.
	eventBytes = 60 + 16 + 24
	// waitBytes is what one takes beside that while it waits, in a list that grows by being copied.
	waitBytes = 2 * 104
)

func read(ctx context.Context, r io.Reader, name string, o trace.Options) (*trace.Trace, error) {
	most, events := o.Limits.EventBytes, o.Limits.Events
	if most <= 0 {
		most = maxPacket
	}
	if events <= 0 {
		events = maxEvents
	}
	source := newAhead(r)
	defer source.close()
	p := &packets{src: source, most: most}
	d := &reader{b: trace.NewBuilder(), tracks: map[uint64]*track{}, processes: map[int64]*process{}, seqs: map[uint64]*interned{}, limit: events,
		budget: o.MemoryBudget, o: &o, shapes: map[[2][3]int64]uint32{}, texts: []string{""}, textID: map[string]uint32{"": 0}}
	d.b.Use(&o)
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
			return nil, fmt.Errorf("trace: %w: %w", trace.ErrLimit, err)
		}
	}
	if n == 0 {
		return nil, fmt.Errorf("trace: %w: it holds no packet", trace.ErrFormat)
	}
	d.finish()
	d.report(p.lost)
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
		d.b.LoseDetail(trace.LossBadCompression, 1, fmt.Sprintf("behind byte %d", offset))
		d.b.LoseDetail(trace.LossBadCompression, 0, broken.Err.Error()+", "+broken.Extent())
	case errors.Is(err, io.ErrUnexpectedEOF):
		d.b.LoseDetail(trace.LossTruncated, 1, fmt.Sprintf("a packet that is cut off at byte %d", offset))
	case errors.Is(err, errFrame):
		d.b.LoseDetail(trace.LossBadEvent, 1, fmt.Sprintf("everything behind byte %d, where there is no packet", offset))
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

// plain reads a packet as nearly all are: a timestamp, a sequence and perhaps flags below 128, and an event or a render stage, which one field
// says. It takes the fields in the order that all writers write them in, and reports whether that is all there is.
func plain(m []byte) (ts int64, seq, flags uint64, field int, event []byte, ok bool) {
	if len(m) < 2 || m[0] != packetTimestamp<<3 {
		return
	}
	v, m := varint(m[1:])
	if len(m) < 4 || m[0] != packetSequence<<3 || m[1] >= 0x80 {
		return
	}
	ts, seq = int64(v), uint64(m[1])
	if m = m[2:]; m[0] == packetFlags<<3 && m[1] < 0x80 {
		flags, m = uint64(m[1]), m[2:]
	}
	const stage = packetRenderStage<<3 | 2 // a tag of two bytes
	switch {
	case len(m) < 4:
		return
	case m[0] == packetTrackEvent<<3|2:
		field = packetTrackEvent
	case m[0] == stage&0x7f|0x80 && m[1] == stage>>7:
		field, m = packetRenderStage, m[1:]
	default:
		return
	}
	size, n := int(m[1]), 2
	if size >= 0x80 {
		size, n = size&0x7f|int(m[2])<<7, 3
	}
	if size != len(m)-n || n == 3 && m[2] >= 0x80 {
		return
	}
	return ts, seq, flags, field, m[n:], true
}

// packet reads one packet.
func (d *reader) packet(m []byte) error {
	if ts, seq, flags, field, event, ok := plain(m); ok && flags&flagCleared == 0 {
		s := d.sequence(seq)
		if field == packetRenderStage {
			ok = d.renderStage(s, ts, event)
		} else {
			ok = d.inOrder(s, ts).event(d, ts, event)
		}
		if !ok {
			d.bad++
		}
		return d.full()
	}
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
	switch {
	case p.event != nil:
		ok = d.inOrder(s, p.ts).event(d, p.ts, p.event)
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
	return d.full()
}

// inOrder looks whether the order of a sequence still is that of time.
func (d *reader) inOrder(s *interned, ts int64) *interned {
	if ts < s.last && s.order == undecided {
		d.reorder(s)
	}
	s.last = ts
	return s
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
	known.parent, known.process, known.thread, known.name, known.label = t.parent, t.process, t.thread, t.name, t.label
	known.described++
	d.belongs(known)
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

// report tells what was lost, and where the trace is from.
func (d *reader) report(tooLarge int64) {
	lose := func(reason trace.LossReason, n int64, what string) {
		for range min(n, 1) {
			d.b.LoseDetail(reason, n, what)
		}
	}
	var open, orphans int64
	for _, s := range d.seqs {
		orphans += s.orphans
		for _, q := range s.queues {
			open += int64(len(q.open) - q.head)
		}
	}
	lose(trace.LossTruncated, open, "slices without an end")
	lose(trace.LossBadEvent, d.bad, "packets that cannot be read")
	lose(trace.LossBadEvent, orphans, "ends of slices without a begin")
	lose(trace.LossLimit, tooLarge, "packets that are too large")
	d.b.SetMeta(trace.Meta{Source: "torch.profiler", Format: "pftrace", Rank: -1, BaseTime: d.base, WithStack: d.stacks, RecordShape: false})
}
