package pftrace

import (
	"math"
	"strconv"

	"github.com/llmstrata/strata/internal/wire"
)

// head is what every track_event says.
type head struct {
	typ, track     uint64
	name, category uint32
	value          float64
}

// event reads a track_event: the begin or the end of a slice. tail is all of its packet that is after the time, nil
// where there is more in it.
func (x *parser) event(s *interned, ts int64, m, tail []byte) bool {
	n := numbers(m)
	slot := int16(-1)
	if len(m) >= 8 && n > 0 && n <= maxShort {
		text := shorten(m, n)
		slot = text.slot(againBits)
		if k := &x.slices[slot]; k.text == text && k.seq == s && k.version == s.version {
			var correlation, external uint64
			same := n == len(m)
			if k.args != nil {
				correlation, external, same = k.args.is(m[n:])
			}
			if same {
				*x.op() = op{what: opAgain, ts: ts, of: k.queue, slot: slot, correlation: correlation,
					external: external}
				return true
			}
		}
	}
	return x.other(s, ts, m, n, slot, tail)
}

// other reads an unknown track_event whose first n bytes are numbers.
func (x *parser) other(s *interned, ts int64, m []byte, n int, slot int16, tail []byte) bool {
	e := &x.slice
	*e = slice{}
	h, ok := s.parse(x, e, m)
	switch {
	case ok && h.typ == typeBegin:
		e.start, e.end, e.name, e.category = ts, math.MinInt64, h.name, h.category
		q := x.queue(s, h.track)
		x.shape(e)
		if slot >= 0 && !x.remember(&x.slices[slot], s, m, n, q) {
			slot = -1
		}
		*x.op() = op{what: opBegin, ts: ts, of: q, slot: slot}
		x.cur.events = append(x.cur.events, e.kept)
	case ok && h.typ == typeEnd:
		q := x.queue(s, h.track)
		if len(tail) >= 8 && len(tail) <= maxShort {
			text := shorten(tail, len(tail))
			x.ends[text.slot(endBits)] = ending{text, q}
		}
		*x.op() = op{what: opEnd, ts: ts, of: q, slot: -1}
	case ok && h.typ == typeCounter:
		*x.op() = op{what: opSample, ts: ts, of: s.number, slot: -1}
		x.cur.samples = append(x.cur.samples, sample{tracks: true, track: h.track, value: h.value})
	default:
		*x.op() = op{what: opSeen, ts: ts, of: s.number, slot: -1}
	}
	return ok
}

// remember keeps a slice that may come again, and reports whether it can.
func (x *parser) remember(k *known, s *interned, m []byte, n int, queue int32) bool {
	var args *layout
	if n < len(m) {
		if args = x.layout(m[n:]); args == nil {
			return false
		}
	}
	*k = known{seq: s, args: args, version: s.version, text: shorten(m, n), queue: queue}
	return true
}

// parse reads the fields of a track_event. What is short, as nearly all is, it reads without a call.
func (s *interned) parse(x *parser, e *slice, m []byte) (h head, ok bool) {
	for i := 0; i < len(m); {
		var f int
		var num uint64
		var body []byte
		switch tag := m[i]; {
		// a number of one or two bytes
		case tag >= 1<<3 && tag < 0x80 && tag&7 == 0 && i+2 < len(m) && (m[i+1] < 0x80 || m[i+2] < 0x80):
			if f, num = int(tag>>3), uint64(m[i+1]); num >= 0x80 {
				num = num&0x7f | uint64(m[i+2])<<7
				i++
			}
			i += 2
		case tag == eventArg<<3|2 && i+1 < len(m) && m[i+1] < 0x80 && i+2+int(m[i+1]) <= len(m):
			f, body = eventArg, m[i+2:i+2+int(m[i+1])]
			i += 2 + len(body)
		default:
			var rest []byte
			f, num, body, rest = wire.Next(m[i:])
			i = len(m) - len(rest)
		}
		switch f {
		case 0:
			return h, false
		case eventType:
			h.typ = num
		case eventTrack:
			h.track = num
		case eventNameID:
			h.name = s.names.get(num)
		case eventName:
			h.name = x.text(body)
		case eventCategoryID:
			h.category = s.categories.get(num)
		case eventCategory:
			h.category = x.text(body)
		case eventInt:
			h.value = float64(int64(num))
		case eventDouble:
			h.value = math.Float64frombits(num)
		case eventArg:
			if !e.take(x, s, body) {
				return h, false
			}
		}
	}
	return h, true
}

// take stores what one debug annotation says. What follows the name of one that is not used is not looked at.
func (e *slice) take(x *parser, s *interned, m []byte) bool {
	if e.takeNumber(m) {
		return true
	}
	var key argKey
	var text []byte
	var v int64
	var dims [3]int64
	n := 0
	for len(m) > 0 {
		f, num, body, rest := wire.Next(m)
		switch m = rest; f {
		case 0:
			return false
		case argName:
			if key = keyOf(body); !key.hasValue() {
				m = nil
			}
		case argNameID:
			if key = argKey(s.args.get(num)); !key.hasValue() {
				m = nil
			}
		case argBool, argUint, argInt:
			v = int64(num)
		case argDouble:
			v = int64(math.Float64frombits(num))
		case argString:
			text = body
		case argStringID:
			text = []byte(s.texts[num])
		case argElement:
			for n < len(dims) && len(body) > 0 {
				g, num, _, rest := wire.Next(body)
				if body = rest; g == argInt || g == argUint {
					dims[n] = int64(num)
				}
			}
			n++
		}
	}
	if text != nil {
		v, _ = number(text)
	}
	switch {
	case key == keyDomain:
		e.domain = x.text(text)
	case key != keyGrid && key != keyBlock:
		e.set(key, v)
	case n > 0:
		e.setShape(key == keyBlock, dims)
	}
	return true
}

// takeNumber is take for what nearly all are: a name, and after it a number or what is not used. It reports whether
// that was all.
func (e *slice) takeNumber(m []byte) bool {
	if len(m) < 3 || m[0] != argName<<3|2 || m[1] >= 0x80 || 2+int(m[1]) >= len(m) {
		return false
	}
	key, m := keyOf(m[2:2+m[1]]), m[2+m[1]:]
	if !key.hasValue() {
		e.set(key, 0)
		return true
	}
	if m[0] != argInt<<3 {
		return false
	}
	v, rest := wire.Varint(m[1:])
	if rest == nil || len(rest) > 0 {
		return false
	}
	e.set(key, int64(v))
	return true
}

// number reads a decimal integer.
func number(text []byte) (v int64, ok bool) {
	digits := text
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) == 0 || len(digits) > 18 {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = 10*v + int64(c-'0')
	}
	if len(digits) < len(text) {
		v = -v
	}
	return v, true
}

// setShape keeps grid or block.
func (e *slice) setShape(block bool, dims [3]int64) {
	if block {
		e.block = dims
		return
	}
	e.grid = dims
	e.has |= hasGrid
}

// shapeText writes grid and block as the trace package has them: "gx,gy,gz|bx,by,bz".
func (e *slice) shapeText() []byte {
	b := make([]byte, 0, 32)
	for i, v := range e.grid {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, v, 10)
	}
	b = append(b, '|')
	for i, v := range e.block {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, v, 10)
	}
	return b
}
