package decompress

import (
	"hash/crc32"
	"io"
	"strings"
	"sync"
)

// Flags of a member's header, RFC 1952, 2.3.1.
const flagSum, flagExtra, flagName, flagComment = 1 << 1, 1 << 2, 1 << 3, 1 << 4

// maxText bounds a file name or comment in a header, as Go's decoder does.
const maxText = 512

// member reads a member's header; the end of the stream is a good end here.
func (r *gzipReader) member() {
	if !r.in.want(8) && r.in.err == io.EOF {
		r.err = io.EOF
		return
	}
	r.start, r.sum = r.Offset(), 0
	var h [10]byte
	for i := range h {
		h[i] = r.headerByte()
	}
	if h[0] != 0x1f || h[1] != 0x8b || h[2] != 8 {
		r.fail(errHeader)
	}
	flags := h[3]
	if flags&flagExtra != 0 {
		for n := int(r.headerByte()) | int(r.headerByte())<<8; n > 0; n-- {
			r.headerByte()
		}
	}
	for _, text := range [...]byte{flagName, flagComment} {
		for n := 1; flags&text != 0 && r.headerByte() != 0; n++ {
			if n == maxText {
				r.fail(errHeader)
			}
		}
	}
	if want := uint16(r.sum); flags&flagSum != 0 && uint16(r.bits(16)) != want {
		r.fail(errHeader)
	}
	r.sum, r.size, r.have, r.final, r.next = 0, 0, 0, false, atBlock
}

// headerByte reads a byte of a member's header into its checksum; 0 after an error.
func (r *gzipReader) headerByte() byte {
	b := byte(r.bits(8))
	r.sum = crc32.Update(r.sum, crc32.IEEETable, []byte{b})
	return b
}

// trailer checks a member's checksum and size.
func (r *gzipReader) trailer() {
	r.bits(-r.in.bit & 7) // up to the next byte
	sum, size := uint32(r.bits(32)), uint32(r.bits(32))
	if sum != r.sum || size != r.size {
		r.fail(ErrChecksum)
	}
	r.next = atMember
}

// block reads the header of the next block.
func (r *gzipReader) block() {
	if r.final {
		r.next = atTrailer
		return
	}
	h := r.bits(3)
	r.final = h&1 == 1
	switch h >> 1 {
	case 0:
		r.bits(-r.in.bit & 7) // up to the next byte
		if r.stored, r.next = r.bits(16), inStored; r.bits(16) != r.stored^0xffff {
			r.fail(errCorrupt)
		}
	case 1:
		r.code, r.next = fixed(), inCodes
	case 2:
		r.code, r.next = &r.own, inCodes
		r.dynamic()
	default:
		r.fail(errCorrupt)
	}
}

// bits takes the next n bits, 32 at most; 0 after an error.
func (r *gzipReader) bits(n int) int {
	if r.err != nil || !r.in.want(n) {
		r.fail(r.in.failure())
		return 0
	}
	v := int(r.in.peek() & (1<<n - 1))
	r.in.bit += n
	return v
}

// fixed is the code that RFC 1951, 3.2.6, gives. Compressors that flush end every piece with an empty block of it.
var fixed = sync.OnceValue(func() *codes {
	c, run := new(codes), strings.Repeat
	copy(c.lengths[:], run("\x08", 144)+run("\x09", 112)+run("\x07", 24)+run("\x08", 8)+run("\x05", 32))
	c.build(288, 32)
	return c
})

// lengthOrder is the order of the lengths of the code of lengths.
var lengthOrder = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// lengthSymbols are the symbols of the code of lengths: the numbers from 0 on.
var lengthSymbols = ranges(len(lengthOrder), 0, len(lengthOrder), 0, 16)

// dynamic reads the codes of a block that brings its own.
func (r *gzipReader) dynamic() {
	nlit, ndist, nlen := 257+r.bits(5), 1+r.bits(5), 4+r.bits(4)
	if nlit > 286 || ndist > 30 {
		r.fail(errCorrupt)
		return
	}
	var lengths [19]uint8
	for _, i := range lengthOrder[:nlen] {
		lengths[i] = uint8(r.bits(3))
	}
	var table [1 << lengthBits]entry
	if !build(table[:], lengthBits, lengths[:], lengthSymbols) {
		r.fail(errCorrupt)
	}
	r.codeLengths(r.own.lengths[:nlit+ndist], table[:])
	if r.err == nil && !r.own.build(nlit, ndist) {
		r.fail(errCorrupt)
	}
}

// codeLengths reads the lengths of both codes, which are coded themselves.
func (r *gzipReader) codeLengths(lengths []uint8, table []entry) {
	for i := 0; i < len(lengths) && r.err == nil; {
		s := r.symbol(table, lengthBits, 0).value()
		length, n := uint8(s), 1
		switch {
		case s == 16 && i == 0: // there is none to repeat
			r.fail(errCorrupt)
		case s == 16:
			length, n = lengths[i-1], 3+r.bits(2)
		case s == 17:
			length, n = 0, 3+r.bits(3)
		case s == 18:
			length, n = 0, 11+r.bits(7)
		}
		if n > len(lengths)-i {
			r.fail(errCorrupt)
			return
		}
		for end := i + n; i < end; i++ {
			lengths[i] = length
		}
	}
}
