package scan

import "bytes"

// maxSpace bounds the white space inside a boundary. Indented files have a
// few dozen bytes; more is not how profilers write.
const maxSpace = 256

// boundaryAt checks whether the '}' at b[q] is followed by a comma, a '{' and a
// usual event key. It returns the position of that '{', codeBad, or codeMore
// when b ends first. With cut set b is known to end where such a '{' is.
func boundaryAt(b []byte, q int, cut bool) int {
	p := spaceWithin(b, q+1)
	if p < len(b) {
		if b[p] != ',' {
			return codeBad
		}
		p = spaceWithin(b, p+1)
		if p == len(b) && cut {
			return p
		}
	}
	if p < len(b) && b[p] != '{' {
		return codeBad
	}
	if code := eventKeyAt(b, p); code < 0 {
		return code
	}
	return p
}

// eventKeyAt checks whether a usual event key follows the '{' at b[p], which may be after the end of b. It returns
// the position after the key or a code.
func eventKeyAt(b []byte, p int) int {
	k := spaceWithin(b, p+1)
	if k >= len(b) {
		return codeMore
	}
	if b[k] != '"' {
		return codeBad
	}
	return keyAt(b, k+1, isEventKey)
}

// maxKey is the length of the longest key that marks a boundary.
const maxKey = 24

// keyAt returns the position after the key whose text starts at b[k], if
// known says so.
func keyAt(b []byte, k int, known func([]byte) bool) int {
	end := bytes.IndexByte(b[k:min(len(b), k+maxKey)], '"')
	switch {
	case end < 0 && len(b)-k < maxKey:
		return codeMore
	case end < 0 || !known(b[k:k+end]):
		return codeBad
	}
	return k + end + 1
}

// probeBytes bounds what is looked at to separate an event from other objects where
// none is expected. Events are a few hundred bytes; with a long stack a few thousand.
const probeBytes = 64 << 10

// eventAt checks whether the '{' at b[p] begins an event: a whole object with a
// phase, a name and, unless it is metadata, a time. It returns p or a code, and
// codeMore only before the end of the stream.
func (m *machine) eventAt(b []byte, p int, eof bool) int {
	more := codeMore
	if eof {
		more = codeBad
	}
	switch eventKeyAt(b, p) {
	case codeMore:
		return more
	case codeBad:
		return codeBad
	}
	w := b[p:min(len(b), p+probeBytes)]
	var ev Event
	n := m.parser.parseEvent(w, 0, &ev)
	if n == codeMore && len(w) < probeBytes {
		return more
	}
	if n < 0 || ev.Has&(HasPhase|HasName) != HasPhase|HasName || ev.Has&HasTS == 0 && ev.Phase != 'M' {
		return codeBad
	}
	return p
}

// eventWithin looks for an event inside the array at b[p], which is where an
// event should: an unclosed bracket must not swallow all events after it. It
// returns where the event begins or a code; what does not begin with a bracket
// holds none.
func (m *machine) eventWithin(b []byte, p int, eof bool) int {
	if b[p] != '[' {
		return codeBad
	}
	w := b[:min(len(b), p+min(probeBytes, m.cfg.MaxEvent))]
	q := p + 1
	for depth := 1; depth > 0; {
		if q = skipSpace(w, q); q == len(w) {
			return codeBad
		}
		switch w[q] {
		case ',':
			q++
		case '[':
			depth++
			q++
		case ']':
			depth--
			q++
		default:
			if at := m.elementEventAt(b, p, q, eof); at != codeBad {
				return at
			}
			if q = skipValue(w, q, m.cfg.MaxDepth); q < 0 {
				return codeBad
			}
		}
	}
	return codeBad
}

// swallowed looks for an event inside the object at b[p], which ends before
// b[n], or for n < 0 later than b: a bracket left open in it made all events after
// it a part of it. It returns where the first of them begins, or 0. It looks at the
// object's first probeBytes only, so that what is found depends on nothing that may
// not have been read.
func (m *machine) swallowed(b []byte, p, n int) int {
	if n < 0 {
		n = len(b)
	}
	w := b[:min(n, p+probeBytes)]
	for q := p + 1; ; q++ {
		next := bytes.IndexByte(w[q:], '{')
		if next < 0 {
			return 0
		}
		if q += next; m.eventAt(w, q, true) == q {
			return q
		}
	}
}

// elementEventAt checks whether b[q] begins an event to which the bytes from the
// bracket at b[p] on lead. It looks at those alone: whether what is after them is
// whole must not matter, as it may not have been read.
func (m *machine) elementEventAt(b []byte, p, q int, eof bool) int {
	if b[q] != '{' {
		return codeBad
	}
	at := m.eventAt(b, q, eof)
	if at != codeBad && skipNested(b[:q], p, m.cfg.MaxDepth) != codeMore {
		return codeBad
	}
	return at
}

// arrayEndAt checks whether the '}' at b[q] closes the last event of the array:
// it must be followed by ']' and then by a usual top-level key, or by the end of
// the document and of the stream. It returns the position of the ']' or a code.
func arrayEndAt(b []byte, q int, eof bool) int {
	p := spaceWithin(b, q+1)
	if p >= len(b) {
		if eof {
			return codeBad
		}
		return codeMore
	}
	if b[p] != ']' {
		return codeBad
	}
	return closes(b, p, eof)
}

// closes checks what follows the ']' at b[end] in the same way.
func closes(b []byte, end int, eof bool) int {
	more := codeMore
	if eof {
		more = codeBad
	}
	p := spaceWithin(b, end+1)
	if p < len(b) && b[p] == ',' {
		k := spaceWithin(b, p+1)
		if k >= len(b) {
			return more
		}
		if b[k] != '"' {
			return codeBad
		}
		switch keyAt(b, k+1, isTopKey) {
		case codeMore:
			return more
		case codeBad:
			return codeBad
		}
		return end
	}
	if p < len(b) && b[p] == '}' {
		p = spaceWithin(b, p+1)
	}
	if p < len(b) {
		return codeBad
	}
	if eof {
		return end
	}
	return codeMore
}

func spaceWithin(b []byte, p int) int {
	limit := min(len(b), p+maxSpace)
	for p < limit && isSpace(b[p]) {
		p++
	}
	return p
}

// lastBoundary returns the position of the '{' of the last boundary in b, −1 if
// there is none. It is how the stream is cut into segments; a '{' that lies
// inside a string or inside args is a wrong guess that costs time, not truth.
func lastBoundary(b []byte) int {
	for end := len(b); ; {
		p := lastBrace(b[:end])
		if p <= 0 {
			return -1
		}
		end = p
		q := p - 1
		for q > 0 && isSpace(b[q]) {
			q--
		}
		if b[q] != ',' || q == 0 {
			continue
		}
		q--
		for q > 0 && isSpace(b[q]) {
			q--
		}
		if b[q] == '}' && boundaryAt(b, q, false) == p {
			return p
		}
	}
}

// lastBrace returns the position of the last '{' in b, −1 if there is none. It
// runs over long strings by the vectorised IndexByte; LastIndexByte is a loop.
func lastBrace(b []byte) int {
	const block = 2048
	for end := len(b); end > 0; end -= block {
		from := max(0, end-block)
		if bytes.IndexByte(b[from:end], '{') >= 0 {
			return from + bytes.LastIndexByte(b[from:end], '{')
		}
	}
	return -1
}

// resync looks for the next event from b[p] on. It returns the position to go on
// from and true, or the position from which bytes must be kept and false.
// inArray separates a found array end (the position of ']') from a found event.
func resync(b []byte, p int, eof, cut bool) (next int, found, arrayEnd bool) {
	for {
		q := bytes.IndexByte(b[p:], '}')
		if q < 0 {
			return len(b), false, false
		}
		q += p
		at := boundaryAt(b, q, cut)
		if at >= 0 {
			return at, true, false
		}
		end := arrayEndAt(b, q, eof)
		if end >= 0 {
			return end, true, true
		}
		if (at == codeMore && !eof) || end == codeMore {
			return q, false, false
		}
		p = q + 1
	}
}
