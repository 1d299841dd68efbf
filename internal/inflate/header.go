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
	if !r.in.want(8) && r.in.err == io.EOF {
		r.err = io.EOF
		return
	}
	r.start, r.sum = r.Offset(), 0
	h := r.field(10)
	if h[0] != 0x1f || h[1] != 0x8b || h[2] != 8 {
		r.fail(ErrHeader)
	}
	flags := h[3]
	if flags&flagExtra != 0 {
		r.field(int(binary.LittleEndian.Uint16(r.field(2))))
	}
	for _, text := range [...]byte{flagName, flagComment} {
		if flags&text != 0 {
			r.text()
		}
	}
	if want := uint16(r.sum); flags&flagSum != 0 && binary.LittleEndian.Uint16(r.field(2)) != want {
		r.fail(ErrHeader)
	}
	r.sum, r.size, r.have, r.final = 0, 0, 0, false
	r.next = atBlock
}

// field reads n bytes of a header into its checksum; zeros after an error.
func (r *Reader) field(n int) []byte {
	b := r.bytes(make([]byte, n))
	r.sum = crc32.Update(r.sum, crc32.IEEETable, b)
	return b
}

// text skips a zero-terminated string of a header.
func (r *Reader) text() {
	for range maxText {
		if b := r.field(1); b[0] == 0 {
			return
		}
	}
	r.fail(ErrHeader)
}

// bytes fills b with whole bytes, or fails and leaves it as it is.
func (r *Reader) bytes(b []byte) []byte {
	if r.err == nil && r.in.whole(b) < len(b) {
		clear(b)
		r.err = r.in.failure()
	}
	return b
}

// trailer checks a member's checksum and size.
func (r *Reader) trailer() {
	r.in.align()
	t := r.bytes(make([]byte, 8))
	if binary.LittleEndian.Uint32(t) != r.sum || binary.LittleEndian.Uint32(t[4:]) != r.size {
		r.fail(ErrChecksum)
	}
	r.next = atMember
}
