package scan

import (
	"bytes"
	"encoding/binary"
)

// NOTE: shapes. Writers format every event alike: of the events of one category the bytes from the brace to the name
// are the same, and those from the name to the time differ by process and thread only. A shape remembers both texts
// and what parsing them gave. Where the next event has the very same bytes, it has the same fields, as parsing goes
// from left to right and looks at nothing else; comparing some seventy bytes takes a fraction of the time. Anything
// else is parsed key by key. So shapes change how fast an event is read and never what is read.

// shape is what one category's events begin with.
type shape struct {
	head, tail       [maxShape]byte // up to the name, after the name up to the time
	headLen, tailLen int
	cat, catEnd      int // in head
	phase            byte
	pid, tid         int64
	rest             rest // after the time
}

const (
	// maxShape bounds both texts. Kineto's have some 60 bytes, indented ones 100.
	maxShape = 128
	// shapeSlots is how many categories are remembered, a power of two; a trace has five to ten.
	shapeSlots = 1 << shapeBits
	shapeBits  = 4
)

// shapes are those of one parser, by the first letters of the category.
type shapes struct {
	slots [shapeSlots]shape
	catAt int // where the category was in the event learned last, from its brace
}

// at is the slot of the event at b[start], nil where that is unknown.
func (s *shapes) at(b []byte, start int) *shape {
	i := start + s.catAt
	if i+8 > len(b) {
		return nil
	}
	return &s.slots[binary.LittleEndian.Uint64(b[i:])*0x9E3779B97F4A7C15>>(64-shapeBits)]
}

// known reads the event at b[start] as far as its shape goes: its name, and its time if the text before that is
// known as well. It returns the position after it, and no shape where the event has to be parsed from its beginning.
func (f *parser) known(b []byte, start int, ev *Event) (int, *shape) {
	s := f.shapes.at(b, start)
	if s == nil || s.headLen == 0 || !bytes.HasPrefix(b[start:], s.head[:s.headLen]) {
		return 0, nil
	}
	p := start + s.headLen
	if p >= len(b) || b[p] != '"' {
		return 0, nil
	}
	end := skipString(b, p+1)
	if end < 0 {
		return 0, nil
	}
	ev.Phase, ev.Cat, ev.Name = s.phase, b[start+s.cat:start+s.catEnd], b[p+1:end-1]
	ev.Has = HasPhase | HasCat | HasName
	if !bytes.HasPrefix(b[end:], s.tail[:s.tailLen]) {
		return end, s
	}
	if p = end + s.tailLen; p >= len(b) || b[p] <= ' ' {
		return end, s
	}
	ts, after := f.time(b, p, LostTime, "ts")
	if after < 0 {
		ev.Has, f.fault = 0, fault{}
		return 0, nil
	}
	ev.PID, ev.TID, ev.TS = Ident{Num: s.pid}, Ident{Num: s.tid}, ts
	ev.Has |= HasPID | HasTID | HasTS
	return after, s
}

// learn remembers the shape of the event at b[start], whose phase and category were read, then the name, then
// process and thread, and nothing else: its category begins at b[cat], b[name:nameEnd] is its name with quotes, and
// its time begins at b[ts].
func (f *parser) learn(b []byte, start, cat, name, nameEnd, ts int, ev *Event) {
	if cat -= start; name-start > maxShape || ts-nameEnd > maxShape || f.fault.reason != ReasonNone ||
		ev.PID.Text != nil || ev.TID.Text != nil {
		return
	}
	f.shapes.catAt = cat
	s := f.shapes.at(b, start)
	if s == nil {
		return
	}
	s.headLen, s.tailLen = copy(s.head[:], b[start:name]), copy(s.tail[:], b[nameEnd:ts])
	s.cat, s.catEnd, s.phase, s.pid, s.tid = cat, cat+len(ev.Cat), ev.Phase, ev.PID.Num, ev.TID.Num
}
