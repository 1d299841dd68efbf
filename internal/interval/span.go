package interval

import "math"

// Span is the half-open interval [Start, End). A span whose End is not after
// its Start is empty; empty and inverted spans hold no point and are dropped by
// [Union].
type Span struct {
	Start, End int64
}

// Empty reports whether s holds no point.
func (s Span) Empty() bool { return s.End <= s.Start }

// Len is the length of s: 0 for an empty span, and math.MaxInt64 where the true
// length does not fit, which only damaged input can reach.
func (s Span) Len() int64 {
	if s.Empty() {
		return 0
	}
	// End > Start, so a negative difference can only be an overflow.
	if d := s.End - s.Start; d > 0 {
		return d
	}
	return math.MaxInt64
}

// Contains reports whether the point t lies in s.
func (s Span) Contains(t int64) bool { return s.Start <= t && t < s.End }

// Clip is the part of s inside w; it may be empty.
func (s Span) Clip(w Span) Span {
	return Span{max(s.Start, w.Start), min(s.End, w.End)}
}

// addSaturating adds two non-negative lengths and stops at math.MaxInt64.
func addSaturating(a, b int64) int64 {
	if c := a + b; c >= a {
		return c
	}
	return math.MaxInt64
}
