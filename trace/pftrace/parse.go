package pftrace

import (
	"encoding/json"
	"io"

	"github.com/llmstrata/strata/internal/wire"
	"github.com/llmstrata/strata/trace"
)

// parser reads packets, and hands what they say to a reader as operations.
type parser struct {
	packets  packets
	seqs     map[uint64]*interned
	recent   *interned // the sequence of the packet before
	recentID uint64
	queues   int32 // so many are numbered
	texts    []string
	textID   map[string]uint32
	shapes   map[[2][3]int64]uint32
	inline   counterSet // counters described without a number
	slice    slice      // that is being read
	slices   [againSlots]known
	ends     [1 << endBits]ending
	layouts  []*layout
	names    []byte      // of the layout that is looked for
	args     []layoutArg // its annotations
	recorded recorded    // by what, where the file says it
	base     int64       // to add for wall-clock time
	bad      int64       // packets that do not parse
	n        int         // packets
	err      error       // how they ended

	cur        *batch
	full, free chan *batch
	stop, done chan struct{}
	stopped    bool
}

// startParser parses r in a goroutine. What is in its fields may be looked at when full is closed.
func startParser(r io.Reader, most int) *parser {
	x := &parser{packets: packets{src: newAhead(r), most: most}, seqs: map[uint64]*interned{}, texts: []string{""},
		textID: map[string]uint32{"": 0}, recorded: recorded{Source: trace.SourceTorch, Rank: -1},
		shapes: map[[2][3]int64]uint32{}, full: make(chan *batch, batches), free: make(chan *batch, batches),
		stop: make(chan struct{}), done: make(chan struct{})}
	for range batches {
		x.free <- newBatch()
	}
	x.cur = <-x.free
	go x.run()
	return x
}

// run parses all packets.
func (x *parser) run() {
	defer close(x.done)
	defer close(x.full)
	for !x.stopped {
		m, err := x.packets.next()
		if err != nil {
			x.err = err
			x.flush()
			return
		}
		x.n++
		x.packet(m)
	}
}

// op adds an operation to the batch, to be filled in. What belongs to it goes there next.
func (x *parser) op() *op {
	if len(x.cur.ops) == cap(x.cur.ops) {
		x.flush()
	}
	b := x.cur
	b.ops = b.ops[:len(b.ops)+1]
	return &b.ops[len(b.ops)-1]
}

// flush hands the batch over, and takes an empty one.
func (x *parser) flush() {
	if x.stopped {
		x.cur.clear()
		return
	}
	x.cur.texts = x.texts
	x.full <- x.cur // which has room for all batches
	select {
	case x.cur = <-x.free:
	case <-x.stop:
		x.cur, x.stopped = newBatch(), true
	}
	x.cur.clear()
}

// close ends the work, and waits for what is under way: who closes what is read from must not do so before.
func (x *parser) close() {
	close(x.stop)
	x.packets.src.close()
	<-x.done
}

// packet is what one holds, as far as it is read.
type packet struct {
	ts                                                  int64
	seq, flags                                          uint64
	event, names, track, stage, counter, clocks, chrome []byte
}

// parse reads a packet's fields, and reports whether they are well formed.
func (p *packet) parse(m []byte) bool {
	good := true
	for f, v := range wire.Fields(m, &good) {
		switch f {
		case packetTimestamp:
			p.ts = int64(v.Num)
		case packetSequence:
			p.seq = v.Num
		case packetFlags:
			p.flags = v.Num
		case packetTrackEvent:
			p.event = v.Bytes
		case packetInterned:
			p.names = v.Bytes
		case packetDescriptor:
			p.track = v.Bytes
		case packetRenderStage:
			p.stage = v.Bytes
		case packetCounter:
			p.counter = v.Bytes
		case packetClocks:
			p.clocks = v.Bytes
		case packetChrome:
			p.chrome = v.Bytes
		}
	}
	return good
}

// plain reads what follows the timestamp of a packet, as nearly all are: a sequence and perhaps flags below 128 other
// than flagCleared, and an event or a render stage, which one field says. It takes the fields in the order that all
// writers write them in, and reports whether that is all there is.
func plain(m []byte) (seq uint64, field int, event []byte, ok bool) {
	if len(m) < 4 || m[0] != packetSequence<<3 || m[1] >= 0x80 {
		return
	}
	seq = uint64(m[1])
	if m = m[2:]; m[0] == packetFlags<<3 && m[1] < 0x80 && m[1]&flagCleared == 0 {
		m = m[2:]
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
	return seq, field, m[n:], true
}

// packet reads one packet.
func (x *parser) packet(m []byte) {
	if len(m) == 0 || m[0] != packetTimestamp<<3 {
		x.anyPacket(m)
		return
	}
	ts, tail := wire.Varint(m[1:])
	if len(tail) >= 8 && len(tail) <= maxShort {
		text := shorten(tail, len(tail))
		if end := &x.ends[text.slot(endBits)]; end.text == text {
			*x.op() = op{what: opEnd, ts: int64(ts), of: end.queue, slot: -1}
			return
		}
	}
	seq, field, event, ok := plain(tail)
	if !ok {
		x.anyPacket(m)
		return
	}
	s := x.recent
	if s == nil || x.recentID != seq {
		s = x.sequence(seq)
	}
	if field == packetRenderStage {
		ok = x.renderStage(s, int64(ts), event)
	} else {
		ok = x.event(s, int64(ts), event, tail)
	}
	if !ok {
		x.bad++
	}
}

// anyPacket reads a packet whatever is in it.
func (x *parser) anyPacket(m []byte) {
	var p packet
	ok := p.parse(m)
	s := x.sequence(p.seq)
	if p.flags&flagCleared != 0 {
		s.clear()
	}
	ok = ok && (p.names == nil || x.learn(s, p.names)) && x.describe(p.track)
	if !ok {
		x.bad++
		return
	}
	switch {
	case p.event != nil:
		ok = x.event(s, p.ts, p.event, nil)
	case p.stage != nil:
		ok = x.renderStage(s, p.ts, p.stage)
	case p.counter != nil:
		ok = x.gpuCounter(s, p.ts, p.counter)
	case p.clocks != nil:
		ok = x.clocks(p.clocks)
	case p.chrome != nil:
		ok = x.values(p.chrome)
	}
	if !ok {
		x.bad++
	}
}

// sequence is what is known of a packet sequence; files have one, or take turns.
func (x *parser) sequence(id uint64) *interned {
	if x.recent != nil && x.recentID == id {
		return x.recent
	}
	s := x.seqs[id]
	if s == nil {
		s = newInterned()
		s.number = int32(len(x.seqs))
		x.seqs[id] = s
	}
	x.recent, x.recentID = s, id
	return s
}

// queue numbers the queue of a track in a sequence.
func (x *parser) queue(s *interned, track uint64) int32 {
	if s.recent >= 0 && s.recentID == track {
		return s.recent
	}
	q, ok := s.queues[track]
	if !ok {
		q = x.queues
		x.queues++
		s.queues[track] = q
		*x.op() = op{what: opQueue, of: s.number, slot: -1}
		x.cur.tracks = append(x.cur.tracks, described{id: track})
	}
	s.recent, s.recentID = q, track
	return q
}

// describe reads a track_descriptor.
func (x *parser) describe(m []byte) bool {
	if m == nil {
		return true
	}
	var id uint64
	var t track
	whole, good := true, true
	for f, v := range wire.Fields(m, &whole) {
		switch f {
		case descriptorID:
			id = v.Num
		case descriptorParent:
			t.parent = v.Num
		case descriptorName:
			t.name = string(v.Bytes)
		case descriptorProcess:
			good = t.describe(v.Bytes, 0, 6)
		case descriptorThread:
			good = t.describe(v.Bytes, 2, 5)
		}
		if !good {
			break
		}
	}
	*x.op() = op{what: opDescribe, slot: -1}
	x.cur.tracks = append(x.cur.tracks, described{id, t})
	return good && whole
}

// describe reads what a descriptor says of a process or of a thread, which has a number in one field and its name in
// another.
func (t *track) describe(m []byte, thread, name int) bool {
	good := true
	for f, v := range wire.Fields(m, &good) {
		switch f {
		case 1:
			t.process = int64(v.Num)
		case thread:
			t.thread = int64(v.Num)
		case name:
			if thread == 0 {
				t.label = string(v.Bytes)
			} else {
				t.name = string(v.Bytes)
			}
		}
	}
	return good
}

// recordedKey is the name of the value that says what [recorded] holds, as JSON.
const recordedKey = "strata_recorded"

// recorded is what a copy keeps of the [trace.Meta] of its original: what the format itself has no place for.
type recorded struct {
	Source    trace.Source `json:"source"`
	Rank      int          `json:"rank"`
	WorldSize int          `json:"world_size,omitempty"`
	Backend   string       `json:"backend,omitempty"`
	Devices   []trace.GPU  `json:"devices,omitempty"`
}

// values reads the metadata of a chrome_events bundle, for what [Write] puts there. Values of others are passed over.
func (x *parser) values(m []byte) bool {
	good := true
	for f, v := range wire.Fields(m, &good) {
		if f != chromeMetadata {
			continue
		}
		var name, value []byte
		for f, part := range wire.Fields(v.Bytes, &good) {
			switch f {
			case chromeName:
				name = part.Bytes
			case chromeText:
				value = part.Bytes
			}
		}
		if good && string(name) == recordedKey {
			r := recorded{Rank: -1}
			if json.Unmarshal(value, &r) != nil {
				return false
			}
			x.recorded = r
		}
		if !good {
			break
		}
	}
	return good
}

// clocks reads a clock_snapshot: what must be added to the trace's clock for wall-clock time.
func (x *parser) clocks(m []byte) bool {
	var boot, real int64
	good := true
	for f, v := range wire.Fields(m, &good) {
		if f != clockOne {
			continue
		}
		id, ts, _, ok := numbered(v.Bytes, clockTime)
		switch id {
		case clockBoot:
			boot = int64(ts)
		case clockReal:
			real = int64(ts)
		}
		if !ok {
			good = false
			break
		}
	}
	if boot != 0 && real != 0 {
		x.base = real - boot
	}
	return good
}
