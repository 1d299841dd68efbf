package decimal

import (
	"errors"
	"math"
	"strconv"
)

// Errors of Micros. NonFinite is apart from Syntax because exporters do write
// NaN and Infinity, on purpose, for a duration that they do not know.
var (
	ErrSyntax    = errors.New("not a decimal number")
	ErrNonFinite = errors.New("not a finite number")
	ErrRange     = errors.New("number out of range")
)

// Micros parses decimal microseconds and returns nanoseconds. Digits beyond the
// third decimal are rounded half to even. A sign and an exponent are accepted,
// a leading zero or a missing digit on one side of the point too; two signs, two
// points or any other byte are ErrSyntax. The words nan, inf and infinity in any
// case and with any sign are ErrNonFinite, and what does not fit in an int64 is
// ErrRange.
func Micros(s []byte) (int64, error) {
	return scaled(s, 3)
}

// scaled returns the number in s times 10^shift as an integer, rounded half to even.
// One function: it reads each byte once, from left to right, and every part of the
// number leaves its count of digits to the next.
func scaled(s []byte, shift int) (int64, error) {
	i, neg := 0, false
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		neg = s[i] == '-'
		i++
	}
	if i < len(s) && s[i]|0x20 >= 'a' {
		if isNonFinite(s[i:]) {
			return 0, ErrNonFinite
		}
		return 0, ErrSyntax
	}
	// whole and frac are the digits before and after the point.
	start := i
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	whole := s[start:i]
	var frac []byte
	if i < len(s) && s[i] == '.' {
		i++
		start = i
		for i < len(s) && isDigit(s[i]) {
			i++
		}
		frac = s[start:i]
	}
	if len(whole) == 0 && len(frac) == 0 {
		return 0, ErrSyntax
	}
	exp := 0
	if i < len(s) && s[i]|0x20 == 'e' {
		i++
		eneg := false
		if i < len(s) && (s[i] == '-' || s[i] == '+') {
			eneg = s[i] == '-'
			i++
		}
		start = i
		for i < len(s) && isDigit(s[i]) {
			// A clamp keeps absurd exponents from overflowing; 1e6 is far beyond any
			// digit count that could bring the value back into range.
			if exp < 1e6 {
				exp = exp*10 + int(s[i]-'0')
			}
			i++
		}
		if i == start {
			return 0, ErrSyntax
		}
		if eneg {
			exp = -exp
		}
	}
	if i != len(s) {
		return 0, ErrSyntax
	}
	digit := func(k int) byte {
		if k < len(whole) {
			return whole[k] - '0'
		}
		if k -= len(whole); k < len(frac) {
			return frac[k] - '0'
		}
		return 0
	}
	total := len(whole) + len(frac)
	keep := len(whole) + exp + shift // digits that make up the integer part of the result
	var u uint64
	for k := 0; k < keep; k++ {
		if k >= total && u == 0 {
			break // zero, whatever the exponent
		}
		if u > (math.MaxInt64-9)/10 {
			d := digit(k)
			if u > math.MaxInt64/10 || u*10+uint64(d) > math.MaxInt64 {
				return 0, ErrRange
			}
		}
		u = u*10 + uint64(digit(k))
	}
	if keep >= 0 && keep < total && roundUp(digit, keep, total, u) {
		if u == math.MaxInt64 {
			return 0, ErrRange
		}
		u++
	}
	if neg {
		return -int64(u), nil
	}
	return int64(u), nil
}

// roundUp decides half to even: the digits from keep on are the dropped part.
func roundUp(digit func(int) byte, keep, total int, u uint64) bool {
	switch d := digit(keep); {
	case d > 5:
		return true
	case d < 5:
		return false
	}
	for k := keep + 1; k < total; k++ {
		if digit(k) != 0 {
			return true
		}
	}
	return u&1 == 1
}

func isDigit(c byte) bool { return c-'0' <= 9 }

func isNonFinite(s []byte) bool {
	var low [8]byte
	if len(s) > len(low) {
		return false
	}
	for i, c := range s {
		low[i] = c | 0x20
	}
	return nonFinite[string(low[:len(s)])]
}

var nonFinite = map[string]bool{"nan": true, "inf": true, "infinity": true}

// AppendMicros appends ns nanoseconds as decimal microseconds with exactly three
// decimals, the form in which the profiler writes them.
func AppendMicros(dst []byte, ns int64) []byte {
	u := uint64(ns)
	if ns < 0 {
		dst = append(dst, '-')
		u = -u
	}
	dst = strconv.AppendUint(dst, u/1000, 10)
	r := u % 1000
	return append(dst, '.', byte('0'+r/100), byte('0'+r/10%10), byte('0'+r%10))
}
