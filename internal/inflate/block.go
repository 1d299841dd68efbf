package inflate

import (
	"bytes"
	"encoding/binary"
	"sync"
)

// block reads the header of the next block.
func (r *Reader) block() {
	if r.final {
		r.next = atTrailer
		return
	}
	h := r.bits(3)
	r.final = h&1 == 1
	switch h >> 1 {
	case 0:
		r.in.align()
		h := r.bytes(make([]byte, 4))
		r.stored, r.next = int(binary.LittleEndian.Uint16(h)), inStored
		if binary.LittleEndian.Uint16(h[2:]) != ^uint16(r.stored) {
			r.fail(ErrCorrupt)
		}
	case 1:
		r.code, r.next = fixed(), inCodes
	case 2:
		r.code, r.next = &r.own, inCodes
		r.dynamic()
	default:
		r.fail(ErrCorrupt)
	}
}

// want reports whether the stream has n more bits; it fails if not.
func (r *Reader) want(n int) bool {
	if !r.in.want(n) {
		r.fail(r.in.failure())
	}
	return r.err == nil
}

// bits takes the next n bits; 0 after an error.
func (r *Reader) bits(n int) int {
	if !r.want(n) {
		return 0
	}
	v := int(r.in.peek() & (1<<n - 1))
	r.in.bit += n
	return v
}

// fixed is the code that RFC 1951, 3.2.6, gives. Compressors that flush end every piece with an empty block of it.
var fixed = sync.OnceValue(func() *codes {
	c := new(codes)
	i := 0
	for _, run := range [...]struct {
		n   int
		len byte
	}{{144, 8}, {112, 9}, {24, 7}, {8, 8}, {32, 5}} {
		i += copy(c.lengths[i:], bytes.Repeat([]byte{run.len}, run.n))
	}
	c.build(288, 32)
	return c
})

// lengthOrder is the order in which the lengths of the code of lengths stand.
var lengthOrder = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// lengthSymbols are the symbols of the code of lengths: the numbers from 0 on.
var lengthSymbols = ranges(len(lengthOrder), 0, len(lengthOrder), 16)

// dynamic reads the codes of a block that brings its own.
func (r *Reader) dynamic() {
	nlit, ndist, nlen := 257+r.bits(5), 1+r.bits(5), 4+r.bits(4)
	if nlit > 286 || ndist > 30 {
		r.fail(ErrCorrupt)
		return
	}
	var lengths [19]uint8
	for _, i := range lengthOrder[:nlen] {
		lengths[i] = uint8(r.bits(3))
	}
	var table [1 << lengthBits]entry
	if !build(table[:], lengthBits, lengths[:], lengthSymbols) {
		r.fail(ErrCorrupt)
	}
	r.codeLengths(r.own.lengths[:nlit+ndist], table[:])
	if r.err == nil && !r.own.build(nlit, ndist) {
		r.fail(ErrCorrupt)
	}
}

// codeLengths reads the lengths of both codes, which are coded themselves.
func (r *Reader) codeLengths(lengths []uint8, table []entry) {
	for i := 0; i < len(lengths) && r.err == nil; {
		s := r.symbol(table, lengthBits).value()
		length, n := uint8(s), 1
		switch {
		case s == 16 && i == 0: // there is none to repeat
			r.fail(ErrCorrupt)
		case s == 16:
			length, n = lengths[i-1], 3+r.bits(2)
		case s == 17:
			length, n = 0, 3+r.bits(3)
		case s == 18:
			length, n = 0, 11+r.bits(7)
		}
		if n > len(lengths)-i {
			r.fail(ErrCorrupt)
			return
		}
		for end := i + n; i < end; i++ {
			lengths[i] = length
		}
	}
}
