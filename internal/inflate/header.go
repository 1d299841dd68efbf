package inflate

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
)

// Flags of a member's header, RFC 1952, 2.3.1.
const (
	flagSum     = 1 << 1
	flagExtra   = 1 << 2
	flagName    = 1 << 3
	flagComment = 1 << 4
)

// maxText bounds a file name or comment in a header, as Go's decoder does.
const maxText = 512

// member reads a member's header; the end of the stream is a good end here.
func (r *Reader) member() {
	if r.in.empty() && r.in.err == io.EOF {
		r.err = io.EOF
		return
	}
	r.start = r.Offset()
	var sum uint32
	h := r.field(10, &sum)
	if r.err == nil && (h[0] != 0x1f || h[1] != 0x8b || h[2] != 8) {
		r.err = ErrHeader
	}
	flags := h[3]
	if flags&flagExtra != 0 {
		size := r.field(2, &sum)
		r.field(int(binary.LittleEndian.Uint16(size)), &sum)
	}
	for _, text := range [...]byte{flagName, flagComment} {
		if flags&text != 0 {
			r.text(&sum)
		}
	}
	if flags&flagSum != 0 {
		want := uint16(sum)
		if got := r.field(2, &sum); r.err == nil && binary.LittleEndian.Uint16(got) != want {
			r.err = ErrHeader
		}
	}
	r.sum, r.size, r.have, r.final = 0, 0, 0, false
	r.next = atBlock
}

// field reads n bytes of a header; zeros after an error.
func (r *Reader) field(n int, sum *uint32) []byte {
	b := make([]byte, n)
	if r.full(b) {
		*sum = crc32.Update(*sum, crc32.IEEETable, b)
	}
	return b
}

// full fills b with whole bytes, or fails.
func (r *Reader) full(b []byte) bool {
	if r.err == nil && r.in.readFull(b) < len(b) {
		r.err = r.in.failure()
	}
	return r.err == nil
}

// text skips a zero-terminated string of a header.
func (r *Reader) text(sum *uint32) {
	for range maxText {
		if b := r.field(1, sum); r.err != nil || b[0] == 0 {
			return
		}
	}
	r.err = ErrHeader
}

// lengthOrder is the order in which the lengths of the code of lengths stand.
var lengthOrder = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// lengthSymbols are the symbols of the code of lengths: the numbers from 0 on.
var lengthSymbols = ranges(len(lengthOrder), 0, len(lengthOrder))

// block reads the header of the next block.
func (r *Reader) block() {
	if r.final {
		r.next = atTrailer
		return
	}
	if !r.bits(3) {
		return
	}
	r.final = r.in.take(1) == 1
	switch r.in.take(2) {
	case 0:
		r.in.align()
		var h [4]byte
		if !r.full(h[:]) {
			return
		}
		n := binary.LittleEndian.Uint16(h[:])
		if n != ^binary.LittleEndian.Uint16(h[2:]) {
			r.err = ErrCorrupt
			return
		}
		r.stored, r.next = int(n), inStored
	case 1:
		r.fixed()
	case 2:
		r.dynamic()
	default:
		r.err = ErrCorrupt
	}
}

// bits makes n bits available or fails.
func (r *Reader) bits(n uint) bool {
	if !r.in.want(n) {
		r.err = r.in.failure()
		return false
	}
	return true
}

// fixed sets up the code that RFC 1951, 3.2.6, gives.
func (r *Reader) fixed() {
	dists := bytes.Repeat([]byte{5}, 32)
	lits := slices.Concat(bytes.Repeat([]byte{8}, 144), bytes.Repeat([]byte{9}, 112), bytes.Repeat([]byte{7}, 24), bytes.Repeat([]byte{8}, 8))
	r.tables(lits, dists)
}

// dynamic reads the codes of a block that brings its own.
func (r *Reader) dynamic() {
	if !r.bits(14) {
		return
	}
	nlit, ndist, nlen := 257+int(r.in.take(5)), 1+int(r.in.take(5)), 4+int(r.in.take(4))
	if nlit > 286 || ndist > 30 {
		r.err = ErrCorrupt
		return
	}
	var lengths [19]uint8
	for _, i := range lengthOrder[:nlen] {
		if !r.bits(3) {
			return
		}
		lengths[i] = uint8(r.in.take(3))
	}
	const bits = 7
	var table [1 << bits]entry
	if !build(table[:], bits, lengths[:], lengthSymbols) {
		r.err = ErrCorrupt
		return
	}
	var all [286 + 30]uint8
	if !r.codeLengths(all[:nlit+ndist], table[:]) {
		return
	}
	r.tables(all[:nlit], all[nlit:nlit+ndist])
}

// codeLengths reads the lengths of both codes, which are coded themselves.
func (r *Reader) codeLengths(lengths []uint8, table []entry) bool {
	for i := 0; i < len(lengths); {
		s := r.symbol(table, uint64(len(table)-1)).value()
		if r.err != nil {
			return false
		}
		if s < 16 {
			lengths[i] = uint8(s)
			i++
			continue
		}
		n, extra := uint(3), uint(2)
		switch {
		case s == 17:
			extra = 3
		case s == 18:
			n, extra = 11, 7
		case i == 0: // there is none to repeat
			r.err = ErrCorrupt
			return false
		}
		if !r.bits(extra) {
			return false
		}
		again := lengths[i:]
		if n += uint(r.in.take(extra)); int(n) > len(again) {
			r.err = ErrCorrupt
			return false
		}
		for k := range again[:n] {
			if again[k] = 0; s == 16 {
				again[k] = lengths[i-1]
			}
		}
		i += int(n)
	}
	return true
}

// tables makes the block's tables of its codes.
func (r *Reader) tables(lits, dists []uint8) {
	clear(r.litLengths[copy(r.litLengths[:], lits):])
	if !build(r.lits[:], litBits, lits, lit) || !build(r.dists[:], distBits, dists, dist) {
		r.err = ErrCorrupt
		return
	}
	r.next = inCodes
}
