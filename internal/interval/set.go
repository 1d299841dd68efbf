package interval

import (
	"cmp"
	"slices"
	"sort"
)

// Union returns the set that covers exactly the points of spans. The input is
// not changed and need not be sorted.
func Union(spans []Span) []Span {
	return UnionInPlace(slices.Clone(spans))
}

// UnionInPlace is [Union] without the copy: it reorders spans and returns a
// prefix of it.
func UnionInPlace(spans []Span) []Span {
	byStart := func(a, b Span) int {
		if c := cmp.Compare(a.Start, b.Start); c != 0 {
			return c
		}
		return cmp.Compare(a.End, b.End)
	}
	// Rows of a trace are nearly always in order already; the check is far
	// cheaper than the sort.
	if !slices.IsSortedFunc(spans, byStart) {
		slices.SortFunc(spans, byStart)
	}
	out := spans[:0]
	for _, s := range spans {
		if s.Empty() {
			continue
		}
		if n := len(out); n > 0 && s.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, s.End)
			continue
		}
		out = append(out, s)
	}
	return out
}

// Total is the summed length of a set, saturating at math.MaxInt64.
func Total(set []Span) int64 {
	var sum int64
	for _, s := range set {
		sum = addSaturating(sum, s.Len())
	}
	return sum
}

// Gaps returns the points of the window that are not in the set.
func Gaps(set []Span, window Span) []Span {
	if window.Empty() {
		return nil
	}
	var out []Span
	at := window.Start
	for _, s := range set[From(set, window.Start):] {
		if s.Start >= window.End {
			break
		}
		if s.Start > at {
			out = append(out, Span{at, s.Start})
		}
		at = max(at, s.End)
	}
	if at < window.End {
		out = append(out, Span{at, window.End})
	}
	return out
}

// Between returns the gaps between the spans of the set: [Gaps] within the hull
// of the set itself.
func Between(set []Span) []Span {
	if len(set) < 2 {
		return nil
	}
	out := make([]Span, 0, len(set)-1)
	for i := 1; i < len(set); i++ {
		out = append(out, Span{set[i-1].End, set[i].Start})
	}
	return out
}

// Intersect returns the points that are in both sets.
func Intersect(a, b []Span) []Span {
	var out []Span
	walk(a, b, func(s Span) { out = append(out, s) })
	return out
}

// Overlap is the length of [Intersect] of both sets, without building it.
func Overlap(a, b []Span) int64 {
	var sum int64
	walk(a, b, func(s Span) { sum = addSaturating(sum, s.Len()) })
	return sum
}

// walk calls f with every piece that both sets share, in order.
func walk(a, b []Span, f func(Span)) {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		if s := a[i].Clip(b[j]); !s.Empty() {
			f(s)
		}
		if a[i].End < b[j].End {
			i++
		} else {
			j++
		}
	}
}

// From is the index of the first span of the set that ends after t, or
// len(set): the first one that can hold or follow t.
func From(set []Span, t int64) int {
	return sort.Search(len(set), func(i int) bool { return set[i].End > t })
}

// Covered is the length of the part of s that lies in the set. It costs a
// binary search plus the spans met.
func Covered(set []Span, s Span) int64 {
	var sum int64
	for _, m := range set[From(set, s.Start):] {
		if m.Start >= s.End {
			break
		}
		sum = addSaturating(sum, m.Clip(s).Len())
	}
	return sum
}

// Hull is the smallest span that holds the whole set; it is empty for an empty
// set.
func Hull(set []Span) Span {
	if len(set) == 0 {
		return Span{}
	}
	return Span{set[0].Start, set[len(set)-1].End}
}
