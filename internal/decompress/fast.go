package decompress

import "encoding/binary"

const (
	// fastInput is how many bytes of input must be left for a round of the fast loop: two loads of the bit buffer,
	// which look at eight each and move on by seven at most. Two more are before all rounds.
	fastInput = 16
	// fastOutput is the same for output: two literals and the longest copy, which may write up to wide bytes after
	// its end.
	fastOutput = 2 + longest + wide
	// wide is how much every copy moves at least, as it costs less than to ask.
	wide = 64
)

// fast decodes symbols while neither end is near. A round begins with 56 bits; literals use up 15 of them at most, a
// length and a distance 48, and with the entry of the next symbol. One function: the bits, the tables and both
// positions stay in registers.
func (r *gzipReader) fast(out []byte, w int) int {
	in := &r.in
	buf, out := in.buf[:in.end:in.end], out[:len(out):len(out)]
	lits, dists := &r.code.lits, &r.code.dists
	inLimit, outLimit := len(buf)-fastInput, len(out)-fastOutput
	used := uint(in.bit & 7) // of the first byte
	bits, n, pos := refill(buf, 0, 0, in.bit>>3)
	bits, n, pos = refill(buf, bits>>used, n-used, pos)
	e := lits[bits&(1<<litBits-1)]
	for pos <= inLimit && w <= outLimit {
		if e&invalid == longer {
			bits >>= litBits
			n -= litBits
			e = lits[e.value()+int(bits&(1<<litMore-1))]
		}
		if e&literal != 0 {
			binary.LittleEndian.PutUint16(out[w:], uint16(e>>16))
			w += e.count()
			bits >>= e.used()
			n -= uint(e)
			e = lits[bits&(1<<litBits-1)]
			bits, n, pos = refill(buf, bits, n, pos)
			continue
		}
		if e&blockEnds != 0 {
			if r.next = atBlock; e&longer != 0 {
				r.err = errCorrupt
			}
			out[w] = byte(e >> 16) // the literal before it, if there is one
			w += e.count() - 1
			n -= uint(e)
			break
		}
		out[w] = byte(e >> 16) // if there is a literal before it; else it is written over
		w += e.count() - 1
		length := e.length() + int(bits&(1<<e.used()-1)>>e.code())
		bits >>= e.used()
		n -= uint(e)

		e = dists[bits&(1<<distBits-1)]
		if e&invalid == longer {
			bits >>= distBits
			n -= distBits
			e = dists[e.value()+int(bits&(1<<distMore-1))]
		}
		if e&invalid != 0 {
			r.err = errCorrupt
			break
		}
		distance := e.value() + int(bits&(1<<e.used()-1)>>e.code())
		bits >>= e.used()
		n -= uint(e)

		// The next entry is on its way while bytes are copied.
		bits, n, pos = refill(buf, bits, n, pos)
		e = lits[bits&(1<<litBits-1)]

		if distance < 16 || distance > w {
			if w = r.copy(out, w, distance, length); r.err != nil {
				break
			}
			continue
		}
		from := w - distance
		move((*[wide]byte)(out[w:]), (*[wide]byte)(out[from:]))
		for k := wide; k < length; k += wide {
			move((*[wide]byte)(out[w+k:]), (*[wide]byte)(out[from+k:]))
		}
		w += length
	}
	in.bit = pos<<3 - int(n&63)
	return w
}

// refill adds to the n bits up to as many as there is room for, at least 56 in all. Bytes whose bits do not fit whole
// are loaded again.
func refill(buf []byte, bits uint64, n uint, pos int) (uint64, uint, int) {
	return bits | binary.LittleEndian.Uint64(buf[pos:])<<(n&63), n&7 | 56, pos + int(^n>>3&7)
}

// move copies 16 bytes at a time, and so never reads, from as far back, what it wrote in the same step.
func move(to, from *[wide]byte) {
	*(*[16]byte)(to[0:]) = *(*[16]byte)(from[0:])
	*(*[16]byte)(to[16:]) = *(*[16]byte)(from[16:])
	*(*[16]byte)(to[32:]) = *(*[16]byte)(from[32:])
	*(*[16]byte)(to[48:]) = *(*[16]byte)(from[48:])
}

// copy copies length bytes from any distance, and returns where they end. What lies before out is the output of
// earlier calls.
func (r *gzipReader) copy(out []byte, w, distance, length int) int {
	end := w + length
	if back := distance - w; back > r.have {
		r.fail(errCorrupt)
		return w
	} else if back > 0 {
		w += copy(out[w:end], r.hist[r.have-back:r.have])
	}
	for w < end {
		w += copy(out[w:end], out[w-distance:w])
		distance *= 2 // what is written repeats itself at twice the distance, too
	}
	return end
}

// slow decodes one symbol and counts every bit. It is for the last bytes of the input, and for outputs too short for
// the fast loop. out has room for a copy. Where the stream is cut off, Go's decoder wants as many bits for any symbol
// as the end of the block has; this one wants them, too, and so gives the same bytes.
func (r *gzipReader) slow(out []byte, w int) int {
	e := r.symbol(r.code.lits[:], litBits, int(r.code.lengths[endOfBlock]))
	switch {
	case r.err != nil:
		return w
	case e&literal != 0:
		out[w] = byte(e >> 16)
		return w + 1
	case e&blockEnds != 0:
		r.next = atBlock
		return w
	}
	length := e.length() + r.bits(int(e.extra()))
	e = r.symbol(r.code.dists[:], distBits, 0)
	distance := e.value() + r.bits(int(e.extra()))
	if r.err == nil {
		w = r.copy(out, w, distance, length)
	}
	return w
}

// symbol reads the next symbol without its extra bits, of an entry of two the first one, by a table whose first part
// has an index of size bits. It fails where fewer than least bits are left, however few the symbol has.
func (r *gzipReader) symbol(table []entry, size, least int) entry {
	in := &r.in
	in.want(maxCode) // as many as there are
	next := in.peek()
	e := table[next&(1<<size-1)]
	used := int(e.code())
	switch {
	case e&two != 0:
		e = literal | e&first
		used = int(r.code.lengths[e>>16&255])
	case e&invalid == longer:
		e = table[e.value()+int(next>>size&(1<<(maxCode-size)-1))]
		used = size + int(e.code())
	}
	switch {
	case max(used, least) > in.left(): // also of a code that means nothing
		r.fail(in.failure())
	case e&invalid == invalid:
		r.fail(errCorrupt)
	default:
		in.bit += used
	}
	return e
}
