package scan

import (
	"bytes"
	"encoding/binary"
)

// NOTE: what is after an event's time is alike in events of one category, too: a duration, and args with the
// same keys in the same order, with other values. A shape remembers the texts between the values, and what
// each value is. Where such a text comes again after a value, the next value is that of the same key, as parsing
// would find: it goes on from the end of a value in the same way whatever the value was. Where another text comes,
// parsing goes on key by key from there.

// rest is what a category's events have after their times.
type rest struct {
	text   [maxRest]byte // what is before each value, and after the last one
	pieces [maxPieces]piece
	n      int // of pieces; 0: not known
	args   int // the piece with the brace of the args, −1 where there are none
	brace  int // where that is in the text
	close  int // where the one that closes them is, in the last piece
	misses int // events that had another rest
}

// piece is a part of the text and what comes after it.
type piece struct {
	end  int // in the text
	what field
}

const (
	// maxRest bounds the text. Kineto's is 20 to 500 bytes long, that of kernels most.
	maxRest = 768
	// maxPieces bounds the values; kernels have some twenty.
	maxPieces = 32
	// relearn is how many events must have had another rest until the next one is learned: some keys are in some
	// events only.
	relearn = 16
)

// lesson is where the values of an event are whose rest is to be learned.
type lesson struct {
	of     *rest // nil: nothing is to be learned
	from   int   // the end of the time
	args   int   // where the brace of the args is, 0 if there are none
	before int   // values before it
	close  int   // where the brace is that closes them, 0 if there is none yet
	n      int
	values [maxPieces]struct {
		begin, end int
		what       field
	}
}

// add notes a value.
func (l *lesson) add(begin, end int, what field) {
	switch {
	case l.of == nil:
	case l.n == maxPieces-1 || l.close > 0:
		l.of = nil
	default:
		v := &l.values[l.n]
		v.begin, v.end, v.what = begin, end, what
		l.n++
	}
}

// open notes the brace of the args.
func (l *lesson) open(brace int) {
	if l.args > 0 {
		l.of = nil
	}
	l.args, l.before = brace, l.n
}

// check gives up where a value of the event itself, which ends at b[p], is neither its duration nor its args.
func (l *lesson) check(p int) {
	if l.close != p-1 && (l.args > 0 || l.n == 0 || l.values[l.n-1].end != p) {
		l.of = nil
	}
}

// learn remembers the rest of the event that ends before b[end].
func (l *lesson) learn(b []byte, end int) {
	r := l.of
	values := l.values[:l.n]
	size := end - l.from
	for _, v := range values {
		size -= v.end - v.begin
	}
	if size > maxRest {
		return
	}
	r.n, r.args = 0, -1
	text, from := r.text[:0], l.from
	for i := 0; i <= l.n; i++ {
		to, what := end, fieldOther
		if i < l.n {
			to, what = values[i].begin, values[i].what
		}
		if l.args > 0 && i == l.before {
			r.args, r.brace = i, len(text)+l.args-from
		}
		r.close = len(text) + l.close - from
		text = append(text, b[from:to]...)
		r.pieces[i] = piece{len(text), what}
		if i < l.n {
			from = values[i].end
		}
	}
	r.n = l.n + 1
}

// rest reads what is after the time of the event at b[start], as far as it is known, from b[p] on. It returns
// the position after it and that this is the whole event, or the position after one of the event's values, or a
// code.
func (f *parser) rest(b []byte, start, p int, r *rest, ev *Event) (n int, whole bool) {
	if r.n == 0 || r.misses == relearn {
		r.misses = 0
		l := &f.lesson
		l.of, l.from, l.args, l.close, l.n = r, p, 0, 0, 0
		return p, false
	}
	at, args, last := 0, 0, r.n-1
	for i := range r.pieces[:r.n] {
		x := &r.pieces[i]
		begin := p + x.end - at
		if !bytes.HasPrefix(b[p:], r.text[at:x.end]) || i < last && (begin >= len(b) || b[begin] <= ' ') {
			r.misses++
			break
		}
		if i == r.args {
			args = p + r.brace - at
		}
		if i == last {
			if args > 0 {
				ev.Args, ev.Has = b[args:p+r.close-at+1], ev.Has|HasArgs
			}
			ev.Raw = b[start:begin]
			return begin, true
		}
		switch x.what {
		case fieldDuration:
			p = f.duration(b, begin, ev)
		case fieldOther:
			p = f.skipOther(b, begin, ev)
		default:
			p = f.argValue(b, begin, x.what, ev)
		}
		if p < 0 {
			if f.fault.pos = begin; args > 0 {
				f.fault.pos = args
			}
			return p, false
		}
		at = x.end
	}
	if args > 0 {
		if p = f.args(b, p, true, ev); p < 0 {
			f.fault.pos = args
			return p, false
		}
		ev.Args, ev.Has = b[args:p], ev.Has|HasArgs
	}
	return p, false
}

// skipOther returns the position after a value that is not kept; most are short numbers.
func (f *parser) skipOther(b []byte, p int, ev *Event) int {
	if p+8 < len(b) {
		if n := digits(binary.LittleEndian.Uint64(b[p:])); isDelim(b[p+n]) && n > 0 {
			return p + n
		}
	}
	return f.argValue(b, p, fieldOther, ev)
}
