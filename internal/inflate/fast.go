package inflate

import "encoding/binary"

// status is why a decoding loop stopped.
type status uint8

const (
	moreOutput status = iota // the output is full
	moreInput                // the input is nearly used up
	blockEnd
	failed // Reader.err says why
)

const (
	litMask  = 1<<litBits - 1
	distMask = 1<<distBits - 1

	// One round of the fast loop moves on by at most so many bytes of input: two
	// loads of the bit buffer.
	fastInput = 16
	// It writes at most so many bytes of output: nine literals and the longest
	// copy, and up to 16 bytes behind it.
	fastOutput = 9 + 258 + 16
)

// fast decodes symbols while neither end is near. A round has 56 bits; three
// entries of literals use up 33 at most, a length and a distance 48.
func (r *Reader) fast(out []byte, w int) (int, status) {
	in := &r.in
	buf := in.buf[:in.end]
	bits, n, pos := in.bits, in.n, in.pos
	lits, dists := &r.lits, &r.dists
	inLimit, outLimit := len(buf)-fastInput, len(out)-fastOutput
	stop := moreInput
	for pos <= inLimit && w <= outLimit {
		bits |= load64(buf, pos) << (n & 63)
		pos += int((63 - n) >> 3)
		n |= 56
		e := lits[bits&litMask]
		if k := e.literals(); k != 0 {
			binary.LittleEndian.PutUint32(out[w:], uint32(e>>8))
			w += k
			bits >>= e.used()
			n -= e.used()
			e = lits[bits&litMask]
			if k := e.literals(); k != 0 {
				binary.LittleEndian.PutUint32(out[w:], uint32(e>>8))
				w += k
				bits >>= e.used()
				n -= e.used()
				e = lits[bits&litMask]
				if k := e.literals(); k != 0 {
					binary.LittleEndian.PutUint32(out[w:], uint32(e>>8))
					w += k
					bits >>= e.used()
					n -= e.used()
					continue
				}
			}
			bits |= load64(buf, pos) << (n & 63)
			pos += int((63 - n) >> 3)
			n |= 56
		}
		if e&kindMask == kindMore && e.literals() == 0 {
			bits >>= e.used()
			n -= e.used()
			e = lits[e.base()+int(bits&(1<<e.extra()-1))]
			if e.literals() != 0 {
				out[w] = byte(e >> 8)
				w++
				bits >>= e.used()
				n -= e.used()
				continue
			}
		}
		if e&kindMask != kindCopy {
			stop = blockEnd
			if e&kindMask == kindInvalid {
				stop = failed
			}
			bits >>= e.used()
			n -= e.used()
			break
		}
		bits >>= e.used()
		length := e.base() + int(bits&(1<<e.extra()-1))
		bits >>= e.extra()
		n -= e.used() + e.extra()

		e = dists[bits&distMask]
		if e&kindMask == kindMore {
			bits >>= e.used()
			n -= e.used()
			e = dists[e.base()+int(bits&(1<<e.extra()-1))]
		}
		if e&kindMask != kindCopy {
			stop = failed
			break
		}
		bits >>= e.used()
		distance := e.base() + int(bits&(1<<e.extra()-1))
		bits >>= e.extra()
		n -= e.used() + e.extra()

		end := w + length
		from := w - distance
		switch {
		case from < 0:
			if distance > w+r.have {
				stop = failed
			} else {
				r.copyBack(out, w, distance, length)
				w = end
			}
		case distance >= 16:
			// 16 bytes at a time never read what this copy wrote in the same step.
			for ; w < end; w, from = w+16, from+16 {
				binary.LittleEndian.PutUint64(out[w:], load64(out, from))
				binary.LittleEndian.PutUint64(out[w+8:], load64(out, from+8))
			}
			w = end
		default:
			repeat(out, w, distance, length)
			w = end
		}
		if stop == failed {
			break
		}
	}
	// Whole bytes that were loaded and not used go back.
	in.pos = pos - int(n>>3)
	in.n = n & 7
	in.bits = bits & (1<<in.n - 1)
	if stop == failed {
		r.err = ErrCorrupt
	} else if stop == moreInput && w > outLimit {
		stop = moreOutput
	}
	return w, stop
}

// repeat copies length bytes from so short a distance that the copy reads what
// it writes.
func repeat(out []byte, w, distance, length int) {
	end := w + length
	for w < end {
		w += copy(out[w:end], out[w-distance:w])
		distance *= 2 // what is written repeats itself at twice the distance, too
		distance = min(distance, w)
	}
}

// copyBack copies from the output of earlier calls, and from where that ends on
// from this one.
func (r *Reader) copyBack(out []byte, w, distance, length int) {
	back := distance - w // bytes before out
	k := copy(out[w:w+length], r.hist[r.have-back:r.have])
	for i := w + k; i < w+length; i++ {
		out[i] = out[i-distance]
	}
}
