package perfetto

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"

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

// create makes dst of what write produces, packed as its name says, else as unnamed says, and returns what o had
// replaced in it. dst appears only when all of it was written, and must not be src.
func (o CopyOptions) create(ctx context.Context, src, dst string, mode os.FileMode, unnamed decompress.Format,
	write func(*bufio.Writer) error) (found []string, err error) {
	from, errFrom := os.Stat(src)
	if to, err := os.Stat(dst); err == nil && errFrom == nil && os.SameFile(from, to) {
		return nil, fmt.Errorf("perfetto: output %s is the trace itself", dst)
	}
	f, err := atomicfile.Create(dst, mode)
	if err != nil {
		return nil, fmt.Errorf("perfetto: %w", err)
	}
	err = f.Finish(func() error {
		packed, err := eventjson.NewCompressor(f, eventjson.Compression(dst, unnamed))
		if err != nil {
			return err
		}
		out := newBackground(ctx, packed)
		defer out.stop()
		if found, err = o.masked(out, write); err != nil {
			return err
		}
		if err := out.Close(); err != nil {
			return fmt.Errorf("perfetto: writing %s: %w", dst, err)
		}
		return nil
	}())
	return found, err
}

// rewrite is create of what is read from src. A new dst is as readable as src is.
func (o CopyOptions) rewrite(ctx context.Context, src, dst string,
	write func(in *source, out *bufio.Writer) error) (found []string, err error) {
	in, err := openSource(ctx, src)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	info, err := in.file.Stat()
	if err != nil {
		return nil, fmt.Errorf("perfetto: %w", err)
	}
	return o.create(ctx, src, dst, info.Mode().Perm()|ownerWrites, in.Format(),
		func(out *bufio.Writer) error { return write(in, out) })
}

// ownerWrites makes the copy of a read-only trace one that can be replaced.
const ownerWrites = 0o200
