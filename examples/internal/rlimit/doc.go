// Package rlimit ends a program whose limit of address space (ulimit -v,
// RLIMIT_AS) is too small for it, with one line: Go's runtime has no way out when
// it gets no memory, and ends with all its stacks. Importing the package is enough.
//
// It depends on package syscall alone and so is initialised before nearly
// everything else. Where the limit is so small that Go's runtime fails before any
// package is initialised, nothing can be done.
package rlimit
