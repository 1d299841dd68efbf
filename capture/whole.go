package capture

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

// errNotWhole is wrapped by every reason a file is not a finished trace.
var errNotWhole = errors.New("not complete")

// bounded reads as long as its context lasts.
type bounded struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader.
func (b bounded) Read(p []byte) (int, error) {
	if b.ctx.Err() != nil {
		return 0, context.Cause(b.ctx)
	}
	return b.r.Read(p)
}

// gzipMagic begins every gzip file.
const gzipMagic = "\x1f\x8b"

// checkWhole reads r to its end and fails unless it is one JSON value, plain or gzipped, down to the gzip trailer and
// the closing bracket. It looks at brackets and strings only: whether the value is a good trace is the reader's
// business, whether it has an end is what a writer still at work changes. Memory is constant. I/O errors and the
// context's come back as they are; every other failure wraps errNotWhole.
func checkWhole(ctx context.Context, r io.Reader) error {
	br := bufio.NewReaderSize(bounded{ctx, r}, 256<<10)
	head, _ := br.Peek(2) // its error comes again
	src, packed := io.Reader(br), string(head) == gzipMagic
	if packed {
		zr, err := gzip.NewReader(br)
		if err != nil {
			return fmt.Errorf("%w: gzip header: %w", errNotWhole, err)
		}
		defer zr.Close()
		src = zr
	}
	var s bracketScan
	buf := make([]byte, 128<<10)
	for {
		n, err := src.Read(buf)
		bad := s.scan(buf[:n])
		switch {
		case bad != "":
		case err == nil:
			continue
		case err == io.EOF && !s.begun:
			bad = "empty"
		case err == io.EOF && s.depth > 0:
			bad = "the closing bracket is missing"
		case err == io.EOF:
			return nil
		case packed && errors.Is(err, io.ErrUnexpectedEOF):
			bad = "gzip stream ends early"
		case packed:
			return fmt.Errorf("%w: gzip: %w", errNotWhole, err)
		default:
			return err
		}
		return fmt.Errorf("%w: %s", errNotWhole, bad)
	}
}

// bracketScan follows the nesting of JSON text.
//
// Invariants: 0 ≤ depth; esc implies str.
type bracketScan struct {
	depth           int64
	str, esc, begun bool
}

// scan takes the next bytes and says what is wrong with them, "" for nothing.
func (s *bracketScan) scan(b []byte) string {
	for _, c := range b {
		switch {
		case s.esc:
			s.esc = false
		case s.str:
			s.esc, s.str = c == '\\', c != '"'
		case c == ' ', c == '\t', c == '\n', c == '\r':
		case s.begun && s.depth == 0:
			return "data after the closing bracket"
		case c == '{', c == '[':
			s.begun = true
			s.depth++
		case !s.begun:
			return "not a JSON object or array"
		case c == '}', c == ']':
			s.depth--
		case c == '"':
			s.str = true
		}
	}
	return ""
}
