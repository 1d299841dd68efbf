package inflate

import (
	"encoding/binary"
	"io"
)

// inputSize is how much compressed data is read at once. Larger did not measure
// faster: it is read once, in order.
const inputSize = 128 << 10

// input is the compressed stream as bits.
//
// Invariants: 0 ≤ pos ≤ end ≤ len(buf); the low n bits of bits are those that
// come before buf[pos]. Outside of the fast loop the bits above n are zero.
type input struct {
	r        io.Reader
	buf      []byte
	pos, end int
	bits     uint64
	n        uint  // valid bits, at most 63
	read     int64 // bytes of r, all that ever stood in front of buf[end]
	err      error // of r, io.EOF included; what buf holds comes before it
}

// fill moves what is left to the front of the buffer and reads more. It does
// nothing once the reader failed.
func (in *input) fill() {
	if in.err != nil {
		return
	}
	keep := min(in.pos, 8) // bits may still hold these bytes, and give them back
	in.end = copy(in.buf, in.buf[in.pos-keep:in.end])
	in.pos = keep
	for empty := 0; in.err == nil; {
		n, err := in.r.Read(in.buf[in.end:])
		in.end += n
		in.read += int64(n)
		in.err = err
		if n > 0 {
			return
		}
		if empty++; empty == 100 && err == nil {
			in.err = io.ErrNoProgress
		}
	}
}

// empty reads more where all bytes are used, and reports whether there are none.
func (in *input) empty() bool {
	if in.pos == in.end {
		in.fill()
	}
	return in.pos == in.end
}

// want makes n bits available, n ≤ 32, and reports whether the stream has them.
func (in *input) want(n uint) bool {
	if in.n < n && in.end-in.pos >= 8 {
		more := (63 - in.n) &^ 7 // bits, of whole bytes
		in.bits |= binary.LittleEndian.Uint64(in.buf[in.pos:]) & (1<<more - 1) << in.n
		in.pos += int(more >> 3)
		in.n += more
	}
	for in.n < n {
		if in.empty() {
			return false
		}
		in.bits |= uint64(in.buf[in.pos]) << in.n
		in.pos++
		in.n += 8
	}
	return true
}

// take returns the next n bits; want(n) must have said that they are there.
func (in *input) take(n uint) uint32 {
	v := uint32(in.bits & (1<<n - 1))
	in.bits >>= n
	in.n -= n
	return v
}

// align drops the bits up to the next byte and gives whole bytes back to the
// buffer.
func (in *input) align() {
	in.pos -= int(in.n >> 3)
	in.bits, in.n = 0, 0
}

// failure is why the stream ends here: the reader's error, or that data is
// missing.
func (in *input) failure() error {
	if in.err == nil || in.err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return in.err
}

// readFull fills p with whole bytes; the stream must be aligned.
func (in *input) readFull(p []byte) (n int) {
	for n < len(p) && !in.empty() {
		k := copy(p[n:], in.buf[in.pos:in.end])
		in.pos += k
		n += k
	}
	return n
}
