// Package fleet answers questions that need many ranks: which rank the others wait for and why, which ranks are
// missing, which recordings there are, and since when an operator takes longer.
//
// A [Rank] is what one GPU leaves when its trace has been read: a digest of some ten kilobytes. [Combine] makes the
// [Report] of any number of digests. It is pure, and neither the order of the digests nor how they are divided over
// machines changes a byte of it: the [Set] of them is the same.
//
// A collective ends on all ranks at the same moment, when the last one has arrived and the data has gone round. The
// rank that arrives last therefore runs the shortest kernel, and each rank waits for as long as its own kernel is
// longer. Only durations are compared, so clocks need not agree.
//
// The package does no I/O and knows no engine: package strata fills digests, programs read and write them.
package fleet
