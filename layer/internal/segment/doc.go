// Package segment finds passes and layers in sequences of kernels. It knows no trace: a kernel is three small
// integers, its name, its name without tile variants, and its role, and where passes are read by each other how long it
// ran and how long the GPU idled before it. What comes out are values that nobody changes afterwards: guesses of the
// number of layers, cuts of a sequence into layers with what speaks for and against them, and what each kernel of a
// damaged pass is of the pass that others run.
//
// The states of the decoder are in states.go, the recurrence over them in decode.go, and how passes and what they have
// in common are found to begin with in seed.go. Every number that decides anything about layers is in params.go, with
// its source.
//
// # NOTE
//
// Equality is all that is ever asked of ids, so hashing every name changes nothing but the roles. Cost: every step is
// linear in the sequence, except the alignment of units that differ, which is banded (length × band) and done once
// per distinct unit. Contexts are looked at between the calls of this package, not inside.
package segment
