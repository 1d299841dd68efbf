package scan

import (
	"encoding/binary"
	"math/bits"
)

// NOTE: numbers are read eight bytes at a time. Where the first byte that is no digit is in a word says how long
// a number is, and a shift moves its digits to the end of the word, zeros before them, so that numbers of any
// length are added up in the same three steps.

const zeros = 0x30 * ones // '0' eight times

// digits is how many digits the eight bytes begin with.
func digits(w uint64) int {
	w ^= zeros // digits become 0 to 9; adding 0x76 to those that are more sets their highest bit, and carries nothing
	more := (w&^highs + 0x76*ones | w) & highs
	return bits.TrailingZeros64(more) >> 3
}

// leading is the value of the first n digits, from one to eight.
func leading(w uint64, n int) uint64 {
	w = (w ^ zeros) << (64 - 8*uint(n))
	w = w*10 + w>>8 // pairs in the even bytes
	return ((w&0x000000FF000000FF)*(100+1000000<<32) + (w>>16&0x000000FF000000FF)*(1+10000<<32)) >> 32
}

// powers are those of ten.
var powers = [...]int64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7}

// micros parses microseconds as profilers write them at b[p]: up to 15 digits, perhaps a point and up to three more,
// and after them what ends a number. It returns nanoseconds and the position after the number, p for anything else.
func micros(b []byte, p int) (ns int64, end int) {
	if p+24 > len(b) {
		return 0, p
	}
	i, v := p, int64(0)
	w := binary.LittleEndian.Uint64(b[i:])
	n := digits(w)
	if n == 8 {
		v, i = int64(leading(w, 8)), i+8
		w = binary.LittleEndian.Uint64(b[i:])
		n = digits(w)
	}
	switch {
	case n == 8:
		return 0, p
	case n > 0:
		v, i = v*powers[n]+int64(leading(w, n)), i+n
	case i == p:
		return 0, p
	}
	ns = v * 1000
	if b[i] != '.' {
		if isDelim(b[i]) {
			return ns, i
		}
		return 0, p
	}
	w = binary.LittleEndian.Uint64(b[i+1:])
	n = digits(w)
	if n == 0 || n > 3 || !isDelim(b[i+1+n]) {
		return 0, p
	}
	return ns + int64(leading(w, n))*powers[3-n], i + 1 + n
}

func isDelim(c byte) bool { return scalar[c] == scEnd }

// integer parses an integer at b[p], stopping at the first byte that is not of
// it. ok is false when the text is something else or does not fit in 64 bits;
// the position is then p.
func integer(b []byte, p int) (v int64, end int, ok bool) {
	i := p
	neg := i < len(b) && b[i] == '-'
	if neg {
		i++
	}
	start := i
	var u uint64
	if i+8 < len(b) { // nearly all have fewer digits than a word
		w := binary.LittleEndian.Uint64(b[i:])
		if n := digits(w); n > 0 && isDelim(b[i+n]) {
			u, i = leading(w, n), i+n
		}
	}
	for i < len(b) {
		d := b[i] - '0'
		if d > 9 {
			break
		}
		if i-start >= 19 { // unsigned 64-bit handles have up to 20 digits
			if u > (1<<64-1-uint64(d))/10 {
				return 0, p, false
			}
		}
		u = u*10 + uint64(d)
		i++
	}
	if i == start || i < len(b) && !isDelim(b[i]) {
		return 0, p, false
	}
	if neg {
		return -int64(u), i, true
	}
	return int64(u), i, true
}
