package pftrace

import "math"

// queue holds the begins of a track that are open, from head on.
type queue struct {
	id    uint64
	track *track
	open  []int32
	head  int
}

// mark is a begin, the number of its event, or an end, −1 and its time.
type mark struct {
	q   *queue
	i   int32
	end int64
}

// queue is that of a track in a sequence.
func (d *reader) queue(s *interned, track uint64) *queue {
	if s.recent != nil && s.recent.id == track {
		return s.recent
	}
	q := s.queues[track]
	if q == nil {
		q = &queue{id: track, track: d.track(track)}
		s.queues[track] = q
	}
	s.recent = q
	return q
}

// begin notes a begin, which waits for its end.
func (d *reader) begin(s *interned, q *queue, i int32) {
	q.open = append(q.open, i)
	if s.ordered {
		s.log = append(s.log, mark{q: q, i: i})
	}
}

// end gives a begin of the track its end: in order the last one that is open, else the first one.
func (d *reader) end(s *interned, q *queue, ts int64) {
	if s.ordered {
		s.log = append(s.log, mark{q: q, i: -1, end: ts})
	}
	switch {
	case q.head == len(q.open):
		s.orphans++
	case s.ordered:
		d.at(q.open[len(q.open)-1]).end = ts
		q.open = q.open[:len(q.open)-1]
	default:
		d.at(q.open[q.head]).end = ts
		if q.head++; q.head == len(q.open) {
			q.open, q.head = q.open[:0], 0
		}
	}
}

// reorder pairs once more what a sequence had until its timestamps went back.
func (d *reader) reorder(s *interned) {
	log := s.log
	s.ordered, s.log, s.orphans = false, nil, 0
	for _, q := range s.queues {
		q.open, q.head = q.open[:0], 0
	}
	for _, m := range log {
		if m.i >= 0 {
			d.at(m.i).end = math.MinInt64
			d.begin(s, m.q, m.i)
		} else {
			d.end(s, m.q, m.end)
		}
	}
}
