// Package tokengrid tells from the grid of a kernel how many rows, one a token, it works on.
//
// Only families of kernels are known that start one block for each row whatever the model: their sources say so, and on traces whose
// annotations give the tokens they agreed with these. Many others look alike and are not: kernels whose grid is the number of
// multiprocessors, norms that put several rows into a block, elementwise kernels. A trap agrees with itself in all layers, so one family alone is
// no evidence: two different ones must agree (see [Tally]).
package tokengrid
