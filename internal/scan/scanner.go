package scan

import (
	"io"
)

// Scanner yields events one by one. Its memory does not grow with the stream:
// it holds two segments, or two copies of the largest event.
// A Scanner must not be used by two goroutines at once.
type Scanner struct {
	m    *machine
	seg  segmenter
	buf  []byte // the segmenter's
	join []byte // an event's beginning and the segments after it
	win  []byte
	p    int
	eof  bool
	cut  bool
	err  error // of the reader, due when the bytes are used up
	end  error
	ev   Event
}

// NewScanner returns a Scanner that reads r.
func NewScanner(r io.Reader, cfg Config) *Scanner {
	s := &Scanner{m: newMachine(cfg)}
	s.seg = segmenter{r: r, size: s.m.cfg.Segment}
	return s
}

// Next returns the next event, which stays valid until the following call. At
// the end of the stream the error is io.EOF; it is a [*SyntaxError] for the
// first damage under Config.Strict, and otherwise the reader's own error. All
// events before the error have then been returned.
func (s *Scanner) Next() (*Event, error) {
	if s.end != nil {
		return nil, s.end
	}
	for {
		p, res := s.m.next(s.win, s.p, s.eof, s.cut, &s.ev)
		s.p = p
		switch res {
		case resEvent:
			return &s.ev, nil
		case resMore:
			s.fill()
			continue
		case resFail:
			s.end = s.m.fail.asError()
		default:
			s.end = io.EOF
		}
		if s.err != nil && (res != resFail || s.m.fail.Reason == LostTruncated) {
			s.end = s.err
		}
		return nil, s.end
	}
}

// fill replaces the window by what is left of it and the next bytes.
func (s *Scanner) fill() {
	rest := s.win[s.p:]
	s.m.base += int64(s.p)
	s.p = 0
	if len(rest) == 0 {
		seg := s.seg.next(s.buf)
		s.buf = seg.buf
		s.win, s.eof, s.cut, s.err = seg.data, seg.eof, seg.cut, seg.err
		return
	}
	// Each round at least doubles the window, so that an event of n bytes is
	// looked at log n times.
	join := append(s.join[:0], rest...) // rest may lie in join, further back
	for want := 2 * len(rest); len(join) < want && !s.eof; {
		seg := s.seg.next(s.buf)
		s.buf = seg.buf
		join = append(join, seg.data...)
		s.eof, s.cut, s.err = seg.eof, seg.cut, seg.err
	}
	s.join, s.win = join, join
}

// Result returns what is known beside the events; complete after Next has
// returned an error.
func (s *Scanner) Result() *Result { return s.m.result() }

// Result is what a scan found beside the events.
type Result struct {
	Metas     []Meta
	Losses    Losses
	Docs      int   // JSON documents begun
	HasEvents bool  // some document had a traceEvents array, or was an array
	Truncated bool  // the stream ended inside a document
	Bytes     int64 // length of the stream; 0 if the scan ended early
}

func (m *machine) result() *Result {
	return &Result{Metas: m.metas, Losses: m.losses, Docs: m.doc + 1, HasEvents: m.sawEv,
		Truncated: m.truncated, Bytes: m.end}
}
