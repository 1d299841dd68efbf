// Package operator finds which part of the model each kernel of a forward pass
// computes. It is pure: kernels of one pass in launch order and the steps that
// the model runs go in, an operator for each kernel comes out; it reads no trace
// and no config.
//
// All of the pass is aligned with the steps of the full model, monotone, by
// the least cost: steps may be skipped, kernels may be extra, one kernel may
// cover neighbouring steps. What a kernel can be is read off its name (acts),
// off its module frames and off the shape of its op where a trace has them.
// Decomposed operators are put together before, auxiliary kernels (copies,
// quantisations, reductions) are given to the operator they serve after, and
// layers of one kind vote together at the end.
package operator
