// Package finding holds what every analysis returns: one type of finding, and
// the words that findings are made of.
//
// An analysis (triage, hostoverhead, roofline, compare) measures and returns
// findings. A report ranks them, a gate counts them, a writer renders them;
// none of these computes a figure of its own.
//
// The package is a leaf: its types are plain values, and it imports no other
// public package of this module. Closed sets (Kind, Cause, Group, Stage, Band,
// Measure, Basis) are named types. Each has one table with one row a value,
// which holds all that consumers show of it. Each marshals as its word, and
// refuses a word that it does not know.
package finding
