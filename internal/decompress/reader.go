package decompress

import (
	"bufio"
	"errors"
	"hash/crc32"
	"io"
)

// Errors of the compressed data. Missing data is io.ErrUnexpectedEOF, errors of the underlying reader are returned as
// they are.
var (
	errHeader   = errors.New("invalid gzip header")
	ErrChecksum = errors.New("gzip checksum does not match")
	errCorrupt  = errors.New("corrupt deflate data")
)

const (
	history           = 32 << 10 // how far back a copy may reach
	shortest, longest = 3, 258   // lengths of copies
	// direct is the shortest output that is written without a buffer between. Below it, too little of it would be
	// left to the fast loop.
	direct = 16 << 10
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

// gzipReader decompresses the members of a gzip stream, one after the other. It is for one goroutine. Everything that
// could be decoded is returned before an error.
type gzipReader struct {
	in   input
	err  error
	next state
	out  *bufio.Reader

	start  int64 // where in the input the member begins
	final  bool  // the block is the member's last
	stored int   // bytes left of a stored block
	sum    uint32
	size   uint32 // of the member, modulo 2³²

	code *codes // of the block: own, or those of a fixed block
	own  codes

	hist [history]byte // hist[:have] is the member's output before this call
	have int
}

// newGzipReader returns a Reader of r, and the error with which its first header fails, if that is not a gzip header.
func newGzipReader(r io.Reader) (*gzipReader, error) {
	z := &gzipReader{in: input{r: r, buf: make([]byte, inputSize)}}
	z.out = bufio.NewReaderSize(decoder{z}, direct)
	z.member()
	return z, z.err
}

// Offset returns how many bytes of the input were used, the one that is read bit by bit included.
func (r *gzipReader) Offset() int64 { return r.in.read - int64(r.in.left()>>3) }

// Held returns what the Reader still has of its input, from the header of the failed member at the earliest, and the
// offset of its first byte. It holds bytes that were used, too: broken data may be decoded beyond its member's end.
func (r *gzipReader) Held() (b []byte, offset int64) {
	first := r.in.read - int64(r.in.end)
	from := max(first, r.start)
	return r.in.buf[from-first : r.in.end], from
}

// Read implements io.Reader.
func (r *gzipReader) Read(p []byte) (int, error) { return r.out.Read(p) }

// decoder is what a Reader reads from where it needs no buffer, for outputs of direct bytes or more.
type decoder struct{ r *gzipReader }

func (d decoder) Read(p []byte) (n int, err error) {
	for n == 0 && d.r.err == nil {
		n = d.r.decode(p)
	}
	return n, d.r.err
}

// decode fills out as far as there is room for any symbol, and not across the end of a member.
func (r *gzipReader) decode(out []byte) (w int) {
	for full := false; r.err == nil && !full; {
		switch r.next {
		case atMember:
			r.member()
		case atBlock:
			r.block()
		case inStored:
			n := r.in.whole(out[w:min(len(out), w+r.stored)])
			w += n
			if r.stored -= n; r.stored == 0 {
				r.next = atBlock
			} else if full = w == len(out); !full {
				r.err = r.in.failure()
			}
		case inCodes:
			if len(out)-w >= fastOutput && r.in.want(4*fastInput*8) {
				w = r.fast(out, w)
			} else if full = len(out)-w < longest; !full {
				w = r.slow(out, w)
			}
		case atTrailer:
			if full = w > 0; !full { // else what is there has to be taken into the checksum first
				r.trailer()
			}
		}
	}
	r.sum = crc32.Update(r.sum, crc32.IEEETable, out[:w])
	r.size += uint32(w)
	last := out[max(0, w-history):w]
	keep := min(r.have, history-len(last))
	copy(r.hist[:], r.hist[r.have-keep:r.have])
	r.have = keep + copy(r.hist[keep:], last)
	return w
}

// fail ends the stream, unless it ended before.
func (r *gzipReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}
