package inflate

import "encoding/binary"

const (
	// fastInput is how many bytes of input must be left for a round of the fast loop: two loads of the bit buffer, each of which looks
	// at eight and moves on by seven at most. A first load stands in front of all rounds.
	fastInput, firstInput = 16, 8
	// fastOutput is the same for output: five literals and the longest copy, which may write up to wide bytes behind its end.
	fastOutput = 5 + longest + wide
	// wide is how much every copy moves at least, as it costs less than to ask.
	wide = 64
)

// fast decodes symbols while neither end is near. A round begins with 56 bits, of which two entries of literals use up 22 at most and a
// length and a distance 48, and with the entry of the next symbol. One function: the bits, the tables and both positions stay in registers.
func (r *Reader) fast(out []byte, w int) int {
	in := &r.in
	buf := in.buf[:in.end]
	bits, n, pos := in.bits, in.n, in.pos
	lits, dists := &r.lits, &r.dists
	inLimit, outLimit := len(buf)-fastInput, len(out)-fastOutput
	bits, n, pos = refill(buf, bits, n, pos)
	e := lits[bits&litMask]
	for pos <= inLimit && w <= outLimit {
		if e&literal != 0 {
			binary.LittleEndian.PutUint16(out[w:], uint16(e>>16))
			w += e.count()
			bits >>= e.used()
			n -= e.used()
			e = lits[bits&litMask]
			if e&literal != 0 {
				binary.LittleEndian.PutUint16(out[w:], uint16(e>>16))
				w += e.count()
				bits >>= e.used()
				n -= e.used()
				e = lits[bits&litMask]
			}
			bits, n, pos = refill(buf, bits, n, pos)
			if e&literal != 0 {
				continue
			}
		}
		if e&invalid != 0 {
			if e&invalid == longer {
				bits >>= e.used()
				n -= e.used()
				e = lits[e.value()+int(bits&(1<<e.code()-1))]
				if e&literal != 0 {
					out[w] = byte(e >> 16)
					w++
					bits >>= e.used()
					n -= e.used()
					bits, n, pos = refill(buf, bits, n, pos)
					e = lits[bits&litMask]
					continue
				}
			}
			if e&blockEnds != 0 {
				if r.next = atBlock; e&longer != 0 {
					r.err = ErrCorrupt
				}
				bits >>= e.used()
				n -= e.used()
				break
			}
		}
		out[w] = byte(e >> 24) // if there is a literal in front; else it is written over
		w += e.count() - 1
		length := e.length() + int(bits&(1<<e.used()-1)>>e.code())
		bits >>= e.used()
		n -= e.used()

		e = dists[bits&distMask]
		if e&invalid != 0 {
			bits >>= e.used()
			n -= e.used()
			if e&invalid == longer {
				e = dists[e.value()+int(bits&(1<<e.code()-1))]
			}
			if e&invalid != 0 {
				r.err = ErrCorrupt
				break
			}
		}
		distance := e.value() + int(bits&(1<<e.used()-1)>>e.code())
		bits >>= e.used()
		n -= e.used()

		// The next entry is on its way while bytes are copied.
		bits, n, pos = refill(buf, bits, n, pos)
		e = lits[bits&litMask]

		from := w - distance
		if from < 0 {
			if distance > w+r.have {
				r.err = ErrCorrupt
				break
			}
			r.copyBack(out, w, distance, length)
		} else if distance >= 16 {
			move((*[wide]byte)(out[w:]), (*[wide]byte)(out[from:]))
			for k := wide; k < length; k += wide {
				move((*[wide]byte)(out[w+k:]), (*[wide]byte)(out[from+k:]))
			}
		} else {
			repeat(out, w, distance, length)
		}
		w += length
	}
	// Whole bytes that were loaded and not used go back.
	in.pos = pos - int(n>>3)
	in.n = n & 7
	in.bits = bits & (1<<in.n - 1)
	return w
}

// refill adds to the n bits up to as many as there is room for, at least 56 in all. Bytes whose bits do not fit whole are loaded again.
func refill(buf []byte, bits uint64, n uint, pos int) (uint64, uint, int) {
	return bits | binary.LittleEndian.Uint64(buf[pos:])<<(n&63), n | 56, pos + int((63-n)>>3)
}

// move copies 16 bytes at a time, and so never reads, from as far back, what it wrote in the same step.
func move(to, from *[wide]byte) {
	*(*[16]byte)(to[0:]) = *(*[16]byte)(from[0:])
	*(*[16]byte)(to[16:]) = *(*[16]byte)(from[16:])
	*(*[16]byte)(to[32:]) = *(*[16]byte)(from[32:])
	*(*[16]byte)(to[48:]) = *(*[16]byte)(from[48:])
}

// repeat copies length bytes from so short a distance that the copy reads what it writes.
func repeat(out []byte, w, distance, length int) {
	end := w + length
	for w < end {
		w += copy(out[w:end], out[w-distance:w])
		distance = min(2*distance, w) // what is written repeats itself at twice the distance, too
	}
}

// copyBack copies from the output of earlier calls, and from where that ends on from this one.
func (r *Reader) copyBack(out []byte, w, distance, length int) {
	back := distance - w // bytes before out
	k := copy(out[w:w+length], r.hist[r.have-back:r.have])
	repeat(out, w+k, distance, length-k)
}
