package decompress

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/zlib"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Format is how a stream is compressed. New formats may be added.
type Format uint8

// The formats.
const (
	Plain Format = iota
	Gzip
	Zstd
	Bzip2
	Zlib
	Zip // of one file
)

// String returns the format's lower-case name.
func (f Format) String() string {
	switch f {
	case Gzip:
		return "gzip"
	case Zstd:
		return "zstd"
	case Bzip2:
		return "bzip2"
	case Zlib:
		return "zlib"
	case Zip:
		return "zip"
	}
	return "plain"
}

// Limits bound what a small file can make its reader do. Zero values mean the
// defaults.
type Limits struct {
	// MaxBytes is the largest decompressed size. Default 64 GiB; the largest
	// traces that users have reported are around 10 GB a rank.
	MaxBytes int64
	// MaxRatio is the largest ratio of decompressed to compressed size, looked
	// at from 1 GiB of output on. Default 150: real traces reach 10 to 20, one that
	// repeats the same step over and over 70.
	MaxRatio int64
}

// ratioGrace is the output below which the ratio is nobody's problem.
const ratioGrace = 1 << 30

// ErrLimit is wrapped by errors that say that a limit was exceeded.
var ErrLimit = errors.New("limit exceeded")

// ErrUnsupported is wrapped by errors that say what a compressed file is that
// is not read, worded to follow "it seems to be".
var ErrUnsupported = errors.New("not read")

// Damage is returned when compressed data ends early or is corrupt. Everything
// that could be decoded has been returned before it.
type Damage struct {
	Format Format
	Offset int64 // decompressed bytes before the damage
	Err    error

	At    int64     // compressed bytes before the damage; as good as exact in gzip
	Next  int64     // where reading went on in the compressed data, 0 if nowhere
	Total int64     // compressed bytes in all, 0 if unknown
	Later []*Damage // more of it, after Next
}

func (d *Damage) Error() string {
	return fmt.Sprintf("%s data damaged after %d decompressed bytes: %v", d.Format, d.Offset, d.Err)
}

// Unwrap returns the decoder's error; io.ErrUnexpectedEOF when data is missing.
func (d *Damage) Unwrap() error { return d.Err }

// source counts the compressed bytes and keeps the reader's own error apart
// from those of the decoder.
type source struct {
	r   io.Reader
	n   int64
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.n += int64(n)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// Reader decompresses. Errors of the underlying reader are returned as they
// are, errors of the compressed data as *[Damage].
type Reader struct {
	format Format
	src    source
	limits Limits
	dec    io.Reader
	gzip   *gzipReader   // dec, if it is one
	front  *bytes.Reader // compressed data that gzip reads before that of src
	begun  int64         // where in the compressed data gzip begins
	used   func() int64  // compressed bytes used
	tries  int           // see maxTries
	close  func()
	out    int64
	atEnd  *Damage // what the end is reported as, although all was decoded
	err    error
}

// The buffer between file and decoder; larger ones did not measure faster.
const sourceBuffer = 256 << 10

var (
	gzipMagic = []byte{0x1f, 0x8b}
	gzipHead  = []byte{0x1f, 0x8b, 8} // with the only method there is
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// NewReader returns a Reader of r. Close it to free the decoder.
func NewReader(r io.Reader, limits Limits) (*Reader, error) {
	if limits.MaxBytes <= 0 {
		limits.MaxBytes = 64 << 30
	}
	if limits.MaxRatio <= 0 {
		limits.MaxRatio = 150
	}
	d := &Reader{limits: limits, close: func() {}}
	d.src.r = r
	br := bufio.NewReaderSize(&d.src, sourceBuffer)
	d.used = func() int64 { return d.src.n - int64(br.Buffered()) }
	head, err := br.Peek(10)
	if err != nil && err != io.EOF {
		if len(head) == 0 {
			return nil, err
		}
	}
	if err := d.choose(br, head); errors.Is(err, ErrUnsupported) {
		return nil, err
	} else if err != nil {
		d.err = d.decoderError(err)
	}
	return d, nil
}

// choose takes the decoder for a stream that begins with head.
func (d *Reader) choose(br *bufio.Reader, head []byte) error {
	switch {
	case bytes.HasPrefix(head, gzipMagic) || isNearlyGzip(head):
		d.format = Gzip
		begun, _ := br.Peek(br.Buffered()) // the decoder has a buffer of its own
		if isNearlyGzip(head) {
			d.atEnd = &Damage{Format: Gzip, Err: fmt.Errorf("its first bytes are % x", head[:3])}
			copy(begun, gzipHead)
		}
		return d.enter(begun, 0)
	case bytes.HasPrefix(head, zstdMagic) || isSkippable(head):
		d.format = Zstd
		z, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(256<<20))
		if err != nil {
			return err
		}
		d.dec, d.close = z, z.Close
	case len(head) == 10 && string(head[:3]) == bzip2Head &&
		(string(head[4:]) == bzip2Block || string(head[4:]) == bzip2End):
		d.format, d.dec = Bzip2, bzip2.NewReader(br)
	case isZlib(head):
		d.format = Zlib
		z, err := zlib.NewReader(br)
		if err != nil {
			return err
		}
		d.dec = z
	case bytes.HasPrefix(head, []byte(zipHeader)):
		d.format = Zip
		z, err := newZip(br)
		if err != nil {
			return err
		}
		d.dec = z
	default:
		d.dec = br
	}
	return nil
}

// The ten bytes of a bzip2 file's beginning are BZh, a level, and one of these.
const (
	bzip2Head  = "BZh"
	bzip2Block = "\x31\x41\x59\x26\x53\x59"
	bzip2End   = "\x17\x72\x45\x38\x50\x90"
)

// isNearlyGzip reports a gzip header (RFC 1952, §2.3.1) in which one of the
// first three bytes is damaged. Reserved flags must be 0, and the other fields
// what compressors write.
func isNearlyGzip(h []byte) bool {
	if len(h) < 10 || h[3]&0xe0 != 0 || h[8] != 0 && h[8] != 2 && h[8] != 4 || h[9] > 13 && h[9] != 255 {
		return false
	}
	wrong := 0
	for i, c := range gzipHead {
		if h[i] != c {
			wrong++
		}
	}
	return wrong == 1
}

// isZlib reports a zlib header (RFC 1950, §2.2) without a preset dictionary.
// Its first byte is an x, with which no JSON begins.
func isZlib(h []byte) bool {
	return len(h) >= 2 && h[0] == 0x78 && h[1]&0x20 == 0 && (int(h[0])<<8|int(h[1]))%31 == 0
}

// isSkippable reports a zstd skippable frame, with which pzstd files begin.
func isSkippable(h []byte) bool {
	return len(h) >= 4 && h[0]&0xf0 == 0x50 && h[1] == 0x2a && h[2] == 0x4d && h[3] == 0x18
}

// Format returns how the stream is compressed.
func (d *Reader) Format() Format { return d.format }

// Close frees the decoder. It does not close the underlying reader.
func (d *Reader) Close() error {
	d.close()
	return nil
}

// Read implements io.Reader.
func (d *Reader) Read(p []byte) (int, error) {
	if d.err != nil {
		return 0, d.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	n, err := d.dec.Read(p)
	d.out += int64(n)
	switch {
	case d.out > d.limits.MaxBytes:
		over := d.out - d.limits.MaxBytes
		n -= int(min(over, int64(n)))
		d.err = fmt.Errorf("%s data larger than %d bytes: %w", d.format, d.limits.MaxBytes, ErrLimit)
	case d.format != Plain && d.out > ratioGrace && d.out/max(d.src.n, 1) > d.limits.MaxRatio:
		d.err = fmt.Errorf("%s data expands more than %d to 1: %w", d.format, d.limits.MaxRatio, ErrLimit)
	case err == io.EOF:
		d.err = io.EOF
		if d.atEnd != nil {
			d.atEnd.Offset, d.err = d.out, d.atEnd
		}
	case errors.Is(err, errHeader) && d.out > 0 && d.padded():
		d.err = io.EOF
	case err != nil:
		d.err = d.decoderError(err)
	}
	return n, d.err
}

func (d *Reader) decoderError(err error) error {
	if d.src.err != nil {
		return d.src.err
	}
	if d.format == Plain {
		return err
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return &Damage{Format: d.format, Offset: d.out, Err: err, At: d.used()}
}
