// Package segment finds the layers of a model in sequences of kernels. It knows no trace: a kernel is three small
// integers, its name, its name without tile variants, and its role. What comes out are values that nobody changes
// afterwards: guesses of the number of layers, and cuts of a sequence into layers with what speaks for and against
// them.
//
// Every number that decides anything is in params.go, with its source.
//
// # NOTE
//
// Equality is all that is ever asked of ids, so hashing every name changes nothing but the roles. Cost: every step is
// linear in the sequence, except the alignment of units that differ, which is banded (length × band) and done once
// per distinct unit. Contexts are looked at between the calls of this package, not inside.
package segment
