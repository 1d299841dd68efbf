// Package interval does arithmetic on sets of half-open intervals of int64:
// union, gaps, intersection, difference and their lengths.
//
// It knows nothing of traces. The unit is the caller's, nanoseconds everywhere
// in this module. All functions run in O(n log n) for unsorted input and O(n)
// for sets.
//
// A set is a []Span in normal form: sorted, every span non-empty, and
// set[i].End < set[i+1].Start, so that touching spans are one. [Union] makes a
// set of any spans; the other functions take sets and return sets.
package interval
