//go:build !cgo

package rlimit

// Least is the address space that must be left, in bytes, when a program starts.
const Least int64 = fixed
