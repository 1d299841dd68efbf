package trace

import (
	"context"
	"io"
	"sync/atomic"
)

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
