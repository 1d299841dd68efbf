package pftrace

import (
	"encoding/binary"
	"slices"
)

// NOTE on slices that come again. Nine of ten slices of a trace with Python stacks are frames that came before: the same fields, and annotations
// of the same names, of which either nothing but the names counts (Python id, Input Dims) or two numbers that differ from slice to slice
// (correlation, External id). Such a slice is remembered by the bytes in front of its annotations, with the layout of these. Where the same
// bytes come again, followed by annotations of the same names, it is the same slice at another time, as parsing looks at nothing else; its
// numbers are all that is read. Anything else is parsed field by field.

// known is a track_event that was read, and the number of its queue. The same bytes mean the same while no texts are learned.
type known struct {
	seq     *interned // nil for none
	args    *layout   // nil: it has none
	version int
	queue   int32
	n       int      // bytes of the body
	body    [24]byte // up to the annotations
}

func (k *known) is(s *interned, m []byte) bool {
	return k.seq == s && k.version == s.version && string(m) == string(k.body[:k.n])
}

// set remembers an event, if it is short.
func (k *known) set(s *interned, m []byte, queue int32, args *layout) {
	if k.seq = nil; len(m) <= len(k.body) {
		k.seq, k.version, k.queue, k.args, k.n = s, s.version, queue, args, copy(k.body[:], m)
	}
}

// slotOf is where a track_event is remembered whose first n bytes are its fields, −1 for one with fewer or more than are remembered.
func slotOf(m []byte, n int) int16 {
	if n < 4 || n > len(known{}.body) || len(m) < 8 {
		return -1
	}
	first := binary.LittleEndian.Uint64(m)
	if n < 8 {
		first <<= 64 - 8*uint(n)
	} else {
		first = first*0x9E3779B97F4A7C15 ^ binary.LittleEndian.Uint64(m[n-8:])
	}
	return int16(first * 0x9E3779B97F4A7C15 >> (64 - againBits))
}

// numbers is how many bytes of a track_event are whole numbers with tags of one byte, which stand in front of its annotations.
func numbers(m []byte) int {
	n := 0
	for n < len(m) && m[n]&0x87 == 0 {
		for n++; n < len(m) && m[n] >= 0x80; n++ {
		}
		n++
	}
	return min(n, len(m))
}

// layout is what the annotations of a slice are, in their order.
type layout struct {
	text string // of each, what stands behind its length up to its value; of one without a value, its name
	args []layoutArg

	values bool // some count
	usual  [usualSizes]pattern
}

type layoutArg struct {
	end   int    // in the text
	key   argKey // keyCorrelation, keyExternal, or none whose value is read
	whole bool   // the value is in the text: a GPU, a stream
}

// maxLayouts bounds how many a parser knows; a trace has one or two for each category.
const maxLayouts = 64

// pattern is annotations no value of which counts, as they stood in a slice: the values of those of the next one are mostly as long, and then
// a few words tell that all names and lengths are the same.
type pattern struct {
	n          int // bytes; 0 for none
	misses     int
	text, mask [maxPattern / 8]uint64 // a word for each eight bytes, the last one of the last eight; the mask has no values
}

const (
	// maxPattern bounds the bytes; frames have some 60.
	maxPattern = 128
	// usualSizes is how many patterns a layout has, by the bytes in all: numbers become longer as a trace goes on, not all at once.
	usualSizes = 4
	// relearn is how many slices must have had others until a pattern is learned anew.
	relearn = 16
)

// is reports whether m has the same names and lengths.
func (p *pattern) is(m []byte) bool {
	if len(m) != p.n || len(m) < 8 {
		return false
	}
	k, last := 0, len(m)-8
	for i := 0; i < last; i += 8 {
		if (binary.LittleEndian.Uint64(m[i:])^p.text[k])&p.mask[k] != 0 {
			return false
		}
		k++
	}
	return (binary.LittleEndian.Uint64(m[last:])^p.text[k])&p.mask[k] == 0
}

// learn remembers the annotations m of a layout, which are well formed.
func (p *pattern) learn(l *layout, m []byte) {
	if p.misses++; len(m) < 8 || len(m) > maxPattern || p.n > 0 && p.misses < relearn {
		return
	}
	var counts [maxPattern]byte
	from, at := 0, 0
	for _, a := range l.args {
		if m[at+1] >= 0x80 { // a length that takes more bytes than it needs
			return
		}
		for i := range 2 + a.end - from {
			counts[at+i] = 0xff
		}
		at, from = at+2+int(m[at+1]), a.end
	}
	p.n, p.misses = len(m), 0
	k, last := 0, len(m)-8
	for i := 0; ; i += 8 {
		i = min(i, last)
		p.text[k], p.mask[k] = binary.LittleEndian.Uint64(m[i:]), binary.LittleEndian.Uint64(counts[i:])
		if k++; i == last {
			return
		}
	}
}

// is reports whether m holds annotations of this layout and nothing else, and reads the numbers that count.
func (l *layout) is(m []byte, correlation, external *uint64) bool {
	if l.values {
		return l.read(m, correlation, external)
	}
	usual := &l.usual[len(m)%usualSizes]
	if usual.is(m) {
		return true
	}
	if !l.read(m, correlation, external) {
		return false
	}
	usual.learn(l, m)
	return true
}

// read reads annotations of this layout, and reports whether m holds these and nothing else.
func (l *layout) read(m []byte, correlation, external *uint64) bool {
	from := 0
	for i := range l.args {
		a := &l.args[i]
		if len(m) < 3 || m[0] != eventArg<<3|2 {
			return false
		}
		size, n := int(m[1]), 2
		if size >= 0x80 {
			if m[2] >= 0x80 {
				return false
			}
			size, n = size&0x7f|int(m[2])<<7, 3
		}
		begin := a.end - from
		if n+size > len(m) || begin > size || a.whole && begin < size || string(m[n:n+begin]) != l.text[from:a.end] {
			return false
		}
		if a.key != keyNone {
			v, rest := varint(m[n+begin : n+size])
			if rest == nil || len(rest) > 0 {
				return false
			}
			if a.key == keyCorrelation {
				*correlation = v
			} else {
				*external = v
			}
		}
		m, from = m[n+size:], a.end
	}
	return len(m) == 0
}

// layout is that of the annotations that m holds, nil where there is more in it, or where other numbers count than a layout has.
func (x *parser) layout(m []byte) *layout {
	text, args, values := x.names[:0], x.args[:0], false
	defer func() { x.names, x.args = text, args }()
	for len(m) > 0 {
		f, _, arg, rest := next(m)
		if m = rest; f != eventArg || len(arg) == 0 {
			return nil
		}
		f, _, name, rest := next(arg)
		if f != argName || len(rest) == 0 {
			return nil
		}
		key, begin := keyOf(name), len(arg)-len(rest)
		switch {
		case key == keyCorrelation || key == keyExternal:
			if rest[0] != argInt<<3 {
				return nil
			}
			begin++
			values = true
		case key == keyDevice || key == keyStream: // few, and the same for many slices
			key, begin = keyNone, len(arg)
		case key.hasValue():
			return nil
		default:
			key = keyNone
		}
		text = append(text, arg[:begin]...)
		args = append(args, layoutArg{len(text), key, begin == len(arg)})
	}
	for _, other := range x.layouts {
		if other.text == string(text) && slices.Equal(other.args, args) {
			return other
		}
	}
	if len(x.layouts) == maxLayouts {
		return nil
	}
	l := &layout{text: string(text), args: slices.Clone(args), values: values}
	x.layouts = append(x.layouts, l)
	return l
}
