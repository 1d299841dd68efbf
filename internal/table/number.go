package table

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// None is what a table shows where there is no value.
const None = "-"

// Fixed formats v with that many decimals; NaN and infinities are [None].
func Fixed(v float64, decimals int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return None
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if s[0] == '-' && isZero(s[1:]) {
		return s[1:] // -0.00 says nothing
	}
	return s
}

// isZero reports whether a formatted number has no digit but 0.
func isZero(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] != '0' && s[i] != '.' {
			return false
		}
	}
	return true
}

// Seconds formats d in seconds with up to nine decimals, rounded half away
// from zero in integer arithmetic: no digit comes from a float.
func Seconds(d time.Duration, decimals int) string {
	const scale = 9 // nanoseconds
	decimals = min(max(decimals, 0), scale)
	neg := d < 0
	u := uint64(d)
	if neg {
		u = -u
	}
	if drop := scale - decimals; drop > 0 {
		p := pow10(drop)
		u = u/p + (u%p+p/2)/p // half away from zero
	}
	digits := strconv.FormatUint(u, 10)
	for len(digits) <= decimals {
		digits = "0" + digits
	}
	if decimals > 0 {
		cut := len(digits) - decimals
		digits = digits[:cut] + "." + digits[cut:]
	}
	if neg && u != 0 {
		digits = "-" + digits
	}
	return digits
}

// pow10 returns 10^n for n ≤ 19.
func pow10(n int) uint64 {
	p := uint64(1)
	for range n {
		p *= 10
	}
	return p
}

// Duration formats d as all texts have it, with three digits in the unit in which it has some: "812 ns", "79.0 µs",
// "1.26 ms", "14.2 s". Whole seconds keep all their digits.
func Duration(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	return threeDigits(float64(d), "ns", "µs", "ms", "s")
}

// threeDigits formats a number of the first unit, which has no fractions, in the unit in which it has three digits
// before the point at most; the last one keeps all of them.
func threeDigits(v float64, units ...string) string {
	at := 0
	for at < len(units)-1 && math.Abs(v) >= 999.5 {
		v, at = v/1000, at+1
	}
	decimals := 2
	switch a := math.Abs(v); {
	case a >= 99.95 || at == 0:
		decimals = 0
	case a >= 9.995:
		decimals = 1
	}
	return Fixed(v, decimals) + " " + units[at]
}

// Change is [Duration] with a sign, for differences: "+1.26 ms", "-843 µs", "0".
func Change(d time.Duration) string {
	if d > 0 {
		return "+" + Duration(d)
	}
	return Duration(d)
}

// Percent formats part of whole in percent, without the sign; [None] where
// whole is 0.
func Percent(part, whole float64, decimals int) string {
	if whole == 0 {
		return None
	}
	return Fixed(100*part/whole, decimals)
}

// Pct formats a number of percent with its sign, as all texts have it: "3.1%", as a number and its unit; [None] for
// NaN and infinities.
func Pct(v float64, decimals int) string {
	s := Fixed(v, decimals)
	if s == None {
		return s
	}
	return s + "%"
}

// Times formats a factor with its sign, as all texts have it: "1.27×"; [None] for NaN and infinities.
func Times(v float64, decimals int) string {
	s := Fixed(v, decimals)
	if s == None {
		return s
	}
	return s + "×"
}

// WithArticle puts "a" or "an" before words as they are read aloud: "a 1.27×", "an 8.95×", "an 11×", "an encoder".
func WithArticle(words string) string {
	digits := words[:len(words)-len(strings.TrimLeft(words, "0123456789"))]
	if strings.HasPrefix(digits, "8") || digits == "11" || digits == "18" ||
		words != "" && strings.ContainsRune("aeiou", rune(words[0])) {
		return "an " + words
	}
	return "a " + words
}

// Count formats n with a comma between groups of three digits.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	out := make([]byte, 0, len(s)+len(s)/3)
	for i := 0; i < len(s); i++ {
		if i > 0 && (len(s)-i)%3 == 0 {
			out = append(out, ',')
		}
		out = append(out, s[i])
	}
	return sign + string(out)
}

// Plural picks the word for n things.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Counted is a number and its noun: "1 pass", "2 passes", "1,049 tokens".
func Counted(n int, one, many string) string { return Count(int64(n)) + " " + Plural(n, one, many) }

// Bytes formats a size as all texts have it, with three digits in powers of a thousand: "812 B", "1.54 kB", "34.8 GB".
func Bytes(n int64) string { return threeDigits(float64(n), "B", "kB", "MB", "GB", "TB", "PB", "EB") }

// Span is a range of counts: "5–8", "5" for one, "?" where it is not known.
func Span(from, to int64) string {
	switch {
	case from < 0:
		return "?"
	case from == to:
		return strconv.FormatInt(from, 10)
	}
	return strconv.FormatInt(from, 10) + "–" + strconv.FormatInt(to, 10)
}
