package inflate

import (
	"encoding/binary"
	"hash/crc32"
	"io"
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
	var h [10]byte
	switch n := r.in.readFull(h[:]); {
	case n == 0 && r.in.err == io.EOF:
		r.err = io.EOF
		return
	case n < len(h):
		r.err = r.in.failure()
		return
	case h[0] != 0x1f || h[1] != 0x8b || h[2] != 8:
		r.err = ErrHeader
		return
	}
	sum := crc32.ChecksumIEEE(h[:])
	flags := h[3]
	if flags&flagExtra != 0 {
		size := r.field(2, &sum)
		if r.err == nil {
			r.field(int(binary.LittleEndian.Uint16(size)), &sum)
		}
	}
	if flags&flagName != 0 {
		r.text(&sum)
	}
	if flags&flagComment != 0 {
		r.text(&sum)
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

// field reads n bytes of a header.
func (r *Reader) field(n int, sum *uint32) []byte {
	b := make([]byte, n)
	if r.err != nil {
		return b
	}
	if r.in.readFull(b) < n {
		r.err = r.in.failure()
		return b
	}
	*sum = crc32.Update(*sum, crc32.IEEETable, b)
	return b
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

// lengthSymbols are the 19 symbols of the code of lengths, as lengths.
var lengthSymbols = func() (s [19]entry) {
	for i := range s {
		s[i] = copyOf(i, 0)
	}
	return s
}()

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
		if r.in.readFull(h[:]) < len(h) {
			r.err = r.in.failure()
			return
		}
		n := binary.LittleEndian.Uint16(h[:])
		if n != ^binary.LittleEndian.Uint16(h[2:]) {
			r.err = ErrCorrupt
			return
		}
		r.stored, r.next = int(n), inStored
		if n == 0 {
			r.next = atBlock
		}
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
	var dists [32]uint8
	for i := range dists {
		dists[i] = 5
	}
	l := &r.litLengths
	for i := range l {
		switch {
		case i < 144:
			l[i] = 8
		case i < 256:
			l[i] = 9
		case i < 280:
			l[i] = 7
		default:
			l[i] = 8
		}
	}
	r.tables(l[:], dists[:])
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
	if !build(table[:], bits, lengths[:], lengthSymbols[:]) {
		r.err = ErrCorrupt
		return
	}
	var all [286 + 30]uint8
	if !r.codeLengths(all[:nlit+ndist], table[:]) {
		return
	}
	r.litLengths = [288]uint8{}
	copy(r.litLengths[:], all[:nlit])
	r.tables(r.litLengths[:nlit], all[nlit:nlit+ndist])
}

// codeLengths reads the lengths of both codes, which are coded themselves.
func (r *Reader) codeLengths(lengths []uint8, table []entry) bool {
	for i := 0; i < len(lengths); {
		e, ok := r.symbol(table, uint64(len(table)-1))
		if !ok {
			return false
		}
		s := e.base()
		if s < 16 {
			lengths[i] = uint8(s)
			i++
			continue
		}
		var value uint8
		var n, extra uint
		switch s {
		case 16:
			if i == 0 {
				r.err = ErrCorrupt
				return false
			}
			value, n, extra = lengths[i-1], 3, 2
		case 17:
			n, extra = 3, 3
		default:
			n, extra = 11, 7
		}
		if !r.bits(extra) {
			return false
		}
		n += uint(r.in.take(extra))
		if i+int(n) > len(lengths) {
			r.err = ErrCorrupt
			return false
		}
		for range n {
			lengths[i] = value
			i++
		}
	}
	return true
}

// tables makes the block's tables of its codes.
func (r *Reader) tables(lits, dists []uint8) {
	if !build(r.lits[:], litBits, lits, lit[:]) || !build(r.dists[:], distBits, dists, dist[:]) {
		r.err = ErrCorrupt
		return
	}
	pack(r.lits[:])
	r.next = inCodes
}
