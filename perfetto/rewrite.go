package perfetto

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/llmstrata/strata/internal/atomicfile"
	"github.com/llmstrata/strata/internal/decompress"
	"github.com/llmstrata/strata/internal/eventjson"
)

// source is a trace file opened for a streaming copy. Reading fails once its
// context is done, so that a long stretch without output can be cancelled,
// too.
type source struct {
	ctx  context.Context
	file *os.File
	*decompress.Reader
	text *decompress.Text // of the Reader
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.text.Read(p)
}

// openSource opens the file at path and undoes its compression.
func openSource(ctx context.Context, path string) (*source, error) {
	f, err := atomicfile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("perfetto: %w", err)
	}
	d, err := decompress.NewReader(f, decompress.Limits{})
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("perfetto: %s: %w", path, err)
	}
	return &source{ctx, f, d, decompress.NewText(d)}, nil
}

func (s *source) Close() error { return errors.Join(s.Reader.Close(), s.file.Close()) }

// rewrite makes dst from what write produces, compressed as its name says, else
// as src is. dst
// appears only when all of it was written, and must not be src. A new dst is as
// readable as src is.
func rewrite(ctx context.Context, src, dst string, write func(in *source, out *bufio.Writer) error) error {
	if same, err := sameFile(src, dst); err != nil {
		return err
	} else if same {
		return fmt.Errorf("perfetto: output %s is the trace itself", dst)
	}
	in, err := openSource(ctx, src)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.file.Stat()
	if err != nil {
		return fmt.Errorf("perfetto: %w", err)
	}
	f, err := atomicfile.Create(dst, info.Mode().Perm()|ownerWrites)
	if err != nil {
		return fmt.Errorf("perfetto: %w", err)
	}
	return f.Finish(func() error {
		packed, err := eventjson.NewCompressor(f, eventjson.Compression(dst, in.Format()))
		if err != nil {
			return err
		}
		comp := newBackground(packed)
		defer comp.stop()
		out := bufio.NewWriterSize(&contextWriter{ctx, comp}, 1<<16)
		if err := write(in, out); err != nil {
			return err
		}
		if err := errors.Join(out.Flush(), comp.Close()); err != nil {
			return fmt.Errorf("perfetto: writing %s: %w", dst, err)
		}
		return nil
	}())
}

// ownerWrites makes the copy of a read-only trace one that can be replaced.
const ownerWrites = 0o200

func sameFile(a, b string) (bool, error) {
	x, err := os.Stat(a)
	if err != nil {
		return false, fmt.Errorf("perfetto: %w", err)
	}
	y, err := os.Stat(b)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("perfetto: %w", err)
	}
	return os.SameFile(x, y), nil
}

// contextWriter fails once its context is done, so that a long copy can be
// cancelled at any buffer.
type contextWriter struct {
	ctx context.Context
	w   io.Writer
}

func (c *contextWriter) Write(p []byte) (int, error) {
	const piece = 256 << 10 // a few milliseconds of compression
	n := 0
	for {
		if err := c.ctx.Err(); err != nil {
			return n, err
		}
		m, err := c.w.Write(p[n:min(len(p), n+piece)])
		if n += m; err != nil || n >= len(p) {
			return n, err
		}
	}
}

// rewriteText is rewrite of JSON: invalid UTF-8 becomes U+FFFD. Viewers refuse
// it, though it is frequent in names.
func rewriteText(ctx context.Context, src, dst string, write func(in *source, out *bufio.Writer) error) error {
	return rewrite(ctx, src, dst, func(in *source, out *bufio.Writer) error {
		text := &textWriter{w: out}
		b := bufio.NewWriterSize(text, 1<<16)
		if err := write(in, b); err != nil {
			return err
		}
		return errors.Join(b.Flush(), text.flush())
	})
}

// textWriter replaces what is no UTF-8.
type textWriter struct {
	w    *bufio.Writer
	rest []byte // the beginning of a character; at most three bytes
}

func (t *textWriter) Write(p []byte) (int, error) {
	n := len(p)
	if len(t.rest) > 0 {
		p = append(t.rest, p...)
	}
	whole := len(p)
	for k := 1; k < utf8.UTFMax && k <= len(p); k++ {
		if c := p[len(p)-k]; utf8.RuneStart(c) {
			if !utf8.FullRune(p[len(p)-k:]) {
				whole = len(p) - k
			}
			break
		}
	}
	err := t.put(p[:whole])
	t.rest = append([]byte(nil), p[whole:]...)
	return n, err
}

func (t *textWriter) flush() error { return t.put(t.rest) }

func (t *textWriter) put(p []byte) error {
	if utf8.Valid(p) {
		_, err := t.w.Write(p)
		return err
	}
	from := 0
	for n := 0; n < len(p); {
		r, k := utf8.DecodeRune(p[n:])
		if r == utf8.RuneError && k == 1 { // one character a byte, as the reader takes it
			t.w.Write(p[from:n])
			t.w.WriteRune(utf8.RuneError) // an error stays until the last write
			from = n + 1
		}
		n += k
	}
	_, err := t.w.Write(p[from:])
	return err
}
