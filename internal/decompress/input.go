package decompress

import (
	"encoding/binary"
	"io"
)

// inputSize is how much compressed data is read at once. Larger did not measure faster: it is read once, in order.
const inputSize = 128 << 10

// input is the compressed stream as bits. The eight bytes after buf[:end] are zero, so that a load of 64 bits may
// look beyond the end.
type input struct {
	r    io.Reader
	buf  []byte
	bit  int // the first bit of buf that was not used yet
	end  int
	read int64 // bytes of r, all that ever was before buf[end]
	err  error // of r, io.EOF included; what buf holds comes before it
}

// fill moves what is left to the front of the buffer and reads more. It does nothing once the reader failed.
func (in *input) fill() {
	if in.err != nil {
		return
	}
	in.end = copy(in.buf, in.buf[in.bit>>3:in.end])
	in.bit &= 7
	n := 0
	for try := 0; n == 0 && in.err == nil; try++ {
		if n, in.err = in.r.Read(in.buf[in.end : len(in.buf)-8]); n == 0 && in.err == nil && try == 100 {
			in.err = io.ErrNoProgress
		}
	}
	in.end += n
	in.read += int64(n)
	clear(in.buf[in.end : in.end+8])
}

// left is how many bits there are without reading more.
func (in *input) left() int { return in.end<<3 - in.bit }

// want reads until n bits are left, and reports whether the stream has them.
func (in *input) want(n int) bool {
	for in.left() < n && in.err == nil {
		in.fill()
	}
	return in.left() >= n
}

// peek returns the next 57 bits or more, zeros after the end.
func (in *input) peek() uint64 {
	return binary.LittleEndian.Uint64(in.buf[in.bit>>3:]) >> (in.bit & 7)
}

// failure is why the stream ends here: the reader's error, or that data is missing.
func (in *input) failure() error {
	if in.err == nil || in.err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return in.err
}

// whole fills p with whole bytes as far as the stream has them; it must be aligned.
func (in *input) whole(p []byte) (n int) {
	for n < len(p) && in.want(8) {
		k := copy(p[n:], in.buf[in.bit>>3:in.end])
		in.bit += k << 3
		n += k
	}
	return n
}
