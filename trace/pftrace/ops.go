package pftrace

// NOTE on who does what. One goroutine decompresses, one parses packets and looks up the texts that they refer to,
// and the caller's makes rows of a trace of what they say. What the second one finds reaches the third as operations,
// in batches, in the order of the packets; each of the two has a state of its own, so that the trace does not depend
// on who is ahead.

// opKind is what an operation does.
type opKind uint8

const (
	opSeen     opKind = iota // a packet of a sequence that changes nothing but its time
	opBegin                  // a slice of a queue, the next of the batch's events
	opAgain                  // the same as a slice before, but for its time and numbers
	opEnd                    // of a slice of a queue
	opStage                  // a whole activity, the next of the batch's events
	opSample                 // a value of a counter, the next of the batch's samples
	opQueue                  // a queue is numbered: the next of the batch's tracks
	opDescribe               // of a track: the next of the batch's tracks
)

// op is one operation.
type op struct {
	ts                    int64
	correlation, external uint64 // of opAgain
	// the number of the queue, or for opSeen, opQueue and opSample of the sequence; −1 for none
	of   int32
	slot int16 // opBegin, opAgain: where the slice is remembered; −1: nowhere
	what opKind
}

// sample is the value of a counter: of a GPU, or one that is a track, with a name and a GPU.
type sample struct {
	name   string
	device int64
	track  uint64
	tracks bool // it is a track
	value  float64
}

// described is a track with its number.
type described struct {
	id    uint64
	track track
}

// batch is what some packets say.
type batch struct {
	ops     []op
	events  []kept
	samples []sample
	tracks  []described
	texts   []string // those of the parser so far
}

func newBatch() *batch { return &batch{ops: make([]op, 0, batchOps)} }

// clear empties a batch and keeps its memory.
func (b *batch) clear() {
	b.ops, b.events, b.samples, b.tracks = b.ops[:0], b.events[:0], b.samples[:0], b.tracks[:0]
}

const (
	// batches are under way, of so many operations each: more did not measure faster.
	batches  = 3
	batchOps = 1 << 10
)

// againSlots is how many slices are remembered that come again and again, as frames do.
const (
	againSlots = 1 << againBits
	againBits  = 11
	endBits    = 4 // the same of ends: those of a track are alike
)

// row is one that others can be made like, of a slice that may come again.
type row struct {
	at        place // nowhere for none
	described int   // times that the track was, then
}

// apply does what a batch says.
func (d *reader) apply(b *batch) error {
	d.texts = b.texts
	var event, sample, track int
	for i := range b.ops {
		switch o := &b.ops[i]; o.what {
		case opSeen:
			d.inOrder(d.sequence(o.of), o.ts)
		case opBegin:
			d.begin(o, &b.events[event])
			event++
		case opAgain:
			d.again(o)
		case opEnd:
			q := d.queues[o.of]
			d.inOrder(q.seq, o.ts)
			d.end(q, o.ts)
		case opStage:
			d.put(&b.events[event], &noTrack)
			event++
		case opSample:
			d.sample(o, &b.samples[sample])
			sample++
		case opQueue:
			d.queue(d.sequence(o.of), b.tracks[track].id)
			track++
		case opDescribe:
			d.describe(&b.tracks[track])
			track++
		}
	}
	return d.full()
}

// begin stores the begin of a slice.
func (d *reader) begin(o *op, e *kept) {
	q := d.queues[o.of]
	d.inOrder(q.seq, o.ts)
	p := d.put(e, q.track)
	q.begin(p)
	if o.slot >= 0 {
		d.remember(o, e, q.track, p)
	}
}

// remember keeps a slice that may come again, and where it is if others can be made like it.
func (d *reader) remember(o *op, e *kept, t *track, p place) {
	d.slices[o.slot] = *e
	r := &d.rows[o.slot]
	r.at, r.described = nowhere, t.described
	if p > nowhere {
		r.at = p
	}
}

// again stores a slice that came before.
func (d *reader) again(o *op) {
	r, q := &d.rows[o.slot], d.queues[o.of]
	d.inOrder(q.seq, o.ts)
	if r.at != nowhere && r.described == q.track.described {
		d.n++
		q.begin(place(d.b.AddLike(int64(r.at), o.ts, o.correlation, o.external)))
		return
	}
	e := d.slices[o.slot]
	e.start, e.correlation, e.external = o.ts, o.correlation, o.external
	p := d.put(&e, q.track)
	q.begin(p)
	d.remember(o, &e, q.track, p)
}

// sample stores the value of a counter.
func (d *reader) sample(o *op, s *sample) {
	if !s.tracks {
		d.count(s.name, s.device, o.ts, s.value)
		return
	}
	d.inOrder(d.sequence(o.of), o.ts)
	d.trackCounter(s.track, o.ts, s.value)
}

// queue makes the queue of a track in a sequence that is to be numbered next.
func (d *reader) queue(s *sequence, track uint64) {
	q := &queue{seq: s, track: d.track(track)}
	q.track.queues = append(q.track.queues, q)
	s.queues = append(s.queues, q)
	d.queues = append(d.queues, q)
}

// sequence is the one with a number; the parser counts them.
func (d *reader) sequence(i int32) *sequence {
	for len(d.sequences) <= int(i) {
		d.sequences = append(d.sequences, &sequence{})
	}
	return d.sequences[i]
}

// describe takes what is said of a track.
func (d *reader) describe(t *described) {
	known := d.track(t.id)
	known.parent, known.process, known.thread, known.name, known.label = t.track.parent, t.track.process,
		t.track.thread, t.track.name, t.track.label
	known.described++
	d.belongs(known)
}
