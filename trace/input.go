package trace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"github.com/llmstrata/strata/internal/atomicfile"
	"github.com/llmstrata/strata/internal/decompress"
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/scan"
)

// Input is a trace to be read by a [Format]: a file, or a stream, which is read
// once.
type Input struct {
	// Name is the file's path, "" for a stream without one.
	Name string
	// R gives the content from its first byte on, decompressed. Its errors say
	// where compressed data is damaged; its Read returns when the context of
	// the load ends.
	R io.Reader

	head  []byte // first bytes of R
	dec   *decompress.Reader
	text  *decompress.Text // of dec
	raw   *countingReader
	size  int64 // of the compressed input, 0 if unknown
	plain bool  // Name is a file that holds what R gives

	copied string // temporary file of [Input.File], "" for none
	gone   func() // it is removed
}

func (in *Input) progress() (done, total int64) { return in.raw.n.Load(), in.size }

// headBytes is how many bytes are looked at to recognise a trace.
const headBytes = 4096

// newInput decompresses r and reads its first bytes.
func newInput(r io.Reader, name string, size int64, l *Limits) (*Input, error) {
	if r == nil {
		r = strings.NewReader("")
	}
	in := &Input{Name: name, raw: &countingReader{r: r}, size: size, head: make([]byte, headBytes)}
	var err error
	in.dec, err = decompress.NewReader(in.raw, decompress.Limits{MaxBytes: l.InputBytes, MaxRatio: l.Ratio})
	if errors.Is(err, decompress.ErrUnsupported) {
		return nil, fmt.Errorf("trace: %w: %w", ErrFormat, err)
	}
	if err != nil {
		return nil, err
	}
	n := 0
	for n < len(in.head) && err == nil {
		var k int
		k, err = in.dec.Read(in.head[n:])
		n += k
	}
	var damage *decompress.Damage
	if err != nil && err != io.EOF && (!errors.As(err, &damage) || n == 0) {
		in.dec.Close()
		if damage != nil {
			return nil, fmt.Errorf("trace: %w: %w", ErrDamaged, err)
		}
		return nil, limitError(err)
	}
	in.head = in.head[:n]
	in.text = decompress.NewText(in.dec)
	in.R = io.MultiReader(bytes.NewReader(in.head), in.text)
	return in, nil
}

// maxExplain bounds what is decompressed of a file that no format matches, to
// learn whether it is damaged: the checksum is at the end.
const maxExplain = 256 << 20

// explain makes err, that no format matches, say where the cause is that the
// compression is damaged.
func (in *Input) explain(err error) error {
	var damage *decompress.Damage
	if in.dec.Format() != decompress.Plain {
		_, e := io.CopyN(io.Discard, in.R, maxExplain)
		if errors.As(e, &damage) {
			return fmt.Errorf("trace: %w: %w", ErrDamaged, damage)
		}
		return err
	}
	for _, p := range framework.Packings() {
		if strings.HasSuffix(strings.ToLower(in.Name), p) && scan.IsUnknown(in.head) {
			return fmt.Errorf("trace: %w: its name ends in %s, and its first bytes are not of such a file (nor of another "+
				"that is known here)", ErrDamaged, p)
		}
	}
	return err
}

// File returns the path of a file with the content of R, for formats that need
// one, and a function to call when done with it. It is the input's own file if
// that is a plain one; else R is written to a temporary file first, once.
func (in *Input) File(ctx context.Context) (path string, done func(), err error) {
	if in.plain && in.dec.Format() == decompress.Plain {
		return in.Name, func() {}, nil
	}
	if in.copied != "" {
		return in.copied, func() {}, nil
	}
	f, err := os.CreateTemp("", "strata-")
	if err != nil {
		return "", nil, err
	}
	in.copied, in.gone = f.Name(), atomicfile.Temporary(f.Name())
	if in.R != nil {
		_, err = io.Copy(f, in.R)
	}
	if err = errors.Join(err, f.Close(), ctx.Err()); err != nil {
		in.removeCopy()
		return "", nil, limitError(err)
	}
	return in.copied, func() {}, nil
}

// removeCopy removes what File wrote.
func (in *Input) removeCopy() {
	if in.copied != "" {
		os.Remove(in.copied)
		in.gone()
		in.copied = ""
	}
}

// openFile opens a file. It returns when ctx ends, even while a pipe has no
// writer yet.
func openFile(ctx context.Context, path string) (*os.File, error) {
	if ctx.Done() == nil {
		return atomicfile.Open(path)
	}
	type opened struct {
		f   *os.File
		err error
	}
	c := make(chan opened, 1)
	go func() {
		f, err := atomicfile.Open(path)
		c <- opened{f, err}
	}()
	select {
	case o := <-c:
		return o.f, o.err
	case <-ctx.Done():
		go func() {
			if o := <-c; o.f != nil {
				o.f.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

// Progress is how far a load has come.
type Progress struct {
	Read   int64 // bytes of the input as it lies on disk, compressed or not
	Size   int64 // of them in all; 0 when unknown
	Events int64 // stored so far
}

// countingReader counts what is read; others may look at the count meanwhile.
type countingReader struct {
	r io.Reader
	n atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// interruptible returns a reader of r whose Read returns when ctx ends, even if
// that of r does not, and a function to call when done with it. A Read of r that
// is still in progress then is left alone; it may write to the buffer that it
// was given, which nobody looks at any more.
func interruptible(ctx context.Context, r io.Reader) (io.Reader, func()) {
	if ctx.Done() == nil {
		return r, func() {}
	}
	x := &interruptibleReader{ctx: ctx, ask: make(chan []byte), answer: make(chan readResult, 1)}
	go func() {
		for p := range x.ask {
			n, err := r.Read(p)
			x.answer <- readResult{n, err}
		}
	}()
	return x, func() { close(x.ask) }
}

type interruptibleReader struct {
	ctx    context.Context // of the load that this reader is made for, and lives as long as
	ask    chan []byte
	answer chan readResult
	err    error
}

type readResult struct {
	n   int
	err error
}

func (x *interruptibleReader) Read(p []byte) (int, error) {
	if x.err == nil {
		x.err = x.ctx.Err()
	}
	if x.err != nil {
		return 0, x.err
	}
	x.ask <- p
	select {
	case a := <-x.answer:
		return a.n, a.err
	case <-x.ctx.Done():
		x.err = x.ctx.Err()
		return 0, x.err
	}
}
