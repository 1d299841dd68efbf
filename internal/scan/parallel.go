package scan

import (
	"context"
	"io"
	"sync"
)

// NOTE: how Parallel works. Workers take turns at reading: one of them reads the
// stream and cuts it into segments. It gives each to a worker that waits for one;
// when all are busy it releases the stream, for whoever is done first, and scans
// the segment itself, which its processor's cache then still holds. So reading,
// which may be decompression, never waits for scanning, nor does a processor idle.
//
// A segment is scanned on the guess that the scan is
// after a comma between two events where the segment begins. Results are then
// taken in stream order by whichever worker finds the next one ready. If the
// machine of record is at the same place, with nothing left over, the guess was
// right and the shard is committed as it is. If not (the beginning of the file,
// a cut inside a string, an event larger than a segment, the metadata after the
// events) the shard is discarded and the segment is scanned again, in order, by
// the machine of record. So the outcome never depends on the guesses.
//
// Buffers in flight are bounded, and with them memory.

// Shard collects the events of one segment. Event must copy what it keeps. The
// event's Index and Doc are not meaningful, because an earlier segment decides them.
type Shard interface {
	Event(ev *Event)
}

// Sink makes and takes shards. Commit and Discard are called for every shard in
// stream order, never at the same time, and shards that one worker filled reach
// them in the order in which it filled them. Afterwards the shard is used again.
type Sink interface {
	NewShard(worker int) Shard // worker is in [0, Workers]; called by several goroutines
	Commit(s Shard) error
	Discard(s Shard)
}

type outcome struct {
	seg    segment
	worker int
	shard  Shard
	m      machine // where the speculative scan stopped
	p      int
	tried  bool
}

type parallel struct {
	cfg  Config
	sink Sink
	ctx  context.Context
	stop context.CancelFunc

	turn  chan *segmenter // the stream, while nobody reads
	segs  chan segment    // to workers that wait; closed at the end
	slots chan struct{}   // a segment each that may be read

	mu         sync.Mutex
	bufs       [][]byte  // free ones, that used last before all others
	free       [][]Shard // by worker
	ready      map[int]*outcome
	nextSeq    int
	committing bool
	err        error

	// The machine of record and what it has not consumed. Owned by the committer.
	m     *machine
	carry []byte
	want  int // do not look at carry again before it is this long
	seq   Shard
	ev    Event
	end   bool
}

// Parallel scans r with cfg.Workers goroutines, which take turns at reading it, and
// hands the events to sink. The error is that of the reader, of the sink, of ctx, or a
// *SyntaxError under cfg.Strict; the Result is valid in any case.
func Parallel(ctx context.Context, r io.Reader, cfg Config, sink Sink) (*Result, error) {
	cfg = cfg.WithDefaults()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	inFlight := 2*cfg.Workers + 2
	q := &parallel{
		cfg: cfg, sink: sink, ctx: ctx, stop: stop, m: newMachine(cfg),
		turn: make(chan *segmenter, 1), segs: make(chan segment), slots: make(chan struct{}, inFlight),
		free: make([][]Shard, cfg.Workers+1), ready: make(map[int]*outcome),
	}
	for range inFlight {
		q.slots <- struct{}{}
	}
	q.turn <- &segmenter{r: r, size: cfg.Segment}
	var wg sync.WaitGroup
	for w := range cfg.Workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			q.work(w)
		}()
	}
	wg.Wait()
	if q.err == nil && !q.end {
		q.err = ctx.Err()
	}
	return q.m.result(), q.err
}

// work scans segments until there are no more.
func (q *parallel) work(worker int) {
	m := newMachine(q.cfg)
	var ev Event
	for {
		seg, ok := q.next()
		if !ok {
			return
		}
		if q.ctx.Err() == nil {
			q.scan(worker, m, &ev, seg)
		}
	}
}

// next returns a segment that another worker read, or reads one.
func (q *parallel) next() (segment, bool) {
	select {
	case seg, ok := <-q.segs:
		return seg, ok
	case s := <-q.turn:
		return q.read(s)
	}
}

// read reads segments for all workers that wait, and one for the caller; it ends
// the work of all where there are none.
func (q *parallel) read(s *segmenter) (segment, bool) {
	for !s.done {
		select {
		case <-q.ctx.Done():
			s.done = true
			continue
		case <-q.slots:
		}
		seg := s.next(q.buffer())
		if s.done {
			close(q.segs)
			return seg, true
		}
		select {
		case q.segs <- seg:
		default:
			q.turn <- s
			return seg, true
		}
	}
	close(q.segs)
	return segment{}, false
}

// buffer returns a buffer to read into, nil where all are in use.
func (q *parallel) buffer() (buf []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := len(q.bufs); n > 0 {
		buf, q.bufs = q.bufs[n-1], q.bufs[:n-1]
	}
	return buf
}

// scan scans a segment, on a guess if there is reason for one, and files what came out.
func (q *parallel) scan(worker int, m *machine, ev *Event, seg segment) {
	o := &outcome{seg: seg, worker: worker}
	if seg.at { // else it begins inside an event, or with the file
		o.tried = true
		o.shard = q.shard(worker)
		m.startSpeculative(seg.base)
		for {
			var res result
			if o.p, res = m.next(seg.data, o.p, false, seg.cut, ev); res != resEvent {
				break
			}
			o.shard.Event(ev)
		}
		o.m = *m
		o.m.losses.First = append([]Loss(nil), m.losses.First...)
	}
	q.finish(o)
}

func (q *parallel) shard(worker int) Shard {
	q.mu.Lock()
	if l := q.free[worker]; len(l) > 0 {
		s := l[len(l)-1]
		q.free[worker] = l[:len(l)-1]
		q.mu.Unlock()
		return s
	}
	q.mu.Unlock()
	return q.sink.NewShard(worker)
}

// finish files o, and takes all outcomes that are due unless another worker is at it.
func (q *parallel) finish(o *outcome) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ready[o.seg.seq] = o
	if q.committing {
		return
	}
	q.committing = true
	for {
		o := q.ready[q.nextSeq]
		if o == nil || q.err != nil {
			break
		}
		delete(q.ready, q.nextSeq)
		q.nextSeq++
		q.mu.Unlock()
		err := q.take(o)
		q.mu.Lock()
		if o.shard != nil {
			q.free[o.worker] = append(q.free[o.worker], o.shard)
		}
		q.bufs = append(q.bufs, o.seg.buf)
		q.slots <- struct{}{} // never blocks: there are as many as segments
		if err != nil {
			q.err = err
			q.stop()
		}
	}
	q.committing = false
}

// take brings the machine of record to the end of o's segment.
func (q *parallel) take(o *outcome) error {
	seg := &o.seg
	data := seg.data
	if o.tried {
		if q.m.state != stComma || q.m.doubt || len(q.carry) > 0 || q.m.fail != nil {
			q.sink.Discard(o.shard)
		} else {
			q.m.base = seg.base + int64(o.p)
			q.m.adopt(&o.m)
			if err := q.sink.Commit(o.shard); err != nil {
				return err
			}
			data = data[o.p:]
		}
	}
	q.carry = append(q.carry, data...)
	if len(q.carry) < q.want && !seg.eof {
		return nil
	}
	if len(q.carry) == 0 && !seg.eof && q.m.fail == nil {
		return nil
	}
	if q.seq == nil {
		q.seq = q.sink.NewShard(q.cfg.Workers)
	}
	p := 0
	for {
		var res result
		if p, res = q.m.next(q.carry, p, seg.eof, seg.cut, &q.ev); res == resEvent {
			q.seq.Event(&q.ev)
			continue
		}
		n := copy(q.carry, q.carry[p:])
		q.carry = q.carry[:n]
		q.m.base += int64(p)
		if n == 0 && cap(q.carry) > 4*q.cfg.Segment {
			q.carry = nil
		}
		q.want = 2 * n
		if err := q.sink.Commit(q.seq); err != nil {
			return err
		}
		switch res {
		case resFail:
			if seg.err != nil && q.m.fail.Reason == LostTruncated {
				return seg.err
			}
			return q.m.fail.asError()
		case resEOF:
			q.end = true
			return seg.err
		}
		return nil
	}
}
