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
var errNotWhole = errors.New("not whole")

// checkWhole reads r to its end and fails unless it is one JSON value, plain or gzipped, down to the gzip trailer and
// the closing bracket. It looks at brackets and strings only: whether the value is a good trace is the reader's
// business, whether it has an end is what a writer still at work changes. Memory is constant. I/O errors and the
// context's come back as they are; every other failure wraps errNotWhole.
func checkWhole(ctx context.Context, r io.Reader) error {
	br := bufio.NewReaderSize(r, 256<<10)
	head, err := br.Peek(2)
	if len(head) == 0 {
		if err != nil && err != io.EOF {
			return err
		}
		return fmt.Errorf("%w: empty", errNotWhole)
	}
	var src io.Reader = br
	packed := len(head) == 2 && head[0] == 0x1f && head[1] == 0x8b
	if packed {
		zr, err := gzip.NewReader(br)
		if err != nil {
			return fmt.Errorf("%w: gzip header: %v", errNotWhole, err)
		}
		defer zr.Close()
		src = zr
	}
	var s bracketScan
	buf := make([]byte, 128<<10)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := src.Read(buf)
		if bad := s.scan(buf[:n]); bad != "" {
			return fmt.Errorf("%w: %s", errNotWhole, bad)
		}
		switch {
		case err == io.EOF:
			return s.end()
		case err == nil:
		case packed && errors.Is(err, io.ErrUnexpectedEOF):
			return fmt.Errorf("%w: gzip stream ends early", errNotWhole)
		case packed:
			return fmt.Errorf("%w: gzip: %v", errNotWhole, err)
		default:
			return err
		}
	}
}

// bracketScan follows the nesting of JSON text.
//
// Invariants: 0 ≤ depth; esc implies str; done implies depth == 0 && !str.
type bracketScan struct {
	depth    int64
	str, esc bool
	begun    bool
	done     bool
}

// scan takes the next bytes and says what is wrong with them, "" for nothing.
func (s *bracketScan) scan(b []byte) string {
	for _, c := range b {
		if s.str {
			switch {
			case s.esc:
				s.esc = false
			case c == '\\':
				s.esc = true
			case c == '"':
				s.str = false
			}
			continue
		}
		switch c {
		case ' ', '\t', '\n', '\r':
			continue
		}
		switch {
		case s.done:
			return "data after the closing bracket"
		case !s.begun && c != '{' && c != '[':
			return "not a JSON object or array"
		}
		switch c {
		case '"':
			s.str = true
		case '{', '[':
			s.begun = true
			s.depth++
		case '}', ']':
			s.depth--
			s.done = s.depth == 0
		}
	}
	return ""
}

// end judges the state at the end of the input.
func (s *bracketScan) end() error {
	switch {
	case s.done:
		return nil
	case !s.begun:
		return fmt.Errorf("%w: empty", errNotWhole)
	}
	return fmt.Errorf("%w: the closing bracket is missing", errNotWhole)
}
