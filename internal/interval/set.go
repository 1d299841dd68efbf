package interval

import (
	"cmp"
	"slices"
	"sort"
)

// UnionInPlace returns the set that covers exactly the points of spans, which need not be sorted. It reorders spans
// and returns a prefix of it.
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
