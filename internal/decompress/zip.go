package decompress

import (
	"bufio"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"strings"
)

// Parts of a zip file, by PKWARE's APPNOTE.TXT, §4.3.
const (
	zipHeader     = "PK\x03\x04" // of a member
	zipDirectory  = "PK\x01\x02" // of the archive, after all members
	zipDescriptor = "PK\x07\x08" // checksum and sizes after a member

	zipHeaderLen = 30
	zipEncrypted = 1 << 0 // flags
	zipStreamed  = 1 << 3 // sizes are after the member
)

// zipReader reads the one file of a zip archive as a stream: its members are
// one after the other, each after a header, and folders have no content.
type zipReader struct {
	br       *bufio.Reader
	data     io.Reader
	crc      hash.Hash32
	want     uint32
	streamed bool
}

// newZip reads headers up to the first file.
func newZip(br *bufio.Reader) (*zipReader, error) {
	for {
		name, h, err := zipMember(br)
		if err != nil {
			return nil, err
		}
		flags, method, size := binary.LittleEndian.Uint16(h[6:]), binary.LittleEndian.Uint16(h[8:]),
			binary.LittleEndian.Uint32(h[18:])
		if strings.HasSuffix(name, "/") {
			if _, err := io.CopyN(io.Discard, br, int64(size)); err != nil {
				return nil, err
			}
			continue
		}
		z := &zipReader{br: br, crc: crc32.NewIEEE(), want: binary.LittleEndian.Uint32(h[14:]),
			streamed: flags&zipStreamed != 0}
		switch {
		case flags&zipEncrypted != 0:
			return nil, fmt.Errorf("%w: an encrypted zip archive; unpack it first", ErrUnsupported)
		case method == 8:
			z.data = flate.NewReader(br)
		case method == 0 && !z.streamed && size != 1<<32-1:
			z.data = io.LimitReader(br, int64(size))
		default:
			return nil, fmt.Errorf("%w: a zip archive of a rare kind (method %d); unpack it first", ErrUnsupported,
				method)
		}
		return z, nil
	}
}

// zipMember reads the header of a member and its name.
func zipMember(br *bufio.Reader) (name string, header [zipHeaderLen]byte, err error) {
	if _, err := io.ReadFull(br, header[:]); err != nil {
		return "", header, noEOF(err)
	}
	if string(header[:4]) != zipHeader {
		return "", header, fmt.Errorf("%w: a zip archive without a file; name the trace itself", ErrUnsupported)
	}
	text := make([]byte, binary.LittleEndian.Uint16(header[26:]))
	if _, err := io.ReadFull(br, text); err != nil {
		return "", header, noEOF(err)
	}
	_, err = br.Discard(int(binary.LittleEndian.Uint16(header[28:])))
	return string(text), header, noEOF(err)
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (z *zipReader) Read(p []byte) (int, error) {
	n, err := z.data.Read(p)
	z.crc.Write(p[:n])
	if err == io.EOF {
		err = z.end()
	}
	return n, err
}

// end checks what is after the file: its checksum, and no further file.
func (z *zipReader) end() error {
	next, _ := z.br.Peek(24 + 4) // a descriptor, and what follows it
	if z.streamed && len(next) >= 8 {
		if string(next[:4]) == zipDescriptor {
			next = next[4:]
		}
		z.want = binary.LittleEndian.Uint32(next)
		next = next[4:]
		for _, sizes := range []int{8, 16} { // of 4 bytes each, or of 8
			if len(next) >= sizes+4 && next[sizes] == 'P' && next[sizes+1] == 'K' {
				next = next[sizes:]
				break
			}
		}
	}
	switch {
	case len(next) < 4:
		return io.ErrUnexpectedEOF
	case z.crc.Sum32() != z.want:
		return errors.New("checksum is wrong")
	case string(next[:4]) == zipHeader:
		return errors.New("the archive holds more than one file; the first was read")
	}
	return io.EOF
}
