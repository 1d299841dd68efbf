package inflate

// slow decodes one symbol and counts every bit. It is for the last bytes of the
// input, and for outputs too short for the fast loop. out has room for a copy.
//
// Where the stream is cut off, Go's decoder wants as many bits for any symbol as
// the end of the block has; this one wants them, too, and so gives the same bytes.
func (r *Reader) slow(out []byte, w int) (int, status) {
	if !r.bits(uint(r.litLengths[endOfBlock])) {
		return w, failed
	}
	e, ok := r.symbol(r.lits[:], litMask)
	if !ok {
		return w, failed
	}
	if e.literals() > 0 {
		out[w] = byte(e >> 8)
		return w + 1, moreInput
	}
	if e&kindMask == kindEnd {
		return w, blockEnd
	}
	length, ok := r.value(e)
	if !ok {
		return w, failed
	}
	if e, ok = r.symbol(r.dists[:], distMask); !ok {
		return w, failed
	}
	distance, ok := r.value(e)
	if !ok {
		return w, failed
	}
	switch {
	case distance > w+r.have:
		r.err = ErrCorrupt
		return w, failed
	case distance > w:
		r.copyBack(out, w, distance, length)
	default:
		repeat(out, w, distance, length)
	}
	return w + length, moreInput
}

// symbol reads one entry. Of an entry of several literals it is the first one.
func (r *Reader) symbol(table []entry, mask uint64) (entry, bool) {
	in := &r.in
	in.want(maxCode) // as many as there are
	e := table[in.bits&mask]
	if e.literals() > 1 {
		e = r.firstLiteral(e)
	}
	if e&kindMask == kindMore && e.literals() == 0 {
		e2 := table[e.base()+int(in.bits>>e.used()&(1<<e.extra()-1))]
		if used := e.used() + e2.used(); used <= in.n {
			in.take(used)
			return e2, r.valid(e2)
		}
		r.err = in.failure()
		return 0, false
	}
	if !r.valid(e) {
		return 0, false
	}
	if e.used() > in.n {
		r.err = in.failure()
		return 0, false
	}
	in.take(e.used())
	return e, true
}

// firstLiteral reduces a packed entry to its first literal.
func (r *Reader) firstLiteral(e entry) entry {
	b := int(e >> 8 & 255)
	return literal(b) | entry(r.litLengths[b])
}

func (r *Reader) valid(e entry) bool {
	if e.literals() == 0 && e&kindMask == kindInvalid {
		r.err = ErrCorrupt
		return false
	}
	return true
}

// value is the length or distance that an entry and its extra bits make.
func (r *Reader) value(e entry) (int, bool) {
	if !r.in.want(e.extra()) {
		r.err = r.in.failure()
		return 0, false
	}
	return e.base() + int(r.in.take(e.extra())), true
}
