package inflate

// slow decodes one symbol and counts every bit. It is for the last bytes of the
// input, and for outputs too short for the fast loop. out has room for a copy.
//
// Where the stream is cut off, Go's decoder wants as many bits for any symbol as
// the end of the block has; this one wants them, too, and so gives the same bytes.
func (r *Reader) slow(out []byte, w int) int {
	var e entry
	if r.bits(uint(r.litLengths[endOfBlock])) {
		e = r.symbol(r.lits[:], litMask)
	}
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
	length := r.value(e, e.length())
	e = r.symbol(r.dists[:], distMask)
	distance := r.value(e, e.value())
	switch {
	case r.err != nil:
		return w
	case distance > w+r.have:
		r.err = ErrCorrupt
		return w
	case distance > w:
		r.copyBack(out, w, distance, length)
	default:
		repeat(out, w, distance, length)
	}
	return w + length
}

// symbol reads one entry, without its extra bits. Of an entry of two it is the first one, a literal.
func (r *Reader) symbol(table []entry, mask uint64) entry {
	in := &r.in
	in.want(maxCode) // as many as there are
	e := table[in.bits&mask]
	used := e.code()
	if e&two != 0 {
		if e&literal == 0 {
			e = literal | e>>24<<16
		}
		used = uint(r.litLengths[e>>16&255])
	}
	if e&invalid == longer {
		used = e.used()
		e = table[e.value()+int(in.bits>>used&(1<<e.code()-1))]
		used += e.code()
	}
	switch {
	case r.err != nil:
	case used > in.n: // also of a code that means nothing
		r.err = in.failure()
	case e&invalid == invalid:
		r.err = ErrCorrupt
	default:
		in.take(used)
	}
	return e
}

// value is the length or distance that an entry's extra bits and what it gives without them make.
func (r *Reader) value(e entry, without int) int {
	if r.err != nil || !r.bits(e.extra()) {
		return 0
	}
	return without + int(r.in.take(e.extra()))
}
