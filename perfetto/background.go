package perfetto

import (
	"context"
	"io"
	"sync/atomic"
)

// blockBytes is how many bytes are handed over at once: a few milliseconds of compression.
const blockBytes = 256 << 10

// background compresses in its own goroutine while the next text is read and scanned. The output is the same.
// It fails once its context is done, so that a long copy can be cancelled.
type background struct {
	ctx    context.Context
	w      io.WriteCloser
	buf    []byte
	blocks chan []byte // to be written
	free   chan []byte // written
	done   chan struct{}
	failed atomic.Pointer[error]
}

func newBackground(ctx context.Context, w io.WriteCloser) *background {
	b := &background{ctx: ctx, w: w, buf: make([]byte, 0, blockBytes), blocks: make(chan []byte, 1),
		free: make(chan []byte, 2), done: make(chan struct{})}
	b.free <- make([]byte, 0, blockBytes)
	b.free <- make([]byte, 0, blockBytes)
	go func() {
		defer close(b.done)
		for p := range b.blocks {
			if b.failed.Load() == nil {
				if _, err := w.Write(p); err != nil {
					b.failed.Store(&err)
				}
			}
			b.free <- p[:0]
		}
	}()
	return b
}

// Write implements io.Writer. It reports what an earlier block met.
func (b *background) Write(p []byte) (int, error) {
	for n := 0; n < len(p); {
		if err := b.ctx.Err(); err != nil {
			return n, err
		}
		k := min(len(p)-n, blockBytes-len(b.buf))
		b.buf = append(b.buf, p[n:n+k]...)
		if n += k; len(b.buf) < blockBytes {
			break
		}
		if err := b.failed.Load(); err != nil {
			return n, *err
		}
		b.blocks <- b.buf
		b.buf = <-b.free
	}
	return len(p), nil
}

// stop waits for the goroutine; the rest is not written. Close calls it, and so must who gives up.
func (b *background) stop() {
	if b.blocks != nil {
		close(b.blocks)
		<-b.done
		b.blocks = nil
	}
}

// Close writes the rest and closes the writer.
func (b *background) Close() error {
	b.stop()
	if err := b.failed.Load(); err != nil {
		return *err
	}
	if _, err := b.w.Write(b.buf); err != nil {
		return err
	}
	return b.w.Close()
}
