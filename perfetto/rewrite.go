package perfetto

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/llmstrata/strata/internal/atomicfile"
	"github.com/llmstrata/strata/internal/decompress"
)

// source is a trace file opened for a streaming copy. Reading fails once its
// context is done, so that a long stretch of which nothing is written can be
// cancelled, too.
type source struct {
	ctx  context.Context
	file *os.File
	*decompress.Reader
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.Reader.Read(p)
}

// openSource opens the file at path and undoes its compression.
func openSource(ctx context.Context, path string) (*source, error) {
	if FromEvents(path) {
		return nil, fmt.Errorf("perfetto: %s is in Perfetto's own format, and so must its copy be: name it FILE.pftrace", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("perfetto: %w", err)
	}
	d, err := decompress.NewReader(f, decompress.Limits{})
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("perfetto: %s: %w", path, err)
	}
	return &source{ctx, f, d}, nil
}

func (s *source) Close() error { return errors.Join(s.Reader.Close(), s.file.Close()) }

// rewrite makes dst from what write produces, compressed as src is. dst
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
		comp, err := compressor(in.Format(), f)
		if err != nil {
			return err
		}
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

// compressor returns a writer that compresses like a file of format f.
func compressor(f decompress.Format, w io.Writer) (io.WriteCloser, error) {
	switch f {
	case decompress.Gzip:
		return gzip.NewWriter(w), nil
	case decompress.Zstd:
		// One goroutine: the same input gives the same bytes, and memory stays small.
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	}
	return nopCloser{w}, nil
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

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
