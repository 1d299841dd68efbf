package pftrace

import "io"

// ahead reads in a goroutine of its own, so that a file is decompressed while what came before is parsed.
type ahead struct {
	full, free chan []byte
	stop, done chan struct{}
	rest       []byte // of cur, not given out yet
	cur        []byte
	err        error // set before full is closed
}

// The blocks that are under way: more did not measure faster.
const (
	aheadBlocks = 4
	aheadSize   = 256 << 10
)

func newAhead(r io.Reader) *ahead {
	a := &ahead{full: make(chan []byte, aheadBlocks), free: make(chan []byte, aheadBlocks), stop: make(chan struct{}), done: make(chan struct{})}
	for range aheadBlocks {
		a.free <- make([]byte, aheadSize)
	}
	go a.run(r)
	return a
}

func (a *ahead) run(r io.Reader) {
	defer close(a.done)
	defer close(a.full)
	for a.err == nil {
		select {
		case <-a.stop:
			return
		case b := <-a.free:
			n := 0
			for n < len(b) && a.err == nil {
				var k int
				k, a.err = r.Read(b[n:])
				n += k
			}
			a.full <- b[:n] // which has room for all blocks
		}
	}
}

// Read implements io.Reader.
func (a *ahead) Read(p []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.cur != nil {
			a.free <- a.cur[:cap(a.cur)]
			a.cur = nil
		}
		b, ok := <-a.full
		if !ok {
			return 0, a.err
		}
		a.cur, a.rest = b, b
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// close waits for the read that is under way: who closes what is read from must not do so before.
func (a *ahead) close() {
	close(a.stop)
	<-a.done
}
