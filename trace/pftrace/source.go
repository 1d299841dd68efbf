package pftrace

import (
	"errors"
	"fmt"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// ahead reads in a goroutine of its own, so that a file is decompressed while what came before is parsed.
type ahead struct {
	full, free chan []byte
	stop, done chan struct{}
	cur        []byte // the block given out
	err        error  // set before full is closed
}

// The blocks that are under way: more did not measure faster.
const (
	aheadBlocks = 4
	aheadSize   = 256 << 10
)

func newAhead(r io.Reader) *ahead {
	a := &ahead{full: make(chan []byte, aheadBlocks), free: make(chan []byte, aheadBlocks), stop: make(chan struct{}),
		done: make(chan struct{})}
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

// block returns the next bytes, at least one, which are valid until the next call.
func (a *ahead) block() ([]byte, error) {
	for {
		if a.cur != nil {
			a.free <- a.cur[:cap(a.cur)]
			a.cur = nil
		}
		b, ok := <-a.full
		if !ok && a.err == nil {
			return nil, io.ErrClosedPipe
		}
		if !ok {
			return nil, a.err
		}
		if a.cur = b; len(b) > 0 {
			return b, nil
		}
	}
}

// close waits for the read that is under way: who closes what is read from must not do so before.
func (a *ahead) close() {
	close(a.stop)
	<-a.done
}

// errFrame says that what follows is no packet: the stream cannot be read on.
var errFrame = errors.New("not a packet")

// packets reads the packets of a trace one by one.
type packets struct {
	src    *ahead
	rest   []byte // of the block, after the packet given out
	buf    []byte // a packet that lies in several blocks
	offset int64  // of the next packet
	most   int    // bytes of a packet
	lost   int64  // packets above that
}

// packetTag is the first byte of every packet.
const packetTag = tracePacket<<3 | byte(protowire.BytesType)

// next returns the next packet's bytes, which are valid until the next call. The error is io.EOF at the end,
// io.ErrUnexpectedEOF inside a packet, errFrame where the stream makes no sense, else the reader's.
func (p *packets) next() ([]byte, error) {
	b := p.rest
	if len(b) < 3 || b[0] != packetTag {
		return p.slow()
	}
	size, n := int(b[1]), 2
	if size >= 0x80 {
		if b[2] >= 0x80 {
			return p.slow()
		}
		size, n = size&0x7f|int(b[2])<<7, 3
	}
	if n+size > len(b) || size > p.most {
		return p.slow()
	}
	p.rest = b[n+size:]
	p.offset += int64(n + size)
	return b[n : n+size], nil
}

// slow is next for a packet that is large, lies in several blocks, or is none.
func (p *packets) slow() ([]byte, error) {
	for {
		tag, n, err := p.varint()
		if err != nil {
			if n > 0 && err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		field, typ := protowire.DecodeTag(tag)
		if field != tracePacket || typ != protowire.BytesType {
			return nil, fmt.Errorf("%w: field %d of type %d", errFrame, field, typ)
		}
		size, _, err := p.varint()
		if err != nil {
			return nil, unexpected(err)
		}
		if size > math.MaxInt32 {
			return nil, fmt.Errorf("%w: %d bytes long", errFrame, size)
		}
		if int(size) <= p.most {
			return p.read(int(size))
		}
		for left := int(size); left > 0; {
			if err := p.fill(); err != nil {
				return nil, unexpected(err)
			}
			left -= len(p.take(left))
		}
		p.lost++
	}
}

// fill takes the next block where all of this one is used.
func (p *packets) fill() (err error) {
	if len(p.rest) == 0 {
		p.rest, err = p.src.block()
	}
	return err
}

// take returns up to n bytes of the block, and goes after them.
func (p *packets) take(n int) []byte {
	b := p.rest[:min(n, len(p.rest))]
	p.rest = p.rest[len(b):]
	p.offset += int64(len(b))
	return b
}

// read returns size bytes, copied where several blocks hold them. The copy grows as the bytes come in: a length is
// only a claim.
func (p *packets) read(size int) ([]byte, error) {
	if size <= len(p.rest) {
		return p.take(size), nil
	}
	p.buf = p.buf[:0]
	for len(p.buf) < size {
		if err := p.fill(); err != nil {
			return nil, unexpected(err)
		}
		p.buf = append(p.buf, p.take(size-len(p.buf))...)
	}
	return p.buf, nil
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// varint reads one, and says how many bytes it took.
func (p *packets) varint() (v uint64, n int, err error) {
	for shift := 0; shift < 64; shift += 7 {
		if err := p.fill(); err != nil {
			return 0, n, err
		}
		b := p.take(1)[0]
		n++
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v, n, nil
		}
	}
	return 0, n, fmt.Errorf("%w: a number that does not end", errFrame)
}
