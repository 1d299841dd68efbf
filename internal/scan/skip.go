package scan

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// NOTE: everything here works on b[p:], returns the position after what it
// consumed, and never reads beyond len(b). A negative position is one of the
// codes below: the caller knows where the element began and what to do.
const (
	codeMore = -1 // b ended first: more bytes could make it right
	codeBad  = -2 // no bytes that follow could make it right
	codeDeep = -3 // nesting limit
)

// MaxDepth is how deeply a value of an event may be nested: one bit of a word
// per level separates objects from arrays. Real values reach 3.
const MaxDepth = 64

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// skipString returns the position after the closing quote of the string whose
// contents start at p. Escapes are stepped over, not checked; control
// characters and invalid UTF-8 pass.
func skipString(b []byte, p int) int {
	// Most strings end within a few words: eight bytes at a time find quote and
	// backslash together. What is longer goes to the vectorised IndexByte.
	for range 8 {
		if p+8 > len(b) {
			break
		}
		w := binary.LittleEndian.Uint64(b[p:])
		q := w ^ '"'*ones
		s := w ^ '\\'*ones
		m := ((q - ones) &^ q) | ((s - ones) &^ s)
		if m &= highs; m != 0 {
			p += bits.TrailingZeros64(m) >> 3
			if b[p] == '"' {
				return p + 1
			}
			return skipStringSlow(b, p)
		}
		p += 8
	}
	return skipStringSlow(b, p)
}

// skipStringSlow does the same for p not inside an escape.
func skipStringSlow(b []byte, p int) int {
	for p < len(b) {
		q := bytes.IndexByte(b[p:], '"')
		if q < 0 {
			return codeMore
		}
		if q == 0 || b[p+q-1] != '\\' {
			return p + q + 1
		}
		// An odd number of backslashes escapes the quote.
		n := 1
		for n < q && b[p+q-1-n] == '\\' {
			n++
		}
		if n&1 == 0 {
			return p + q + 1
		}
		p += q + 1
	}
	return codeMore
}

// skipSpace returns the position of the first byte from p on that is no JSON
// white space, len(b) if there is none.
func skipSpace(b []byte, p int) int {
	for p < len(b) {
		if c := b[p]; c > ' ' || !isSpace(c) {
			return p
		}
		p++
	}
	return p
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// Classes of bytes inside a value.
const (
	clPlain = iota
	clQuote
	clOpen
	clClose
	clStop // ends a scalar: comma, colon
)

var class = func() (t [256]uint8) {
	t['"'] = clQuote
	t['{'], t['['] = clOpen, clOpen
	t['}'], t[']'] = clClose, clClose
	t[','], t[':'] = clStop, clStop
	return
}()

// skipValue returns the position after the value at p (no leading space), which
// may be nested to a depth of max. Brackets must match and every string must be
// followed by , : ] or }, which finds a stray quote within a string or two;
// scalars are not checked.
func skipValue(b []byte, p, max int) int {
	if p >= len(b) {
		return codeMore
	}
	switch class[b[p]] {
	case clQuote:
		return skipString(b, p+1)
	case clPlain:
		return skipScalar(b, p)
	case clOpen:
		return skipNested(b, p, max)
	}
	return codeBad
}

// skipScalar returns the end of the number or literal at p.
func skipScalar(b []byte, p int) int {
	for p < len(b) {
		switch scalar[b[p]] {
		case scEnd:
			return p
		case scBad:
			return codeBad
		}
		p++
	}
	return codeMore
}

// Classes of bytes after the first one of a scalar.
const (
	scPart = iota
	scEnd
	scBad
)

var scalar = func() (t [256]uint8) {
	for _, c := range []byte(",}] \n\r\t") {
		t[c] = scEnd
	}
	for _, c := range []byte(`"{[:`) {
		t[c] = scBad
	}
	return
}()

func skipNested(b []byte, p, max int) int {
	var kinds uint64 // bit d: level d is an object
	depth := 0
	for p < len(b) {
		c := b[p]
		switch class[c] {
		case clPlain, clStop:
			p++
		case clQuote:
			if p = skipString(b, p+1); p < 0 {
				return p
			}
			if p = skipSpace(b, p); p == len(b) {
				return codeMore
			}
			if k := class[b[p]]; k != clStop && k != clClose {
				return codeBad
			}
		case clOpen:
			if depth == max {
				return codeDeep
			}
			kinds <<= 1
			if c == '{' {
				kinds |= 1
			}
			depth++
			p++
		case clClose:
			if (c == '}') != (kinds&1 == 1) {
				return codeBad
			}
			kinds >>= 1
			depth--
			p++
			if depth == 0 {
				return p
			}
		}
	}
	return codeMore
}
