package pftrace

import (
	"math"
	"slices"
)

// NOTE on how slices are put together.
//
// A slice is a packet for its begin and one for its end, and an end does not say which begin it ends. Perfetto's own
// writers write packets as time goes on, and an end belongs to the last begin of its track that is open. PyTorch
// writes all begins of a kind in the order of its buffers and then all ends in the same order; overlapping kernels of
// one stream, which a stack could not separate, come out right that way. Which of the two a sequence is, its
// timestamps show: in the second one they go back from the last begin to the first end. So the first ends of a
// sequence are kept, and pair once more where timestamps go back.

// order is what is known of the order in which a sequence is written.
type order uint8

const (
	undecided order = iota // timestamps have not gone back yet
	byTime
	byKind // begins of a kind, then its ends
)

// enoughEnds is how many ends must have come in the order of time until a sequence counts as written so. PyTorch's
// goes back at the first end of a kind that has two events which overlap or follow each other, so at its first ends.
const enoughEnds = 1 << 16

// sequence is what a packet sequence has begun.
type sequence struct {
	last    int64 // timestamp of the event before
	order   order
	queues  []*queue
	ended   int   // ends until the order was decided
	orphans int64 // ends without begin
}

// queue holds the begins of a track that are open, from head on.
type queue struct {
	seq   *sequence
	track *track
	open  []place
	head  int

	// Until the order is decided, all begins and ends of a queue that had an end.
	begun []place
	ends  []int64
}

// place is where an event is: in the trace's columns from 0 on (see trace.Builder.Add), nowhere at −1, below that in
// its track's list of those that wait.
type place int64

const nowhere place = -1

// waitingAt is the place of the i-th event that waits.
func waitingAt(i int) place { return place(-2 - i) }

// waiting is the number of an event in its track's list.
func (p place) waiting() (i int, ok bool) { return int(-2 - p), p < nowhere }

// inOrder looks whether the order of a sequence still is that of time.
func (d *reader) inOrder(s *sequence, ts int64) {
	if ts < s.last && s.order == undecided {
		d.reorder(s)
	}
	s.last = ts
}

// begin notes a begin, which waits for its end.
func (q *queue) begin(p place) {
	if len(q.open) == cap(q.open) { // by more than append would: all begins of a kind may be open at a time
		q.open = slices.Grow(q.open, len(q.open)+1)
	}
	q.open = append(q.open, p)
	if len(q.ends) > 0 {
		q.begun = append(q.begun, p)
	}
}

// end gives a begin of the track its end: in order the last one that is open, else the first one.
func (d *reader) end(q *queue, ts int64) {
	s := q.seq
	if q.head == len(q.open) {
		s.orphans++
		return
	}
	if s.order == byKind {
		d.ends(q, q.open[q.head], ts)
		if q.head++; q.head == len(q.open) {
			q.open, q.head = q.open[:0], 0
		}
		return
	}
	if s.order == undecided {
		s.note(q, ts)
	}
	last := len(q.open) - 1
	d.ends(q, q.open[last], ts)
	q.open = q.open[:last]
}

// note keeps an end for the case that the order turns out to be another, until that is decided.
func (s *sequence) note(q *queue, ts int64) {
	if len(q.ends) == 0 {
		q.begun = slices.Clone(q.open)
	}
	q.ends = append(q.ends, ts)
	if s.ended++; s.ended < enoughEnds {
		return
	}
	s.order = byTime
	for _, q := range s.queues {
		q.begun, q.ends = nil, nil
	}
}

// ends sets when the event at a place of a queue's track ended.
func (d *reader) ends(q *queue, p place, ts int64) {
	if i, ok := p.waiting(); ok {
		q.track.waiting[i].end = ts
		return
	}
	d.b.End(int64(p), ts)
}

// reorder pairs once more what a sequence had until its timestamps went back.
func (d *reader) reorder(s *sequence) {
	s.order = byKind
	for _, q := range s.queues {
		if len(q.ends) == 0 {
			continue
		}
		for i, p := range q.begun {
			if i < len(q.ends) {
				d.ends(q, p, q.ends[i])
			} else {
				d.ends(q, p, math.MinInt64)
			}
		}
		q.open, q.head = q.begun[len(q.ends):], 0
		q.begun, q.ends = nil, nil
	}
}

// moved says where the events that waited are now.
func (q *queue) moved(to []place) {
	for _, list := range [][]place{q.open[q.head:], q.begun} {
		for i, p := range list {
			if k, ok := p.waiting(); ok {
				list[i] = to[k]
			}
		}
	}
}
