// Package wire reads and writes the fields of protocol buffers whose messages are known by their numbers alone.
package wire

import (
	"encoding/binary"
	"iter"
	"math"
	"math/bits"

	"google.golang.org/protobuf/encoding/protowire"
)

// Next reads the first field of a message that is not empty: num for numbers of all types, body for what has a
// length. Its number is 0 where the message is not well formed. Tags and lengths of one byte, which nearly all are,
// are read here; results stay in registers.
func Next(m []byte) (id int, num uint64, body, rest []byte) {
	tag := uint64(m[0])
	m = m[1:]
	if tag >= 0x80 || tag < 1<<3 {
		var ok bool
		if tag, m, ok = longTag(tag, m); !ok {
			return 0, 0, nil, nil
		}
	}
	switch protowire.Type(tag & 7) {
	case protowire.VarintType, protowire.BytesType:
		if len(m) == 0 {
			return 0, 0, nil, nil
		}
		num = uint64(m[0])
		if num < 0x80 {
			m = m[1:]
		} else if num, m = Varint(m); m == nil {
			return 0, 0, nil, nil
		}
		if tag&7 == uint64(protowire.VarintType) {
			return int(tag >> 3), num, nil, m
		}
		if num > uint64(len(m)) {
			return 0, 0, nil, nil
		}
		return int(tag >> 3), 0, m[:num], m[num:]
	case protowire.Fixed64Type:
		if len(m) < 8 {
			return 0, 0, nil, nil
		}
		return int(tag >> 3), binary.LittleEndian.Uint64(m), nil, m[8:]
	}
	n := protowire.ConsumeFieldValue(protowire.Number(tag>>3), protowire.Type(tag&7), m)
	if n < 0 {
		return 0, 0, nil, nil
	}
	return int(tag >> 3), 0, nil, m[n:]
}

// longTag reads on a tag that does not fit in its first byte.
func longTag(first uint64, m []byte) (tag uint64, rest []byte, ok bool) {
	if first < 0x80 { // the field's number is 0
		return 0, nil, false
	}
	more, n := protowire.ConsumeVarint(m)
	tag = first&0x7f | more<<7
	return tag, m[max(n, 0):], n > 0 && more < 1<<25 && tag>>3 > 0 && tag>>3 <= uint64(protowire.MaxValidNumber)
}

// Varint reads a number, at once where at most nine bytes hold it and eight are there. What is after it is nil if it
// has no end.
func Varint(m []byte) (uint64, []byte) {
	if len(m) >= 8 {
		x := binary.LittleEndian.Uint64(m)
		n := 8
		ends := ^x & 0x8080808080808080
		if ends != 0 {
			n = (bits.TrailingZeros64(ends) + 1) / 8
			x &= ends ^ (ends - 1) // the bits up to the byte that ends it
		}
		x = x&0x007f007f007f007f | x&0x7f007f007f007f00>>1
		x = x&0x00003fff00003fff | x&0x3fff00003fff0000>>2
		x = x&0x000000000fffffff | x&0x0fffffff00000000>>4
		if ends != 0 {
			return x, m[n:]
		}
		if len(m) > n && m[n] < 0x80 { // nine bytes, as wall-clock times have
			return x | uint64(m[n])<<56, m[n+1:]
		}
	}
	x, n := protowire.ConsumeVarint(m)
	if n < 0 {
		return 0, nil
	}
	return x, m[n:]
}

// Value is what a field holds: a number of any type, or what has a length.
type Value struct {
	Num   uint64
	Bytes []byte
}

// Fields are the fields of a message in their order. They end, and ok becomes false, where it is not well formed.
func Fields(m []byte, ok *bool) iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		for len(m) > 0 {
			f, num, body, rest := Next(m)
			if f == 0 {
				*ok = false
				return
			}
			if m = rest; !yield(f, Value{num, body}) {
				return
			}
		}
	}
}

// Msg appends a field that is a message, or any other run of bytes.
func Msg(dst []byte, id protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, id, protowire.BytesType), m)
}

// Num appends a field that is a whole number.
func Num(dst []byte, id protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, id, protowire.VarintType), v)
}

// Str appends a field that is a text.
func Str(dst []byte, id protowire.Number, s string) []byte { return Msg(dst, id, []byte(s)) }

// Double appends a field that is a float.
func Double(dst []byte, id protowire.Number, v float64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(dst, id, protowire.Fixed64Type), math.Float64bits(v))
}
