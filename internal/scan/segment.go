package scan

import "io"

// segment is a piece of the stream. Segments tile it without gaps.
type segment struct {
	seq  int
	buf  []byte // what to hand back to the pool
	data []byte
	base int64 // stream offset of data[0]
	at   bool  // data begins with the '{' of a boundary
	cut  bool  // the byte after data is the '{' of a boundary
	eof  bool  // nothing follows, for the reason in err
	err  error // nil at a clean end
}

// segmenter cuts a stream into segments, at boundaries where it can. How the
// reader doles out its bytes does not change where the cuts are.
type segmenter struct {
	r    io.Reader
	size int
	tail []byte // read, and not yet handed out; at most size bytes
	base int64
	seq  int
	cut  bool // where the last segment ended there is a boundary
	done bool
}

// next fills buf (growing it if need be) and returns the next segment.
func (s *segmenter) next(buf []byte) segment {
	have := len(s.tail)
	if cap(buf) < have+s.size {
		buf = make([]byte, have+s.size+s.size/8)
	}
	buf = buf[:have+s.size]
	copy(buf, s.tail)
	n, err := fill(s.r, buf[have:])
	data := buf[:have+n]
	seg := segment{seq: s.seq, buf: buf, base: s.base, at: s.cut}
	s.seq++
	if err != nil {
		if err == io.EOF {
			err = nil
		}
		s.done = true
		seg.data, seg.eof, seg.err = data, true, err
		return seg
	}
	// Look only into the bytes just read (and a little before them): the tail has
	// no boundary, or it would not be one. So it stays within size.
	look := max(0, have-4*maxSpace)
	if at := lastBoundary(data[look:]); at > 0 {
		at += look
		s.tail = append(s.tail[:0], data[at:]...)
		seg.data, seg.cut = data[:at], true
	} else {
		s.tail = s.tail[:0]
		seg.data = data
	}
	s.base += int64(len(seg.data))
	s.cut = seg.cut
	return seg
}

// fill is io.ReadFull that keeps the reader's own error apart from a short read:
// decompressors say io.ErrUnexpectedEOF when their input is cut.
func fill(r io.Reader, buf []byte) (n int, err error) {
	for idle := 0; n < len(buf) && err == nil; {
		var k int
		k, err = r.Read(buf[n:])
		n += k
		if k > 0 {
			idle = 0
		} else if idle++; idle > 100 && err == nil {
			err = io.ErrNoProgress
		}
	}
	if n == len(buf) && err == io.EOF {
		err = nil // the next call sees it again
	}
	return n, err
}
