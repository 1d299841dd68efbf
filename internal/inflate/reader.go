package inflate

import (
	"errors"
	"hash/crc32"
	"io"
	"slices"
)

// Errors of the compressed data. Missing data is io.ErrUnexpectedEOF, errors of
// the underlying reader are returned as they are.
var (
	ErrHeader   = errors.New("invalid gzip header")
	ErrChecksum = errors.New("gzip checksum does not match")
	ErrCorrupt  = errors.New("corrupt deflate data")
)

const (
	// history is how far back a copy may reach.
	history = 32 << 10
	// direct is the shortest output that is written without a buffer between.
	// Below it, too little of it would be left to the fast loop.
	direct = 4 << 10
	// spareSize is the buffer for shorter outputs.
	spareSize = 16 << 10
	// shortest and longest are the lengths of copies.
	shortest, longest = 3, 258
)

// state says what comes next in the stream.
type state uint8

const (
	atMember state = iota
	atBlock
	inStored
	inCodes
	atTrailer
)

// Reader decompresses the members of a gzip stream, one behind the other. It is
// for one goroutine. Everything that could be decoded is returned before an error.
type Reader struct {
	in   input
	err  error
	next state

	start  int64 // where in the input the member begins
	final  bool  // the block is the member's last
	stored int   // bytes left of a stored block
	sum    uint32
	size   uint32 // of the member, modulo 2³²

	code *codes // of the block: own, or those of a fixed block
	own  codes

	hist  [history]byte // hist[:have] is the member's output before this call
	have  int
	spare []byte // decoded, not yet returned
	buf   []byte // where spare lies
}

// Offset returns how many bytes of the input were used, the one that is read bit
// by bit included.
func (r *Reader) Offset() int64 {
	return r.in.read - int64(r.in.left()>>3)
}

// Held returns what the Reader still has of its input, from the header of the
// failed member at the earliest, and the offset of its first byte. It holds bytes
// that were used, too: broken data may be decoded beyond its member's end.
func (r *Reader) Held() (b []byte, offset int64) {
	first := r.in.read - int64(r.in.end)
	from := max(first, r.start)
	return r.in.buf[from-first : r.in.end], from
}

// NewReader returns a Reader of r, and the error with which its first header
// fails, if that is not a gzip header.
func NewReader(r io.Reader) (*Reader, error) {
	z := &Reader{in: input{r: r, buf: make([]byte, inputSize)}}
	z.member()
	return z, z.err
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(r.spare) == 0 && r.err == nil {
		if len(p) >= direct {
			if n := r.decode(p); n > 0 {
				return n, nil
			}
			continue
		}
		r.buf = slices.Grow(r.buf[:0], spareSize)
		r.spare = r.buf[:r.decode(r.buf[:spareSize])]
	}
	if len(r.spare) == 0 {
		return 0, r.err
	}
	n := copy(p, r.spare)
	r.spare = r.spare[n:]
	return n, nil
}

// decode fills out as far as there is room for any symbol, and not across the end of a member.
func (r *Reader) decode(out []byte) (w int) {
	for full := false; r.err == nil && !full; {
		switch r.next {
		case atMember:
			r.member()
		case atBlock:
			r.block()
		case inStored:
			w += r.copyStored(out[w:])
			full = w == len(out)
		case inCodes:
			w = r.codes(out, w)
			full = len(out)-w < longest
		case atTrailer:
			r.account(out, w)
			r.trailer()
			return w
		}
	}
	r.account(out, w)
	return w
}

// codes decodes symbols up to the end of the block or of out.
func (r *Reader) codes(out []byte, w int) int {
	for r.next == inCodes && r.err == nil && len(out)-w >= longest {
		if r.in.want(4*fastInput*8) && len(out)-w >= fastOutput {
			w = r.fast(out, w)
		} else {
			w = r.slow(out, w)
		}
	}
	return w
}

// account takes out[:w] into checksum, size and history.
func (r *Reader) account(out []byte, w int) {
	r.sum = crc32.Update(r.sum, crc32.IEEETable, out[:w])
	r.size += uint32(w)
	last := out[max(0, w-history):w]
	keep := min(r.have, history-len(last))
	copy(r.hist[:], r.hist[r.have-keep:r.have])
	r.have = keep + copy(r.hist[keep:], last)
}

// copyStored copies what is there of a stored block.
func (r *Reader) copyStored(out []byte) int {
	n := r.in.whole(out[:min(len(out), r.stored)])
	if r.stored -= n; r.stored == 0 {
		r.next = atBlock
	} else if n < len(out) {
		r.err = r.in.failure()
	}
	return n
}

// fail ends the stream, unless it ended before.
func (r *Reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}
