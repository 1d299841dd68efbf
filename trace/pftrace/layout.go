package pftrace

import (
	"encoding/binary"
	"slices"

	"github.com/llmstrata/strata/internal/wire"
)

// NOTE on slices that come again. Nine of ten slices of a trace with Python stacks are frames that came before: the
// same fields, and annotations of the same names; either nothing but the names counts (Python id, Input
// Dims) or two numbers that differ from slice to slice (correlation, External id). Such a slice is remembered by the
// bytes before its annotations, with the layout of these. Where the same bytes come again, followed by
// annotations of the same names, it is the same slice at another time, as parsing looks at nothing else; its numbers
// are all that is read. Anything else is parsed field by field.

// short is a text of up to maxShort bytes as it is compared and hashed, without a call: its length and its first,
// middle and last eight bytes, which overlap.
type short struct {
	n                int
	first, mid, last uint64
}

const maxShort = 24

// shorten is the text of the first n bytes of m, which holds eight at least.
func shorten(m []byte, n int) short {
	first := binary.LittleEndian.Uint64(m)
	if n < 8 {
		return short{n: n, first: first << (64 - 8*uint(n))}
	}
	return short{n, first, binary.LittleEndian.Uint64(m[min(8, n-8):]), binary.LittleEndian.Uint64(m[n-8:])}
}

// slot is a number below 1<<bits.
func (t *short) slot(bits int) int16 {
	return int16((t.first*0x9E3779B97F4A7C15 ^ t.last) * 0x9E3779B97F4A7C15 >> (64 - bits))
}

// known is the begin of a slice that was read, up to its annotations, and the number of its queue. The same bytes
// mean the same while no texts are learned.
type known struct {
	seq     *interned // nil for none
	args    *layout   // nil: it has none
	version int
	text    short
	queue   int32
}

// ending is an end of a slice, and the number of its queue: the whole packet after its time, which means the same
// always.
type ending struct {
	text  short // of no bytes for none
	queue int32
}

// numbers is how many bytes of a track_event are whole numbers with tags of one byte, which are before its
// annotations.
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
	text string // of each, what is after its length up to its value; of one without a value, its name
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

// pattern is the names of annotations, without values, as they were in a slice: the values of those of the next one are
// mostly as long, and then a few words show that all names and lengths are the same.
type pattern struct {
	n      int // bytes; 0 for none
	misses int
	// each of eight bytes, the last one of the last eight; the mask has no values
	words [maxPattern / 8]struct{ text, mask uint64 }
}

const (
	// maxPattern bounds the bytes; frames have some 60.
	maxPattern = 128
	// usualSizes is how many patterns a layout has, by the bytes in all: numbers become longer as a trace goes on,
	// not all at once.
	usualSizes = 4
	// relearn is how many slices must have had others until a pattern is learned anew.
	relearn = 16
)

// is reports whether m has the same names and lengths.
func (p *pattern) is(m []byte) bool {
	if len(m) != p.n || len(m) < 8 {
		return false
	}
	last := &p.words[(len(m)-1)/8%len(p.words)]
	if (binary.LittleEndian.Uint64(m[len(m)-8:])^last.text)&last.mask != 0 {
		return false
	}
	for i := 0; len(m) > 8; i++ {
		w := &p.words[i%len(p.words)]
		if (binary.LittleEndian.Uint64(m)^w.text)&w.mask != 0 {
			return false
		}
		m = m[8:]
	}
	return true
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
		p.words[k].text, p.words[k].mask = binary.LittleEndian.Uint64(m[i:]), binary.LittleEndian.Uint64(counts[i:])
		if k++; i == last {
			return
		}
	}
}

// is reports whether m holds annotations of this layout and nothing else, and returns the numbers that count.
func (l *layout) is(m []byte) (correlation, external uint64, ok bool) {
	if l.values {
		return l.read(m)
	}
	usual := &l.usual[len(m)%usualSizes]
	if usual.is(m) {
		return 0, 0, true
	}
	if _, _, ok = l.read(m); ok {
		usual.learn(l, m)
	}
	return 0, 0, ok
}

// read reads annotations of this layout; ok says whether m holds these and nothing else.
func (l *layout) read(m []byte) (correlation, external uint64, ok bool) {
	from := 0
	for i := range l.args {
		a := &l.args[i]
		if len(m) < 3 || m[0] != eventArg<<3|2 {
			return 0, 0, false
		}
		size, n := int(m[1]), 2
		if size >= 0x80 {
			if m[2] >= 0x80 {
				return 0, 0, false
			}
			size, n = size&0x7f|int(m[2])<<7, 3
		}
		begin := a.end - from
		if n+size > len(m) || begin > size || a.whole && begin < size || string(m[n:n+begin]) != l.text[from:a.end] {
			return 0, 0, false
		}
		if a.key != keyNone {
			v, rest := wire.Varint(m[n+begin : n+size])
			if rest == nil || len(rest) > 0 {
				return 0, 0, false
			}
			if a.key == keyCorrelation {
				correlation = v
			} else {
				external = v
			}
		}
		m, from = m[n+size:], a.end
	}
	return correlation, external, len(m) == 0
}

// layout is that of the annotations that m holds, nil where there is more in it, or where other numbers count than a
// layout has.
func (x *parser) layout(m []byte) *layout {
	text, args, values := x.names[:0], x.args[:0], false
	defer func() { x.names, x.args = text, args }()
	for len(m) > 0 {
		f, _, arg, rest := wire.Next(m)
		if m = rest; f != eventArg || len(arg) == 0 {
			return nil
		}
		f, _, name, rest := wire.Next(arg)
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
