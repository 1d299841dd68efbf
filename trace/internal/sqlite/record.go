package sqlite

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Kind is what a value is.
type Kind uint8

// Kinds of values.
const (
	Null Kind = iota
	Integer
	Real
	Text
	Blob
)

// Places of a column that no record has.
const (
	ofRowid = -1
	absent  = -2
)

// Row is a row of a table: the columns that were asked for, in that order. It is valid only until the next one.
type Row struct {
	*cursor
	Rowid   int64
	Damaged int64 // pages so far that were damaged

	place []int // of each column in the record
	need  int   // places that are looked at
	types []uint64
	start []int  // of each value in the record
	found int    // places that this record has
	data  []byte // the record
}

func newRow(c *cursor, place []int) *Row {
	r := &Row{cursor: c, place: place}
	for _, p := range place {
		r.need = max(r.need, p+1)
	}
	r.types, r.start = make([]uint64, r.need), make([]int, r.need)
	return r
}

// varint reads a number of one to nine bytes (§1.6); n is 0 where b ends before it does.
func varint(b []byte) (v uint64, n int) {
	for i, c := range b {
		if i == 8 {
			return v<<8 | uint64(c), 9
		}
		v = v<<7 | uint64(c&0x7f)
		if c < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}

// cellHead reads how long the record of a cell of a leaf is, its rowid, and where it begins.
func cellHead(b []byte) (size uint64, rowid int64, at int, ok bool) {
	size, n := varint(b)
	id, m := varint(b[n:])
	return size, int64(id), n + m, n > 0 && m > 0
}

// parse makes r the row of a cell; false where the cell is damaged.
func (r *Row) parse(cell []byte) bool {
	size, rowid, at, ok := cellHead(cell)
	if !ok {
		return false
	}
	r.Rowid = rowid
	if r.data, ok = r.record(cell[at:], size); !ok {
		return false
	}
	// The header: its length, then the type of each value (§2.1).
	length, n := varint(r.data)
	if n == 0 || length > uint64(len(r.data)) {
		return false
	}
	value := length
	r.found = 0
	for at := uint64(n); at < length && r.found < r.need; r.found++ {
		t, n := varint(r.data[at:length])
		if n == 0 {
			return false
		}
		at += uint64(n)
		r.types[r.found], r.start[r.found] = t, int(value)
		if value += sizeOf(t); value > uint64(len(r.data)) {
			return false
		}
	}
	return true
}

// record returns the bytes of a record: those in the cell, and, of a long one, those of its overflow pages (§1.6).
func (r *Row) record(b []byte, size uint64) ([]byte, bool) {
	usable := uint64(r.db.usable)
	if size > r.left || size > uint64(r.db.Size) {
		return nil, false
	}
	r.left -= size
	if size <= usable-35 {
		if size > uint64(len(b)) {
			return nil, false
		}
		return b[:size], true
	}
	least := (usable-12)*32/255 - 23
	local := least + (size-least)%(usable-4)
	if local > usable-35 {
		local = least
	}
	if local+4 > uint64(len(b)) {
		return nil, false
	}
	r.long = append(r.long[:0], b[:local]...)
	next := binary.BigEndian.Uint32(b[local:])
	if r.chain == nil {
		r.chain = make([]byte, r.db.page)
	}
	for missing := size - local; missing > 0; {
		if next == 0 || next > r.db.pages {
			return nil, false
		}
		if n, _ := r.db.file.ReadAt(r.chain, int64(next-1)*int64(r.db.page)); n < r.db.usable {
			return nil, false
		}
		part := min(missing, usable-4)
		r.long = append(r.long, r.chain[4:4+part]...)
		missing -= part
		next = binary.BigEndian.Uint32(r.chain)
	}
	return r.long, true
}

// sizeOf is how many bytes a value of a serial type takes (§2.1).
func sizeOf(t uint64) uint64 {
	if t >= 12 {
		return (t - 12) / 2
	}
	return uint64([12]uint8{0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0}[t])
}

// Types of values in a record: whole numbers of up to 8 bytes, and those below.
const (
	typeReal = 7
	typeZero = 8
	typeOne  = 9
)

// value returns the type of column i and its bytes.
func (r *Row) value(i int) (t uint64, b []byte) {
	p := r.place[i]
	if p < 0 || p >= r.found {
		return 0, nil
	}
	t = r.types[p]
	return t, r.data[r.start[p] : uint64(r.start[p])+sizeOf(t)]
}

// Kind says what column i is. A whole number in a column of reals is mostly stored as an Integer.
func (r *Row) Kind(i int) Kind {
	if r.place[i] == ofRowid {
		return Integer
	}
	switch t, _ := r.value(i); {
	case t == 0 || t == 10 || t == 11:
		return Null
	case t == typeReal:
		return Real
	case t >= 12 && t%2 == 0:
		return Blob
	case t >= 12:
		return Text
	}
	return Integer
}

// Int is column i as a whole number: a real is cut off, a text read as far as it is a number, null is 0.
func (r *Row) Int(i int) int64 {
	if r.place[i] == ofRowid {
		return r.Rowid
	}
	t, b := r.value(i)
	switch {
	case t == 0:
		return 0
	case t < typeReal:
		v := int64(int8(b[0]))
		for _, c := range b[1:] {
			v = v<<8 | int64(c)
		}
		return v
	case t == typeReal:
		return whole(math.Float64frombits(binary.BigEndian.Uint64(b)))
	case t == typeOne:
		return 1
	case t >= 12:
		return leading(r.Text(i))
	}
	return 0
}

// whole is the whole part of a number, at the bounds of int64 beyond them, 0 of none.
func whole(f float64) int64 {
	switch {
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64
	case f != f:
		return 0
	}
	return int64(f)
}

// leading is the whole number that a text begins with, 0 where it begins with none.
func leading(s string) int64 {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	end := 0
	for end < len(s) && (s[end] >= '0' && s[end] <= '9' || end == 0 && (s[end] == '-' || s[end] == '+')) {
		end++
	}
	v, _ := strconv.ParseInt(s[:end], 10, 64) // the nearest bound beyond int64
	return v
}

// Text is column i as text, a number written out, null as "".
func (r *Row) Text(i int) string {
	switch r.Kind(i) {
	case Integer:
		return strconv.FormatInt(r.Int(i), 10)
	case Real:
		_, b := r.value(i)
		return strconv.FormatFloat(math.Float64frombits(binary.BigEndian.Uint64(b)), 'g', 15, 64)
	case Blob:
		_, b := r.value(i)
		return string(b)
	case Text:
		_, b := r.value(i)
		return r.db.decode(b)
	}
	return ""
}

// Encodings of text (§1.3.13); 0, of a database without a table, is UTF-8, too.
const (
	utf16le = 2
	utf16be = 3
)

func (db *Database) decode(b []byte) string {
	var order binary.ByteOrder
	switch db.encoding {
	default:
		return string(b)
	case utf16le:
		order = binary.LittleEndian
	case utf16be:
		order = binary.BigEndian
	}
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = order.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}
