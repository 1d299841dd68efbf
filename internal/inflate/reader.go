package inflate

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
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
	// longest is the longest copy.
	longest = 258
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

	final  bool // the block is the member's last
	stored int  // bytes left of a stored block
	sum    uint32
	size   uint32 // of the member, modulo 2³²

	lits       [litEntries]entry
	dists      [distEntries]entry
	litLengths [288]uint8 // of the codes that lits was made of

	hist  [history]byte // hist[:have] is the member's output before this call
	have  int
	spare []byte // decoded, not yet returned
	buf   []byte // where spare lies
}

// NewReader returns a Reader of r, and the error with which its first header
// fails, if that is not a gzip header.
func NewReader(r io.Reader) (*Reader, error) {
	z := &Reader{in: input{r: r, buf: make([]byte, inputSize)}}
	if z.member(); z.err != nil {
		return nil, z.err
	}
	return z, nil
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(r.spare) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		if len(p) >= direct {
			if n := r.decode(p); n > 0 {
				return n, nil
			}
			continue
		}
		if r.buf == nil {
			r.buf = make([]byte, spareSize)
		}
		r.spare = r.buf[:r.decode(r.buf)]
	}
	n := copy(p, r.spare)
	r.spare = r.spare[n:]
	return n, nil
}

// decode fills out as far as there is room for any symbol, and not across the end
// of a member.
func (r *Reader) decode(out []byte) int {
	w := 0
	for r.err == nil {
		switch r.next {
		case atMember:
			if w > 0 {
				return w // what it gave belongs to the member before
			}
			r.member()
		case atBlock:
			r.block()
		case inStored:
			if w == len(out) {
				r.account(out, w)
				return w
			}
			w += r.copyStored(out[w:])
		case inCodes:
			var stop status
			if w, stop = r.codes(out, w); stop == moreOutput {
				r.account(out, w)
				return w
			}
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
func (r *Reader) codes(out []byte, w int) (int, status) {
	for len(out)-w >= longest {
		if r.in.end-r.in.pos < 2*fastInput {
			r.in.fill()
		}
		var stop status
		if r.in.end-r.in.pos >= fastInput && len(out)-w >= fastOutput {
			w, stop = r.fast(out, w)
		} else {
			w, stop = r.slow(out, w)
		}
		switch stop {
		case blockEnd:
			r.next = atBlock
			return w, stop
		case failed:
			return w, stop
		}
	}
	return w, moreOutput
}

// account takes out[:w] into checksum, size and history.
func (r *Reader) account(out []byte, w int) {
	r.sum = crc32.Update(r.sum, crc32.IEEETable, out[:w])
	r.size += uint32(w)
	if w >= history {
		r.have = copy(r.hist[:], out[w-history:w])
		return
	}
	keep := min(r.have, history-w)
	copy(r.hist[:], r.hist[r.have-keep:r.have])
	r.have = keep + copy(r.hist[keep:], out[:w])
}

// copyStored copies what is there of a stored block.
func (r *Reader) copyStored(out []byte) int {
	n := r.in.readFull(out[:min(len(out), r.stored)])
	r.stored -= n
	switch {
	case r.stored == 0:
		r.next = atBlock
	case n < len(out):
		r.err = r.in.failure()
	}
	return n
}

// trailer checks a member's checksum and size.
func (r *Reader) trailer() {
	r.in.align()
	var t [8]byte
	if r.in.readFull(t[:]) < len(t) {
		r.err = r.in.failure()
		return
	}
	if binary.LittleEndian.Uint32(t[:]) != r.sum || binary.LittleEndian.Uint32(t[4:]) != r.size {
		r.err = ErrChecksum
		return
	}
	r.next = atMember
}
